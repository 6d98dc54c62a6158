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
        samples->source[i] = (struct mpr_sample_track){ .now = nothing_known(),
                                                        .largest = nothing_known(),
                                                        .high = { .bytes = MPF_UNKNOWN } };
    for (int i = 0; i < MPR_HEAPS; i++) samples->at_peak[i].touched = MPF_UNKNOWN;
}

uint64_t mpr_sample_bytes(enum mpr_source source, const struct mpr_sample *sample)
{
    uint64_t sum = MPF_UNKNOWN;
    if (!sample->valid) return MPF_UNKNOWN;
    if (source == MPR_SOURCE_CGROUP) return sample->value[MPF_CGROUP_USAGE];
    for (int i = MPF_RSS_ANON; source == MPR_SOURCE_RSS && i <= MPF_RSS_SHMEM; i++)
        if (sample->value[i] != MPF_UNKNOWN)
            sum = sum == MPF_UNKNOWN ? sample->value[i] : sum + sample->value[i];
    return sum;
}

/* Raises the maximum.  The kernel's high-water mark counts if it belongs to the process, as that
 * of RSS does, and that of a cgroup if it rose after the first sample. */
static void raise_high(struct mpr_sample_track *track, enum mpr_source source,
                       const struct mpr_sample *sample)
{
    struct mpr_sample_high *high = &track->high;
    const bool rss = source == MPR_SOURCE_RSS;
    const uint64_t bytes = mpr_sample_bytes(source, sample),
                   mark = sample->value[rss ? MPF_RSS_HWM : MPF_CGROUP_PEAK];
    if (source == MPR_SOURCE_JEMALLOC || source == MPR_SOURCE_ALLOCATOR) return;
    if (!track->count) high->first_mark = rss ? 0 : mark;
    const bool counts = mark != MPF_UNKNOWN && mark > high->first_mark;
    const uint64_t top = counts && (bytes == MPF_UNKNOWN || mark > bytes) ? mark : bytes;
    if (top == MPF_UNKNOWN || (high->bytes != MPF_UNKNOWN && top <= high->bytes)) return;
    high->bytes = top;
    high->sampled = top == bytes;
    high->before = track->now;
    high->after = *sample;
}

/* Sets the samples at the peaks that are later than the newest sample.  @next: the first sample
 * after these peaks */
static void settle(struct mpr_sample_track *track, const struct mpr_accounts *accounts,
                   const struct mpr_sample *next)
{
    for (int heap = 1; heap < MPR_HEAPS; heap++) {
        const uint64_t epoch = accounts->heap[heap].epoch;
        if (track->epoch[heap] == epoch) continue;
        track->epoch[heap] = epoch;
        track->before[heap] = track->now;
        track->after[heap] = *next;
    }
}

/* Adds a sample to those at each heap's peak, if the heap shrank by at most an eighth since then.
 * Call before settle, which updates the epochs. */
static void add_at_peaks(struct mpr_samples *samples, const struct mpr_accounts *accounts,
                         const struct mpr_sample *sample)
{
    const struct mpr_sample_track *rss = &samples->source[MPR_SOURCE_RSS];
    const uint64_t swap = sample->value[MPF_RSS_SWAP];
    uint64_t touched = sample->value[MPF_RSS_ANON]; /* bytes in memory or swap that no file backs */
    if (touched != MPF_UNKNOWN && swap != MPF_UNKNOWN) touched += swap;
    for (int i = 1; i < MPR_HEAPS; i++) {
        const struct mpr_heap *heap = &accounts->heap[i];
        struct mpr_peak_samples *at = &samples->at_peak[i];
        const uint64_t freed = heap->peak_bytes > heap->bytes ? heap->peak_bytes - heap->bytes : 0;
        if (!heap->used) continue;
        if (rss->epoch[i] != heap->epoch) *at = (struct mpr_peak_samples){ .touched = MPF_UNKNOWN };
        if (at->over) continue;
        at->last = *sample;
        at->over = freed > heap->peak_bytes / 8;
        if (at->over || touched == MPF_UNKNOWN) continue;
        if (at->touched != MPF_UNKNOWN && at->touched >= touched + freed) continue;
        at->touched = touched + freed;
        at->time = sample->time;
    }
}

void mpr_samples_add(struct mpr_samples *samples, const struct mpr_accounts *accounts,
                     enum mpr_source source, const struct mpf_event *event)
{
    struct mpr_sample_track *track = &samples->source[source];
    struct mpr_sample sample = track->now;
    sample.valid = true;
    sample.time = event->time;
    for (size_t i = 0; i < MPR_SAMPLE_VALUES && (i + 1) * 8 <= event->size; i++) {
        uint64_t value;
        memcpy(&value, event->data + i * 8, sizeof value);
        if (value == MPF_UNKNOWN) continue;
        sample.value[i] = value;
        sample.taken[i] = event->time;
    }
    if (source == MPR_SOURCE_RSS) add_at_peaks(samples, accounts, &sample);
    settle(track, accounts, &sample);
    track->largest.valid = true;
    for (int i = 0; i < MPR_SAMPLE_VALUES; i++) {
        const uint64_t value = sample.value[i];
        uint64_t *largest = &track->largest.value[i];
        if (value != MPF_UNKNOWN && (*largest == MPF_UNKNOWN || value > *largest)) *largest = value;
    }
    raise_high(track, source, &sample);
    track->now = sample;
    track->count++;
}

/* ---- resident memory by kind of mapping */

void mpr_samples_add_resident(struct mpr_samples *samples, const struct mpr_accounts *accounts,
                              const struct mpf_event *event)
{
    const uint64_t limit = UINT64_MAX / MPR_RESIDENT_KINDS;
    struct mpr_resident now = { .valid = true,
                                .time = event->time,
                                .page_tables =
                                    samples->source[MPR_SOURCE_RSS].now.value[MPF_RSS_PAGE_TABLES],
                                .anonymous =
                                    samples->source[MPR_SOURCE_RSS].now.value[MPF_RSS_ANON],
                                .live_blocks = accounts->heap[MPF_HEAP_HOST].bytes,
                                .live_mappings = accounts->heap[MPF_HEAP_MMAP].bytes };
    memcpy(now.value, event->data, event->size < sizeof now.value ? event->size : sizeof now.value);
    for (int i = 0; i < MPF_RESIDENT_COUNT; i++)
        if (now.value[i] > limit) now.value[i] = 0; /* unknown or damaged */
    for (int i = 0; i < MPR_RESIDENT_KINDS; i++) now.sum += now.value[i];
    /* The sum does not have page tables, which may be counted first after a sample. */
    const struct mpr_resident *before = &samples->resident;
    const bool more_tables =
        now.page_tables != MPF_UNKNOWN &&
        (before->page_tables == MPF_UNKNOWN || now.page_tables > before->page_tables);
    samples->resident_is_newest =
        now.sum > before->sum || (before->valid && now.sum == before->sum && more_tables);
    if (samples->resident_is_newest) samples->resident = now;
}

void mpr_samples_add_file(struct mpr_samples *samples, const struct mpf_event *event)
{
    uint64_t kind;
    if (!samples->resident_is_newest || event->size < sizeof kind) return;
    memcpy(&kind, event->data, sizeof kind);
    if (kind >= MPR_RESIDENT_KINDS) return;
    struct mpr_resident_file *file = &samples->resident.file[kind];
    const size_t length = event->size - sizeof kind;
    *file = (struct mpr_resident_file){ .bytes = event->addr };
    memcpy(file->path, event->data + sizeof kind,
           length < sizeof file->path ? length : sizeof file->path - 1);
}

/* ---- owners: the blocks, or the mappings of the program, to which the pages of a mapping of the
 * kernel belong
 *
 * The kernel joins neighbouring mappings, so one of them may have several owners.  Their shares are
 * computed from the resident shares of the mapping's parts. */

struct mapping {
    uint64_t from, end, value[MPF_MAPPING_COUNT];
    const uint8_t *part;
    size_t parts;
};

static double resident_between(const struct mapping *m, uint64_t from, uint64_t to)
{
    const uint64_t bytes = m->value[MPF_MAPPING_BYTES], unit = m->value[MPF_MAPPING_PART];
    double sum = 0;
    if (!m->parts)
        return (double)(to - from) * (double)m->value[MPF_MAPPING_RESIDENT] / (double)bytes;
    for (uint64_t i = (from - m->from) / unit; i < m->parts && m->from + i * unit < to; i++) {
        const uint64_t first = m->from + i * unit, last = mpr_interval_end(first, unit),
                       begin = first > from ? first : from, end = last < to ? last : to;
        sum += (double)(end - begin) * m->part[i] / UINT8_MAX;
    }
    return sum;
}

/* Adds the pages that an owner has.  If there are too many cells, replaces the one with the fewest
 * resident bytes. */
static void add_owner(struct mpr_resident *r, const struct mapping *m,
                      const struct mpr_interval *span)
{
    const uint64_t from = span->start > m->from ? span->start : m->from,
                   to = span->end < m->end ? span->end : m->end;
    const double resident = resident_between(m, from, to),
                 whole = (double)m->value[MPF_MAPPING_RESIDENT],
                 share = whole > 0 ? resident / whole : 0;
    struct mpr_resident_cell *c = r->cell, *const end = r->cell + r->cells, *least = c;
    for (; c < end && c->replayed != span->value; c++)
        if (c->resident < least->resident) least = c;
    if (c == end) {
        c = r->cells < MPR_RESIDENT_CELLS ? &r->cell[r->cells++] : least;
        *c = (struct mpr_resident_cell){ .cell = span->value, .replayed = span->value };
    }
    c->bytes += to - from;
    c->resident += (uint64_t)resident;
    c->huge += (uint64_t)(share * (double)m->value[MPF_MAPPING_HUGE]);
}

/* Ignores a mapping in very many pieces, because that would take too long. */
static void add_owners(struct mpr_resident *r, const struct mapping *m,
                       const struct mpr_intervals *spans)
{
    enum { PIECES = 256 };
    const struct mpr_position place = mpr_intervals_after(spans, m->from);
    const uint64_t bytes = m->value[MPF_MAPPING_BYTES];
    const bool about_all = m->value[MPF_MAPPING_RESIDENT] >= bytes - bytes / 8;
    const struct mpr_interval *span;
    size_t pieces = 0;
    MPR_INTERVALS_EACH(span, spans, place, m->end)
    if (++pieces > PIECES) return;
    if (pieces > 1 && !m->parts && !about_all) return;
    MPR_INTERVALS_EACH(span, spans, place, m->end) add_owner(r, m, span);
}

void mpr_samples_add_mapping(struct mpr_samples *samples, const struct mpr_intervals *large_blocks,
                             const struct mpr_intervals *mappings, const struct mpf_event *e)
{
    struct mpr_resident *resident = &samples->resident;
    struct mapping m = { .from = e->addr };
    if (!samples->resident_is_newest || resident->mappings == MPR_RESIDENT_MAPPINGS ||
        e->size < sizeof m.value)
        return;
    resident->mappings++;
    memcpy(m.value, e->data, sizeof m.value);
    const uint64_t bytes = m.value[MPF_MAPPING_BYTES];
    if (!bytes) return; /* damage */
    m.end = mpr_interval_end(m.from, bytes);
    for (int i = 0; i < MPF_MAPPING_COUNT; i++)
        if (m.value[i] > bytes) m.value[i] = bytes;
    m.part = (const uint8_t *)e->data + sizeof m.value;
    m.parts = m.value[MPF_MAPPING_PART] ? (size_t)(e->size - sizeof m.value) : 0;
    if (m.parts > MPF_MAPPING_PARTS) m.parts = 0;
    add_owners(resident, &m, large_blocks);
    add_owners(resident, &m, mappings);
}

/* ---- the end */

void mpr_samples_project(struct mpr_samples *samples, const uint32_t *to)
{
    struct mpr_resident *r = &samples->resident;
    for (struct mpr_resident_cell *c = r->cell; c < r->cell + r->cells; c++)
        c->cell = to ? to[c->replayed] : c->replayed;
}

void mpr_samples_finish(struct mpr_samples *samples, const struct mpr_accounts *accounts)
{
    const struct mpr_sample none = nothing_known();
    const struct mpr_sample_track *rss = &samples->source[MPR_SOURCE_RSS];
    for (int heap = 1; heap < MPR_HEAPS; heap++)
        if (rss->epoch[heap] != accounts->heap[heap].epoch)
            samples->at_peak[heap] = (struct mpr_peak_samples){ .touched = MPF_UNKNOWN };
    for (int i = 0; i < MPR_SOURCES; i++) settle(&samples->source[i], accounts, &none);
}
