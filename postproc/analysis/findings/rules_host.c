/* Rules on host memory: freed blocks that malloc keeps, resident memory that no allocation
 * explains, and private memory of forked workers, which is blocks that they allocated and pages of
 * their parent that they copied by writing to them. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "arena.h"
#include "evidence.h"
#include "mpf/sample.h"
#include "outliers.h"
#include "resident.h"

/* ---- malloc */

uint64_t mpr_evidence_kept(const struct mpr_evidence *e)
{
    const struct mpr_heap_peak *h = mpr_peaks_heap(e->log, MPF_HEAP_HOST);
    const uint64_t kept = mpr_retained_bytes(&e->retained);
    if (!h || !h->allocations || *e->log->summary.unseen_malloc) return 0;
    return kept >= MPR_WORTH_BYTES && kept >= e->retained.anonymous / 4 ? kept : 0;
}

static void name_freed(struct mpr_finding *f, const struct mpr_evidence *e)
{
    const struct mpr_row *row =
        mpr_retained_owner(&e->retained, mpr_peaks_heap(e->log, MPF_HEAP_HOST));
    if (!row) return;
    f->path = row->path;
    mpr_finding_estimate(f, "freed_bytes", row->bytes, row->estimated);
}

/* Names the blocks that pin most, if that is at least half of the pinned bytes. */
static void name_pins(struct mpr_finding *f, const struct mpr_occupancy *o)
{
    const struct mpr_occupancy_pin *pin = o->pins ? &o->pin[0] : NULL;
    if (!pin || pin->pinned < o->sum.pinned / 2 || !pin->row.path.depth) return;
    f->path = pin->row.path;
    mpr_finding_fact(f, (struct mpr_fact){ .key = "pin_blocks",
                                           .type = MPR_FACT_COUNT,
                                           .estimated = pin->row.estimated,
                                           .value = pin->row.blocks });
    mpr_finding_estimate(f, "pin_bytes", pin->row.bytes, pin->row.estimated);
    mpr_finding_estimate(f, "place_bytes", pin->pinned, pin->row.estimated);
}

/* Adds a finding on the free bytes between live blocks.  Returns false if they are not known, or
 * too few to explain the bytes that malloc kept. */
static bool add_pages(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_occupancy *o = e->occupancy;
    const bool glibc = o && o->allocator == MPR_MALLOC_GLIBC,
               jemalloc = o && o->allocator == MPR_MALLOC_JEMALLOC;
    const uint64_t trimmable = o ? o->sum.free - o->measured.returned : 0,
                   free = o ? o->sum.pinned + trimmable : 0;
    if ((!glibc && !jemalloc) || free < MPR_WORTH_BYTES || free < mpr_evidence_kept(e) / 2)
        return false;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_RETENTION, MPF_HEAP_HOST, o->time, free);
    const bool trims = trimmable > o->sum.pinned;
    f->variant = jemalloc ? MPR_VARIANT_JEMALLOC_PINS : trims ? MPR_VARIANT_TRIM : MPR_VARIANT_PINS;
    mpr_finding_bytes(f, "kept_bytes", free);
    mpr_finding_bytes(f, "pinned_bytes", o->sum.pinned);
    if (glibc) mpr_finding_bytes(f, "releasable_bytes", trimmable);
    mpr_finding_bytes(f, "anonymous_bytes", e->retained.anonymous);
    mpr_finding_bytes(f, "live_bytes", o->sum.live);
    mpr_finding_bytes(f, "fallen_bytes", e->retained.fallen);
    if (trims) name_freed(f, e);
    else name_pins(f, o);
    return true;
}

/* Freed blocks whose pages malloc may have kept.  If the log does not show the pages, this is
 * memory that belongs to no live block and appeared as blocks were freed.  Without malloc's blocks
 * the live bytes are not known. */
void mpr_insights_host(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_retained *r = &e->retained;
    const uint64_t kept = mpr_evidence_kept(e);
    if (!kept || add_pages(out, e)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_RETENTION, MPF_HEAP_HOST, r->time, kept);
    f->estimated = true;
    f->variant = e->jemalloc      ? MPR_VARIANT_JEMALLOC
                 : e->threads > 1 ? MPR_VARIANT_ARENAS
                                  : MPR_VARIANT_ONE_ARENA;
    mpr_finding_bytes(f, "kept_bytes", kept);
    mpr_finding_bytes(f, "anonymous_bytes", r->anonymous);
    mpr_finding_bytes(f, "live_bytes", r->live);
    mpr_finding_bytes(f, "other_bytes", r->others);
    mpr_finding_bytes(f, "fallen_bytes", r->fallen);
    name_freed(f, e);
    /* Private memory in no live block, by kind of mapping, is measured, without stacks, static data
     * and memprof, but may include mappings that memprof does not record.  The estimate cannot have
     * blocks that were freed before the heap's peak. */
    const struct mpr_resident *resident = &e->log->resident;
    const uint64_t private = resident->value[MPF_RESIDENT_BRK] + resident->value[MPF_RESIDENT_ANON],
                   unowned =
                       mpr_saturating_sub(private, resident->live_blocks + resident->live_mappings),
                   peak_time = mpr_peaks_heap(e->log, MPF_HEAP_HOST)->peak_time;
    if (resident->valid && resident->time >= peak_time && unowned > kept)
        mpr_finding_bytes(f, "unowned_bytes", unowned);
}

/* ---- resident memory without an owner, by kind of mapping */

/* Adds a finding on @bytes, which it calls @key, if they are at least a quarter of @rss. */
static struct mpr_finding *add_resident(struct mpr_insights *out, enum mpr_finding_kind kind,
                                        uint64_t time, const char *key, uint64_t bytes,
                                        uint64_t rss)
{
    if (bytes < MPR_WORTH_BYTES || bytes < rss / 4) return NULL;
    struct mpr_finding *f = mpr_finding_add(out, kind, MPF_HEAP_HOST, time, bytes);
    mpr_finding_bytes(f, key, bytes);
    mpr_finding_bytes(f, "rss_bytes", rss);
    return f;
}

void mpr_insights_resident(struct mpr_insights *out, const struct mpr_evidence *e)
{
    static const struct {
        enum mpr_finding_kind kind;
        int value;
    } kinds[] = { { MPR_FINDING_FILE_MAPPINGS, MPF_RESIDENT_FILES },
                  { MPR_FINDING_STATIC_DATA, MPF_RESIDENT_DATA },
                  { MPR_FINDING_THREAD_STACKS, MPF_RESIDENT_STACKS } };
    const struct mpr_resident *r = &e->log->resident;
    const struct mpr_reading *largest = &e->log->largest[MPR_READ_RSS];
    const uint64_t tables = largest->value[MPF_RSS_PAGE_TABLES];
    if (largest->valid && tables != MPF_UNKNOWN && e->log->rss_high != MPF_UNKNOWN)
        add_resident(out, MPR_FINDING_PAGE_TABLES, r->valid ? r->time : e->log->summary.duration_ns,
                     "page_table_bytes", tables, e->log->rss_high);
    for (size_t i = 0; r->valid && i < sizeof kinds / sizeof *kinds; i++) {
        const int value = kinds[i].value;
        const struct mpr_resident_file *file = &r->file[value];
        struct mpr_finding *f =
            add_resident(out, kinds[i].kind, r->time, "resident_bytes", r->value[value], r->sum);
        if (!f) continue;
        if (value == MPF_RESIDENT_STACKS)
            mpr_finding_count(f, "stacks", r->value[MPF_RESIDENT_STACK_COUNT]);
        else { /* the program may need these pages */ f->weak = !out->died;
            f->variant = out->died ? MPR_VARIANT_RESIDENT_AT_OOM : MPR_VARIANT_RESIDENT;
        }
        if (!file->bytes) continue;
        mpr_finding_bytes(f, "largest_bytes", file->bytes);
        mpr_finding_detail_text(f, "largest", mpr_arena_text(&out->arena, file->path));
    }
}

/* ---- what a process holds */

static const struct mpr_process_heap *mapped(const struct mpr_process *p)
{
    static const struct mpr_process_heap none;
    for (size_t i = 0; i < p->heaps; i++)
        if (p->heap[i].heap == MPF_HEAP_MMAP) return &p->heap[i];
    return &none;
}

/* Returns the bytes of the process's blocks.  Pages of mappings need not be touched, so mappings
 * count only up to @touched bytes in all. */
static uint64_t blocks_of(const struct mpr_process *p, uint64_t touched)
{
    const uint64_t blocks = p->host.peak_bytes, max = mpr_saturating_sub(touched, blocks),
                   mappings = mapped(p)->peak_bytes;
    return blocks + (mappings < max ? mappings : max);
}

/* Returns the bytes that the worker allocated.  A fork shares its parent's memory until one of them
 * writes to it.  Its private bytes are sampled seldom; its anonymous memory, which includes pages
 * of the parent, is sampled often. */
static uint64_t allocated_by(const struct mpr_process *worker, const struct mpr_process *parent)
{
    const uint64_t alone = worker->summary.alone,
                   more = mpr_saturating_sub(worker->summary.anonymous, parent->summary.anonymous);
    return blocks_of(worker, alone > more ? alone : more);
}

/* Returns a lower bound of copied pages of the parent: private bytes without the worker's blocks.
 */
static uint64_t copied_by(const struct mpr_process *worker, const struct mpr_process *parent)
{
    (void)parent;
    return mpr_saturating_sub(worker->summary.alone,
                              worker->host.peak_bytes + mapped(worker)->peak_bytes);
}

/* ---- workers of one parent */

/* Returns true if the process is a copy of its parent: it was forked and executed nothing. A parent
 * that stayed small left no log. */
static bool is_worker(const struct mpr_processes *all, const struct mpr_process *p)
{
    const struct mpr_process_info *own = &p->summary.process;
    if (p->previous_program != MPR_NO_PROCESS) return false;
    if (p->parent == MPR_NO_PROCESS) return *own->parent_log;
    const struct mpr_process_info *parent = &all->at[p->parent].summary.process;
    if (!own->argc || own->argc != parent->argc) return false;
    for (size_t i = 0; i < own->argc; i++)
        if (strcmp(own->argv[i], parent->argv[i]) != 0) return false;
    return true;
}

/* The parent of workers. */
struct parent {
    size_t process;  /* MPR_NO_PROCESS: it left no log */
    const char *log; /* the name of that log */
};

static struct parent parent_of(const struct mpr_process *worker)
{
    return (struct parent){ worker->parent, worker->summary.process.parent_log };
}

static bool is_worker_of(const struct mpr_processes *all, const struct mpr_process *p,
                         struct parent parent)
{
    return p->parent == parent.process && is_worker(all, p) &&
           (parent.process != MPR_NO_PROCESS ||
            strcmp(p->summary.process.parent_log, parent.log) == 0);
}

/* Returns the parent of the workers in the log's family.  The log's process is a worker, their
 * parent, or the process that started the parent, as with a fork server.  If there are several
 * parents, it is the parent of the workers that hold most. */
static struct parent parent_of_workers(const struct mpr_processes *all, size_t own)
{
    if (is_worker(all, &all->at[own])) return parent_of(&all->at[own]);
    uint64_t *held = mpr_alloc(all->count, sizeof *held), max = 0; /* held: by parent */
    struct parent found = { own, "" };
    for (size_t i = 0; i < all->count; i++) {
        const struct mpr_process *p = &all->at[i];
        if (p->parent != MPR_NO_PROCESS && is_worker(all, p))
            held[p->parent] +=
                allocated_by(p, &all->at[p->parent]) + copied_by(p, &all->at[p->parent]);
    }
    for (size_t parent = 0; parent < all->count; parent++) {
        size_t top = parent;
        while (top != own && top != MPR_NO_PROCESS) top = all->at[top].parent;
        if (top != own || held[parent] <= max) continue;
        max = held[parent];
        found.process = parent;
    }
    free(held);
    return found;
}

struct worker {
    uint64_t bytes;
    const struct mpr_process *process;
};

MPR_COMPARE(by_bytes, struct worker,
            mpr_compare(b->bytes, a->bytes)
                ?: mpr_compare((uintptr_t)a->process, (uintptr_t)b->process))

/* Fills the workers of one parent, those with the largest @bytes_of first.  Returns their number.
 * @about: what is known of the parent */
static size_t find_workers(const struct mpr_processes *all, struct parent parent,
                           const struct mpr_process *about,
                           uint64_t bytes_of(const struct mpr_process *,
                                             const struct mpr_process *),
                           struct worker *worker)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (is_worker_of(all, &all->at[i], parent))
            worker[count++] = (struct worker){ bytes_of(&all->at[i], about), &all->at[i] };
    if (count) qsort(worker, count, sizeof *worker, by_bytes);
    return count;
}

static bool ran_at(const struct mpr_process *p, uint64_t at)
{
    const uint64_t start = p->summary.process.start_ns;
    return !start || (start <= at && at - start <= p->summary.duration_ns);
}

/* Keeps the workers that ran together when their sum was largest: a pool that is made again in each
 * epoch never had more at a time.  They stay in order. */
static size_t keep_concurrent(struct worker *worker, size_t count)
{
    uint64_t max = 0, time = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = worker[i].process->summary.process.start_ns;
        uint64_t sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += ran_at(worker[k].process, at) ? worker[k].bytes : 0;
        if (sum > max) max = sum, time = at;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (ran_at(worker[i].process, time)) worker[kept++] = worker[i];
    return kept;
}

/* Workers with about the same bytes. */
struct pool {
    uint64_t count, sum, max, min; /* bytes */
    bool at_a_time;                /* more workers ran at other times */
};

/* Returns the workers that hold from half to twice the bytes of the worker that holds the middle
 * byte of all: workers that load the same data differ by their current batches.  Many small workers
 * would move a median of workers, but not this one. */
static struct pool pool_of(struct worker *worker, size_t count)
{
    const size_t ran = keep_concurrent(worker, count);
    struct pool p = { .min = UINT64_MAX, .at_a_time = ran < count };
    uint64_t sum = 0, so_far = 0, middle = 0;
    for (size_t i = 0; i < ran; i++) sum += worker[i].bytes;
    for (size_t i = 0; i < ran && !middle; i++)
        if ((so_far += worker[i].bytes) >= sum / 2) middle = worker[i].bytes;
    for (size_t i = 0; i < ran; i++) {
        const uint64_t bytes = worker[i].bytes;
        if (bytes < middle - middle / 2 || bytes / 2 > middle) continue;
        if (bytes < p.min) p.min = bytes;
        if (bytes > p.max) p.max = bytes;
        p.sum += bytes;
        p.count++;
    }
    return p;
}

/* ---- findings on workers */

/* Adds a finding to the larger host heap of the log's process. */
static struct mpr_finding *add(struct mpr_insights *out, enum mpr_finding_kind kind,
                               const struct mpr_process *own, uint64_t bytes)
{
    const struct mpr_process_heap *mappings = mapped(own);
    return mappings->peak_bytes > own->host.peak_bytes
               ? mpr_finding_add(out, kind, mappings->heap, mappings->peak_time, bytes)
               : mpr_finding_add(out, kind, MPF_HEAP_HOST, own->host.peak_time, bytes);
}

/* @others: another worker holds much more than these, which they may all need. */
static void add_pool(struct mpr_insights *out, enum mpr_finding_kind kind, const struct pool *p,
                     uint64_t saved, uint64_t parent_bytes, const struct mpr_process *own,
                     bool others)
{
    if (p->count < 2 || !mpr_worth(saved, p->sum)) return;
    struct mpr_finding *f = add(out, kind, own, saved);
    f->weak = others;
    f->variant = others ? p->at_a_time ? MPR_VARIANT_OTHERS_AT_A_TIME : MPR_VARIANT_OTHER_WORKERS
                 : p->at_a_time ? MPR_VARIANT_AT_A_TIME
                                : MPR_VARIANT_ALL_WORKERS;
    mpr_finding_count(f, "workers", p->count);
    mpr_finding_bytes(f, "least_bytes", p->min);
    mpr_finding_bytes(f, "most_bytes", p->max);
    mpr_finding_bytes(f, "all_bytes", p->sum);
    if (parent_bytes != MPF_UNKNOWN) mpr_finding_bytes(f, "parent_bytes", parent_bytes);
}

/* Reports the largest worker if it holds more than the others, as a worker that leaks does. Returns
 * the number of outliers, which come first. */
static size_t add_outlier(struct mpr_insights *out, const struct worker *worker, size_t count,
                          const struct mpr_process *own)
{
    uint64_t *bytes = mpr_alloc(count, sizeof *bytes);
    for (size_t i = 0; i < count; i++) bytes[i] = worker[i].bytes;
    const size_t outliers = mpr_outliers_above(bytes, count);
    free(bytes);
    if (!outliers) return 0;
    const uint64_t median = worker[count / 2].bytes, more = worker->bytes - median;
    if (!mpr_worth_growth(more, worker->bytes)) return outliers;
    struct mpr_finding *f = add(out, MPR_FINDING_WORKER, own, more);
    mpr_finding_fact(
        f, (struct mpr_fact){ "pid", MPR_FACT_ID, false, worker->process->summary.process.pid });
    mpr_finding_count(f, "workers", count);
    mpr_finding_bytes(f, "peak_bytes", worker->bytes);
    mpr_finding_bytes(f, "median_peak_bytes", median);
    return outliers;
}

void mpr_insights_family(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_processes *all = out->family;
    size_t log = 0;
    while (all && log < all->count && strcmp(all->at[log].summary.path, e->log->summary.path) != 0)
        log++;
    if (!all || log == all->count) return;
    const struct mpr_process *own = &all->at[log];
    static const struct mpr_process small; /* it left no log */
    const struct parent parent = parent_of_workers(all, log);
    const bool known = parent.process != MPR_NO_PROCESS;
    const struct mpr_process *about = known ? &all->at[parent.process] : &small;
    const uint64_t parent_bytes = known ? blocks_of(about, about->summary.anonymous) : MPF_UNKNOWN;
    struct worker *worker = mpr_alloc(all->count, sizeof *worker);
    size_t count = find_workers(all, parent, about, allocated_by, worker);
    const size_t before = out->findings, outliers = add_outlier(out, worker, count, own);
    const struct pool allocated = pool_of(worker + outliers, count - outliers);
    const bool stands_out =
        out->findings > before && out->finding[before].bytes >= allocated.max / 2;
    add_pool(out, MPR_FINDING_WORKERS, &allocated, allocated.sum - allocated.max, parent_bytes, own,
             stands_out);
    count = find_workers(all, parent, about, copied_by, worker);
    const struct pool copied = pool_of(worker, count);
    add_pool(out, MPR_FINDING_COPIED_PAGES, &copied, copied.sum, parent_bytes, own, false);
    free(worker);
}
