/* Events that could not be kept: counted here, put into the log by the next epoch, shown in every
 * report. */
#ifndef MP_LOSS_H
#define MP_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/event.h"
#include "mpf/slot.h"

/* reason: enum mpf_loss.  Any context. */
void mp_loss(unsigned reason, uint64_t events);
/* The LOST event that told of these is lost itself: the next epoch tells of them again. */
void mp_loss_again(unsigned reason, uint64_t events);

/* Whoever records something only once keeps with it what this was before that.  Another value says
 * that a frame was lost meanwhile, and what was recorded maybe with it: it is recorded again at its
 * next use. */
extern uint32_t mp_loss_generation;
static inline uint32_t mp_loss_now(void)
{
    return __atomic_load_n(&mp_loss_generation, __ATOMIC_ACQUIRE);
}
/* The next frame was written, or lost. */
void mp_loss_frame(bool lost);
/* When and why frames were lost: an UNWRITTEN event of the next epoch tells of it.  Under
 * epoch_lock. */
void mp_loss_unwritten(const struct mpf_unwritten *span);

#endif
