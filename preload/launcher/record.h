/* memprof.run, the run's record beside its logs: what the launcher saw (format/FORMAT.md has the lines). */
#ifndef MP_RECORD_H
#define MP_RECORD_H

#include <stdbool.h>

#include "watch.h"

#define MP_RECORD_NAME "memprof.run"

struct mp_record { int directory, fd; bool made; };     /* fd -1: there is none */

/* Adds to the file of an earlier run in the directory, which stays the caller's and open. */
void mp_record_open(struct mp_record *r, int directory);
void mp_record_end(const struct mp_record *r, const struct mp_watched *p);
void mp_record_unseen(const struct mp_record *r, const struct mp_watched *p);
/* keep: there are logs that it speaks of; else a file that this run made goes. */
void mp_record_close(struct mp_record *r, bool keep);

#endif
