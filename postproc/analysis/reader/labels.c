#include "labels.h"

#include <inttypes.h>

#include "backward.h"
#include "heap_names.h"
#include "maker.h"
#include "names.h"
#include "symbols.h"

bool mpr_label_is_about(const struct mpr_replay *r, uint8_t heap)
{
    return heap == MPF_HEAP_HOST && r->totals.told;
}

bool mpr_label_is_nested(uint8_t heap) { return heap == MPF_HEAP_NVTX; }

static const char *text_or_number(struct mpr_arena *arena, const struct mpr_texts *texts,
                                  const char *what, uint32_t id)
{
    size_t bytes;
    const char *text = mpr_texts_get(texts, id, &bytes);
    return text ? mpr_arena_text(arena, text) : mpr_arena_format(arena, "%s %" PRIu32, what, id);
}

/* Numbers below 3 are never defined: what the capture library could not name. */
static const char *name_label(struct mpr_arena *arena, const struct mpr_texts *names, uint32_t id)
{
    static const char *const reserved[] = { "(no name)", "(names beyond the limit)",
                                            "(name not known)" };
    if (id < sizeof reserved / sizeof *reserved) return reserved[id];
    const char *text = text_or_number(arena, names, "name", id);
    return *text ? text : reserved[0];
}

const char *mpr_label_name(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t name,
                           uint32_t domain)
{
    const char *label = name_label(arena, &r->ranges.names, name);
    if (!domain) return label;
    return mpr_arena_format(arena, "%s:%s",
                            text_or_number(arena, &r->ranges.domains, "domain", domain), label);
}

const char *mpr_label_range(struct mpr_arena *arena, const struct mpr_reader *reader, uint32_t node)
{
    const struct mpr_replay *r = &reader->replay;
    const char **known = mpr_names_range(reader->names, node);
    if (!*known)
        *known = mpr_label_name(arena, r, r->ranges.node[node].name, r->ranges.node[node].domain);
    return *known;
}

const char *const *mpr_label_node(struct mpr_arena *arena, const struct mpr_reader *reader,
                                  uint32_t node, size_t *depth)
{
    const struct mpr_replay *r = &reader->replay;
    const size_t skipped = mpr_backward_is(&r->ranges, node);
    *depth = r->ranges.node[node].depth - skipped;
    const char **path = mpr_arena_alloc(arena, *depth * sizeof *path);
    for (size_t i = *depth; i-- > 0; node = r->ranges.node[node].parent)
        path[i] = mpr_label_range(arena, reader, node);
    if (skipped && *depth) path[0] = mpr_arena_format(arena, "backward of %s", path[0]);
    return path;
}

const char *mpr_label_thread(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number)
{
    const struct mpr_thread *t = number < r->threads.count ? r->threads.at[number] : NULL;
    if (!t || !t->tid) return mpr_arena_format(arena, "thread #%" PRIu32, number);
    return mpr_arena_format(arena, "%s (%" PRIu64 ")", t->name[0] ? t->name : "thread", t->tid);
}

const char *mpr_label_maker(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number)
{
    const bool rest = !number && r->totals.told;
    return rest ? mpr_arena_text(arena, r->options.rest_name) : mpr_label_thread(arena, r, number);
}

/* "1 KiB": exact, for powers of two. */
static const char *power_label(struct mpr_arena *arena, unsigned power)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    return mpr_arena_format(arena, "%u %s", 1u << power % 10, unit[power / 10]);
}

const char *mpr_label_size(struct mpr_arena *arena, uint32_t class)
{
    if (class == 0) return "0 B";
    if (class == 1) return "1 B";
    return mpr_arena_format(arena, "over %s to %s", power_label(arena, class - 2),
                            power_label(arena, class - 1));
}

static const char *library_label(struct mpr_arena *arena, const struct mpr_replay *r,
                                 const struct mpr_cell *cell)
{
    const char *name = mpr_sites_library_name(&r->sites, (uint32_t)cell->key);
    return *name ? mpr_arena_text(arena, name) : "(library not known)";
}

static const char *comm_label(struct mpr_arena *arena, const struct mpr_replay *r,
                              const struct mpr_cell *cell)
{
    if (!cell->key || cell->key > r->gpu.comms.count) return "(no communicator)";
    return mpr_arena_format(arena, "NCCL %#" PRIx64, r->gpu.comms.comm[cell->key - 1].id);
}

const char *const *mpr_label_stack(struct mpr_arena *arena, const struct mpr_reader *reader,
                                   uint32_t stack, size_t *depth)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_stack_node *node = r->sites.stacks.node;
    size_t count, at = 0;
    for (uint32_t n = stack; n; n = node[n].parent) {
        mpr_names_at(reader->names, arena, &r->sites, n, &count);
        at += count;
    }
    const char **path = mpr_arena_alloc(arena, at * sizeof *path);
    *depth = at;
    for (uint32_t n = stack; n; n = node[n].parent) {
        const char *const *name = mpr_names_at(reader->names, arena, &r->sites, n, &count);
        for (size_t i = 0; i < count; i++) path[--at] = name[i];
    }
    return path;
}

const char *const *mpr_label_best(struct mpr_arena *arena, const struct mpr_reader *reader,
                                  uint32_t node, struct mpr_site at, size_t *depth)
{
    if (node || at.python || !at.stack)
        return mpr_label_node(arena, reader, node ? node : at.python, depth);
    return mpr_label_stack(arena, reader, at.stack, depth);
}

bool mpr_label_is_libdw_missing(void) { return mpr_symbols_not_installed(); }

const char *const *mpr_label_notes(struct mpr_arena *arena, const struct mpr_reader *reader,
                                   size_t *notes)
{
    const struct mpr_replay *r = &reader->replay;
    const char *const *names = mpr_names_notes(reader->names, arena, &r->sites, notes);
    if (!r->options.backward_of || r->count[MPF_OP_TORCH_NODE]) return names;
    const char **all = mpr_arena_alloc(arena, (*notes + 1) * sizeof *all);
    for (size_t i = 0; i < *notes; i++) all[i] = names[i];
    all[(*notes)++] = "--backward-of: the log does not say which nodes of PyTorch's autograd ran";
    return all;
}

/* ---- graphs */

/* "burst 2 > capture 14, pool 0:3": numbers as `graphs` has them. */
static const char *const *graph_path(struct mpr_arena *arena, const struct mpr_replay *r,
                                     const struct mpr_cell *cell, size_t *depth)
{
    *depth = cell->key && cell->key <= r->gpu.captures ? 2 : 1;
    const char **path = mpr_arena_alloc(arena, 2 * sizeof *path);
    path[0] = "(no graph)";
    if (*depth == 1) return path;
    const struct mpr_capture *c = &r->gpu.capture[cell->key - 1];
    path[0] = mpr_arena_format(arena, "burst %" PRIu32, c->burst);
    path[1] = c->pool[0] || c->pool[1]
                  ? mpr_arena_format(arena, "capture %" PRIu64 ", pool %" PRIu64 ":%" PRIu64,
                                     cell->key, c->pool[0], c->pool[1])
                  : mpr_arena_format(arena, "capture %" PRIu64, cell->key);
    return path;
}

const char *const *mpr_label_path(struct mpr_arena *arena, const struct mpr_reader *reader,
                                  const struct mpr_cell *cell, size_t *depth)
{
    const struct mpr_replay *r = &reader->replay;
    if (r->options.by == MPR_GROUP_GRAPH) return graph_path(arena, r, cell, depth);
    if (r->options.by == MPR_GROUP_STACK)
        return mpr_label_stack(arena, reader, (uint32_t)cell->key, depth);
    const bool library = r->options.by == MPR_GROUP_LIBRARY ||
                         (r->options.by == MPR_GROUP_AUTO && cell->key & MPR_KEY_LIBRARY);
    if (r->options.by == MPR_GROUP_RANGE || r->options.by == MPR_GROUP_ALL ||
        r->options.by == MPR_GROUP_PYTHON || (r->options.by == MPR_GROUP_AUTO && !library))
        return mpr_label_node(arena, reader, (uint32_t)cell->key, depth);
    *depth = 1;
    const char **path = mpr_arena_alloc(arena, sizeof *path);
    if (library) {
        *path = library_label(arena, r, cell);
        return path;
    }
    switch (r->options.by) {
    case MPR_GROUP_THREAD: *path = mpr_label_maker(arena, r, (uint32_t)cell->key); break;
    case MPR_GROUP_SIZE:
        *path = mpr_totals_is(&r->totals, &r->books, cell)
                    ? mpr_arena_text(arena, r->options.rest_name)
                    : mpr_label_size(arena, (uint32_t)cell->key);
        break;
    case MPR_GROUP_COMM: *path = comm_label(arena, r, cell); break;
    default: *path = mpr_heap_name(cell->heap); break;
    }
    return path;
}

/* ---- samples */

bool mpr_label_is_sampled(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    const size_t index = (size_t)(cell - r->books.cell);
    return cell->heap == MPF_HEAP_HOST && index < r->estimates.cells &&
           r->estimates.cell[index].samples;
}

/* Is it a call stack that tells the cell from others?  With AUTO what a range names is not sampled.
 */
static bool is_by_calls(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    switch (r->options.by) {
    case MPR_GROUP_AUTO: return true;
    case MPR_GROUP_STACK:
    case MPR_GROUP_PYTHON: return cell->key != 0;
    case MPR_GROUP_ALL: return cell->site != 0;
    case MPR_GROUP_LIBRARY: return *mpr_sites_library_name(&r->sites, (uint32_t)cell->key);
    default: return false;
    }
}

bool mpr_label_at_least(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    return mpr_label_is_sampled(r, cell) && (mpr_replay_samples_host(r) || is_by_calls(r, cell));
}
