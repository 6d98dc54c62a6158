#include "labels.h"

#include <inttypes.h>
#include <string.h>

#include "alloc_context.h"
#include "backward.h"
#include "heap_names.h"
#include "names.h"
#include "ranges.h"
#include "symbols.h"

bool mpr_label_is_approximate(const struct mpr_replay *r, uint8_t heap)
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

#define NO_NAME "(no name)"

/* Numbers below 3 are never defined: the capture library uses them for names that it did not get.
 */
static const char *name_label(struct mpr_arena *arena, const struct mpr_texts *names, uint32_t id)
{
    size_t bytes;
    static const char *const reserved[] = { NO_NAME, "(names beyond the limit)",
                                            "(name not known)" };
    if (id < sizeof reserved / sizeof *reserved) return reserved[id];
    if (id >= MPR_FRAME_NAME && !mpr_texts_get(names, id, &bytes)) return reserved[1];
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

/* The log has function and module in one text: "Linear.forward [layers.3]". */
static void split_module(struct mpr_arena *arena, struct mpr_frame *frame)
{
    const char *open = strrchr(frame->name, '[');
    const size_t length = open ? strlen(open) : 0;
    if (length < 3 || open == frame->name || open[-1] != ' ' || open[length - 1] != ']') return;
    frame->module = mpr_arena_format(arena, "%.*s", (int)length - 2, open + 1);
    frame->name = mpr_arena_format(arena, "%.*s", (int)(open - 1 - frame->name), frame->name);
}

static const struct mpr_frame *python_frame(struct mpr_arena *arena,
                                            const struct mpr_python_frame *f)
{
    const bool named = *f->function || *f->file;
    struct mpr_frame fields = { .name = named ? mpr_arena_text(arena, f->function) : NO_NAME };
    if (*f->file) {
        fields.kind = MPR_FRAME_PYTHON;
        fields.path = mpr_arena_text(arena, f->file);
        fields.file = mpr_python_file(fields.path);
        fields.line = f->line;
        split_module(arena, &fields);
    }
    return mpr_frame_new(arena, fields);
}

/* All nodes with the same Python frame share one struct. */
static const struct mpr_frame *frame_of(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        const struct mpr_node *n)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_python_frame f = mpr_ranges_frame(&r->ranges, n->name);
    if (!f.function)
        return mpr_frame_named(arena, MPR_FRAME_RANGE,
                               mpr_label_name(arena, r, n->name, n->domain));
    const struct mpr_frame **known = mpr_names_python(reader->names, n->name);
    if (!*known) *known = python_frame(arena, &f);
    return *known;
}

const struct mpr_frame *mpr_label_frame(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        uint32_t node)
{
    const struct mpr_frame **known = mpr_names_range(reader->names, node);
    if (!*known) *known = frame_of(arena, reader, &reader->replay.ranges.node[node]);
    return *known;
}

struct mpr_path mpr_label_node(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t node)
{
    const struct mpr_replay *r = &reader->replay;
    const size_t skipped = mpr_backward_is(&r->ranges, node);
    const size_t depth = r->ranges.node[node].depth - skipped;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, depth * sizeof *frame);
    for (size_t i = depth; i-- > 0; node = r->ranges.node[node].parent)
        frame[i] = mpr_label_frame(arena, reader, node);
    if (skipped && depth) {
        struct mpr_frame first = *frame[0];
        first.is_backward = true;
        first.text = NULL;
        frame[0] = mpr_frame_new(arena, first);
    }
    return (struct mpr_path){ frame, depth };
}

static const char *thread_name(const struct mpr_thread *t)
{
    return t->name[0] ? t->name : "thread";
}

const char *mpr_label_thread(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number)
{
    const struct mpr_thread *t = number < r->threads.count ? r->threads.at[number] : NULL;
    if (!t || !t->tid) return mpr_arena_format(arena, "thread #%" PRIu32, number);
    return mpr_arena_format(arena, "%s (%" PRIu64 ")", thread_name(t), t->tid);
}

const char *mpr_label_maker(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number)
{
    const bool rest = !number && r->totals.told;
    return rest ? mpr_arena_text(arena, r->options.rest_name) : mpr_label_thread(arena, r, number);
}

const struct mpr_frame *mpr_label_maker_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                              uint32_t number)
{
    const struct mpr_thread *t = number < r->threads.count ? r->threads.at[number] : NULL;
    const bool rest = !number && r->totals.told, has_number = !rest && t && t->tid;
    const char *text = mpr_label_maker(arena, r, number);
    return mpr_frame_new(
        arena,
        (struct mpr_frame){ .text = text,
                            .name = has_number ? mpr_arena_text(arena, thread_name(t)) : text,
                            .line = has_number ? t->tid : 0 });
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

const struct mpr_frame *mpr_label_library_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                                uint32_t library)
{
    const char *name = mpr_sites_library_name(&r->sites, library);
    if (!*name) return mpr_frame_named(arena, MPR_FRAME_LABEL, "(library not known)");
    name = mpr_arena_text(arena, name);
    return mpr_frame_new(
        arena, (struct mpr_frame){ .kind = MPR_FRAME_OBJECT, .name = name, .object = name });
}

static const struct mpr_frame *comm_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                          const struct mpr_cell *cell)
{
    if (!cell->key || cell->key > r->gpu.comms.count)
        return mpr_frame_named(arena, MPR_FRAME_LABEL, "(no communicator)");
    const uint64_t id = r->gpu.comms.comm[cell->key - 1].id;
    return mpr_frame_new(arena,
                         (struct mpr_frame){ .text = mpr_arena_format(arena, "NCCL %#" PRIx64, id),
                                             .name = "NCCL" });
}

struct mpr_path mpr_label_stack(struct mpr_arena *arena, const struct mpr_reader *reader,
                                uint32_t stack)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_stack_node *node = r->sites.stacks.node;
    size_t count, depth = 0;
    for (uint32_t n = stack; n; n = node[n].parent) {
        mpr_names_at(reader->names, arena, &r->sites, n, &count);
        depth += count;
    }
    const struct mpr_frame **frame = mpr_arena_alloc(arena, depth * sizeof *frame);
    size_t at = depth;
    for (uint32_t n = stack; n; n = node[n].parent) {
        const struct mpr_frame *const *call =
            mpr_names_at(reader->names, arena, &r->sites, n, &count);
        for (size_t i = 0; i < count; i++) frame[--at] = call[i];
    }
    return (struct mpr_path){ frame, depth };
}

struct mpr_path mpr_label_best(struct mpr_arena *arena, const struct mpr_reader *reader,
                               uint32_t node, struct mpr_site at)
{
    if (node || at.python || !at.stack)
        return mpr_label_node(arena, reader, node ? node : at.python);
    return mpr_label_stack(arena, reader, at.stack);
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
    all[(*notes)++] =
        "--backward-of has no effect: the log does not have the nodes of PyTorch's autograd";
    return all;
}

/* ---- graphs */

/* "burst 2 > capture 14, pool 0:3": numbers as `graphs` has them. */
static struct mpr_path graph_path(struct mpr_arena *arena, const struct mpr_replay *r,
                                  const struct mpr_cell *cell)
{
    static const char *const none[] = { "(no graph)" };
    if (!cell->key || cell->key > r->gpu.captures) return mpr_frame_labels(arena, none, 1);
    const struct mpr_frame **path = mpr_arena_alloc(arena, 2 * sizeof *path);
    const struct mpr_capture *c = &r->gpu.capture[cell->key - 1];
    const char *burst = mpr_arena_format(arena, "burst %" PRIu32, c->burst),
               *capture = mpr_arena_format(arena, "capture %" PRIu64, cell->key),
               *text = c->pool[0] || c->pool[1]
                           ? mpr_arena_format(arena, "%s, pool %" PRIu64 ":%" PRIu64, capture,
                                              c->pool[0], c->pool[1])
                           : capture;
    path[0] = mpr_frame_named(arena, MPR_FRAME_LABEL, burst);
    path[1] = mpr_frame_new(arena, (struct mpr_frame){ .text = text, .name = capture });
    return (struct mpr_path){ path, 2 };
}

static const struct mpr_frame *label_of(struct mpr_arena *arena, const struct mpr_replay *r,
                                        const struct mpr_cell *cell)
{
    const char *text = mpr_heap_name(cell->heap);
    switch (r->options.by) {
    case MPR_GROUP_THREAD: return mpr_label_maker_frame(arena, r, (uint32_t)cell->key);
    case MPR_GROUP_COMM: return comm_frame(arena, r, cell);
    case MPR_GROUP_AUTO:
    case MPR_GROUP_LIBRARY: return mpr_label_library_frame(arena, r, (uint32_t)cell->key);
    case MPR_GROUP_SIZE:
        text = mpr_counted_totals_is(&r->totals, &r->accounts, cell)
                   ? mpr_arena_text(arena, r->options.rest_name)
                   : mpr_label_size(arena, (uint32_t)cell->key);
        break;
    default: break;
    }
    return mpr_frame_named(arena, MPR_FRAME_LABEL, text);
}

struct mpr_path mpr_label_path(struct mpr_arena *arena, const struct mpr_reader *reader,
                               const struct mpr_cell *cell)
{
    const struct mpr_replay *r = &reader->replay;
    const uint32_t number = (uint32_t)cell->key;
    switch (r->options.by) {
    case MPR_GROUP_GRAPH: return graph_path(arena, r, cell);
    case MPR_GROUP_STACK: return mpr_label_stack(arena, reader, number);
    case MPR_GROUP_AUTO:
        if (cell->key & MPR_KEY_LIBRARY) break;
        return mpr_label_node(arena, reader, number);
    case MPR_GROUP_RANGE:
    case MPR_GROUP_ALL:
    case MPR_GROUP_PYTHON: return mpr_label_node(arena, reader, number);
    default: break;
    }
    const struct mpr_frame **label = mpr_arena_alloc(arena, sizeof *label);
    *label = label_of(arena, r, cell);
    return (struct mpr_path){ label, 1 };
}

/* ---- samples */

bool mpr_label_is_sampled(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    return cell->heap == MPF_HEAP_HOST &&
           mpr_estimates_is_sampled(&r->estimates, (uint32_t)(cell - r->accounts.cell));
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
