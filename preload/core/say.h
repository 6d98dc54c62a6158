/* Messages to the user: lines on stderr. */
#ifndef MP_SAY_H
#define MP_SAY_H

#include <stdbool.h>

#include "base/text.h"

/* Prints one line "memprof: ..." to stderr if it is still the file of the start, can be written,
 * and MEMPROF_QUIET is not set. */
void mp_say(const char *a, const char *b, const char *c, const char *d);
void mp_say_line(const struct mp_text *t);
/* Prints the line that a worker or encoder has kept, if there is one. */
void mp_say_kept(void);
/* In a forked child: whatever another thread of the parent was about to say is not said. */
void mp_say_reset(void);
/* Remembers what stderr is. */
void mp_say_init(void);
/* MEMPROF_QUIET. */
void mp_say_quiet(bool quiet);

#endif
