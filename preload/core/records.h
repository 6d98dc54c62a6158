/* The table of the threads' records. */
#ifndef MP_RECORDS_H
#define MP_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"

/* Maps the part of the table that has the record `index`, if necessary. Returns false without
 * memory. */
bool mp_records_map(uint32_t index);
/* Returns a record for a new thread, or NULL if MP_THREADS_MAX are in use or without memory. */
struct mp_thread *mp_records_take(void);
/* Makes all records read as zeros. */
void mp_records_wipe(void);
/* Called when a recording ends and the program continues: threads keep their records, but no event
 * is stored there any more. */
void mp_records_retire(void);
/* Called before the next recording: the table is empty. The former records stay mapped, because
 * threads still have them. */
void mp_records_renew(void);
/* Returns false for a record of a former recording. */
bool mp_record_is_current(const struct mp_thread *t);
/* Returns the number of slots of the chunk that the thread has reserved. */
uint32_t mp_records_used_slots(const struct mp_thread *t, const struct mpf_chunk *c);
/* Called when the thread stops filling the chunk. */
void mp_records_close_chunk(struct mp_thread *t, struct mpf_chunk *c);
/* Marks the calling thread as memprof's own, so that it records nothing from now on. */
void mp_thread_own(void);
bool mp_thread_is_own(void);
/* Returns the number of records ever in use. Later ones are empty. */
uint32_t mp_threads_ever(void);
/* Returns the approximate number of records in use: of live threads, and of ended threads whose
 * records were not reclaimed yet. */
uint32_t mp_thread_records(void);
/* Reclaims the record of a thread that has ended and has no more events. Called by the encoder. */
void mp_thread_reclaim(struct mp_thread *t);

#endif
