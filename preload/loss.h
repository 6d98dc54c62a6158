/* Events that could not be kept: counted here, put into the log by the next epoch, shown in every report. */
#ifndef MP_LOSS_H
#define MP_LOSS_H

#include <stdint.h>

#include "mpf/event.h"

/* reason: enum mpf_loss.  Any context. */
void mp_loss(unsigned reason, uint64_t events);
/* The LOST event that told of these is lost itself: the next epoch tells of them again. */
void mp_loss_again(unsigned reason, uint64_t events);

#endif
