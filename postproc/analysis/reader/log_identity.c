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

static uint64_t largest_peak(const struct mpr_accounts *accounts)
{
    uint64_t bytes = 0;
    for (int i = 0; i < MPR_HEAPS; i++)
        if (accounts->heap[i].peak_bytes > bytes) bytes = accounts->heap[i].peak_bytes;
    return bytes;
}

static uint64_t first_failure(const struct mpr_gpu *gpu, const struct mpr_summary *s)
{
    for (uint32_t i = 0; i < gpu->ooms; i++)
        if (gpu->oom[i].hard) return s->process.start_ns + gpu->oom[i].time;
    return s->oom == MPR_FATE_NO_OOM ? MPR_NEVER : s->process.start_ns + s->duration_ns;
}

int mpr_log_outcome_read(struct mpr_log_outcome *end, const char *path, uint8_t heap,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    struct mpr_arena arena = { 0 };
    struct mpr_summary summary;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, &arena, &summary);
    const struct mpr_accounts *accounts = &reader.replay.accounts;
    *end = (struct mpr_log_outcome){ .peak = largest_peak(accounts),
                                     .lacks = heap && !accounts->heap[heap].used,
                                     .failed = first_failure(&reader.replay.gpu, &summary) };
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
