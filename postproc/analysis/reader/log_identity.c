#include "log_identity.h"

#include <assert.h>

#include "mpf/event.h"
#include "reader.h"

int mpr_log_identity_read(struct mpr_process_info *who, struct mpr_arena *arena, const char *path,
                          struct mpr_error *error)
{
    struct mpr_log *log;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_reader_process(mpr_log_header(log), arena, who);
    mpr_log_close(log);
    return 0;
}

int mpr_log_outcome_read(struct mpr_log_outcome *end, const char *path, uint8_t heap,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    struct mpr_arena arena = { 0 };
    struct mpr_summary s;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, &arena, &s);
    const struct mpr_heap *at = reader.replay.accounts.heap;
    const struct mpr_gpu *gpu = &reader.replay.gpu;
    *end = (struct mpr_log_outcome){ .lacks = heap && !at[heap].used, .failed = MPR_NEVER };
    for (int i = 0; i < MPR_HEAPS; i++)
        if (at[i].peak_bytes > end->peak) end->peak = at[i].peak_bytes;
    if (s.oom != MPR_FATE_NO_OOM) end->failed = s.process.start_ns + s.duration_ns;
    for (uint32_t i = gpu->ooms; i-- > 0;)
        if (gpu->oom[i].hard) end->failed = s.process.start_ns + gpu->oom[i].time;
    mpr_reader_close(&reader);
    mpr_arena_free(&arena);
    return 0;
}

bool mpr_log_outcome_precedes(const struct mpr_log_outcome *left,
                              const struct mpr_log_outcome *right)
{
    if (left->lacks != right->lacks) return right->lacks;
    if (left->failed != right->failed) return left->failed < right->failed;
    return left->peak > right->peak;
}

int mpr_log_has_heap(const char *path, uint8_t heap, struct mpr_log_heaps *heaps,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    static_assert(MPR_LOG_HEAPS == MPR_HEAPS, "each heap has its place");
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, error) != 0) return -1;
    reader.until_heap = heap;
    if (mpr_reader_replay(&reader, path, progress, error) < 0) return -1;
    const struct mpr_accounts *accounts = &reader.replay.accounts;
    const bool has = accounts->heap[heap].used;
    for (unsigned i = 0; i < MPR_HEAPS; i++) heaps->there[i] |= accounts->heap[i].used;
    mpr_reader_close(&reader);
    return has;
}
