#include "reading.h"

#include <assert.h>

#include "amount.h"
#include "samples.h"

#define PERIOD_NS    MPR_READING_BEAT_NS
#define UNCHANGED_NS UINT64_C(10000000000)

static_assert(MPR_READING_VALUES == MPR_SAMPLE_VALUES, "a reading holds a sample");
static_assert((int)MPR_READ_RSS == MPR_SOURCE_RSS && (int)MPR_READ_CGROUP == MPR_SOURCE_CGROUP &&
                  (int)MPR_READ_JEMALLOC == MPR_SOURCE_JEMALLOC &&
                  (int)MPR_READ_ALLOCATOR == MPR_SOURCE_ALLOCATOR &&
                  (int)MPR_READ_SOURCES == MPR_SOURCES,
              "the analyses' sources are replay's");

struct mpr_reading mpr_reading_of(const struct mpr_sample *sample)
{
    struct mpr_reading reading = { .valid = sample->valid, .time = sample->time };
    for (int i = 0; i < MPR_READING_VALUES; i++) {
        reading.value[i] = sample->valid ? sample->value[i] : MPF_UNKNOWN;
        reading.taken[i] = sample->taken[i];
    }
    return reading;
}

uint64_t mpr_reading_rss_high(const struct mpr_samples *samples, uint64_t told)
{
    const uint64_t seen =
        mpr_reading_of(&samples->source[MPR_SOURCE_RSS].largest).value[MPF_RSS_HWM];
    return told && (seen == MPF_UNKNOWN || told > seen) ? told : seen;
}

uint64_t mpr_reading_high(const struct mpr_samples *samples, int value)
{
    const uint64_t most = mpr_reading_of(&samples->source[MPR_SOURCE_RSS].largest).value[value];
    return most == MPF_UNKNOWN ? 0 : most;
}

uint64_t mpr_reading_held_until(const struct mpr_sample *sample, uint64_t next)
{
    const uint64_t longest = sample->time + UNCHANGED_NS,
                   changed = mpr_saturating_sub(next, PERIOD_NS),
                   until = changed < longest ? changed : longest;
    return until > sample->time ? until : sample->time;
}

struct mpr_reading mpr_reading_at_peak(const struct mpr_sample_track *track, uint8_t heap,
                                       uint64_t instant)
{
    const struct mpr_sample *before = &track->before[heap], *after = &track->after[heap];
    const uint64_t next = after->valid ? after->time : UINT64_MAX,
                   held = mpr_reading_held_until(before, next),
                   older = before->valid ? mpr_saturating_sub(instant, held) : UINT64_MAX,
                   newer = after->valid ? mpr_saturating_sub(after->time, instant) : UINT64_MAX;
    if (older > MPR_READING_BEAT_NS && newer > MPR_READING_BEAT_NS)
        return (struct mpr_reading){ .valid = false };
    return mpr_reading_of(newer < older ? after : before);
}

/* ---- the highest value */

struct mpr_reading_peak mpr_reading_peak(const struct mpr_samples *samples,
                                         enum mpr_reading_source source, uint64_t told,
                                         uint64_t end)
{
    const enum mpr_source of = (enum mpr_source)source;
    const struct mpr_sample_track *track = &samples->source[of];
    const struct mpr_sample_high *high = &track->high;
    struct mpr_reading_peak peak = { .bytes = high->bytes,
                                     .to = high->after.time,
                                     .before = mpr_sample_bytes(of, &high->before),
                                     .after = mpr_sample_bytes(of, &high->after) };
    if (high->before.valid) peak.from = mpr_reading_held_until(&high->before, high->after.time);
    if (high->bytes != MPF_UNKNOWN && high->sampled) peak.from = peak.to;
    if (!told || (peak.bytes != MPF_UNKNOWN && told <= peak.bytes)) return peak;
    if (peak.bytes != MPF_UNKNOWN && told - peak.bytes <= told / MPR_READING_END_SHARE) {
        peak.bytes = told;
        return peak;
    }
    peak = (struct mpr_reading_peak){
        .bytes = told, .to = end, .before = mpr_sample_bytes(of, &track->now), .after = MPF_UNKNOWN
    };
    if (track->now.valid) peak.from = mpr_reading_held_until(&track->now, end);
    return peak;
}

/* ---- limits */

uint64_t mpr_reading_newest(const struct mpr_reading *rss, int value)
{
    return rss->valid && rss->taken[value] == rss->time ? rss->value[value] : MPF_UNKNOWN;
}

struct mpr_rlimit mpr_reading_rlimit(const struct mpr_reading *rss, uint64_t asked, uint64_t since)
{
    const struct mpr_rlimit limit[] = {
        { "RLIMIT_AS", "address space", "-v", mpr_reading_newest(rss, MPF_RSS_LIMIT_AS),
          rss->value[MPF_RSS_VM_SIZE], since },
        { "RLIMIT_DATA", "private memory", "-d", mpr_reading_newest(rss, MPF_RSS_LIMIT_DATA),
          rss->value[MPF_RSS_ANON], 0 },
    };
    for (size_t i = 0; rss->valid && i < sizeof limit / sizeof *limit; i++) {
        const struct mpr_rlimit *l = &limit[i];
        if (l->bytes != MPF_UNKNOWN && l->used != MPF_UNKNOWN &&
            l->used + l->since >= mpr_saturating_sub(l->bytes / 20 * 19, asked))
            return *l;
    }
    return (struct mpr_rlimit){ 0 };
}
