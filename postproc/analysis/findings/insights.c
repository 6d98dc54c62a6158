/* One reading gives the peaks, and the evidence with them; then the rules look at it.  Of their
 * findings, those that another one explains are dropped, and the most useful come first. */
#include "insights.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "evidence.h"
#include "gpu.h"
#include "heap_names.h"
#include "labels.h"
#include "leaks.h"
#include "oom_host.h"
#include "prescan.h"
#include "projection.h"
#include "reader.h"
#include "repeats.h"
#include "sharing.h"
#include "survivors.h"

/* ---- findings */

const char *const mpr_finding_keys[MPR_FINDING_KINDS] = {
#define X(name, key) key,
    MPR_FINDINGS(X)
#undef X
};

struct mpr_finding *mpr_finding_add(struct mpr_insights *out, enum mpr_finding_kind kind,
                                    uint8_t heap, uint64_t time, uint64_t bytes)
{
    MPR_GROW(out->finding, out->findings, out->cap);
    struct mpr_finding *f = &out->finding[out->findings++];
    *f = (struct mpr_finding){ .kind = kind, .heap = heap, .bytes = bytes, .time = time };
    return f;
}

void mpr_finding_fact(struct mpr_finding *f, struct mpr_fact fact)
{
    assert(f->facts < MPR_FACTS_MAX);
    f->fact[f->facts++] = fact;
}

void mpr_finding_bytes(struct mpr_finding *f, const char *key, uint64_t value)
{
    mpr_finding_estimate(f, key, value, false);
}

void mpr_finding_estimate(struct mpr_finding *f, const char *key, uint64_t value, bool estimated)
{
    mpr_finding_fact(f, (struct mpr_fact){ key, MPR_FACT_BYTES, estimated, value });
}

void mpr_finding_count(struct mpr_finding *f, const char *key, uint64_t value)
{
    mpr_finding_fact(f, (struct mpr_fact){ .key = key, .type = MPR_FACT_COUNT, .value = value });
}

void mpr_finding_detail(struct mpr_finding *f, struct mpr_fact detail)
{
    detail.detail = true;
    mpr_finding_fact(f, detail);
}

void mpr_finding_detail_text(struct mpr_finding *f, const char *key, const char *text)
{
    mpr_finding_detail(f, (struct mpr_fact){ .key = key, .type = MPR_FACT_TEXT, .text = text });
}

const struct mpr_finding *mpr_finding_of(const struct mpr_insights *in, enum mpr_finding_kind kind,
                                         uint8_t heap)
{
    for (size_t i = 0; i < in->findings; i++)
        if (in->finding[i].kind == kind && in->finding[i].heap == heap) return &in->finding[i];
    return NULL;
}

const struct mpr_fact *mpr_finding_value(const struct mpr_finding *f, const char *key,
                                         size_t length)
{
    for (const struct mpr_fact *fact = f->fact; fact < f->fact + f->facts; fact++)
        if (strncmp(fact->key, key, length) == 0 && !fact->key[length]) return fact;
    return NULL;
}

/* ---- competition */

/* A finding that another one of its heap explains. */
struct covered {
    enum mpr_finding_kind by, kind;
    unsigned times; /* the largest ratio of its bytes to those of the other, or 0 for any ratio */
    enum mpr_finding_variant variant; /* required variant of the other, or 0 for any */
};
static const struct covered covered[] = {
    { MPR_FINDING_FAILED_ATTEMPT, MPR_FINDING_GROWTH, 0 },
    { MPR_FINDING_FAILED_ATTEMPT, MPR_FINDING_ACTIVATIONS, 0 },
    { MPR_FINDING_FAILED_ATTEMPT, MPR_FINDING_HOLDER, 0 },
    /* blocks of several forward passes, which one backward pass would free */
    { MPR_FINDING_ACTIVATIONS, MPR_FINDING_GROWTH, 2, MPR_VARIANT_WITHOUT_BACKWARD },
    { MPR_FINDING_WORKSPACES, MPR_FINDING_GROWTH, 2 },
    /* blocks that a captured graph keeps or uses again */
    { MPR_FINDING_GRAPH_POOLS, MPR_FINDING_GROWTH, 1 },
    { MPR_FINDING_GRAPH_POOLS, MPR_FINDING_TEMPORARIES, 1 },
    { MPR_FINDING_GRAPH_PER_SHAPE, MPR_FINDING_GRAPH_POOLS, 0 },
    { MPR_FINDING_GRAPH_PER_SHAPE, MPR_FINDING_GROWTH, 1 },
    { MPR_FINDING_GRAPH_PER_SHAPE, MPR_FINDING_TEMPORARIES, 1 },
    /* a part of what makes the instance large; others do not need as much */
    { MPR_FINDING_INSTANCE, MPR_FINDING_TEMPORARIES, 2 },
    { MPR_FINDING_INSTANCE, MPR_FINDING_ACTIVATIONS, 0 },
};

static bool is_covered(const struct mpr_insights *in, const struct mpr_finding *f)
{
    for (size_t i = 0; i < sizeof covered / sizeof *covered; i++)
        for (size_t k = 0; k < in->findings; k++) {
            const struct mpr_finding *other = &in->finding[k];
            if (f->kind == covered[i].kind && other->kind == covered[i].by && !other->weak &&
                other->heap == f->heap &&
                (!covered[i].variant || other->variant == covered[i].variant) &&
                (!covered[i].times || f->bytes / covered[i].times <= other->bytes))
                return true;
        }
    return false;
}

uint64_t mpr_insights_missing(const struct mpr_insights *in)
{
    const struct mpr_insights_oom *o = &in->oom;
    return o->free == MPF_UNKNOWN ? o->asked : mpr_saturating_sub(o->asked, o->free);
}

/* Only a replay of the allocator tells how much of the free pieces a request can use. */
bool mpr_finding_makes_room(const struct mpr_insights *in, const struct mpr_finding *f)
{
    return in->oom.told && !f->weak && f->kind != MPR_FINDING_FRAGMENTATION &&
           mpf_heap_is_gpu(f->heap) && mpf_heap_device(f->heap) == in->oom.device &&
           f->bytes >= mpr_insights_missing(in);
}

/* Places in the order: findings that would have made room for the request that failed, those that
 * the program can do without, and those that it may need. */
enum rank { MAKES_ROOM, SAVES, MAY_SAVE };

static enum rank rank_of(const struct mpr_insights *in, const struct mpr_finding *f)
{
    return f->weak ? MAY_SAVE : mpr_finding_makes_room(in, f) ? MAKES_ROOM : SAVES;
}

static int by_use(const void *left, const void *right, void *insights)
{
    const struct mpr_finding *a = left, *b = right;
    const enum rank x = rank_of(insights, a), y = rank_of(insights, b);
    if (x != y) return mpr_compare(x, y);
    if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return mpr_heap_by_name(a->heap, b->heap);
}

/* Leaves one finding for each cause, and sorts them by use. */
static void settle(struct mpr_insights *in)
{
    bool *drop = mpr_alloc(in->findings, sizeof *drop);
    size_t kept = 0;
    for (size_t i = 0; i < in->findings; i++) drop[i] = is_covered(in, &in->finding[i]);
    for (size_t i = 0; i < in->findings; i++)
        if (!drop[i]) in->finding[kept++] = in->finding[i];
    in->findings = kept;
    free(drop);
    if (kept) qsort_r(in->finding, kept, sizeof *in->finding, by_use, in);
}

/* ---- evidence */

/* Data collected by a reading of the log. */
struct mpr_insights_reading {
    struct mpr_insights *out;
    bool alone; /* the breakdown is read without owners by Python stacks */
    struct mpr_segments segments;
    struct mpr_device_state state[MPF_GPUS];
    struct mpr_device_evidence device[MPF_GPUS];
    struct mpr_evidence evidence;
    const char *path;
    struct mpr_breakdown_reading *breakdown;
    struct mpr_own_peaks by_best, by_python;
    struct mpr_instances_reading *instances;
    struct mpr_instances measured; /* if has_measured */
    bool has_measured;
    struct mpr_prescan look; /* range: the outermost one that repeats often enough to
                                   compare, or NULL */
    struct mpr_retained_samples retained;
    struct mpr_refusals refusals;
    struct mpr_survivors survivors;
};

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    mpr_refusals_see(&((struct mpr_insights_reading *)arg)->refusals, r, t, e);
}

struct mpr_insights_reading *mpr_insights_watch(struct mpr_insights *out, struct mpr_reader *reader,
                                                const char *path, bool alone)
{
    struct mpr_insights_reading *g = mpr_alloc(1, sizeof *g);
    *out = (struct mpr_insights){ .family = NULL };
    *g = (struct mpr_insights_reading){ .out = out, .path = path, .alone = alone };
    mpr_watch_begin(&reader->replay, (struct mpr_watch){ see, g });
    mpr_retained_watch(&g->retained, &reader->replay);
    if (!alone) {
        mpr_own_peaks_begin(&g->by_best, &reader->replay, MPR_GROUP_AUTO);
        mpr_own_peaks_begin(&g->by_python, &reader->replay, MPR_GROUP_PYTHON);
    }
    g->breakdown = mpr_breakdown_watch(reader);
    if (!reader->repeats) reader->repeats = mpr_repeats_watch(&reader->replay);
    g->instances = mpr_instances_watch(reader, NULL);
    mpr_survivors_begin(&g->survivors, &reader->replay);
    return g;
}

/* Takes the evidence besides the peaks, by the same grouping.  The result with the longer life
 * comes first: its arena gets the frames (labels.h). */
static void take_evidence(struct mpr_insights_reading *g, const struct mpr_reader *reader)
{
    struct mpr_insights *out = g->out;
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_oom *oom = mpr_oom_newest(&r->gpu);
    if (oom) {
        const unsigned device = mpf_heap_device(oom->heap);
        out->oom =
            (struct mpr_insights_oom){ .told = true,
                                       .capturing = oom->capturing,
                                       .own_limit = !oom->attempts && oom->free == MPF_UNKNOWN,
                                       .device = device,
                                       .time = oom->time,
                                       .asked = oom->bytes,
                                       .free = oom->free,
                                       .total = oom->total,
                                       .heap = oom->heap };
        mpr_device_fill_state(&out->oom.state, &out->arena, reader, &oom->snapshot);
        out->oom.path = mpr_label_node(&out->arena, reader, oom->node ? oom->node : oom->python);
        g->evidence.at_oom[device] = true;
    }
    mpr_refusals_settle(&g->refusals);
    out->refused = mpr_refusals_newest(&g->refusals, &out->arena, reader);
    mpr_segments_fill(&g->segments, reader, oom);
    mpr_prescan_take(&g->look, reader);
    mpr_retained_end(&g->retained, mpr_log_status(reader->log)->end_ns, false);
    for (uint32_t i = 1; i < r->threads.count; i++) g->evidence.threads += r->threads.at[i] != NULL;
    g->evidence.jemalloc = r->samples.source[MPR_SOURCE_JEMALLOC].count;
}

/* ---- more readings */

/* Reads the log again, so only if a range repeats. */
static void read_steps(struct mpr_insights_reading *g, const struct mpr_progress *progress)
{
    struct mpr_insights *out = g->out;
    struct mpr_error none;
    const struct mpr_steps_options options = { .instances = { .range = g->look.range },
                                               .by = MPR_GROUP_AUTO,
                                               .choice = &out->peaks.log[0].choice,
                                               .known = g->has_measured ? &g->measured : NULL };
    out->has_steps =
        g->look.range && mpr_steps_read(&out->steps, g->path, &options, progress, &none) == 0;
    if (out->has_steps) g->evidence.steps = &out->steps;
}

/* Reads the log again for call sites that grow: by the instances of the range that repeats, or over
 * time. */
static void read_leaks(struct mpr_insights_reading *g, const struct mpr_progress *progress)
{
    struct mpr_insights *out = g->out;
    struct mpr_error none;
    const struct mpr_leaks_options options = {
        .by = MPR_GROUP_AUTO, .range = g->look.range, .at_end = true, .known = &g->look
    };
    out->has_leaks = mpr_leaks_read(&out->leaks, g->path, &options, progress, &none) == 0;
}

/* Reads the log again for the instant of the highest resident memory, if that says more than the
 * heaps' peaks and is another instant. */
static void read_at_rss(struct mpr_insights *out, const char *path,
                        const struct mpr_progress *progress)
{
    const struct mpr_log_peaks *log = &out->peaks.log[0];
    const struct mpr_reading_peak *rss = &log->rss_peak;
    struct mpr_error none;
    bool same = true;
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        same &= h->inside || h->nested || (h->peak_time >= rss->from && h->peak_time <= rss->to);
    }
    if (same || !mpr_peaks_rss_leads(log)) return;
    mpr_peaks_init(&out->at_rss,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_AUTO,
                                                .choice = &log->choice,
                                                .at = { rss->from, rss->to, false } });
    if (mpr_peaks_add(&out->at_rss, path, progress, &none) == 0) mpr_peaks_finish(&out->at_rss);
}

/* Reads the log again for malloc's pages, if malloc may have kept much. */
static void read_occupancy(struct mpr_insights_reading *g, const struct mpr_progress *progress)
{
    struct mpr_evidence *e = &g->evidence;
    struct mpr_error none;
    const struct mpr_occupancy_options options = { .which = MPR_OCCUPANCY_AT_TIME,
                                                   .at = MPR_INSTANT_END_OF(e->retained.time),
                                                   .by = MPR_GROUP_AUTO,
                                                   .choice = &e->log->choice };
    if (!mpr_evidence_kept(e) ||
        mpr_occupancy_read(&g->out->occupancy, g->path, &options, progress, &none) != 0)
        return;
    if (g->out->occupancy.gap == MPR_OCCUPANCY_KNOWN) e->occupancy = &g->out->occupancy;
}

/* Takes the devices' accounts when memory ran out, or else at their peaks, and names the other
 * processes in them. */
static void take_states(struct mpr_insights_reading *g, const struct mpr_progress *progress)
{
    struct mpr_insights *out = g->out;
    const struct mpr_log_peaks *log = g->evidence.log;
    const struct mpr_device *failed = NULL;
    for (size_t i = 0; out->oom.told && i < log->devices; i++)
        if (log->device[i].index == out->oom.device) failed = &log->device[i];
    const struct mpr_shared_account oom = { &out->oom.state, failed ? failed->uuid : "",
                                            &log->summary };
    if (out->family) mpr_sharing_of_peaks(&out->peaks, failed ? &oom : NULL, out->family, progress);
    for (size_t i = 0; i < log->devices; i++) g->state[log->device[i].index] = log->device[i].peak;
    if (out->oom.told) g->state[out->oom.device] = out->oom.state;
    g->evidence.state = g->state;
}

/* Names the site that grew most, and its part of the growth, if steps found growth without an
 * owner: they show how much each instance keeps, and another reading finds the site. */
static void name_growth(struct mpr_insights_reading *g, const struct mpr_progress *progress)
{
    struct mpr_insights *out = g->out;
    struct mpr_finding *f = out->finding, *end = f + out->findings;
    while (f < end && (f->kind != MPR_FINDING_GROWTH || f->path.depth)) f++;
    if (f == end || !g->look.range || out->has_leaks) return;
    read_leaks(g, progress);
    if (!out->has_leaks || out->leaks.kept < MPR_LEAKS_LEAST) return;
    const struct mpr_leaks_heap *h = out->leaks.heap;
    const size_t heaps = out->leaks.peaks.log[0].heaps;
    uint64_t all = 0;
    for (size_t i = 0; i < heaps && h->live->heap != f->heap; i++) h++;
    if (h == out->leaks.heap + heaps || !h->growing.rows || !h->growing.row[0].row.path.depth)
        return;
    const struct mpr_row *site = &h->growing.row[0].row;
    for (size_t i = 0; i < h->growing.rows; i++) all += h->growing.row[i].row.bytes;
    f->path = site->path;
    if (h->growing.rows < 2 || !all) return;
    mpr_finding_detail(
        f, (struct mpr_fact){ "place_bytes", MPR_FACT_BYTES, site->estimated, site->bytes });
    mpr_finding_detail(f, (struct mpr_fact){ "sites_bytes", MPR_FACT_BYTES, false, all });
}

/* Takes the breakdown at the instant, and the owners by Python stacks for the summary. */
static void take_breakdown(struct mpr_insights_reading *g, struct mpr_breakdown_reading *breakdown,
                           struct mpr_reader *reader, struct mpr_instant at)
{
    struct mpr_insights *out = g->out;
    const struct mpr_choice python = { .by = MPR_GROUP_PYTHON, .source = "" };
    struct mpr_projection projection;
    if (!g->alone) {
        mpr_peaks_init(&out->by_python, &(struct mpr_peaks_options){ .by = python.by, .at = at });
        mpr_projection_begin(&projection, &reader->replay, python.by, NULL);
        mpr_peaks_take(&out->by_python, reader, g->path, &python);
        mpr_projection_end(&projection, &reader->replay);
    }
    mpr_breakdown_take(&out->breakdown, breakdown, reader, g->path);
    out->has_breakdown = true;
}

/* Reads the log again for the breakdown at the instant at which memory ran out. */
static void read_breakdown(struct mpr_insights_reading *g, const struct mpr_progress *progress)
{
    struct mpr_error none;
    struct mpr_reader reader;
    const struct mpr_instant at = MPR_INSTANT_AT(g->out->oom.time);
    if (!mpr_peaks_has_torch(&g->out->peaks.log[0]) || !g->out->oom.told) return;
    if (mpr_reader_open(&reader, g->path, MPR_GROUP_PLACE, at, &none) != 0) return;
    struct mpr_breakdown_reading *breakdown = mpr_breakdown_watch(&reader);
    reader.replay.options.without_malloc = g->alone;
    reader.repeats = mpr_repeats_watch(&reader.replay);
    if (mpr_reader_replay(&reader, g->path, progress, &none) == 0) {
        take_breakdown(g, breakdown, &reader, at);
        mpr_reader_close(&reader);
    }
    mpr_breakdown_reading_free(breakdown);
}

/* ---- a log */

static void free_observers(struct mpr_insights_reading *g)
{
    if (!g->breakdown) return;
    mpr_breakdown_reading_free(g->breakdown);
    g->breakdown = NULL;
    mpr_instances_end(g->instances);
    mpr_own_peaks_free(&g->by_best);
    mpr_own_peaks_free(&g->by_python);
}

/* Takes the evidence by call site and by device.  It is called before a projection, because the
 * observer has seen the replay's cells. */
static void take_sites(struct mpr_insights_reading *g, const struct mpr_reader *reader)
{
    struct mpr_arena *arena = &g->out->arena;
    struct mpr_evidence *e = &g->evidence;
    const struct mpr_gpu *gpu = &reader->replay.gpu;
    const struct mpr_oom *oom = mpr_oom_newest(gpu);
    mpr_survivors_finish(&g->survivors);
    e->site_growth = mpr_site_growth_find(arena, &g->survivors, reader, &e->site_growths);
    e->site_temporary =
        mpr_site_temporaries_find(arena, &g->survivors, reader, &e->site_temporaries);
    e->site_use = mpr_site_uses_find(arena, &g->survivors, reader, &e->site_uses);
    e->churn = mpr_segment_churn_find(arena, &g->survivors, reader, &e->churns);
    e->device = g->device;
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const bool failed = oom && mpf_heap_device(oom->heap) == i;
        mpr_device_evidence_fill(&g->device[i], arena, reader,
                                 failed ? &oom->snapshot : &gpu->device[i].peak,
                                 failed ? oom : NULL);
    }
    for (uint32_t i = 0; i < gpu->ooms; i++)
        e->refusals[mpf_heap_device(gpu->oom[i].heap)] += gpu->oom[i].attempts;
}

void mpr_insights_take(struct mpr_insights_reading *g, struct mpr_reader *reader)
{
    struct mpr_insights *out = g->out;
    struct mpr_projection projection;
    const struct mpr_choice choice = mpr_choose(reader);
    take_sites(g, reader);
    mpr_peaks_init(&out->peaks,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    mpr_projection_begin(&projection, &reader->replay, choice.by, NULL);
    mpr_peaks_take(&out->peaks, reader, g->path, &choice);
    take_evidence(g, reader);
    mpr_projection_end(&projection, &reader->replay);
    if (mpr_peaks_has_torch(&out->peaks.log[0]) && !out->oom.told)
        take_breakdown(g, g->breakdown, reader, MPR_INSTANT_PEAK);
    /* The instances of the outermost range that repeats often enough to compare them. */
    const uint32_t repeat = mpr_repeats_outermost_with(reader->repeats, MPR_STEPS_LEAST);
    if (repeat) {
        g->look.range = mpr_repeats_name(reader->repeats, &out->arena, repeat);
        g->measured = mpr_instances_none;
        g->has_measured = mpr_instances_take_repeat(&g->measured, g->instances, reader, g->path,
                                                    repeat, MPF_HEAP_NONE);
    }
    free_observers(g);
}

bool mpr_insights_died(const struct mpr_summary *s)
{
    if (s->oom != MPR_FATE_NO_OOM) return true;
    if (s->complete || s->life != MPR_ENDED) return false;
    return s->fate == MPR_FATE_UNKNOWN || (s->fate == MPR_FATE_SIGNAL && s->fate_status == SIGKILL);
}

void mpr_insights_finish(struct mpr_insights_reading *g, const struct mpr_processes *family,
                         const struct mpr_progress *progress)
{
    struct mpr_insights *out = g->out;
    struct mpr_evidence *e = &g->evidence;
    out->family = family;
    mpr_peaks_finish(&out->peaks);
    e->log = &out->peaks.log[0];
    out->died = mpr_insights_died(&e->log->summary);
    if (out->died) mpr_retained_end(&g->retained, e->log->summary.duration_ns, true);
    e->retained = g->retained.largest;
    e->segments = &g->segments;
    g->look.choice = e->log->choice;
    read_steps(g, progress);
    /* A program that ends soon grows until its end. */
    if (!g->look.range && g->look.end_ns >= MPR_STARTUP_NS) read_leaks(g, progress);
    if (out->has_leaks) e->leaks = &out->leaks;
    read_breakdown(g, progress);
    if (!g->alone) read_at_rss(out, g->path, progress);
    read_occupancy(g, progress);
    if (out->has_breakdown) e->breakdown = &out->breakdown;
    take_states(g, progress);
    mpr_insights_torch(out, e);
    mpr_insights_roles(out, e);
    mpr_insights_device(out, e);
    mpr_insights_steps(out, e);
    mpr_insights_sites(out, e);
    mpr_insights_growth(out, e);
    mpr_insights_resident(out, e);
    mpr_insights_host(out, e);
    mpr_insights_family(out, e);
    mpr_insights_uses(out, e);
    mpr_insights_holders(out, e);
    settle(out);
    name_growth(g, progress);
    mpr_insights_end(g);
}

void mpr_insights_end(struct mpr_insights_reading *g)
{
    free_observers(g);
    mpr_segments_free(&g->segments);
    mpr_survivors_free(&g->survivors);
    free(g);
}

int mpr_insights_read(struct mpr_insights *out, const char *path,
                      const struct mpr_processes *family, bool alone,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_open(&reader, path, MPR_GROUP_PLACE, MPR_INSTANT_PEAK, error) != 0) return -1;
    struct mpr_insights_reading *g = mpr_insights_watch(out, &reader, path, alone);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        mpr_insights_take(g, &reader);
        mpr_reader_close(&reader);
        mpr_insights_finish(g, family, progress);
    } else mpr_insights_end(g);
    return status;
}

void mpr_insights_free(struct mpr_insights *out)
{
    if (out->has_steps) mpr_steps_free(&out->steps);
    if (out->has_leaks) mpr_leaks_free(&out->leaks);
    if (out->has_breakdown) mpr_breakdown_free(&out->breakdown);
    mpr_occupancy_free(&out->occupancy);
    mpr_peaks_free(&out->by_python);
    mpr_peaks_free(&out->at_rss);
    mpr_peaks_free(&out->peaks);
    free(out->finding);
    mpr_arena_free(&out->arena);
}
