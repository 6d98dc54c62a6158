#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"

/* The parts of a frame that are the same in each run, computed once for each frame. */
struct mpr_pairs_name {
    const struct mpr_frame *stable;
    const char *function;
    uint64_t hash;
};

void mpr_pairs_begin(struct mpr_pairs *p, struct mpr_arena *arena, size_t runs, size_t older)
{
    *p = (struct mpr_pairs){ .arena = arena, .runs = runs, .older = older, .program = "" };
}

void mpr_pairs_run(struct mpr_pairs *p, size_t run, const char *program)
{
    p->run = run;
    p->program = program;
}

void mpr_pairs_free(struct mpr_pairs *p)
{
    mpr_index_free(&p->by_key);
    mpr_index_free(&p->by_name);
    free(p->name);
    free(p->pair);
}

static struct mpr_pairs_name name_of(struct mpr_pairs *p, const struct mpr_frame *frame)
{
    const uint32_t number = mpr_index_get(&p->by_name, frame->id);
    if (number) return p->name[number - 1];
    const struct mpr_frame *stable = mpr_frame_stable(p->arena, p->program, frame);
    MPR_GROW(p->name, p->names, p->name_cap);
    p->name[p->names++] =
        (struct mpr_pairs_name){ stable, mpr_frame_stable_function(p->arena, stable),
                                 mpr_hash_text(stable->text) };
    mpr_index_set(&p->by_name, frame->id, p->names);
    return p->name[p->names - 1];
}

static bool is_same(const char *const *a, const char *const *b, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        if (a[i] != b[i] && strcmp(a[i], b[i]) != 0) return false;
    return true;
}

static struct mpr_call_pair *pair_of(struct mpr_pairs *p, struct mpr_path path)
{
    const char **key = mpr_arena_alloc(p->arena, path.depth * sizeof *key),
               **function = mpr_arena_alloc(p->arena, path.depth * sizeof *function);
    uint64_t hash = 0;
    for (size_t i = 0; i < path.depth; i++) {
        const struct mpr_pairs_name name = name_of(p, path.frame[i]);
        key[i] = name.stable->text;
        function[i] = name.function;
        hash = mpr_hash(hash + name.hash);
    }
    MPR_INDEX_EACH(number, &p->by_key, hash) {
        struct mpr_call_pair *pair = &p->pair[number - 1];
        if (pair->path.depth == path.depth && is_same(pair->key, key, path.depth)) return pair;
    }
    MPR_GROW(p->pair, p->pairs, p->cap);
    p->pair[p->pairs++] =
        (struct mpr_call_pair){ .path = { .depth = path.depth },
                                .bytes = mpr_arena_alloc(p->arena, p->runs * sizeof(int64_t)),
                                .key = key,
                                .function = function };
    mpr_index_add(&p->by_key, hash, p->pairs);
    return &p->pair[p->pairs - 1];
}

/* Returns true if frame i of the pair's path is that frame, or only its stable part. */
static bool shows(const struct mpr_call_pair *pair, size_t i, const struct mpr_frame *frame)
{
    const struct mpr_frame *shown = pair->path.frame[i];
    return strcmp(shown->text, pair->key[i]) == 0 || mpr_frame_compare(shown, frame) == 0;
}

/* Sets the pair's path: that of the newer side; if its runs differ, the stable part. */
static void show(struct mpr_pairs *p, struct mpr_call_pair *pair, struct mpr_path path, bool newer)
{
    size_t same = 0;
    if (!pair->path.frame || newer > pair->newer) {
        pair->path = path;
        pair->newer = newer;
    }
    if (newer != pair->newer) return;
    while (same < path.depth && shows(pair, same, path.frame[same])) same++;
    if (same == path.depth) return;
    const struct mpr_frame **common = mpr_arena_alloc(p->arena, path.depth * sizeof *common);
    for (size_t i = 0; i < path.depth; i++)
        common[i] =
            shows(pair, i, path.frame[i]) ? pair->path.frame[i] : name_of(p, path.frame[i]).stable;
    pair->path.frame = common;
}

void mpr_pairs_add(struct mpr_pairs *p, struct mpr_path path, int64_t bytes, bool estimated,
                   double variance)
{
    struct mpr_call_pair *pair = pair_of(p, path);
    show(p, pair, path, p->run >= p->older);
    pair->bytes[p->run] = mpr_signed_add(pair->bytes[p->run], bytes);
    pair->estimated |= estimated;
    pair->variance += variance;
    pair->older |= p->run < p->older;
}

/* ---- pairs that only one side has */

/* Pairs with the same functions: one of each side, and the number on each side. */
struct candidate {
    struct mpr_call_pair *first, *older, *newer;
    uint32_t olders, newers;
};

/* Adds the older pair's bytes to the newer pair. The older pair is left without a side. */
static void join(const struct mpr_pairs *p, struct mpr_call_pair *older,
                 struct mpr_call_pair *newer)
{
    for (size_t i = 0; i < p->runs; i++)
        newer->bytes[i] = mpr_signed_add(newer->bytes[i], older->bytes[i]);
    newer->estimated |= older->estimated;
    newer->variance += older->variance;
    newer->older = true;
    older->older = false;
}

/* Joins pairs that only one side has. @callers: their callers must also be the same. */
static void join_one_sided(struct mpr_pairs *p, bool callers)
{
    struct mpr_index by_functions = { 0 };
    struct candidate *candidate = mpr_alloc(p->pairs, sizeof *candidate);
    uint32_t count = 0, kept = 0;
    for (struct mpr_call_pair *pair = p->pair; pair < p->pair + p->pairs; pair++) {
        const size_t depth = pair->path.depth - !callers;
        struct candidate *a = NULL;
        uint64_t hash = 0;
        for (size_t i = 0; i < depth; i++) hash = mpr_hash(hash + mpr_hash_text(pair->function[i]));
        MPR_INDEX_EACH(number, &by_functions, hash) {
            struct candidate *known = &candidate[number - 1];
            if (known->first->path.depth == pair->path.depth &&
                is_same(known->first->function, pair->function, depth))
                a = known;
        }
        if (!a) {
            a = &candidate[count++];
            a->first = pair;
            mpr_index_add(&by_functions, hash, count);
        }
        if (pair->older) a->older = pair;
        if (pair->newer) a->newer = pair;
        a->olders += pair->older;
        a->newers += pair->newer;
    }
    for (const struct candidate *a = candidate; a < candidate + count; a++)
        if (a->olders == 1 && a->newers == 1 && a->older != a->newer) join(p, a->older, a->newer);
    for (uint32_t i = 0; i < p->pairs; i++)
        if (p->pair[i].older || p->pair[i].newer) p->pair[kept++] = p->pair[i];
    p->pairs = kept;
    mpr_index_free(&by_functions);
    free(candidate);
}

void mpr_pairs_join(struct mpr_pairs *p)
{
    join_one_sided(p, false);
    join_one_sided(p, true);
}
