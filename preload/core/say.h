/* Messages to the user on stderr. */
#ifndef MP_SAY_H
#define MP_SAY_H

#include <stdbool.h>

#include "base/text.h"

/* Prints one line "memprof: ..." to stderr if stderr is still the file of the start, can be written
 * to, and MEMPROF_QUIET is not set. */
void mp_say(const char *a, const char *b, const char *c, const char *d);
void mp_say_line(const struct mp_text *t);
/* Prints the line that a worker or encoder has stored, if any. */
void mp_say_kept(void);
/* Called in a forked child: discards lines of other threads of the parent. */
void mp_say_reset(void);
/* Remembers which file stderr is. */
void mp_say_init(void);
/* Copies the last line into this buffer instead of printing it. NULL: nothing is printed or copied.
 * The program was attached to, so its stderr is not memprof's. */
void mp_say_into(char *buf, size_t cap);
/* Sets MEMPROF_QUIET. */
void mp_say_quiet(bool quiet);

#endif
