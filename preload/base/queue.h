/* A bounded queue of numbers, first in first out, for any number of threads. Producers and
 * consumers share no lock.
 *
 * The order matters for chunks: the chunk that rested longest has left the encoder's cache, so the
 * program's stores need not take its lines from there. All zeros is an empty queue, so it may be in
 * memory that is wiped on fork. It must never get more numbers than it has cells. Callers block
 * signals, so a handler cannot find its own thread halfway. */
#ifndef MP_QUEUE_H
#define MP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* turn: 2 * lap if the cell can be filled, 2 * lap + 1 if it is full */
struct mp_cell {
    uint32_t turn, value;
};

struct mp_queue {
    _Alignas(64) uint32_t given;
    _Alignas(64) uint32_t taken;
};

/* @cells: their number, a power of two, the same in every call. */
void mp_queue_give(struct mp_queue *q, struct mp_cell *cell, uint32_t cells, uint32_t value);
/* Returns false if the queue is empty, or if the next number is still being stored. */
bool mp_queue_take(struct mp_queue *q, struct mp_cell *cell, uint32_t cells, uint32_t *value);

#endif
