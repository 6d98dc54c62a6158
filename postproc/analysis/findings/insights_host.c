/* What the process has and its blocks do not need. */
#include <string.h>

#include "evidence.h"

/* Freed blocks whose pages malloc kept.  The figure is too small by the headers of blocks that were
 * live at the peak: these are counted with other memory, as libraries' data. */
static void retention(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_retained *r = &e->retained;
    const uint64_t kept = mpr_retained_bytes(r);
    if (kept < MPR_WORTH_BYTES || kept < r->anonymous / 4) return;
    struct mpr_finding *f = mpr_finding_add(out, "retention", "host", kept);
    f->what =
        mpr_arena_format(&out->arena,
                         "malloc kept about %s or more of freed blocks: at %s the process had "
                         "%s of anonymous memory, blocks and mappings held %s",
                         mpr_finding_size(out, kept), mpr_finding_time(out, r->time),
                         mpr_finding_size(out, r->anonymous), mpr_finding_size(out, r->live));
    f->change = e->jemalloc ? "MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0"
                : e->threads > 1
                    ? "MALLOC_ARENA_MAX=2, malloc_trim(0) after what frees much, or an allocator "
                      "that gives back (jemalloc)"
                    : "malloc_trim(0) after what frees much, or an allocator that gives back "
                      "(jemalloc)";
    f->look = "timeline --heap host/heap";
    mpr_finding_at(f, "host/heap", r->time);
    mpr_finding_bytes(f, "kept_bytes", kept);
    mpr_finding_bytes(f, "anonymous_bytes", r->anonymous);
    mpr_finding_bytes(f, "live_bytes", r->live);
    mpr_finding_bytes(f, "other_bytes", r->others);
    mpr_finding_bytes(f, "fallen_bytes", r->fallen);
}

/* Without it nobody knows what is live. */
static bool has_heap(const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (log->heap[i].allocations && strcmp(log->heap[i].name, "host/heap") == 0) return true;
    return false;
}

void mpr_insights_host(struct mpr_insights *out, const struct mpr_evidence *e)
{
    if (has_heap(e->log) && !*e->log->summary.unseen_malloc) retention(out, e);
}
