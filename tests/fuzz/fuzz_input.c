/* Reads a log and its journal as files. The input is the length of the log in four bytes, the log,
 * and the journal. */
#include <string.h>

#include "fuzz.h"
#include "log.h"

static void read_all(struct mpr_log *log)
{
    struct mpr_error error;
    const struct mpf_event *events;
    volatile uint8_t last;
    for (long n; (n = mpr_log_next(log, &events, &error)) > 0;)
        for (long i = 0; i < n; i++)
            if (events[i].data && events[i].size) last = events[i].data[events[i].size - 1];
    (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t bytes;
    struct mpr_log *log;
    struct mpr_error error;
    if (size < sizeof bytes) return 0;
    memcpy(&bytes, data, sizeof bytes);
    data += sizeof bytes;
    size -= sizeof bytes;
    if (bytes > size) bytes = (uint32_t)size;
    fuzz_file("log.zst.journal", data + bytes, size - bytes);
    if (mpr_log_open(&log, fuzz_file("log.zst", data, bytes), &error) != 0) return 0;
    read_all(log);
    mpr_log_close(log);
    return 0;
}
