/* Reading the chunks of a journal or of a SLOTS frame.  Trusts nothing. */
#ifndef MPF_JOURNAL_H
#define MPF_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "mpf/event.h"
#include "mpf/slot.h"

/* Checks a journal's head; 0 or an mpf_error. */
int mpf_journal_check(const uint8_t *file, size_t bytes, struct mpf_journal *head);

/* One committed event of a chunk, with the place that orders it. */
struct mpf_recovered {
    uint64_t time;         /* ticks, never before the previous one of the thread */
    uint64_t seq;          /* chunk's seq */
    uint32_t thread, slot; /* slot number in the chunk */
    const uint8_t *chunk;
};
/* Lists the committed events of chunk `index` that a log of `frames` frames does not hold yet, CONT
 * slots not counted.  `out` has room for MPF_CHUNK_SLOTS.  *torn gets the number of slots that were
 * begun and never finished. Returns how many. */
uint32_t mpf_journal_chunk(const uint8_t *file, size_t bytes, const struct mpf_journal *head,
                           uint32_t index, uint64_t frames, struct mpf_recovered *out,
                           uint32_t *torn);
/* Decodes one of them; data of a DATA event is copied to data[MPF_DATA_MAX].  0 or MPF_ERR_DAMAGED.
 */
int mpf_journal_event(const struct mpf_recovered *from, const struct mpf_clock *start,
                      const struct mpf_clock *last, uint64_t origin, struct mpf_event *event,
                      uint8_t *data);

#endif
