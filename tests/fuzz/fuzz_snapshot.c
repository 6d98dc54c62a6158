/* Reads an arbitrary pickle as a memory snapshot of PyTorch, and makes the events of it. */
#include <string.h>

#include "fuzz.h"
#include "import.h"
#include "log.h"

static void read_all(struct mpr_log *log)
{
    struct mpr_error error;
    const struct mpf_event *events;
    volatile uint8_t last;
    uint64_t newest = 0;
    for (long n; (n = mpr_log_next(log, &events, &error)) > 0;)
        for (long i = 0; i < n; i++) {
            FUZZ_HOLDS(events[i].time >= newest);
            newest = events[i].time;
            if (events[i].data && events[i].size) last = events[i].data[events[i].size - 1];
        }
    (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mpr_log *log;
    struct mpr_error error;
    mpr_import_snapshots();
    if (mpr_log_open(&log, fuzz_file("a.pickle", data, size), &error) != 0) return 0;
    read_all(log);
    mpr_log_close(log);
    return 0;
}
