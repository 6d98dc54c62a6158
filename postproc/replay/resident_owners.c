/* Finds the blocks, or the mappings of the program, that have the pages of one of the kernel's
 * mappings.
 *
 * The kernel joins neighbouring mappings, so one of them may have the pages of several owners. Then
 * the resident shares of its parts say how many each owner has. */
#include <string.h>

#include "host_memory.h"
#include "replay.h"

/* ---- large blocks by address */

void mpr_large_blocks_put(struct mpr_intervals *blocks, const struct mpr_block *b)
{
    const uint64_t start = b->key >> 8, end = mpr_interval_end(start, mpr_block_size(b));
    const struct mpr_interval span = { start, end, mpr_block_cell(b), true };
    const struct mpr_position place = mpr_intervals_after(blocks, start);
    const size_t overlapping = mpr_intervals_count(blocks, place, end); /* 0 in a valid log */
    if (overlapping) mpr_intervals_remove(blocks, place, overlapping);
    mpr_intervals_insert(blocks, mpr_intervals_after(blocks, start), &span);
}

void mpr_large_blocks_take(struct mpr_intervals *blocks, const struct mpr_block *b)
{
    const struct mpr_position place = mpr_intervals_after(blocks, b->key >> 8);
    const struct mpr_interval *span = mpr_intervals_at(blocks, place);
    if (span && span->start == b->key >> 8) mpr_intervals_remove(blocks, place, 1);
}

/* ---- resident bytes of an owner */

struct mapping {
    uint64_t from, end, value[MPF_MAPPING_COUNT];
    const uint8_t *part;
    size_t parts;
};

/* Returns true if about all of the mapping is resident. */
static bool is_whole(const struct mapping *m)
{
    const uint64_t bytes = m->value[MPF_MAPPING_BYTES];
    return m->value[MPF_MAPPING_RESIDENT] >= bytes - bytes / 8;
}

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

/* Returns the cell's entry, or that of the cell with the least resident bytes if there are too many
 * cells, which is then replaced. */
static struct mpr_resident_cell *entry_of(struct mpr_resident *r, uint32_t cell)
{
    struct mpr_resident_cell *least = r->cell;
    for (struct mpr_resident_cell *c = r->cell; c < r->cell + r->cells; c++) {
        if (c->replayed == cell) return c;
        if (c->resident < least->resident) least = c;
    }
    if (r->cells < MPR_RESIDENT_CELLS) least = &r->cell[r->cells++];
    *least = (struct mpr_resident_cell){ .cell = cell, .replayed = cell };
    return least;
}

static void add_owner(struct mpr_resident *r, const struct mapping *m,
                      const struct mpr_interval *span)
{
    const uint64_t from = span->start > m->from ? span->start : m->from,
                   to = span->end < m->end ? span->end : m->end;
    const double resident = resident_between(m, from, to),
                 whole = (double)m->value[MPF_MAPPING_RESIDENT],
                 share = whole > 0 ? resident / whole : 0;
    struct mpr_resident_cell *c = entry_of(r, span->what);
    c->bytes += to - from;
    c->resident += (uint64_t)resident;
    c->huge += (uint64_t)(share * (double)m->value[MPF_MAPPING_HUGE]);
}

/* A mapping in very many pieces has no owners, so that the time for it is bounded. */
static void add_owners(struct mpr_resident *r, const struct mapping *m,
                       const struct mpr_intervals *spans)
{
    enum { PIECES = 256 };
    const struct mpr_position place = mpr_intervals_after(spans, m->from);
    const struct mpr_interval *span;
    size_t pieces = 0;
    MPR_INTERVALS_EACH(span, spans, place, m->end)
    if (++pieces > PIECES) return;
    if (pieces > 1 && !m->parts && !is_whole(m)) return;
    MPR_INTERVALS_EACH(span, spans, place, m->end) add_owner(r, m, span);
}

void mpr_host_resident(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_resident *resident = &r->samples.resident;
    struct mapping m = { .from = e->addr };
    if (!r->samples.resident_is_newest || resident->mappings == MPR_RESIDENT_MAPPINGS ||
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
    add_owners(resident, &m, &r->large_blocks);
    add_owners(resident, &m, &r->mappings);
}
