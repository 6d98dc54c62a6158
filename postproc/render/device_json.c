#include "device_json.h"

#include "json_rows.h"
#include "json_summary.h"
#include "mpf/sample.h"
#include "peaks.h"

static void parts(struct mpr_json *j, const struct mpr_device_state *s)
{
    mpr_json_open(j, "parts", '[');
    for (size_t i = 0; i < s->parts; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "part", s->part[i].key);
        mpr_json_signed(j, "bytes", s->part[i].bytes);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

static void rows(struct mpr_json *j, const struct mpr_device_state *s, size_t top)
{
    const size_t shown = top && top < s->rows ? top : s->rows;
    uint64_t omitted = 0;
    mpr_json_open(j, "torch_live", '[');
    for (size_t i = 0; i < shown; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_path(j, "path", s->row[i].path, s->row[i].depth);
        mpr_json_number(j, "bytes", s->row[i].bytes);
        mpr_json_number(j, "blocks", s->row[i].blocks);
        mpr_json_number(j, "inherited_bytes", s->row[i].inherited);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
    for (size_t i = shown; i < s->rows; i++) omitted += s->row[i].bytes;
    mpr_json_number(j, "torch_live_omitted_bytes", omitted);
}

static void comms(struct mpr_json *j, const struct mpr_device_state *s)
{
    mpr_json_open(j, "communicators", '[');
    for (size_t i = 0; i < s->comms; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_text(j, "id", s->comm[i].name);
        mpr_json_known(j, "ranks", s->comm[i].ranks, UINT64_MAX);
        mpr_json_known(j, "rank", s->comm[i].rank, UINT64_MAX);
        mpr_json_text(j, "first_use", s->comm[i].first_use);
        mpr_json_number(j, "bytes", s->comm[i].bytes);
        mpr_json_number(j, "blocks", s->comm[i].blocks);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

void mpr_device_state_json(struct mpr_json *j, const struct mpr_device_state *s, size_t top)
{
    mpr_json_number(j, "time_ns", s->time);
    mpr_json_known(j, "used_bytes", s->used, MPF_UNKNOWN);
    mpr_json_known(j, "total_bytes", s->total, MPF_UNKNOWN);
    mpr_json_number(j, "tracked_bytes", s->tracked);
    parts(j, s);
    mpr_json_number(j, "torch_segment_bytes", s->torch_segments);
    mpr_json_number(j, "largest_hole_bytes", s->largest_hole);
    rows(j, s, top);
    comms(j, s);
}

void mpr_device_json(struct mpr_json *j, const struct mpr_device *d, size_t top)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "index", d->index);
    mpr_json_text(j, "name", d->name);
    mpr_json_text(j, "uuid", d->uuid);
    if (*d->off) mpr_json_text(j, "driver_allocations_missing", d->off);
    mpr_json_number(j, "torch_reserved_peak_bytes", d->torch_reserved_peak);
    if (d->peak.valid) mpr_device_state_json(j, &d->peak, top);
    mpr_json_close(j, '}');
}
