#include "replay_options.h"

#include <stdio.h>
#include <stdlib.h>

#include "recorded.h"
#include "units.h"

/* Returns the mean distance of sampled bytes, or 0 if the value is not possible. */
static double read_mean(const struct mpr_header *header, const char *key)
{
    const char *text = mpr_header_get(header, key);
    const double value = text ? strtod(text, NULL) : 0;
    return value > 0 && value < 1e15 ? value : 0;
}

/* Returns the size from which all blocks are recorded, or @missing if the header has none. */
static uint64_t read_size(const struct mpr_header *header, const char *key, uint64_t missing)
{
    const char *text = mpr_header_get(header, key);
    return text ? strtoull(text, NULL, 10) : missing;
}

static bool is_sample(const struct mpr_header *header, const char *key)
{
    return mpr_recorded_named(mpr_header_get(header, key)) == MPR_RECORDED_SAMPLE;
}

void mpr_replay_options_read(struct mpr_replay_options *options, const struct mpr_header *header)
{
    const double mean = read_mean(header, "stacks.mean"),
                 python_mean = read_mean(header, "stacks.python.mean");
    options->has_parent = mpr_header_get(header, "parent.log") != NULL;
    options->attached = mpr_header_get(header, "attached") != NULL;
    options->before_bytes = read_size(header, "attached.bytes", 0);
    options->in_window = mpr_header_get(header, "window.open") != NULL;

    /* Call stacks: those of smaller blocks may be a sample. */
    if (is_sample(header, "stacks")) options->sample_mean = mean;
    if (is_sample(header, "stacks.torch")) options->torch_sample_mean = mean;
    if (is_sample(header, "stacks.python"))
        options->python_sample_mean = python_mean > 0 ? python_mean : mean;
    options->sample_below = read_size(header, "stacks.large", UINT64_MAX);

    /* Blocks of malloc: smaller ones may be a sample, or only counted. */
    struct mpr_number size;
    const uint64_t large = read_size(header, "host.large", 0);
    if (is_sample(header, "host.blocks")) {
        options->host_sample_mean = read_mean(header, "host.mean");
        options->host_sample_below = large;
        options->host_sums_estimated = mpr_header_get(header, "host.sums") != NULL;
    }
    mpr_units_size(&size, large);
    if (options->host_sample_mean > 0)
        snprintf(options->rest_name, sizeof options->rest_name, "(not in the sample)");
    else
        snprintf(options->rest_name, sizeof options->rest_name, "(blocks under %s%s)", size.text,
                 mpr_header_get(header, "window.blocks") ? " outside of windows" : "");
}
