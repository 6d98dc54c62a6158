/* Determines how far the slots of a thread are committed. All functions are called under
 * epoch_lock. */
#ifndef MP_SURVEY_H
#define MP_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"

/* Finds how far each chunk of the thread is committed. Returns the watermark, lowered below an
 * event in flight. With `all`, at the log's end, such an event is left out, or lost if later events
 * follow. */
uint64_t mp_survey(struct mp_thread *t, uint64_t upto, bool at_end);
/* Returns the bytes that the thread's events from a time on allocate, of those that are not taken
 * for a frame yet, whatever is freed. */
uint64_t mp_survey_allocated(const struct mp_thread *t, uint64_t from);
/* Returns true if all events of the thread are in the log, so that its record and its last chunk
 * are not used any more. */
bool mp_survey_drained(const struct mp_thread *t);

#endif
