#include "labels.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "backward.h"
#include "basename.h"
#include "file.h"
#include "heap_names.h"
#include "index.h"
#include "mpf/event.h"
#include "ranges.h"
#include "symbols.h"

#define NO_NAME "(no name)"

/* ---- native calls */

struct named {
    const struct mpr_frame *const *call;
    size_t count;
};

struct mpr_names {
    char *log; /* its path, or NULL */
    struct mpr_symbols *symbols;
    struct named *named; /* by number - 1 */
    uint32_t count, cap;
    struct mpr_index number; /* by hash of return address and object file */
    uint32_t *of_node;       /* numbers, by node of the native stacks */
    uint32_t nodes;
    const struct mpr_frame **range;  /* by node */
    const struct mpr_frame **python; /* by name - MPR_FRAME_NAME */
    uint32_t ranges, pythons;
};

struct mpr_names *mpr_names_new(const char *log, const uint8_t id[16])
{
    struct mpr_names *names = mpr_alloc(1, sizeof *names);
    if (log) names->log = mpr_text_copy(log);
    names->symbols = mpr_symbols_new(names->log, id);
    return names;
}

void mpr_names_free(struct mpr_names *names)
{
    if (!names) return;
    mpr_symbols_free(names->symbols);
    mpr_index_free(&names->number);
    free(names->named);
    free(names->of_node);
    free(names->range);
    free(names->python);
    free(names->log);
    free(names);
}

/* "libfoo.so+0x1234": the return address in its object file. */
static const struct mpr_frame *address_frame(struct mpr_arena *arena, const struct mpr_sites *s,
                                             const struct mpr_stack_node *n)
{
    const struct mpr_module *m = n->module ? &s->module[n->module - 1] : NULL;
    const char *object = m ? mpr_arena_text(arena, mpr_sites_library_name(s, m->library)) : NULL;
    if (mpr_stack_is_cut(n)) return mpr_frame_named(arena, MPR_FRAME_CUT, mpf_cut_text(n->pc));
    return mpr_frame_new(
        arena, (struct mpr_frame){
                   .kind = MPR_FRAME_ADDRESS,
                   .object = object,
                   .name = m ? mpr_arena_format(arena, "%s+%#" PRIx64, object, n->pc - m->from)
                             : mpr_arena_format(arena, "%#" PRIx64, n->pc) });
}

/* "function (file.c:12)", or "function (libfoo.so)" if the place is not known. */
static const struct mpr_frame *symbol_frame(struct mpr_arena *arena, const struct mpr_sites *s,
                                            const struct mpr_stack_node *n,
                                            const struct mpr_symbol *symbol)
{
    const struct mpr_module *m = n->module ? &s->module[n->module - 1] : NULL;
    const char *object = m ? mpr_sites_library_name(s, m->library) : "generated code",
               *path = mpr_arena_text(arena, symbol->file ? symbol->file
                                             : m          ? m->path
                                                          : NULL);
    struct mpr_frame fields = { .kind = MPR_FRAME_NATIVE,
                                .name = mpr_arena_text(arena, symbol->function),
                                .path = path,
                                .object = mpr_arena_text(arena, object) };
    if (symbol->file && symbol->line) {
        fields.file = mpr_basename(path);
        fields.line = symbol->line;
    }
    return mpr_frame_new(arena, fields);
}

const struct mpr_symbol *mpr_names_calls(struct mpr_names *names, const struct mpr_sites *s,
                                         uint32_t module, uint64_t pc, size_t *count)
{
    static const char memory[] = "/memfd:"; /* some JITs map code from an anonymous file */
    const struct mpr_module *m = module ? &s->module[module - 1] : NULL;
    *count = 0;
    if (pc < MPR_STACK_CUTS) return NULL;
    if (!m || strncmp(m->path, memory, strlen(memory)) == 0)
        return mpr_symbols_find_generated(names->symbols, pc, count);
    const struct mpr_binary binary = { m->path, m->build_id, m->build_id_bytes, m->from };
    return mpr_symbols_find(names->symbols, module, &binary, pc, count);
}

bool mpr_names_are_newer(struct mpr_names *names)
{
    return mpr_symbols_read_stored(names->symbols) == MPR_SYMBOLS_FILE_NEWER;
}

const struct mpr_frame *const *mpr_names_at(struct mpr_names *names, struct mpr_arena *arena,
                                            const struct mpr_sites *s, uint32_t node, size_t *count)
{
    const struct mpr_stack_node *n = &s->stacks.node[node];
    const uint64_t key = mpr_hash(mpr_hash(n->pc) + n->module);
    MPR_REACH(names->of_node, node, names->nodes);
    uint32_t *number = &names->of_node[node];
    if (!*number) *number = mpr_index_get(&names->number, key);
    if (!*number) {
        size_t calls;
        const struct mpr_symbol *symbol = mpr_names_calls(names, s, n->module, n->pc, &calls);
        const struct mpr_frame **call = mpr_arena_alloc(arena, (calls + !calls) * sizeof *call);
        if (!calls) call[0] = address_frame(arena, s, n);
        for (size_t i = 0; i < calls; i++) call[i] = symbol_frame(arena, s, n, &symbol[i]);
        MPR_GROW(names->named, names->count, names->cap);
        names->named[names->count++] = (struct named){ call, calls + !calls };
        mpr_index_set(&names->number, key, *number = names->count);
    }
    *count = names->named[*number - 1].count;
    return names->named[*number - 1].call;
}

/* ---- ranges, Python calls, threads, sizes, libraries */

bool mpr_label_is_approximate(const struct mpr_replay *r, uint8_t heap)
{
    return heap == MPF_HEAP_HOST && r->totals.known;
}

bool mpr_label_is_nested(uint8_t heap) { return heap == MPF_HEAP_NVTX; }

static const char *text_or_number(struct mpr_arena *arena, const struct mpr_texts *texts,
                                  const char *what, uint32_t id)
{
    size_t bytes;
    const char *text = mpr_texts_get(texts, id, &bytes);
    return text ? mpr_arena_text(arena, text) : mpr_arena_format(arena, "%s %" PRIu32, what, id);
}

/* The recorder uses the numbers below 3 for names that it could not record. */
const char *mpr_label_name(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t name,
                           uint32_t domain)
{
    static const char *const reserved[] = { NO_NAME, "(names beyond the limit)",
                                            "(name not known)" };
    const struct mpr_texts *names = &r->ranges.names;
    const char *label;
    size_t bytes;
    if (name < sizeof reserved / sizeof *reserved) label = reserved[name];
    else if (name >= MPR_FRAME_NAME && !mpr_texts_get(names, name, &bytes)) label = reserved[1];
    else label = text_or_number(arena, names, "name", name);
    if (!*label) label = NO_NAME;
    if (!domain) return label;
    return mpr_arena_format(arena, "%s:%s",
                            text_or_number(arena, &r->ranges.domains, "domain", domain), label);
}

/* Nodes with the same Python frame share one struct. */
const struct mpr_frame *mpr_label_frame(struct mpr_arena *arena, const struct mpr_reader *reader,
                                        uint32_t node)
{
    const struct mpr_node *n = &reader->replay.ranges.node[node];
    struct mpr_names *names = reader->names;
    MPR_REACH(names->range, node, names->ranges);
    if (names->range[node]) return names->range[node];
    const struct mpr_python_frame f = mpr_ranges_frame(&reader->replay.ranges, n->name);
    if (!f.function)
        return names->range[node] =
                   mpr_frame_named(arena, MPR_FRAME_RANGE,
                                   mpr_label_name(arena, &reader->replay, n->name, n->domain));
    MPR_REACH(names->python, n->name - MPR_FRAME_NAME, names->pythons);
    const struct mpr_frame **shared = &names->python[n->name - MPR_FRAME_NAME];
    if (*shared) return names->range[node] = *shared;
    const bool named = *f.function || *f.file;
    struct mpr_frame fields = { .name = named ? mpr_arena_text(arena, f.function) : NO_NAME };
    if (*f.file) {
        fields.kind = MPR_FRAME_PYTHON;
        fields.path = mpr_arena_text(arena, f.file);
        fields.file = mpr_python_file(fields.path);
        fields.line = f.line;
        /* the log has function and module in one text: "Linear.forward [layers.3]" */
        const char *open = strrchr(fields.name, '[');
        const size_t length = open ? strlen(open) : 0;
        if (length >= 3 && open > fields.name && open[-1] == ' ' && open[length - 1] == ']') {
            fields.module = mpr_arena_format(arena, "%.*s", (int)length - 2, open + 1);
            fields.name =
                mpr_arena_format(arena, "%.*s", (int)(open - 1 - fields.name), fields.name);
        }
    }
    *shared = mpr_frame_new(arena, fields);
    return names->range[node] = *shared;
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

static const struct mpr_thread *thread_at(const struct mpr_replay *r, uint32_t number)
{
    const struct mpr_thread *t = number < r->threads.count ? r->threads.at[number] : NULL;
    return t && t->tid ? t : NULL;
}

static const char *thread_name(const struct mpr_thread *t)
{
    return t->name[0] ? t->name : "thread";
}

const char *mpr_label_thread(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number)
{
    const struct mpr_thread *t = thread_at(r, number);
    if (!t) return mpr_arena_format(arena, "thread #%" PRIu32, number);
    return mpr_arena_format(arena, "%s (%" PRIu64 ")", thread_name(t), t->tid);
}

const char *mpr_label_unrecorded(struct mpr_arena *arena, const struct mpr_replay *r)
{
    return r->totals.known   ? mpr_arena_text(arena, r->options.rest_name)
           : r->before.known ? mpr_arena_text(arena, MPR_BEFORE_NAME)
                             : NULL;
}

const char *mpr_label_owner(struct mpr_arena *arena, const struct mpr_replay *r, uint32_t number)
{
    const char *unrecorded = number ? NULL : mpr_label_unrecorded(arena, r);
    return unrecorded ? unrecorded : mpr_label_thread(arena, r, number);
}

const struct mpr_frame *mpr_label_owner_frame(struct mpr_arena *arena, const struct mpr_replay *r,
                                              uint32_t number)
{
    const bool counted = !number && (r->totals.known || r->before.known);
    const struct mpr_thread *t = counted ? NULL : thread_at(r, number);
    const char *text = mpr_label_owner(arena, r, number);
    return mpr_frame_new(
        arena, (struct mpr_frame){ .text = text,
                                   .name = t ? mpr_arena_text(arena, thread_name(t)) : text,
                                   .line = t ? t->tid : 0 });
}

/* Returns 2 to the power, exactly: "1 KiB". */
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

const char *mpr_label_comm(struct mpr_arena *arena, const struct mpr_comm *comm)
{
    return comm->id ? mpr_arena_format(arena, "%#" PRIx64, comm->id) : "(id not known)";
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

/* ---- reasons for missing names */

bool mpr_label_is_libdw_missing(void) { return mpr_symbols_not_installed(); }

/* Returns the libraries in that state, at most SOME of them; "" for none. */
static const char *in_state(const struct mpr_names *names, struct mpr_arena *arena,
                            const struct mpr_sites *s, enum mpr_symbols_state state)
{
    enum { SOME = 8 };
    const char *list = "";
    size_t count = 0;
    for (uint32_t i = 0; i < s->modules; i++)
        if (mpr_symbols_state(names->symbols, i + 1) == state && count++ < SOME)
            list = mpr_arena_format(arena, "%s%s%s", list, *list ? ", " : "",
                                    mpr_sites_library_name(s, s->module[i].library));
    return count > SOME ? mpr_arena_format(arena, "%s and %zu more", list, count - SOME) : list;
}

/* Returns the problem with the stored names, or NULL. */
static const char *note_beside(const struct mpr_names *names, struct mpr_arena *arena)
{
    static const char *const why[] = {
        [MPR_SYMBOLS_FILE_INCOMPLETE] =
            "lacks the names of some calls; memprof-report log symbolize adds them if it has room for them",
        [MPR_SYMBOLS_FILE_DAMAGED] = "is not used, because it is damaged",
        [MPR_SYMBOLS_FILE_UNTRUSTED] =
            "is not used, because it belongs to neither the log's owner, nor you, nor root",
        [MPR_SYMBOLS_FILE_UNREADABLE] = "is not used, because it cannot be read",
        [MPR_SYMBOLS_FILE_FOREIGN] = "is not used, because it belongs to another log",
        [MPR_SYMBOLS_FILE_NEWER] = "is not used, because a newer memprof wrote it",
    };
    const char *wrong = why[mpr_symbols_stored_state(names->symbols)];
    return wrong ? mpr_arena_format(arena, "%s.symbols %s", mpr_basename(names->log), wrong) : NULL;
}

/* Returns a line if the map of generated code is needed and cannot be used, otherwise NULL. */
static const char *note_map(const struct mpr_names *names, struct mpr_arena *arena)
{
    static const char *const why[] = {
        [MPR_SYMBOLS_FILE_MISSING] =
            "does not exist; memprof run copies it if the program writes one",
        [MPR_SYMBOLS_FILE_DAMAGED] = "is not a map in perf's format, or is too large",
        [MPR_SYMBOLS_FILE_UNTRUSTED] = "belongs to neither the log's owner, nor you, nor root",
        [MPR_SYMBOLS_FILE_UNREADABLE] = "cannot be read",
        [MPR_SYMBOLS_FILE_NEWER] = NULL,
    };
    const char *wrong = why[mpr_symbols_map_state(names->symbols)];
    return wrong
               ? mpr_arena_format(arena, "no names of generated code: %s" MPR_PERF_MAP_ENDING " %s",
                                  mpr_basename(names->log), wrong)
               : NULL;
}

const char *const *mpr_names_notes(const struct mpr_names *names, struct mpr_arena *arena,
                                   const struct mpr_sites *s, size_t *notes)
{
    static const struct {
        enum mpr_symbols_state state;
        const char *why;
    } reason[] = {
        { MPR_SYMBOLS_MISSING,
          "functions of these files have no names, because the files are not on this machine (to store the names in a file next to the log, run memprof-report log symbolize on a machine that has them)" },
        { MPR_SYMBOLS_OTHER,
          "functions of these files have no names, because the program ran other versions of the files (their build IDs differ)" },
        { MPR_SYMBOLS_UNREADABLE,
          "functions of these files have no names, because the files cannot be read" },
        { MPR_SYMBOLS_TOO_LARGE,
          "functions of these files have no source lines, because the debug information is more than 32 "
          "times as large when it is unpacked" },
        { MPR_SYMBOLS_NOT_BUILT,
          "functions of these files have no names, because this memprof-report was built without libdw" },
    };
    enum { REASONS = sizeof reason / sizeof *reason };
    static_assert(REASONS == MPR_SYMBOLS_NOT_ASKED - MPR_SYMBOLS_NOT_INSTALLED - 1,
                  "each reason of a single log is here");
    const char **note = mpr_arena_alloc(arena, (REASONS + 2) * sizeof *note),
               *beside = note_beside(names, arena), *map = note_map(names, arena);
    *notes = 0;
    for (size_t i = 0; i < REASONS; i++) {
        const char *list = in_state(names, arena, s, reason[i].state);
        if (*list) note[(*notes)++] = mpr_arena_format(arena, "%s: %s", reason[i].why, list);
    }
    if (beside) note[(*notes)++] = beside;
    if (map) note[(*notes)++] = map;
    return note;
}

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

/* ---- cells */

/* "burst 2 > capture 14, pool 0:3", with the numbers of memprof-report graphs. */
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

struct mpr_path mpr_label_path(struct mpr_arena *arena, const struct mpr_reader *reader,
                               const struct mpr_cell *cell)
{
    const struct mpr_replay *r = &reader->replay;
    const uint32_t number = (uint32_t)cell->key;
    const char *text = mpr_heap_name(cell->heap);
    const struct mpr_frame **label = mpr_arena_alloc(arena, sizeof *label);
    switch (r->options.by) {
    case MPR_GROUP_GRAPH: return graph_path(arena, r, cell);
    case MPR_GROUP_STACK: return mpr_label_stack(arena, reader, number);
    case MPR_GROUP_RANGE:
    case MPR_GROUP_ALL:
    case MPR_GROUP_PYTHON: return mpr_label_node(arena, reader, number);
    case MPR_GROUP_AUTO:
        if (!(cell->key & MPR_KEY_LIBRARY)) return mpr_label_node(arena, reader, number);
        *label = mpr_label_library_frame(arena, r, number);
        break;
    case MPR_GROUP_LIBRARY: *label = mpr_label_library_frame(arena, r, number); break;
    case MPR_GROUP_THREAD: *label = mpr_label_owner_frame(arena, r, number); break;
    case MPR_GROUP_COMM:
        text = "(no communicator)";
        if (!cell->key || cell->key > r->gpu.comms.count) break;
        text = mpr_label_comm(arena, &r->gpu.comms.comm[cell->key - 1]);
        text = mpr_arena_format(arena, "NCCL %s", text);
        *label = mpr_frame_new(arena, (struct mpr_frame){ .text = text, .name = "NCCL" });
        break;
    case MPR_GROUP_SIZE:
        text = mpr_counted_totals_is(&r->totals, &r->accounts, cell)
                   ? mpr_arena_text(arena, r->options.rest_name)
               : r->before.known && cell == &r->accounts.cell[r->before.cell]
                   ? mpr_arena_text(arena, MPR_BEFORE_NAME)
                   : mpr_label_size(arena, number);
        break;
    default: break;
    }
    if (!*label) *label = mpr_frame_named(arena, MPR_FRAME_LABEL, text);
    return (struct mpr_path){ label, 1 };
}

/* A sampled block represents blocks of the same call stack, or of the same range if cells are
 * grouped by ranges. By AUTO only cells without a range have samples. */
bool mpr_label_at_least(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    if (cell->heap != MPF_HEAP_HOST ||
        !mpr_estimates_is_sampled(&r->estimates, (uint32_t)(cell - r->accounts.cell)))
        return false;
    if (mpr_replay_samples_host(r)) return true;
    switch (r->options.by) {
    case MPR_GROUP_AUTO: return true;
    case MPR_GROUP_STACK:
    case MPR_GROUP_PYTHON: return cell->key != 0;
    case MPR_GROUP_ALL: return cell->site != 0;
    case MPR_GROUP_LIBRARY: return *mpr_sites_library_name(&r->sites, (uint32_t)cell->key);
    default: return false;
    }
}
