/* Memory of a report: it is there, or the report ends.
 *
 * A report is a program of its own, to be run again with more memory, so who allocates here has no
 * failure to handle and none to forget: what the program gave to mpr_alloc_at_end says why, and
 * ends it.  Not for input, which the launcher has in it, too: there a lack of memory is an error as
 * any other.  All is given back with free(). */
#ifndef MPR_ALLOC_H
#define MPR_ALLOC_H

#include <stddef.h>
#include <stdio.h>

/* Zeroed; never NULL, not even for nothing. */
void *mpr_alloc(size_t count, size_t size);
/* The array with room for so many; what was not there is not set.  Never NULL. */
void *mpr_resize(void *array, size_t count, size_t size);
char *mpr_text_copy(const char *text);
/* At most so many bytes of it. */
char *mpr_text_part(const char *text, size_t bytes);
char *mpr_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A stream whose text, of the caller, is there when it is closed (open_memstream). */
FILE *mpr_text_open(char **text, size_t *bytes);
void mpr_text_close(FILE *stream);

/* Room for one more element of an array of `count` with room for `cap`, of any unsigned type: room
 * doubles.  Until it is there the array stays as it was.  Arguments are evaluated more than once.
 */
#define MPR_GROW(array, count, cap)                                                                \
    do {                                                                                           \
        if ((count) == (cap)) {                                                                    \
            size_t cap_ = (cap);                                                                   \
            (array) = mpr_grow((array), &cap_, (__typeof__(cap))-1, sizeof *(array));              \
            (cap) = (__typeof__(cap))cap_;                                                         \
        }                                                                                          \
    } while (0)
/* Makes element `index` of an array of `count` be there, what is new zeroed: for what is kept
 * beside another array.  As above. */
#define MPR_REACH(array, index, count)                                                             \
    do {                                                                                           \
        if ((index) >= (count)) {                                                                  \
            size_t count_ = (count);                                                               \
            (array) =                                                                              \
                mpr_reach((array), (index), &count_, (__typeof__(count))-1, sizeof *(array));      \
            (count) = (__typeof__(count))count_;                                                   \
        }                                                                                          \
    } while (0)

/* Behind these.  most: elements that *cap and *count can say. */
void *mpr_grow(void *array, size_t *cap, size_t most, size_t size);
void *mpr_reach(void *array, size_t index, size_t *count, size_t most, size_t size);

/* `end` must not return; without one the program aborts. */
void mpr_alloc_at_end(void (*end)(void));
/* There is no more memory: also for who got none of a library. */
_Noreturn void mpr_alloc_end(void);

/* The file whose reading takes the memory, for the message; NULL: none.  The text must last as
 * long. */
void mpr_alloc_for(const char *path);
const char *mpr_alloc_path(void);

#endif
