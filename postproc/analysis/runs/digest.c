#include "digest.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "alloc.h"
#include "basename.h"
#include "digest_parts.h"
#include "insights.h"
#include "ooms.h"
#include "timeline.h"
#include "utf8.h"
#include "who.h"

void mpr_digest_free(struct mpr_digest *d) { mpr_arena_free(&d->arena); }

/* ---- of which files */

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : UINT64_MAX;
}

static uint64_t size_beside(const char *log, const char *ending)
{
    char *path = mpr_text_format("%s%s", log, ending);
    const uint64_t bytes = size_of(path);
    free(path);
    return bytes;
}

bool mpr_digest_look(struct mpr_digest_source *source, const char *log)
{
    *source = (struct mpr_digest_source){ size_of(log), size_beside(log, ".fold"),
                                          size_beside(log, ".journal") };
    return source->log_bytes != UINT64_MAX;
}

/* Events may come to a journal without a change of its size. */
bool mpr_digest_is_fresh(const struct mpr_digest *d, const struct mpr_digest_source *now)
{
    const struct mpr_digest_process *p = d->process;
    return p->source.log_bytes == now->log_bytes && p->source.fold_bytes == now->fold_bytes &&
           p->source.journal_bytes == now->journal_bytes &&
           (p->ended_for_certain || now->journal_bytes == UINT64_MAX);
}

/* ---- texts */

const char *mpr_digest_text(struct mpr_digest *d, const char *text)
{
    return mpr_arena_text(&d->arena,
                          mpr_utf8_shortened(&d->arena, text ? text : "", MPR_DIGEST_TEXT));
}

const char *mpr_digest_path(struct mpr_digest *d, enum mpr_group by, struct mpr_path path)
{
    return path.depth ? mpr_digest_text(d, mpr_frame_path_text(&d->arena, path))
                      : mpr_group_nowhere(by);
}

/* ---- the process */

static void fill_process(struct mpr_digest *d, const struct mpr_log_peaks *log,
                         const struct mpr_digest_words *words)
{
    const struct mpr_summary *s = &log->summary;
    const struct mpr_process_info *who = &s->process;
    d->process = mpr_arena_alloc(&d->arena, sizeof *d->process);
    d->processes = 1;
    *d->process = (struct mpr_digest_process){
        .file = mpr_digest_text(d, mpr_basename(s->path)),
        .host = mpr_digest_text(d, who->host),
        .rank = mpr_digest_text(d, who->rank),
        .program = mpr_digest_text(d, who->argc ? mpr_basename(who->argv[0]) : ""),
        .ended = mpr_digest_text(d, words->ended(&d->arena, s)),
        .pid = who->pid,
        .ppid = who->ppid,
        .start_ns = who->start_ns,
        .duration_ns = s->duration_ns,
        .events = s->events,
        .lost_events = s->lost_events,
        .complete = s->complete,
        .incomplete = s->incomplete,
        .ended_for_certain = s->life == MPR_ENDED,
        .failed_ns = UINT64_MAX,
        .rss_high = log->rss_high,
        .named = mpr_digest_text(d, log->choice.source),
        .host_blocks =
            s->recording.blocks == MPR_RECORDED_ALL ? "" : mpr_recorded_name(s->recording.blocks),
    };
}

/* ---- over time */

static size_t spans_each(const struct mpr_timeline *t)
{
    const size_t share = t->heaps ? MPR_DIGEST_SPANS / t->heaps : 0;
    if (share > MPR_DIGEST_SPANS_MOST) return MPR_DIGEST_SPANS_MOST;
    return share < MPR_DIGEST_SPANS_LEAST ? MPR_DIGEST_SPANS_LEAST : share;
}

static void add_span(struct mpr_digest *d, uint8_t heap, const struct mpr_span *s)
{
    d->span[d->spans++] =
        (struct mpr_digest_span){ heap, s->start, s->time, s->max, s->min, s->close };
}

/* The next one joins: so does what is between them, for a level lasts until it changes. */
static void widen(struct mpr_digest_span *to, const struct mpr_span *s)
{
    if (s->max > to->max_bytes) {
        to->max_bytes = s->max;
        to->time_of_max_ns = s->time;
    }
    if (s->min < to->min_bytes) to->min_bytes = s->min;
    to->close_bytes = s->close;
}

static void fill_spans(struct mpr_digest *d, const struct mpr_timeline *t)
{
    const size_t each = spans_each(t);
    d->span = mpr_arena_alloc(&d->arena, t->heaps * each * sizeof *d->span);
    for (size_t i = 0; i < t->heaps; i++) {
        const struct mpr_heap_line *h = &t->heap[i];
        const size_t joined = (h->spans + each - 1) / each;
        for (size_t k = 0; k < h->spans; k++) {
            if (k % joined == 0) add_span(d, h->heap, &h->span[k]);
            else widen(&d->span[d->spans - 1], &h->span[k]);
        }
    }
}

static int read_series(struct mpr_digest *d, const char *path, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    const struct mpr_timeline_options wanted = { .by = MPR_GROUP_RANGE,
                                                 .to = UINT64_MAX,
                                                 .buckets = MPR_DIGEST_SPANS_MOST,
                                                 .bands = 1,
                                                 .changes = SIZE_MAX };
    struct mpr_timeline timeline;
    if (mpr_timeline_read(&timeline, path, &wanted, progress, error) != 0) return -1;
    fill_spans(d, &timeline);
    mpr_timeline_free(&timeline);
    return 0;
}

/* ---- lacks of memory */

static bool any_failed(const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = &in->peaks.log[0];
    bool any = in->oom.told || log->summary.oom != MPR_FATE_NO_OOM;
    for (size_t i = 0; i < log->heaps; i++)
        any |= log->heap[i].failures && mpf_heap_is_gpu(log->heap[i].heap);
    return any;
}

static struct mpr_digest_oom oom_of(struct mpr_digest *d, const struct mpr_oom_story *s)
{
    return (struct mpr_digest_oom){ .time_ns = s->time,
                                    .device = s->index,
                                    .heap = s->heap,
                                    .thread = mpr_digest_text(d, s->thread),
                                    .path = mpr_digest_path(d, MPR_GROUP_RANGE, s->path),
                                    .asked_bytes = s->bytes,
                                    .free_bytes = s->free,
                                    .total_bytes = s->total,
                                    .got_over = !s->hard };
}

/* The newest ones, which are the ones that say most. */
static void fill_ooms(struct mpr_digest *d, const struct mpr_ooms_log *log)
{
    const size_t first = log->stories > MPR_DIGEST_OOMS ? log->stories - MPR_DIGEST_OOMS : 0;
    d->oom = mpr_arena_alloc(&d->arena, MPR_DIGEST_OOMS * sizeof *d->oom);
    d->process->ooms_hard = log->hard;
    d->process->ooms_soft = log->soft;
    for (size_t i = first; i < log->stories; i++) d->oom[d->ooms++] = oom_of(d, &log->story[i]);
}

static int read_ooms(struct mpr_digest *d, const char *path, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct mpr_who_end end;
    struct mpr_ooms ooms = { .by = MPR_GROUP_AUTO };
    if (mpr_who_ended(&end, path, MPF_HEAP_NONE, progress, error) != 0) return -1;
    if (end.failed != MPR_NEVER && end.failed >= d->process->start_ns)
        d->process->failed_ns = end.failed - d->process->start_ns;
    const int status = mpr_ooms_add(&ooms, path, progress, error);
    for (size_t i = 0; i < ooms.logs; i++) fill_ooms(d, &ooms.log[i]);
    mpr_ooms_free(&ooms);
    return status;
}

/* ---- one log */

static int read_more(struct mpr_digest *d, const struct mpr_insights *in, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error)
{
    if (read_series(d, path, progress, error) != 0) return -1;
    return any_failed(in) ? read_ooms(d, path, progress, error) : 0;
}

int mpr_digest_make(struct mpr_digest *d, const char *path, const struct mpr_digest_words *words,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_insights insights;
    struct mpr_digest_source source;
    mpr_digest_look(&source, path); /* what comes later makes it stale */
    *d = (struct mpr_digest){ 0 };
    if (mpr_insights_read(&insights, path, NULL, NULL, progress, error) != 0) return -1;
    fill_process(d, &insights.peaks.log[0], words);
    d->process->source = source;
    mpr_digest_fill_peaks(d, &insights.peaks.log[0], words->naming);
    mpr_digest_fill_rest(d, &insights);
    const int status = read_more(d, &insights, path, progress, error);
    mpr_insights_free(&insights);
    if (status != 0) mpr_digest_free(d);
    return status;
}
