/* Memory that the process has and its blocks do not need. */
#include "evidence.h"

/* Freed blocks whose pages malloc may have kept.  A log has no figure of malloc itself, so this is
 * memory that belongs to no live block and appeared as blocks were freed. */
static void retention(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_retained *r = &e->retained;
    const uint64_t kept = mpr_retained_bytes(r);
    if (kept < MPR_WORTH_BYTES || kept < r->anonymous / 4) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_RETENTION, MPF_HEAP_HOST, r->time, kept);
    f->about = true;
    f->what = mpr_arena_format(
        &out->arena,
        "at %s about %s of anonymous memory was in no live block: freed blocks that malloc kept, or "
        "memory that memprof does not record; the process had %s, live blocks and mappings %s",
        mpr_finding_time(out, r->time), mpr_finding_size(out, kept),
        mpr_finding_size(out, r->anonymous), mpr_finding_size(out, r->live));
    f->change = e->jemalloc ? "if malloc kept it: MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0"
                : e->threads > 1
                    ? "if malloc kept it: MALLOC_ARENA_MAX=2, malloc_trim(0) after many frees, or "
                      "an allocator that gives memory back (jemalloc)"
                    : "if malloc kept it: malloc_trim(0) after many frees, or an allocator that "
                      "gives memory back (jemalloc)";
    f->look = "timeline --heap host/heap";
    mpr_finding_bytes(f, "kept_bytes", kept);
    mpr_finding_bytes(f, "anonymous_bytes", r->anonymous);
    mpr_finding_bytes(f, "live_bytes", r->live);
    mpr_finding_bytes(f, "other_bytes", r->others);
    mpr_finding_bytes(f, "fallen_bytes", r->fallen);
}

void mpr_insights_host(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_heap_peak *h = mpr_peaks_heap(e->log, MPF_HEAP_HOST);
    /* Without malloc's blocks the live bytes are not known. */
    if (h && h->allocations && !*e->log->summary.unseen_malloc) retention(out, e);
}
