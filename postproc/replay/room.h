/* Arrays that grow. */
#ifndef MPR_ROOM_H
#define MPR_ROOM_H

#include <stddef.h>

/* Room for one more element: the array, moved when it had to grow, or NULL (the old one stays) without memory. */
void *mpr_room(void *array, size_t count, size_t *cap, size_t element);

#endif
