#include "replay_options.h"

#include <stdio.h>
#include <stdlib.h>

#include "recorded.h"
#include "units.h"

static double positive(const char *text)
{
    const double value = text ? strtod(text, NULL) : 0;
    return value > 0 && value < 1e15 ? value : 0;
}

/* Returns true if the header says under @key that there is only a sample. */
static bool is_sample(const struct mpr_header *header, const char *key)
{
    return mpr_recorded_named(mpr_header_get(header, key)) == MPR_RECORDED_SAMPLE;
}

/* Call stacks of a sample of the smaller blocks. */
static void read_sampling(const struct mpr_header *header, struct mpr_replay_options *options)
{
    const char *large = mpr_header_get(header, "stacks.large");
    const double mean = positive(mpr_header_get(header, "stacks.mean")),
                 python_mean = positive(mpr_header_get(header, "stacks.python.mean"));
    if (is_sample(header, "stacks")) options->sample_mean = mean;
    if (is_sample(header, "stacks.torch")) options->torch_sample_mean = mean;
    if (is_sample(header, "stacks.python"))
        options->python_sample_mean = python_mean > 0 ? python_mean : mean;
    options->sample_below = large ? strtoull(large, NULL, 10) : UINT64_MAX;
}

/* Which of malloc's blocks are counted only. */
static void read_rest(const struct mpr_header *header, struct mpr_replay_options *options)
{
    struct mpr_number size;
    const char *large = mpr_header_get(header, "host.large");
    const uint64_t from = large ? strtoull(large, NULL, 10) : 0;
    if (is_sample(header, "host.blocks")) {
        options->host_sample_mean = positive(mpr_header_get(header, "host.mean"));
        options->host_sample_below = from;
    }
    options->in_window = mpr_header_get(header, "window.open") != NULL;
    mpr_units_size(&size, from);
    if (options->host_sample_mean > 0)
        snprintf(options->rest_name, sizeof options->rest_name, "(not in the sample)");
    else
        snprintf(options->rest_name, sizeof options->rest_name, "(blocks under %s%s)", size.text,
                 mpr_header_get(header, "window.blocks") ? " outside of windows" : "");
}

void mpr_replay_options_read(struct mpr_replay_options *options, const struct mpr_header *header)
{
    options->has_parent = mpr_header_get(header, "parent.log") != NULL;
    read_sampling(header, options);
    read_rest(header, options);
}
