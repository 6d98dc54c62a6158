/* Several processes at the instant of the first failure: part of JSON "memprof.oom/1". */
#include "gpu_reports.h"
#include "json_rows.h"
#include "json_summary.h"
#include "mpf/sample.h"
#include "ooms_json.h"

static void processes(struct mpr_json *j, const struct mpr_ooms *ooms)
{
    mpr_json_open(j, "processes", '[');
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_then *t = &ooms->log[i].then;
        if (!t->alive) continue;
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "path", ooms->log[i].summary.path);
        mpr_json_number(j, "time_ns", t->time);
        mpr_json_reading(j, "rss", MPR_READ_RSS, &t->rss);
        mpr_json_number(j, "host_bytes", t->host);
        mpr_json_open(j, "devices", '[');
        for (size_t k = 0; k < t->devices; k++) {
            mpr_json_open(j, NULL, '{');
            mpr_json_number(j, "index", t->device[k].index);
            mpr_json_text(j, "uuid", t->device[k].uuid);
            mpr_json_known(j, "used_bytes", t->device[k].used, MPF_UNKNOWN);
            mpr_json_number(j, "tracked_bytes", t->device[k].tracked);
            mpr_json_number(j, "torch_bytes", t->device[k].torch);
            mpr_json_close(j, '}');
        }
        mpr_json_close(j, ']');
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void devices(struct mpr_json *j, const struct mpr_ooms *ooms)
{
    mpr_json_open(j, "devices", '[');
    for (size_t i = 0; i < ooms->sums; i++) {
        const struct mpr_device_sum *d = &ooms->sum[i];
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "host", d->host);
        mpr_json_text(j, "uuid", d->uuid);
        mpr_json_text(j, "name", d->name);
        mpr_json_known(j, "used_bytes", d->used, MPF_UNKNOWN);
        mpr_json_known(j, "total_bytes", d->total, MPF_UNKNOWN);
        mpr_json_number(j, "tracked_bytes", d->tracked);
        mpr_json_number(j, "torch_bytes", d->torch);
        mpr_json_number(j, "processes", d->processes);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

void mpr_ooms_compare_json(struct mpr_json *j, const struct mpr_ooms *ooms, size_t top)
{
    if (!ooms->compared) {
        mpr_json_null(j, "first_failure");
        return;
    }
    mpr_json_open(j, "first_failure", '{');
    mpr_json_text(j, "path", ooms->log[0].summary.path);
    mpr_json_text(j, "of", ooms->device_failure ? "device" : "host");
    mpr_json_number(j, "failed_processes", ooms->failed);
    processes(j, ooms);
    devices(j, ooms);
    mpr_growth_json(j, "against_median", &ooms->against, top);
    mpr_json_close(j, '}');
}
