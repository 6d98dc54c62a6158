#include "base/queue.h"

void mp_queue_give(struct mp_queue *q, struct mp_cell *cell, uint32_t cells, uint32_t value)
{
    const uint32_t at = __atomic_fetch_add(&q->given, 1, __ATOMIC_RELAXED);
    struct mp_cell *c = &cell[at % cells];
    __atomic_store_n(&c->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&c->turn, at / cells * 2 + 1, __ATOMIC_RELEASE);
}

bool mp_queue_take(struct mp_queue *q, struct mp_cell *cell, uint32_t cells, uint32_t *value)
{
    uint32_t at = __atomic_load_n(&q->taken, __ATOMIC_RELAXED);
    for (;;) {
        struct mp_cell *c = &cell[at % cells];
        if (__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) != at / cells * 2 + 1) {
            const uint32_t now = __atomic_load_n(&q->taken, __ATOMIC_RELAXED);
            if (now == at) return false;
            at = now;
            continue;
        }
        /* must be read before the number is taken, because then the cell may be filled again */
        *value = __atomic_load_n(&c->value, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&q->taken, &at, at + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    }
}
