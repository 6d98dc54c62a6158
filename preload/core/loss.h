/* Lost events: they are counted here, written to the log by the next epoch, and shown in every
 * report. */
#ifndef MP_LOSS_H
#define MP_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/event.h"
#include "mpf/slot.h"

/* Counts lost events. @reason: enum mpf_loss. Any context. */
void mp_loss(unsigned reason, uint64_t events);
/* Called if the LOST event that reported these was lost itself: the next epoch reports them again.
 */
void mp_loss_again(unsigned reason, uint64_t events);

/* Code that records something only once stores this value from before with it. If the value has
 * changed, a frame was lost meanwhile, perhaps with that record, so it is recorded again at its
 * next use. */
extern uint32_t mp_loss_generation;
static inline uint32_t mp_loss_now(void)
{
    return __atomic_load_n(&mp_loss_generation, __ATOMIC_ACQUIRE);
}
/* Called when a frame was written or lost. */
void mp_loss_frame(bool lost);
/* Notes when and why frames were lost; an UNWRITTEN event of the next epoch reports it. Under
 * epoch_lock. */
void mp_loss_unwritten(const struct mpf_unwritten *span);

#endif
