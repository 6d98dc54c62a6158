/* Measurements: the peak and the live bytes of the memory that the program allocates between two
 * instants, counted inside the process. Limits of tests are decided from them.
 *
 * Hooks do nothing for a measurement. The thread that takes events for a frame counts them in the
 * order of the log, so that the figures are those of the log to the byte. If nothing is measured,
 * that costs one load per frame.
 *
 * A measurement begins with no bytes. It counts blocks and mappings that the program, in any
 * thread, allocates after its start and before its stop, until they are freed, even after its
 * stop. Memory that was allocated before the start is not counted, nor is its free. */
#ifndef MP_MEASURE_H
#define MP_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/merge.h"
#include "mpf/event.h"

#define MP_MEASURES 8u /* maximum number of measurements at the same time */

struct mp_measured {
    uint64_t live, peak; /* bytes */
    uint64_t peak_time;  /* ticks */
    uint64_t allocations;
};

/* The row of all host memory: heap, mappings and shared memory. Other rows have the number of their
 * heap, as in an event. */
#define MP_MEASURED_HOST MPF_HEAP_NONE
/* The row of the mappings in which CPython's allocator has its small objects. They also count in
 * the row of the heap host/mmap. */
#define MP_MEASURED_ARENAS MPF_HEAP_PYTHON
/* The row of memory that PyTorch's allocator has from the driver of a GPU. It is in no other row:
 * PyTorch's blocks are in the row of their heap. */
#define MP_MEASURED_SEGMENTS(device) mpf_heap_gpu(MPF_HEAP_USED, device)
#define MP_MEASURED_ROWS             256u

/* Number of measurements. Read without a lock. */
extern uint32_t mp_measures __attribute__((visibility("hidden")));
/* The Python call stack of the mappings in the row of arenas; 0 until there is one. */
extern uint64_t mp_measure_arena_stack __attribute__((visibility("hidden")));

/* All functions below are called under epoch_lock, except mp_measure_reset. */

/* Begins a measurement at a time in ticks. Returns its number, from 1, or 0 if there are
 * MP_MEASURES already. */
unsigned mp_measure_begin(uint64_t from);
/* Memory that is allocated from then on is not counted. */
void mp_measure_stop(unsigned number, uint64_t until);
/* Returns the rows of the measurement, or NULL if there is none with this number. */
const struct mp_measured *mp_measure_rows(unsigned number);
/* The figures of a measurement apart from its rows. */
struct mp_measured_span {
    uint64_t from, until; /* ticks; UINT64_MAX if it was not stopped */
    uint64_t lost;        /* events that were lost since it began */
    bool incomplete;      /* there was no memory to count some memory */
};
struct mp_measured_span mp_measure_span(unsigned number);
/* Returns true if the peaks of the host's memory and of each heap of the GPUs cannot be above these
 * bytes, as far as is known without taking events. */
bool mp_measure_is_below(unsigned number, uint64_t host, uint64_t gpu);
void mp_measure_end(unsigned number);

/* Counts the events of a frame. */
void mp_measure_take(const struct mp_selection *slots);
/* Called when all events up to this time were taken. */
void mp_measure_taken(uint64_t upto);
/* Returns that time. Read without a lock. */
uint64_t mp_measure_upto(void);

/* Forgets all measurements, in a forked child. */
void mp_measure_reset(void);

#endif
