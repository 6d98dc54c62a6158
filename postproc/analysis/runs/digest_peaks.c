/* Who held what at the peaks, of a digest. */
#include "digest_parts.h"
#include "unnumbered.h"

/* ---- heaps */

static void fill_heap(struct mpr_digest *d, const struct mpr_heap_peak *h)
{
    d->heap[d->heaps++] = (struct mpr_digest_heap){
        .heap = h->heap,
        .inside = h->inside,
        .estimated = h->estimated || h->is_about,
        .peak_bytes = h->peak_bytes,
        .peak_ns = h->peak_time,
        .peak_blocks = h->peak_blocks,
        .end_bytes = h->end_bytes,
        .end_blocks = h->end_blocks,
        .allocations = h->allocations,
        .frees = h->frees,
        .failures = h->failures,
        .instance = mpr_digest_text(d, h->instance.name),
    };
}

/* ---- lines */

static size_t lines_each(size_t heaps)
{
    const size_t share = heaps ? MPR_DIGEST_LINES / heaps : 0;
    if (share > MPR_DIGEST_LINES_MOST) return MPR_DIGEST_LINES_MOST;
    return share < MPR_DIGEST_LINES_LEAST ? MPR_DIGEST_LINES_LEAST : share;
}

static struct mpr_digest_line line_of(struct mpr_digest *d, uint8_t heap, enum mpr_group by,
                                      const struct mpr_line *line)
{
    const struct mpr_row *r = &line->row;
    const char *path = mpr_digest_path(d, by, r->path);
    return (struct mpr_digest_line){
        .heap = heap,
        .path = path,
        .caller = mpr_digest_text(d, line->caller),
        .alike = r->path.depth ? mpr_digest_text(d, mpr_alike_path(&d->arena, r->path)) : path,
        .bytes = r->bytes,
        .blocks = r->blocks,
        .end_bytes = r->end_bytes,
        .allocations = r->allocations,
        .error_bytes = mpr_row_error(r->variance),
        .estimated = r->estimated,
        .lines = 1,
    };
}

static void add_rest(struct mpr_digest *d, uint8_t heap, const struct mpr_line *line, size_t lines)
{
    struct mpr_line sum = line[0];
    for (size_t i = 1; i < lines; i++) mpr_line_add(&sum, &line[i]);
    d->line[d->lines] = line_of(d, heap, MPR_GROUP_RANGE, &sum);
    d->line[d->lines].path = mpr_arena_format(&d->arena, "(%zu more)", lines);
    d->line[d->lines].alike = d->line[d->lines].caller = "";
    d->line[d->lines++].lines = lines;
}

/* Lines of nothing are in the rest, for they have allocations. */
static void fill_lines(struct mpr_digest *d, const struct mpr_log_peaks *log,
                       const struct mpr_naming *naming)
{
    const size_t each = lines_each(log->heaps);
    d->line = mpr_arena_alloc(&d->arena, log->heaps * (each + 1) * sizeof *d->line);
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        struct mpr_arena arena = { 0 };
        size_t lines, live;
        struct mpr_line *line =
            mpr_naming_lines(&arena, naming, log->choice.by, h->row, h->rows, &lines, &live);
        const size_t own = live < each ? live : each;
        for (size_t k = 0; k < own; k++)
            d->line[d->lines++] = line_of(d, h->heap, log->choice.by, &line[k]);
        if (lines > own) add_rest(d, h->heap, line + own, lines - own);
        mpr_arena_free(&arena);
    }
}

/* ---- devices */

static void fill_device(struct mpr_digest *d, const struct mpr_device *of)
{
    const struct mpr_device_state *s = &of->peak;
    d->device[d->devices++] = (struct mpr_digest_device){
        .device = of->index,
        .peak_ns = s->time,
        .used_bytes = s->valid ? s->used : UINT64_MAX,
        .total_bytes = s->valid ? s->total : UINT64_MAX,
        .name = mpr_digest_text(d, of->name),
        .uuid = mpr_digest_text(d, of->uuid),
    };
    for (size_t i = 0; i < s->parts; i++)
        d->part[d->parts++] =
            (struct mpr_digest_part){ of->index, mpr_digest_text(d, s->part[i].key),
                                      mpr_digest_text(d, s->part[i].name), s->part[i].bytes };
}

static struct mpr_digest_comm comm_of(struct mpr_digest *d, const struct mpr_device *of,
                                      const struct mpr_comm_row *c)
{
    return (struct mpr_digest_comm){ .device = of->index,
                                     .communicator = mpr_digest_text(d, c->name),
                                     .first_use = mpr_digest_text(d, c->first_use),
                                     .ranks = c->ranks,
                                     .rank = c->rank,
                                     .first_ns = c->time,
                                     .bytes = c->bytes,
                                     .blocks = c->blocks };
}

static void fill_comms(struct mpr_digest *d, const struct mpr_device *of)
{
    const struct mpr_device_state *s = &of->peak;
    struct mpr_digest_comm rest = { .device = of->index,
                                    .communicator = "",
                                    .first_use = "",
                                    .ranks = UINT64_MAX,
                                    .rank = UINT64_MAX,
                                    .first_ns = UINT64_MAX };
    for (size_t i = 0; i < s->comms; i++) {
        const struct mpr_comm_row *c = &s->comm[i];
        if (i < MPR_DIGEST_COMMS) d->comm[d->comms++] = comm_of(d, of, c);
        else {
            rest.bytes += c->bytes;
            rest.blocks += c->blocks;
        }
    }
    if (s->comms > MPR_DIGEST_COMMS) d->comm[d->comms++] = rest;
}

static void fill_devices(struct mpr_digest *d, const struct mpr_log_peaks *log)
{
    size_t parts = 0;
    for (size_t i = 0; i < log->devices; i++) parts += log->device[i].peak.parts;
    d->device = mpr_arena_alloc(&d->arena, log->devices * sizeof *d->device);
    d->part = mpr_arena_alloc(&d->arena, parts * sizeof *d->part);
    d->comm = mpr_arena_alloc(&d->arena, log->devices * (MPR_DIGEST_COMMS + 1) * sizeof *d->comm);
    for (size_t i = 0; i < log->devices; i++) {
        fill_device(d, &log->device[i]);
        fill_comms(d, &log->device[i]);
    }
}

void mpr_digest_fill_peaks(struct mpr_digest *d, const struct mpr_log_peaks *log,
                           const struct mpr_naming *naming)
{
    d->heap = mpr_arena_alloc(&d->arena, log->heaps * sizeof *d->heap);
    for (size_t i = 0; i < log->heaps; i++) fill_heap(d, &log->heap[i]);
    fill_lines(d, log, naming);
    fill_devices(d, log);
}
