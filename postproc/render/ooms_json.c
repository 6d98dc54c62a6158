/* JSON "memprof.oom/1". */
#include "device_json.h"
#include "gpu_reports.h"
#include "json.h"
#include "json_rows.h"
#include "json_summary.h"
#include "mpf/sample.h"
#include "ooms_json.h"

static void fits(struct mpr_json *j, const struct mpr_oom_story *s)
{
    mpr_json_open(j, "would_fit", '[');
    for (size_t i = 0; i < s->fits; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "with", s->fit[i].key);
        mpr_json_number(j, "bytes", s->fit[i].bytes);
        mpr_json_flag(j, "fits", s->fit[i].fits);
        mpr_json_number(j, "short_bytes", s->fit[i].missing);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

void mpr_growth_json(struct mpr_json *j, const char *key, const struct mpr_growth *g, size_t top)
{
    if (!g->valid) {
        mpr_json_null(j, key);
        return;
    }
    mpr_json_open(j, key, '{');
    if (g->time) mpr_json_number(j, "time_ns", g->time);
    mpr_json_number(j, "before_bytes", g->before);
    mpr_json_number(j, "after_bytes", g->after);
    mpr_json_open(j, "changes", '[');
    for (size_t i = 0; i < g->rows && (!top || i < top); i++) {
        mpr_json_open(j, NULL, '{');
        if (g->row[i].key) mpr_json_text(j, "part", g->row[i].key);
        else mpr_json_path(j, "path", g->row[i].path, g->row[i].depth);
        mpr_json_signed(j, "before_bytes", g->row[i].before);
        mpr_json_signed(j, "after_bytes", g->row[i].after);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

static void largest(struct mpr_json *j, const struct mpr_oom_story *s)
{
    mpr_json_open(j, "largest", '[');
    for (size_t i = 0; i < s->blocks; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_number(j, "bytes", s->largest[i].bytes);
        mpr_json_number(j, "age_ns", s->largest[i].age);
        mpr_json_path(j, "path", s->largest[i].path, s->largest[i].depth);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void story(struct mpr_json *j, const struct mpr_oom_story *s, size_t top)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_flag(j, "hard", s->hard);
    mpr_json_number(j, "time_ns", s->time);
    mpr_json_text(j, "heap", s->heap);
    mpr_json_text(j, "thread", s->thread);
    mpr_json_text(j, "library", s->library);
    mpr_json_path(j, "path", s->path, s->depth);
    mpr_json_path(j, "python", s->python, s->python_depth);
    mpr_json_number(j, "bytes", s->bytes);
    mpr_json_number(j, "needed_bytes", s->needed);
    mpr_json_known(j, "free_bytes", s->free, MPF_UNKNOWN);
    mpr_json_known(j, "total_bytes", s->total, MPF_UNKNOWN);
    mpr_json_number(j, "flushed_bytes", s->flushed);
    mpr_json_number(j, "driver_refusals", s->attempts);
    mpr_json_flag(j, "capturing", s->capturing);
    if (s->state.valid) {
        mpr_json_open(j, "device", '{');
        mpr_json_number(j, "index", s->index);
        mpr_device_state_json(j, &s->state, top);
        mpr_json_close(j, '}');
    }
    fits(j, s);
    mpr_growth_json(j, "since_good_peak", &s->growth, top);
    if (*s->good) mpr_json_text(j, "good_instance", s->good);
    else mpr_json_null(j, "good_instance");
    largest(j, s);
    mpr_json_close(j, '}');
}

static void refusals(struct mpr_json *j, const struct mpr_host_story *s)
{
    mpr_json_open(j, "failed", '[');
    for (size_t i = 0; i < s->refusals; i++) {
        const struct mpr_host_refusal *f = &s->refusal[i];
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "heap", f->heap);
        mpr_json_path(j, "path", f->path, f->depth);
        mpr_json_text(j, "thread", f->thread);
        mpr_json_number(j, "errno", f->error);
        mpr_json_number(j, "count", f->count);
        mpr_json_number(j, "largest_bytes", f->largest);
        mpr_json_number(j, "newest_ns", f->time);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void host(struct mpr_json *j, const struct mpr_host_story *s, size_t top)
{
    if (!s->told) {
        mpr_json_null(j, "host");
        return;
    }
    mpr_json_open(j, "host", '{');
    mpr_json_flag(j, "killed", s->killed);
    mpr_json_flag(j, "at_limit", s->full);
    mpr_json_reading(j, "cgroup", MPR_READ_CGROUP, &s->cgroup);
    mpr_json_reading(j, "rss", MPR_READ_RSS, &s->rss);
    mpr_json_reading(j, "rss_before", MPR_READ_RSS, &s->rss_then);
    mpr_json_number(j, "end_ns", s->end);
    mpr_growth_json(j, "growth", &s->growth, top);
    refusals(j, s);
    mpr_json_close(j, '}');
}

void mpr_ooms_json(FILE *out, const struct mpr_ooms *ooms, const struct mpr_style *style)
{
    struct mpr_json j = { out, 0, true };
    mpr_json_open(&j, NULL, '{');
    mpr_json_text(&j, "schema", "memprof.oom/1");
    mpr_json_open(&j, "logs", '[');
    for (size_t i = 0; i < ooms->logs; i++) {
        mpr_json_open(&j, NULL, '{');
        mpr_json_summary(&j, &ooms->log[i].summary);
        mpr_json_text(&j, "by", mpr_group_name[ooms->log[i].choice.by]);
        if (*ooms->log[i].choice.source) mpr_json_text(&j, "ranges_from", ooms->log[i].choice.source);
        mpr_json_open(&j, "ooms", '[');
        for (size_t k = 0; k < ooms->log[i].stories; k++) story(&j, &ooms->log[i].story[k], style->top);
        mpr_json_close(&j, ']');
        mpr_json_number(&j, "host_failures", ooms->log[i].host.failures);
        host(&j, &ooms->log[i].host, style->top);
        mpr_json_close(&j, '}');
    }
    mpr_json_close(&j, ']');
    mpr_ooms_compare_json(&j, ooms, style->top);
    mpr_json_close(&j, '}');
    fputc('\n', out);
}
