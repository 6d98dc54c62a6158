/* JSON "memprof.oom/1". */
#include "device_json.h"
#include "gpu_reports.h"
#include "json.h"
#include "json_summary.h"
#include "mpf/sample.h"
#include "ooms.h"

static void path(struct mpr_json *j, const char *key, const char *const *text, size_t depth)
{
    mpr_json_open(j, key, '[');
    for (size_t i = 0; i < depth; i++) mpr_json_text(j, NULL, text[i]);
    mpr_json_close(j, ']');
}

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

static void largest(struct mpr_json *j, const struct mpr_oom_story *s)
{
    mpr_json_open(j, "largest", '[');
    for (size_t i = 0; i < s->blocks; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_number(j, "bytes", s->largest[i].bytes);
        mpr_json_number(j, "age_ns", s->largest[i].age);
        path(j, "path", s->largest[i].path, s->largest[i].depth);
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
    path(j, "path", s->path, s->depth);
    path(j, "python", s->python, s->python_depth);
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
    largest(j, s);
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
        mpr_json_number(&j, "host_failures", ooms->log[i].host_failures);
        mpr_json_close(&j, '}');
    }
    mpr_json_close(&j, ']');
    mpr_json_close(&j, '}');
    fputc('\n', out);
}
