/* The reserved memory that PyTorch would have had with other settings, by device. */
#include <inttypes.h>

#include "reports.h"
#include "what_if.h"

/* ---- texts */

static const char *const answers[] = { "no", "maybe", "yes", "unknown" };

/* "4.53 GiB", "4.50 to 4.56 GiB" */
static const char *span(struct mpr_document *doc, struct mpr_what_if_span s)
{
    if (s.low == s.high) return mpr_doc_size(doc, s.high);
    return mpr_arena_format(&doc->arena, "%s to %s", mpr_doc_size(doc, s.low),
                            mpr_doc_size(doc, s.high));
}

static void label(struct mpr_document *doc, const char *word)
{
    mpr_doc_label(doc, MPR_PLAIN, 2, 11, word);
}

/* ---- fields */

#define OF(member) MPR_FIELD(mpr_what_if_device, member)

MPR_VALUE(is_replayed, mpr_what_if_device, d, mpr_value_flag(!d->refused))
MPR_VALUE(fits_word, mpr_what_if_device, d,
          d->refused ? mpr_value_unknown : mpr_value_text(answers[d->fits]))
MPR_VALUE(allocated, mpr_what_if_device, d,
          d->refused ? mpr_value_unknown : mpr_value_number(MPR_BYTES, d->recorded.allocated))
MPR_VALUE(estimate, mpr_what_if_device, d,
          d->refused ? mpr_value_unknown : mpr_value_number(MPR_BYTES, d->estimate))
MPR_VALUE(low, mpr_what_if_device, d,
          d->refused ? mpr_value_unknown : mpr_value_number(MPR_BYTES, d->reserved.low))
MPR_VALUE(high, mpr_what_if_device, d,
          d->refused ? mpr_value_unknown : mpr_value_number(MPR_BYTES, d->reserved.high))
MPR_VALUE(failed_ns, mpr_what_if_device, d,
          d->failed_bytes && !d->refused ? mpr_value_number(MPR_TIME, d->failed_ns)
                                         : mpr_value_unknown)
MPR_VALUE(room, mpr_what_if_device, d,
          d->refused ? mpr_value_unknown : mpr_value_known(MPR_BYTES, d->room, UINT64_MAX))

// clang-format off
static const struct mpr_column device_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "device", .type = MPR_COUNT, OF(index) },
    { .key = "name", .type = MPR_TEXT, OF(name) },
    { .key = "replayed", .type = MPR_FLAG, .get = is_replayed },
    { .key = "reason", .type = MPR_TEXT, OF(refused), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "reason_ns", .type = MPR_TIME, OF(refused_ns), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "allocations", .type = MPR_COUNT, OF(allocations) },
    { .key = "inexact_allocations", .type = MPR_COUNT, OF(inexact) },
    { .key = "recorded_reserved_bytes", .type = MPR_BYTES, OF(recorded.reserved) },
    { .key = "recorded_allocated_bytes", .type = MPR_BYTES, .get = allocated },
    { .key = "recorded_ns", .type = MPR_TIME, OF(recorded.time) },
    { .key = "reserved_bytes", .type = MPR_BYTES, .get = estimate },
    { .key = "reserved_low_bytes", .type = MPR_BYTES, .get = low },
    { .key = "reserved_high_bytes", .type = MPR_BYTES, .get = high },
    { .key = "replays", .type = MPR_COUNT, OF(replays) },
    { .key = "fits", .type = MPR_TEXT, .get = fits_word },
    { .key = "least_free_bytes", .type = MPR_BYTES, .get = room },
    { .key = "failed_ns", .type = MPR_TIME, .get = failed_ns },
    { .key = "failed_bytes", .type = MPR_BYTES, OF(failed_bytes), .unless = MPR_UNKNOWN_AT_0 },
};

#define OF_OOM(member) MPR_FIELD(mpr_what_if_oom, member)

MPR_VALUE(oom_fits, mpr_what_if_oom, o, mpr_value_text(answers[o->fits]))

static const struct mpr_column oom_columns[] = {
    { .key = "time_ns", .type = MPR_TIME, OF_OOM(time) },
    { .key = "bytes", .type = MPR_BYTES, OF_OOM(bytes) },
    { .key = "fits", .type = MPR_TEXT, .get = oom_fits },
    { .key = "short_low_bytes", .type = MPR_BYTES, OF_OOM(missing.low) },
    { .key = "short_high_bytes", .type = MPR_BYTES, OF_OOM(missing.high) },
    { .key = "reserved_low_bytes", .type = MPR_BYTES, OF_OOM(reserved.low) },
    { .key = "reserved_high_bytes", .type = MPR_BYTES, OF_OOM(reserved.high) },
};
// clang-format on

/* ---- a device */

static void replayed_line(struct mpr_document *doc, const struct mpr_what_if_device *d)
{
    label(doc, "replayed");
    mpr_doc_line(doc, "%s: each block and each segment as recorded",
                 mpr_doc_counted(doc, d->allocations, "allocation", "allocations"));
}

static void recorded_line(struct mpr_document *doc, const struct mpr_what_if_device *d)
{
    label(doc, "recorded");
    mpr_doc_add_plain(doc, "reserved peak %s at %s", mpr_doc_size(doc, d->recorded.reserved),
                      mpr_doc_time(doc, d->recorded.time));
    if (!d->refused)
        mpr_doc_add_plain(doc, ", allocated peak %s", mpr_doc_size(doc, d->recorded.allocated));
    mpr_doc_end(doc);
}

static void changed_line(struct mpr_document *doc, const struct mpr_what_if_device *d)
{
    const uint64_t before = d->recorded.reserved, after = d->estimate;
    label(doc, "what if");
    mpr_doc_add_plain(doc, "reserved peak %s", mpr_doc_size(doc, after));
    if (after == before) mpr_doc_add_plain(doc, ", no change");
    else if (after < before) mpr_doc_add_plain(doc, ", %s less", mpr_doc_size(doc, before - after));
    else mpr_doc_add_plain(doc, ", %s more", mpr_doc_size(doc, after - before));
    mpr_doc_end(doc);
    if (d->reserved.low == d->reserved.high) return;
    label(doc, "");
    mpr_doc_line(doc,
                 "%s in %" PRIu64 " replays: %s may have been for up to 1 MiB less than the block",
                 span(doc, d->reserved), d->replays,
                 mpr_doc_counted(doc, d->inexact, "request", "requests"));
}

static void fits_line(struct mpr_document *doc, const struct mpr_what_if_device *d)
{
    label(doc, "fits");
    switch (d->fits) {
    case MPR_WHAT_IF_UNKNOWN:
        mpr_doc_line(doc, "unknown: the log does not have the free memory of the device");
        break;
    case MPR_WHAT_IF_YES:
        mpr_doc_line(doc, "yes%s: at least %s of the device remain free",
                     d->ooms ? ", all other requests" : "", mpr_doc_size(doc, d->room));
        break;
    case MPR_WHAT_IF_NO:
    case MPR_WHAT_IF_MAYBE:
        mpr_doc_line(doc, "%s: a request of %s runs out of memory at %s",
                     d->fits == MPR_WHAT_IF_NO ? "no" : "maybe not",
                     mpr_doc_size(doc, d->failed_bytes), mpr_doc_time(doc, d->failed_ns));
    }
}

static void oom_line(struct mpr_document *doc, const struct mpr_what_if_oom *o)
{
    static const char *const would[] = { "would also fail", "might fit", "would fit", "" };
    label(doc, "OOM");
    mpr_doc_add_plain(doc, "the request of %s at %s %s", mpr_doc_size(doc, o->bytes),
                      mpr_doc_time(doc, o->time), would[o->fits]);
    if (o->fits == MPR_WHAT_IF_NO) mpr_doc_add_plain(doc, ": %s short", span(doc, o->missing));
    mpr_doc_end(doc);
}

static void device(struct mpr_document *doc, const struct mpr_what_if_device *d)
{
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, device_columns, d);
    mpr_doc_objects(doc, "ooms", oom_columns, d->oom, d->ooms);
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "gpu%u", d->index);
    mpr_doc_line(doc, " %s", d->name);
    if (!d->refused) replayed_line(doc, d);
    recorded_line(doc, d);
    if (!d->refused) {
        changed_line(doc, d);
        for (size_t i = 0; i < d->ooms; i++) oom_line(doc, &d->oom[i]);
        fits_line(doc, d);
    } else {
        label(doc, "what if");
        mpr_doc_add_plain(doc, "not computed: %s", d->refused);
        if (d->refused_ns != UINT64_MAX)
            mpr_doc_add_plain(doc, " (at %s)", mpr_doc_time(doc, d->refused_ns));
        mpr_doc_end(doc);
    }
    mpr_doc_close(doc);
}

/* ---- the settings */

/* PyTorch collects garbage only if the memory of the process is limited. */
static bool collects_nothing(const struct mpr_caching_settings *s)
{
    return s->collect_above > 0 && s->memory_fraction <= 0;
}

void mpr_report_what_if(struct mpr_document *doc, const struct mpr_what_if *result)
{
    mpr_report_schema(doc, "memprof.what_if/1");
    mpr_report_log(doc, &result->summary);
    mpr_doc_fact(doc, "alloc_conf", mpr_value_text(result->options.text));
    if (collects_nothing(&result->options.settings)) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc,
                     "garbage_collection_threshold has no effect without "
                     "torch.cuda.set_per_process_memory_fraction: add per_process_memory_fraction");
    }
    mpr_doc_list(doc, "devices");
    for (size_t i = 0; i < result->devices; i++) device(doc, &result->device[i]);
    mpr_doc_close(doc);
    mpr_doc_rows(doc, device_columns, result->device, result->devices, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, device_columns);
    if (result->devices) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "PyTorch's caching allocator held no device memory");
}
