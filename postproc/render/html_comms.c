#include "html_comms.h"

#include "insights.h"

static void row(struct mpr_json *j, const struct mpr_comm_row *c)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_text(j, "id", c->name);
    mpr_json_known(j, "ranks", c->ranks, UINT64_MAX);
    mpr_json_known(j, "rank", c->rank, UINT64_MAX);
    mpr_json_text(j, "first_use", c->first_use);
    mpr_json_number(j, "bytes", c->bytes);
    mpr_json_number(j, "blocks", c->blocks);
    mpr_json_close(j, '}');
}

static void device(struct mpr_json *j, unsigned index, const struct mpr_device_state *s,
                   bool at_oom)
{
    if (!s->comms) return;
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "device", index);
    mpr_json_flag(j, "at_oom", at_oom);
    mpr_json_number(j, "time_ns", s->time);
    mpr_json_open(j, "rows", '[');
    for (size_t i = 0; i < s->comms; i++) row(j, &s->comm[i]);
    mpr_json_close(j, ']');
    mpr_json_close(j, '}');
}

/* When memory ran out, else at the device's peak. */
void mpr_html_comms(struct mpr_json *j, const struct mpr_insights *in)
{
    const struct mpr_log_peaks *log = in ? &in->peaks.log[0] : NULL;
    mpr_json_open(j, "communicators", '[');
    for (size_t i = 0; log && i < log->devices; i++) {
        const bool out = in->oom.told && in->oom.device == log->device[i].index;
        device(j, log->device[i].index, out ? &in->oom.state : &log->device[i].peak, out);
    }
    mpr_json_close(j, ']');
}
