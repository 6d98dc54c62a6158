/* Functions that a program calls to measure its own memory. The Python package memprof_report finds
 * them by their names in libmemprof.so.
 *
 * Any thread, not in a signal handler; errno is kept. Each returns a number below 0 if it fails
 * (enum memprof_measure_error). */
#ifndef MP_MEASUREMENT_H
#define MP_MEASUREMENT_H

#include <stddef.h>
#include <stdint.h>

enum memprof_measure_error {
    MEMPROF_NOT_RECORDED = -1, /* the process is not recorded, or not any more */
    MEMPROF_TOO_MANY = -2,     /* eight measurements exist */
    MEMPROF_NO_MEASUREMENT = -3,
    MEMPROF_LATE = -4,     /* another thread did not finish storing an event for a second */
    MEMPROF_NO_MEMORY = -5 /* there was no memory to count all blocks */
};

struct memprof_measured {
    /* "host" for all memory of the host, "host/arenas" for the part of "host/mmap" in which CPython
     * has its small objects, "gpu0/segments" for PyTorch's memory from the driver, which is not in
     * "gpu0/device", otherwise the name of a heap */
    char heap[16];
    uint64_t peak_bytes; /* maximum of the bytes that were allocated in it and not freed */
    uint64_t live_bytes;
    uint64_t allocations;
    /* as in the log: since the start of the process; stop_ns is the present time if the measurement
     * was not stopped */
    uint64_t begin_ns, stop_ns, peak_ns;
};

/* Begins a measurement and returns its number, above 0. */
int memprof_measure_begin(void);
/* Memory that is allocated from now on is not counted. Frees are. */
int memprof_measure_stop(int number);
/* Stores the rows of heaps with memory, the host's sum first, and returns their number.
 * There is no row of the host's sum and of host/heap if only some blocks of malloc are recorded
 * (MEMPROF_HOST). @lost: number of events that were lost in the measurement; if it is not 0,
 * figures are not exact. */
int memprof_measure_read(int number, struct memprof_measured *rows, int room, uint64_t *lost);
/* Returns 1 if no peak of the host's memory and of a GPU's heap can be above these bytes, otherwise
 * 0: then memprof_measure_read has the figures, at a cost of 0.1 ms. */
int memprof_measure_is_below(int number, uint64_t host, uint64_t gpu);
int memprof_measure_end(int number);
/* Stores the path of the process's log and returns its length. */
int memprof_log_path(char *path, size_t room);

#endif
