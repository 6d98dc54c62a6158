#include "who.h"

#include "reader.h"

int mpr_who_read(struct mpr_process_info *who, struct mpr_arena *arena, const char *path,
                 struct mpr_error *error)
{
    struct mpr_log *log;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_reader_process(mpr_log_header(log), arena, who);
    mpr_log_close(log);
    return 0;
}

int mpr_who_peak(uint64_t *bytes, const char *path, const struct mpr_progress *progress,
                 struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    *bytes = 0;
    for (int i = 0; i < MPR_HEAPS; i++) {
        const uint64_t peak = reader.replay.books.heap[i].peak_bytes;
        if (peak > *bytes) *bytes = peak;
    }
    mpr_reader_close(&reader);
    return 0;
}
