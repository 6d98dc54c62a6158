#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "matching.h"

/* Texts of one name are one text, mostly: each is looked at once. */
struct mpr_pairs_name {
    const char *key;
    uint64_t hash;
};

void mpr_pairs_begin(struct mpr_pairs *p, struct mpr_arena *arena, enum mpr_group by, size_t runs,
                     size_t older)
{
    *p =
        (struct mpr_pairs){ .arena = arena, .by = by, .runs = runs, .older = older, .program = "" };
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

static struct mpr_pairs_name name_of(struct mpr_pairs *p, const char *text)
{
    const uint64_t at = (uintptr_t)text;
    const uint32_t number = mpr_index_get(&p->by_name, at);
    if (number) return p->name[number - 1];
    const char *key = mpr_matching_name(p->arena, p->by, p->program, text);
    MPR_GROW(p->name, p->names, p->name_cap);
    p->name[p->names++] = (struct mpr_pairs_name){ key, mpr_hash_text(key) };
    mpr_index_set(&p->by_name, at, p->names);
    return p->name[p->names - 1];
}

static bool is_same(const char *const *a, const char *const *b, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        if (a[i] != b[i] && strcmp(a[i], b[i]) != 0) return false;
    return true;
}

/* In the arena, and its hash. */
static const char *const *key_of(struct mpr_pairs *p, const char *const *path, size_t depth,
                                 uint64_t *hash)
{
    const char **key = mpr_arena_alloc(p->arena, depth * sizeof *key);
    *hash = 0;
    for (size_t i = 0; i < depth; i++) {
        const struct mpr_pairs_name name = name_of(p, path[i]);
        key[i] = name.key;
        *hash = mpr_hash(*hash + name.hash);
    }
    return key;
}

static struct mpr_pair *pair_of(struct mpr_pairs *p, const char *const *path, size_t depth)
{
    uint64_t hash;
    const char *const *key = key_of(p, path, depth, &hash);
    struct mpr_probe probe = mpr_index_probe(&p->by_key, hash);
    for (uint32_t number; (number = mpr_probe_next(&probe));) {
        struct mpr_pair *pair = &p->pair[number - 1];
        if (pair->depth == depth && is_same(pair->key, key, depth)) return pair;
    }
    MPR_GROW(p->pair, p->pairs, p->cap);
    p->pair[p->pairs++] = (struct mpr_pair){
        .depth = depth, .bytes = mpr_arena_alloc(p->arena, p->runs * sizeof(int64_t)), .key = key
    };
    mpr_index_add(&p->by_key, hash, p->pairs);
    return &p->pair[p->pairs - 1];
}

static bool shows(const struct mpr_pair *pair, size_t i, const char *name)
{
    return pair->path[i] == pair->key[i] || strcmp(pair->path[i], name) == 0;
}

/* The newer side's path; of several, what they have in common. */
static void show(struct mpr_pairs *p, struct mpr_pair *pair, const char *const *path, bool newer)
{
    size_t same = 0;
    if (!pair->path || newer > pair->newer) {
        pair->path = path;
        pair->newer = newer;
    }
    if (newer != pair->newer) return;
    while (same < pair->depth && shows(pair, same, path[same])) same++;
    if (same == pair->depth) return;
    const char **common = mpr_arena_alloc(p->arena, pair->depth * sizeof *common);
    for (size_t i = 0; i < pair->depth; i++)
        common[i] = shows(pair, i, path[i]) ? pair->path[i] : pair->key[i];
    pair->path = common;
}

void mpr_pairs_add(struct mpr_pairs *p, const char *const *path, size_t depth, int64_t bytes,
                   bool estimated)
{
    struct mpr_pair *pair = pair_of(p, path, depth);
    show(p, pair, path, p->run >= p->older);
    pair->bytes[p->run] = mpr_plus(pair->bytes[p->run], bytes);
    pair->estimated |= estimated;
}
