#include "names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"
#include "index.h"
#include "mpf/event.h"
#include "perf_map.h"
#include "symbols.h"

struct named {
    const struct mpr_frame *const *call;
    size_t count;
};

struct mpr_names {
    char *log; /* NULL: none */
    struct mpr_symbols *symbols;
    struct named *named; /* by number - 1 */
    uint32_t count, cap;
    struct mpr_index number; /* by hash of return address and object file */
    uint32_t *of_node;       /* numbers, by node of the native stacks */
    uint32_t nodes;
    const struct mpr_frame **range;  /* by node of the ranges */
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

/* ---- one call */

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

/* "function (file.c:12)", or "function (libfoo.so)" where the place is not known. */
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

/* Some JITs map their code from a file that only memory has. */
static bool is_generated(const struct mpr_module *m)
{
    static const char memory[] = "/memfd:";
    return !m || strncmp(m->path, memory, strlen(memory)) == 0;
}

const struct mpr_symbol *mpr_names_calls(struct mpr_names *names, const struct mpr_sites *s,
                                         uint32_t module, uint64_t pc, size_t *count)
{
    const struct mpr_module *m = module ? &s->module[module - 1] : NULL;
    *count = 0;
    if (pc < MPR_STACK_CUTS) return NULL;
    if (is_generated(m)) return mpr_symbols_find_generated(names->symbols, pc, count);
    const struct mpr_binary binary = { m->path, m->build_id, m->build_id_bytes, m->from };
    return mpr_symbols_find(names->symbols, module, &binary, pc, count);
}

bool mpr_names_are_newer(struct mpr_names *names)
{
    return mpr_symbols_read_stored(names->symbols) == MPR_SYMBOLS_FILE_NEWER;
}

/* Returns the number of the calls at a node's return address; stacks share it. */
static uint32_t number_at(struct mpr_names *names, struct mpr_arena *arena,
                          const struct mpr_sites *s, uint32_t node)
{
    const struct mpr_stack_node *n = &s->stacks.node[node];
    const uint64_t key = mpr_hash(mpr_hash(n->pc) + n->module);
    const uint32_t known = mpr_index_get(&names->number, key);
    size_t count;
    if (known) return known;
    const struct mpr_symbol *symbol = mpr_names_calls(names, s, n->module, n->pc, &count);
    const struct mpr_frame **call = mpr_arena_alloc(arena, (count + !count) * sizeof *call);
    if (!count) call[0] = address_frame(arena, s, n);
    for (size_t i = 0; i < count; i++) call[i] = symbol_frame(arena, s, n, &symbol[i]);
    MPR_GROW(names->named, names->count, names->cap);
    names->named[names->count++] = (struct named){ call, count + !count };
    mpr_index_set(&names->number, key, names->count);
    return names->count;
}

const struct mpr_frame *const *mpr_names_at(struct mpr_names *names, struct mpr_arena *arena,
                                            const struct mpr_sites *s, uint32_t node, size_t *count)
{
    MPR_REACH(names->of_node, node, names->nodes);
    uint32_t *number = &names->of_node[node];
    if (!*number) *number = number_at(names, arena, s, node);
    *count = names->named[*number - 1].count;
    return names->named[*number - 1].call;
}

const struct mpr_frame **mpr_names_range(struct mpr_names *names, uint32_t node)
{
    MPR_REACH(names->range, node, names->ranges);
    return &names->range[node];
}

const struct mpr_frame **mpr_names_python(struct mpr_names *names, uint32_t name)
{
    MPR_REACH(names->python, name - MPR_FRAME_NAME, names->pythons);
    return &names->python[name - MPR_FRAME_NAME];
}

/* ---- reasons for missing names */

/* The libraries in that state, "" for none: some of them where they are many. */
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

/* Returns a line if the map of generated code is needed and cannot be used, else NULL. */
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
        { MPR_SYMBOLS_MISSING, "no names, because the file is missing" },
        { MPR_SYMBOLS_OTHER,
          "no names, because this is not the file that the program ran (the build id differs)" },
        { MPR_SYMBOLS_UNREADABLE, "no names, because the file cannot be read" },
        { MPR_SYMBOLS_TOO_LARGE,
          "names without files and lines, because the unpacked debug information is more than 32 times as "
          "large" },
        { MPR_SYMBOLS_NOT_BUILT, "no names, because this memprof-report was built without libdw" },
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
