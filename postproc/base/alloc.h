/* Allocation for a report: the memory is there, or the process ends.
 *
 * A report can be run again with more memory, so callers have no failure to handle.  If memory runs
 * out, the function given to mpr_alloc_on_failure prints a message and ends the process.  Input
 * must not use this, because it is also part of the launcher, which must not end: there, running
 * out of memory is an ordinary error.  Everything is released with free(). */
#ifndef MPR_ALLOC_H
#define MPR_ALLOC_H

#include <stddef.h>
#include <stdio.h>

/* Returns zeroed memory, never NULL, even for 0 bytes. */
void *mpr_alloc(size_t count, size_t size);
/* Returns the array with room for @count elements.  New elements are not initialized. */
void *mpr_resize(void *array, size_t count, size_t size);
char *mpr_text_copy(const char *text);
/* Copies at most @bytes bytes of the text. */
char *mpr_text_copy_part(const char *text, size_t bytes);
char *mpr_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Opens a stream that writes to memory (open_memstream).  After it is closed the text belongs to
 * the caller. */
FILE *mpr_text_open(char **text, size_t *bytes);
void mpr_text_close(FILE *stream);

/* Makes room for one more element in an array of @count elements with room for @cap; the room
 * doubles.  Both are lvalues of any unsigned type.  If memory runs out, the array is unchanged.
 * Arguments are evaluated more than once. */
#define MPR_GROW(array, count, cap)                                                                \
    do {                                                                                           \
        if ((count) == (cap)) {                                                                    \
            size_t cap_ = (cap);                                                                   \
            (array) = mpr_grow((array), &cap_, (__typeof__(cap))-1, sizeof *(array));              \
            (cap) = (__typeof__(cap))cap_;                                                         \
        }                                                                                          \
    } while (0)
/* Adds an element to such an array and returns its place: *MPR_ADD(line, lines, cap) = new_line. */
#define MPR_ADD(array, count, cap)                                                                 \
    __extension__({                                                                                \
        MPR_GROW(array, count, cap);                                                               \
        &(array)[(count)++];                                                                       \
    })
/* Returns the number (index + 1) of a place in such an array: a free one, or else a new one.  @free
 * is the number of the first free place, or 0, and member @next of that the number of the next. */
#define MPR_PLACE(array, count, cap, free, next)                                                   \
    __extension__({                                                                                \
        __typeof__(count) place_ = (free);                                                         \
        if (place_) {                                                                              \
            (free) = (array)[place_ - 1].next;                                                     \
        } else {                                                                                   \
            MPR_GROW(array, count, cap);                                                           \
            place_ = ++(count);                                                                    \
        }                                                                                          \
        place_;                                                                                    \
    })
/* Extends an array of @count elements so that it has element @index.  New elements are zeroed.  For
 * arrays with one element for each element of another array.  Otherwise as MPR_GROW. */
#define MPR_REACH(array, index, count)                                                             \
    do {                                                                                           \
        if ((index) >= (count)) {                                                                  \
            size_t count_ = (count);                                                               \
            (array) =                                                                              \
                mpr_reach((array), (index), &count_, (__typeof__(count))-1, sizeof *(array));      \
            (count) = (__typeof__(count))count_;                                                   \
        }                                                                                          \
    } while (0)

/* Used by the macros.  @max: the largest number of elements that *cap or *count can hold. */
void *mpr_grow(void *array, size_t *cap, size_t max, size_t size);
void *mpr_reach(void *array, size_t index, size_t *count, size_t max, size_t size);

/* Sets the function that is called when memory runs out.  It must not return.  Without one the
 * process aborts. */
void mpr_alloc_on_failure(void (*end)(void));
/* Ends the process because memory ran out.  Also for callers whose library got no memory. */
_Noreturn void mpr_alloc_fail(void);

/* Names the file that is being read, for use in the message.  The text must outlive the
 * reading; NULL: no file. */
void mpr_alloc_set_path(const char *path);
const char *mpr_alloc_path(void);

#endif
