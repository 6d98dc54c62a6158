#include "samples.h"

#include <string.h>

static struct mpr_sample nothing_known(void)
{
    struct mpr_sample sample = { false };
    for (int i = 0; i < MPR_SAMPLE_VALUES; i++) sample.value[i] = MPF_UNKNOWN;
    return sample;
}

void mpr_samples_init(struct mpr_samples *samples)
{
    memset(samples, 0, sizeof *samples);
    for (int i = 0; i < MPR_SOURCES; i++)
        samples->source[i].now = samples->source[i].largest = nothing_known();
}

static struct mpr_sample decode(const struct mpr_sample *before, const struct mpf_event *event)
{
    struct mpr_sample sample = *before;
    sample.valid = true;
    sample.time = event->time;
    for (size_t i = 0; i < MPR_SAMPLE_VALUES && (i + 1) * 8 <= event->size; i++) {
        uint64_t value;
        memcpy(&value, event->data + i * 8, sizeof value);
        if (value == MPF_UNKNOWN) continue;
        sample.value[i] = value;
        sample.taken[i] = event->time;
    }
    return sample;
}

static void raise_largest(struct mpr_sample *largest, const struct mpr_sample *sample)
{
    largest->valid = true;
    for (int i = 0; i < MPR_SAMPLE_VALUES; i++) {
        const uint64_t value = sample->value[i];
        if (value == MPF_UNKNOWN) continue;
        if (largest->value[i] == MPF_UNKNOWN || value > largest->value[i])
            largest->value[i] = value;
    }
}

/* Heaps whose peak came after the newest sample: that one was before it, `next` is after it. */
static void settle(struct mpr_track *track, const struct mpr_books *books,
                   const struct mpr_sample *next)
{
    for (int heap = 1; heap < MPR_HEAPS; heap++) {
        const uint64_t epoch = books->heap[heap].epoch;
        if (track->epoch[heap] == epoch) continue;
        track->epoch[heap] = epoch;
        track->before[heap] = track->now;
        track->after[heap] = *next;
    }
}

void mpr_samples_add(struct mpr_samples *samples, const struct mpr_books *books,
                     enum mpr_source source, const struct mpf_event *event)
{
    struct mpr_track *track = &samples->source[source];
    const struct mpr_sample sample = decode(&track->now, event);
    settle(track, books, &sample);
    raise_largest(&track->largest, &sample);
    track->now = sample;
    track->count++;
}

void mpr_samples_finish(struct mpr_samples *samples, const struct mpr_books *books)
{
    const struct mpr_sample none = nothing_known();
    for (int i = 0; i < MPR_SOURCES; i++) settle(&samples->source[i], books, &none);
}
