#include "core/loss.h"

#include <assert.h>

#include "core/state.h"

static_assert(MPF_LOSS_CODES <= MP_LOSSES, "each reason has its count");

uint32_t mp_loss_generation;

/* While frames cannot be written, names and stacks are not recorded again for each of them, but
 * only after the first frame that is written. */
void mp_loss_frame(bool lost)
{
    if (mp_process->losing == lost) return;
    mp_process->losing = lost;
    __atomic_fetch_add(&mp_loss_generation, 1, __ATOMIC_RELEASE);
}

void mp_loss_again(unsigned reason, uint64_t events)
{
    __atomic_fetch_add(&mp_process->lost[reason], events, __ATOMIC_RELAXED);
}

/* The journal keeps the count in any case, even if no frame can be written. */
static void tell_journal(uint64_t total)
{
    uint64_t *counter = &mp_process->pool.head->lost,
             before = __atomic_load_n(counter, __ATOMIC_RELAXED);
    while (before < total && !__atomic_compare_exchange_n(counter, &before, total, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

void mp_loss(unsigned reason, uint64_t events)
{
    if (!mp_process || reason >= MP_LOSSES) return;
    mp_loss_again(reason, events);
    const uint64_t total = __atomic_add_fetch(&mp_process->lost_total, events, __ATOMIC_RELAXED);
    if (__atomic_load_n(&mp_process->state, __ATOMIC_ACQUIRE) == MP_ON) tell_journal(total);
}

/* A span that was lost again may be older than one that was lost meanwhile. */
void mp_loss_unwritten(const struct mpf_unwritten *span)
{
    struct mpf_unwritten *u = &mp_process->unwritten;
    if (!span->events) return;
    const struct mpf_unwritten before = *u;
    *u = *span;
    if (!before.events) return;
    if (before.from <= span->from) u->error = before.error, u->from = before.from;
    if (before.to > span->to) u->to = before.to;
    u->events += before.events;
    u->bytes += before.bytes;
}
