/* Rules on resident memory that no allocation explains: each kind of mapping of the sample with the
 * most resident memory. */
#include "arena.h"
#include "evidence.h"
#include "resident.h"

/* A kind is worth a finding from a quarter of resident memory on. */
enum { KIND_SHARE = 4 };

/* Adds a finding on @bytes, which it calls @key, of @rss. */
static struct mpr_finding *add(struct mpr_insights *out, enum mpr_finding_kind kind, uint64_t time,
                               const char *key, uint64_t bytes, uint64_t rss)
{
    if (bytes < MPR_WORTH_BYTES || bytes < rss / KIND_SHARE) return NULL;
    struct mpr_finding *f = mpr_finding_add(out, kind, MPF_HEAP_HOST, time, bytes);
    mpr_finding_bytes(f, key, bytes);
    mpr_finding_bytes(f, "rss_bytes", rss);
    return f;
}

static void add_kind(struct mpr_insights *out, const struct mpr_resident *r,
                     enum mpr_finding_kind kind, int value)
{
    const struct mpr_resident_file *file = &r->file[value];
    struct mpr_finding *f = add(out, kind, r->time, "resident_bytes", r->value[value], r->sum);
    if (!f) return;
    if (value == MPF_RESIDENT_STACKS)
        mpr_finding_count(f, "stacks", r->value[MPF_RESIDENT_STACK_COUNT]);
    if (!file->bytes) return;
    mpr_finding_bytes(f, "largest_bytes", file->bytes);
    mpr_finding_fact(f, (struct mpr_fact){ .key = "largest",
                                           .type = MPR_FACT_TEXT,
                                           .text = mpr_arena_text(&out->arena, file->path) });
}

void mpr_insights_resident(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_resident *r = &e->log->resident;
    const struct mpr_reading *largest = &e->log->largest[MPR_READ_RSS];
    const uint64_t tables = largest->value[MPF_RSS_PAGE_TABLES];
    if (largest->valid && tables != MPF_UNKNOWN && e->log->rss_high != MPF_UNKNOWN)
        add(out, MPR_FINDING_PAGE_TABLES, r->valid ? r->time : e->log->summary.duration_ns,
            "page_table_bytes", tables, e->log->rss_high);
    if (!r->valid) return;
    add_kind(out, r, MPR_FINDING_FILE_MAPPINGS, MPF_RESIDENT_FILES);
    add_kind(out, r, MPR_FINDING_STATIC_DATA, MPF_RESIDENT_DATA);
    add_kind(out, r, MPR_FINDING_THREAD_STACKS, MPF_RESIDENT_STACKS);
}
