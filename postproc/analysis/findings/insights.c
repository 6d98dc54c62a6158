/* One reading gives the peaks, and the evidence with them; then the rules look at it. */
#include "insights.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "device.h"
#include "evidence.h"
#include "gpu.h"
#include "labels.h"
#include "leaks.h"
#include "oom_host.h"
#include "prescan.h"
#include "projection.h"
#include "reader.h"
#include "repeats.h"
#include "retained.h"
#include "sharing.h"
#include "survivors.h"

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

static void tick(void *arg, const struct mpr_replay *r, uint64_t time)
{
    mpr_retained_tick(&((struct mpr_insights_reading *)arg)->retained, r, time);
}

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct mpr_insights_reading *g = arg;
    mpr_refusals_see(&g->refusals, r, t, e);
    if (e->op == MPF_OP_SAMPLE_RSS) mpr_retained_sample(&g->retained, r);
}

struct mpr_insights_reading *mpr_insights_watch(struct mpr_insights *out, struct mpr_reader *reader,
                                                const char *path, bool alone)
{
    struct mpr_insights_reading *g = mpr_alloc(1, sizeof *g);
    *out = (struct mpr_insights){ .family = NULL };
    *g = (struct mpr_insights_reading){ .out = out, .path = path, .alone = alone };
    mpr_watch_begin(&reader->replay, (struct mpr_watch){ see, g });
    mpr_clock_begin(&reader->replay,
                    &(struct mpr_clock){ .tick = tick, .arg = g, .every = MPR_RETAINED_TICK_NS });
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

static size_t threads(const struct mpr_replay *r)
{
    size_t count = 0;
    for (uint32_t i = 0; i < r->threads.count; i++) count += r->threads.at[i] && i;
    return count;
}

static void fill_oom(struct mpr_insights *out, const struct mpr_reader *reader,
                     const struct mpr_oom *oom)
{
    struct mpr_insights_oom *o = &out->oom;
    *o = (struct mpr_insights_oom){ .told = true,
                                    .capturing = oom->capturing,
                                    .device = mpf_heap_device(oom->heap),
                                    .time = oom->time,
                                    .asked = oom->bytes,
                                    .free = oom->free,
                                    .total = oom->total,
                                    .heap = oom->heap };
    mpr_device_fill_state(&o->state, &out->arena, reader, &oom->snapshot);
    o->path = mpr_label_node(&out->arena, reader, oom->node ? oom->node : oom->python);
}

/* Takes what the rules need besides the peaks, by the same grouping. */
static void end(struct mpr_insights_reading *g, const struct mpr_reader *reader)
{
    const struct mpr_oom *oom = mpr_oom_newest(&reader->replay.gpu);
    /* The result with the longer life comes first: its arena gets the frames (labels.h). */
    if (oom) fill_oom(g->out, reader, oom);
    if (oom) g->evidence.at_oom[mpf_heap_device(oom->heap)] = true;
    mpr_refusals_end(&g->refusals);
    g->out->refused = mpr_refusals_newest(&g->refusals, &g->out->arena, reader);
    mpr_segments_fill(&g->segments, reader, oom);
    mpr_prescan_take(&g->look, reader);
    mpr_retained_end(&g->retained, mpr_log_status(reader->log)->end_ns, false);
    g->evidence.threads = threads(&reader->replay);
    g->evidence.jemalloc = reader->replay.samples.source[MPR_SOURCE_JEMALLOC].count;
}

/* Takes the instances of the outermost range that repeats often enough to compare them. */
static void take_instances(struct mpr_insights_reading *g, const struct mpr_reader *reader)
{
    const uint32_t repeat = mpr_repeats_outermost_with(reader->repeats, MPR_STEPS_LEAST);
    if (!repeat) return;
    g->look.range = mpr_repeats_name(reader->repeats, &g->out->arena, repeat);
    g->measured = mpr_instances_none;
    g->has_measured = mpr_instances_take_repeat(&g->measured, g->instances, reader, g->path, repeat,
                                                MPF_HEAP_NONE);
}

/* ---- the rules */

static void apply_rules(struct mpr_insights *out, const struct mpr_evidence *e)
{
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
    mpr_findings_settle(out);
}

/* ---- a log */

/* Did memory run out, or may it have?  A program ends without a word in its log where it is killed,
 * but also where it has no more way to its log (chroot). */
static bool died(const struct mpr_summary *s)
{
    if (s->oom != MPR_FATE_NO_OOM) return true;
    if (s->complete || s->life != MPR_ENDED) return false;
    return s->fate == MPR_FATE_UNKNOWN || (s->fate == MPR_FATE_SIGNAL && s->fate_status == SIGKILL);
}

/* Reads the log again, so only if a range repeats. */
static void read_steps(struct mpr_insights *out, struct mpr_insights_reading *g, const char *path,
                       const struct mpr_progress *progress)
{
    struct mpr_error none;
    struct mpr_evidence *e = &g->evidence;
    const char *range = g->look.range;
    const struct mpr_steps_options options = { .instances = { .range = range },
                                               .by = MPR_GROUP_AUTO,
                                               .choice = &e->log->choice,
                                               .known = g->has_measured ? &g->measured : NULL };
    out->has_steps = range && mpr_steps_read(&out->steps, path, &options, progress, &none) == 0;
    if (out->has_steps) e->steps = &out->steps;
}

/* Reads the log again if no range repeats.  A program that ends soon grows until its end. */
static void read_leaks(struct mpr_insights *out, struct mpr_evidence *e,
                       const struct mpr_prescan *look, const char *path,
                       const struct mpr_progress *progress)
{
    struct mpr_error none;
    const struct mpr_leaks_options options = { .by = MPR_GROUP_AUTO,
                                               .at_end = true,
                                               .known = look };
    out->has_leaks = !look->range && look->end_ns >= MPR_STARTUP_NS &&
                     mpr_leaks_read(&out->leaks, path, &options, progress, &none) == 0;
    if (out->has_leaks) e->leaks = &out->leaks;
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

/* Returns the growth that steps found, which has no owner yet, or NULL. */
static struct mpr_finding *nameless_growth(struct mpr_insights *out)
{
    for (size_t i = 0; i < out->findings; i++)
        if (out->finding[i].kind == MPR_FINDING_GROWTH && !out->finding[i].path.depth)
            return &out->finding[i];
    return NULL;
}

/* Names the site of that heap that grew most, and its part of the growth. */
static void name_growth(struct mpr_insights *out, struct mpr_finding *f)
{
    const struct mpr_leaks_heap *h = out->leaks.heap;
    const size_t heaps = out->leaks.peaks.log[0].heaps;
    uint64_t all = 0;
    for (size_t i = 0; i < heaps && h->live->heap != f->heap; i++) h++;
    if (h == out->leaks.heap + heaps || !h->growing.rows || !h->growing.row[0].row.path.depth)
        return;
    for (size_t i = 0; i < h->growing.rows; i++) all += h->growing.row[i].row.bytes;
    f->path = h->growing.row[0].row.path;
    if (h->growing.rows < 2 || !all) return;
    mpr_finding_detail(f, (struct mpr_fact){ .key = "place_bytes",
                                             .type = MPR_FACT_BYTES,
                                             .estimated = h->growing.row[0].row.estimated,
                                             .value = h->growing.row[0].row.bytes });
    mpr_finding_detail(
        f, (struct mpr_fact){ .key = "sites_bytes", .type = MPR_FACT_BYTES, .value = all });
}

/* Steps show how much each instance keeps.  Another reading, by their range, finds the site. */
static void read_growth(struct mpr_insights *out, const struct mpr_prescan *look, const char *path,
                        const struct mpr_progress *progress)
{
    struct mpr_error none;
    const struct mpr_leaks_options options = {
        .by = MPR_GROUP_AUTO, .range = look->range, .at_end = true, .known = look
    };
    struct mpr_finding *f = look->range && !out->has_leaks ? nameless_growth(out) : NULL;
    if (!f) return;
    out->has_leaks = mpr_leaks_read(&out->leaks, path, &options, progress, &none) == 0;
    if (out->has_leaks && out->leaks.kept >= MPR_LEAKS_LEAST) name_growth(out, f);
}

/* Takes the breakdown at the peak, and the owners by Python stacks for the summary. */
static void take_breakdown(struct mpr_insights_reading *g, struct mpr_reader *reader)
{
    struct mpr_insights *out = g->out;
    const struct mpr_choice python = { .by = MPR_GROUP_PYTHON, .source = "" };
    if (!mpr_peaks_has_torch(&out->peaks.log[0]) || out->oom.told) return;
    if (!g->alone) {
        struct mpr_projection projection;
        mpr_peaks_init(&out->by_python,
                       &(struct mpr_peaks_options){ .by = python.by, .at = MPR_INSTANT_PEAK });
        mpr_projection_begin(&projection, &reader->replay, python.by, NULL);
        mpr_peaks_take(&out->by_python, reader, g->path, &python);
        mpr_projection_end(&projection, &reader->replay);
    }
    mpr_breakdown_take(&out->breakdown, g->breakdown, reader, g->path);
    out->has_breakdown = true;
}

/* Reads the log again for the instant at which memory ran out. */
static void read_breakdown(struct mpr_insights *out, const char *path, bool alone,
                           const struct mpr_progress *progress)
{
    struct mpr_error none;
    struct mpr_reader reader;
    const struct mpr_choice python = { .by = MPR_GROUP_PYTHON, .source = "" };
    const struct mpr_instant at = MPR_INSTANT_AT(out->oom.time);
    if (!mpr_peaks_has_torch(&out->peaks.log[0]) || !out->oom.told) return;
    if (mpr_reader_open(&reader, path, MPR_GROUP_PLACE, at, &none) != 0) return;
    struct mpr_breakdown_reading *b = mpr_breakdown_watch(&reader);
    reader.replay.options.without_malloc = alone;
    reader.repeats = mpr_repeats_watch(&reader.replay);
    out->has_breakdown = mpr_reader_replay(&reader, path, progress, &none) == 0;
    if (out->has_breakdown) {
        struct mpr_projection projection;
        mpr_peaks_init(&out->by_python, &(struct mpr_peaks_options){ .by = python.by, .at = at });
        mpr_projection_begin(&projection, &reader.replay, python.by, NULL);
        if (!alone) mpr_peaks_take(&out->by_python, &reader, path, &python);
        mpr_projection_end(&projection, &reader.replay);
        mpr_breakdown_take(&out->breakdown, b, &reader, path);
        mpr_reader_close(&reader);
    }
    mpr_breakdown_reading_free(b);
}

static void free_observers(struct mpr_insights_reading *g)
{
    if (!g->breakdown) return;
    mpr_breakdown_reading_free(g->breakdown);
    g->breakdown = NULL;
    mpr_instances_end(g->instances);
    mpr_own_peaks_free(&g->by_best);
    mpr_own_peaks_free(&g->by_python);
}

static void find_device_evidence(struct mpr_insights_reading *g, const struct mpr_reader *reader,
                                 const struct mpr_oom *oom)
{
    const struct mpr_gpu *gpu = &reader->replay.gpu;
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        const bool failed = oom && mpf_heap_device(oom->heap) == i;
        mpr_device_evidence_fill(&g->device[i], &g->out->arena, reader,
                                 failed ? &oom->snapshot : &gpu->device[i].peak,
                                 failed ? oom : NULL);
    }
    for (uint32_t i = 0; i < gpu->ooms; i++)
        g->evidence.refusals[mpf_heap_device(gpu->oom[i].heap)] += gpu->oom[i].attempts;
    g->evidence.device = g->device;
}

/* Before a projection: the cells are those that the observer has seen. */
static void find_sites(struct mpr_insights_reading *g, const struct mpr_reader *reader)
{
    const struct mpr_oom *oom = mpr_oom_newest(&reader->replay.gpu);
    struct mpr_evidence *e = &g->evidence;
    mpr_survivors_settle(&g->survivors);
    e->site_growth = mpr_site_growth_find(&g->out->arena, &g->survivors, reader, &e->site_growths);
    e->site_temporary =
        mpr_site_temporaries_find(&g->out->arena, &g->survivors, reader, &e->site_temporaries);
    e->site_use = mpr_site_uses_find(&g->out->arena, &g->survivors, reader, &e->site_uses);
    e->churn = mpr_segment_churn_find(&g->out->arena, &g->survivors, reader, &e->churns);
    find_device_evidence(g, reader, oom);
}

void mpr_insights_take(struct mpr_insights_reading *g, struct mpr_reader *reader)
{
    struct mpr_projection projection;
    const struct mpr_choice choice = mpr_choose(reader);
    find_sites(g, reader);
    mpr_peaks_init(&g->out->peaks,
                   &(struct mpr_peaks_options){ .by = MPR_GROUP_AUTO, .at = MPR_INSTANT_PEAK });
    mpr_projection_begin(&projection, &reader->replay, choice.by, NULL);
    mpr_peaks_take(&g->out->peaks, reader, g->path, &choice);
    end(g, reader);
    mpr_projection_end(&projection, &reader->replay);
    take_breakdown(g, reader);
    take_instances(g, reader);
    free_observers(g);
}

void mpr_insights_finish(struct mpr_insights_reading *g, const struct mpr_processes *family,
                         const struct mpr_progress *progress)
{
    struct mpr_insights *out = g->out;
    out->family = family;
    mpr_peaks_finish(&out->peaks);
    g->evidence.log = &out->peaks.log[0];
    out->died = died(&g->evidence.log->summary);
    if (out->died) mpr_retained_end(&g->retained, g->evidence.log->summary.duration_ns, true);
    g->evidence.retained = g->retained.largest;
    g->evidence.segments = &g->segments;
    g->look.choice = out->peaks.log[0].choice;
    read_steps(out, g, g->path, progress);
    read_leaks(out, &g->evidence, &g->look, g->path, progress);
    read_breakdown(out, g->path, g->alone, progress);
    if (!g->alone) read_at_rss(out, g->path, progress);
    if (out->has_breakdown) g->evidence.breakdown = &out->breakdown;
    take_states(g, progress);
    apply_rules(out, &g->evidence);
    read_growth(out, &g->look, g->path, progress);
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
    mpr_peaks_free(&out->by_python);
    mpr_peaks_free(&out->at_rss);
    mpr_peaks_free(&out->peaks);
    free(out->finding);
    mpr_arena_free(&out->arena);
}
