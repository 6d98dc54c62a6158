/* Invariants:
 *
 * - The blocks of a segment are a list by address.  Two neighbours are never both holes, unless one
 *   of them is unmapped and the other one is not.
 * - A hole is in the tree of its pool: `free` if it has memory, `unmapped` if it has not.  A block
 * in use is in no tree.
 * - A tree is a treap: ordered by stream, size and address (`unmapped` by stream and address), and
 * a heap by random priorities, so its depth does not depend on the order of requests. */
#include "caching_allocator.h"

#include <stdlib.h>

#include "alloc.h"
#include "index.h"

/* A larger request always runs out of memory. */
#define MPR_CACHING_MAX (UINT64_C(1) << 56)

struct block {
    uint64_t addr, size, stream;
    uint64_t base;       /* address of its expandable segment */
    uint64_t born;       /* calls of its pool when it became a hole */
    uint32_t pool;       /* index */
    uint32_t prev, next; /* neighbours in its segment, or 0 */
    uint32_t left, right, priority;
    bool used, mapped, expandable;
};

struct pool {
    uint32_t free, unmapped; /* roots */
    uint64_t calls;          /* searches; counted if garbage is collected */
    bool freeable;           /* empty segments may be released: the default pool's, and those of a
                              * private pool without graphs */
};

struct mpr_caching_allocator {
    struct mpr_caching_settings settings;
    struct mpr_caching_driver driver;
    uint64_t capacity, next_address, least_request;
    struct mpr_caching_totals totals;
    struct block *block; /* [0] is unused */
    uint32_t blocks, block_cap, unused;
    struct pool *pool; /* 2 * number of the pool, + 1 for its small blocks */
    uint32_t pools;
};

static struct block *at(const struct mpr_caching_allocator *a, uint32_t number)
{
    return &a->block[number];
}

/* ---- trees */

/* The number distinguishes holes at the same address, which only a damaged log has. */
struct key {
    uint64_t stream, size, addr;
    uint32_t number;
};

static struct key key_of(const struct mpr_caching_allocator *a, uint32_t number)
{
    const struct block *b = at(a, number);
    return (struct key){ b->stream, b->mapped ? b->size : 0, b->addr, number };
}

static bool is_before(const struct mpr_caching_allocator *a, uint32_t number, const struct key *key)
{
    const struct key own = key_of(a, number);
    if (own.stream != key->stream) return own.stream < key->stream;
    if (own.size != key->size) return own.size < key->size;
    return own.addr != key->addr ? own.addr < key->addr : own.number < key->number;
}

/* Returns the first hole that does not precede the key, or 0. */
static uint32_t first_from(const struct mpr_caching_allocator *a, uint32_t root, struct key key)
{
    uint32_t found = 0;
    while (root) {
        const bool before = is_before(a, root, &key);
        if (!before) found = root;
        root = before ? at(a, root)->right : at(a, root)->left;
    }
    return found;
}

/* Returns the last hole that precedes the key, or 0. */
static uint32_t last_before(const struct mpr_caching_allocator *a, uint32_t root, struct key key)
{
    uint32_t found = 0;
    while (root) {
        const bool before = is_before(a, root, &key);
        if (before) found = root;
        root = before ? at(a, root)->right : at(a, root)->left;
    }
    return found;
}

static uint32_t next_in(const struct mpr_caching_allocator *a, uint32_t root, uint32_t number)
{
    struct key key = key_of(a, number);
    key.number++;
    return first_from(a, root, key);
}

static void insert(struct mpr_caching_allocator *a, uint32_t *root, uint32_t number)
{
    struct block *b = at(a, number);
    const struct key key = key_of(a, number);
    b->priority = (uint32_t)mpr_hash(b->addr);
    while (*root && at(a, *root)->priority > b->priority)
        root = is_before(a, *root, &key) ? &at(a, *root)->right : &at(a, *root)->left;
    /* the subtree is split by the key */
    uint32_t rest = *root, *low = &b->left, *high = &b->right;
    *root = number;
    while (rest) {
        uint32_t **side = is_before(a, rest, &key) ? &low : &high;
        **side = rest;
        *side = side == &low ? &at(a, rest)->right : &at(a, rest)->left;
        rest = **side;
    }
    *low = *high = 0;
}

static void erase(struct mpr_caching_allocator *a, uint32_t *root, uint32_t number)
{
    const struct key key = key_of(a, number);
    while (*root != number)
        root = is_before(a, *root, &key) ? &at(a, *root)->right : &at(a, *root)->left;
    uint32_t low = at(a, number)->left, high = at(a, number)->right;
    while (low && high) {
        const bool take_low = at(a, low)->priority > at(a, high)->priority;
        *root = take_low ? low : high;
        root = take_low ? &at(a, low)->right : &at(a, high)->left;
        if (take_low) low = *root;
        else high = *root;
    }
    *root = low ? low : high;
}

/* ---- blocks */

static uint32_t new_block(struct mpr_caching_allocator *a, const struct block *copy)
{
    uint32_t number = a->unused;
    if (number) a->unused = at(a, number)->next;
    else {
        MPR_GROW(a->block, a->blocks, a->block_cap);
        number = a->blocks++;
    }
    a->block[number] = *copy;
    return number;
}

static void drop_block(struct mpr_caching_allocator *a, uint32_t number)
{
    at(a, number)->next = a->unused;
    a->unused = number;
}

static uint32_t *tree_of(struct mpr_caching_allocator *a, uint32_t number)
{
    struct pool *p = &a->pool[at(a, number)->pool];
    return at(a, number)->mapped ? &p->free : &p->unmapped;
}

/* The block becomes a hole of its pool, or no longer is one. */
static void add_hole(struct mpr_caching_allocator *a, uint32_t number)
{
    at(a, number)->born = a->pool[at(a, number)->pool].calls;
    insert(a, tree_of(a, number), number);
}

static void remove_hole(struct mpr_caching_allocator *a, uint32_t number)
{
    erase(a, tree_of(a, number), number);
}

/* Cuts the block, which is in no tree.  Returns the second part, which is in none either. */
static uint32_t cut(struct mpr_caching_allocator *a, uint32_t number, uint64_t size)
{
    struct block rest = *at(a, number);
    rest.addr += size;
    rest.size -= size;
    rest.prev = number;
    const uint32_t second = new_block(a, &rest);
    struct block *first = at(a, number);
    first->size = size;
    first->next = second;
    if (rest.next) at(a, rest.next)->prev = second;
    return second;
}

/* Joins the block, which is in no tree, with a neighbour, if that is a hole of the same kind. */
static void merge(struct mpr_caching_allocator *a, uint32_t number, uint32_t neighbour)
{
    struct block *b = at(a, number), *other = at(a, neighbour);
    if (!neighbour || other->used || other->mapped != b->mapped) return;
    remove_hole(a, neighbour);
    b->size += other->size;
    if (b->prev == neighbour) {
        b->addr = other->addr;
        b->prev = other->prev;
        if (b->prev) at(a, b->prev)->next = number;
    } else {
        b->next = other->next;
        if (b->next) at(a, b->next)->prev = number;
    }
    drop_block(a, neighbour);
}

static void add_merged_hole(struct mpr_caching_allocator *a, uint32_t number)
{
    merge(a, number, at(a, number)->prev);
    merge(a, number, at(a, number)->next);
    add_hole(a, number);
}

/* Returns true if the block is a whole segment. */
static bool is_whole(const struct block *b) { return !b->prev && !b->next; }

/* ---- the driver */

static void report(struct mpr_caching_allocator *a, enum mpr_caching_event event, uint64_t addr,
                   uint64_t bytes)
{
    struct mpr_caching_totals *t = &a->totals;
    const bool grows = event == MPR_CACHING_TAKES || event == MPR_CACHING_MAPS;
    t->reserved = grows ? t->reserved + bytes : t->reserved - bytes;
    t->segments += grows;
    if (t->reserved > t->reserved_peak) t->reserved_peak = t->reserved;
    if (a->driver.changed) a->driver.changed(a->driver.arg, event, addr, bytes);
}

static uint64_t place(struct mpr_caching_allocator *a, uint64_t bytes)
{
    const uint64_t addr = a->next_address;
    if (a->driver.place) return a->driver.place(a->driver.arg, bytes);
    a->next_address += (bytes + MPR_CACHING_LARGE_ROUND) & ~(uint64_t)(MPR_CACHING_LARGE_ROUND - 1);
    return addr;
}

static bool driver_has(const struct mpr_caching_allocator *a, uint64_t bytes)
{
    return a->totals.reserved <= a->capacity && bytes <= a->capacity - a->totals.reserved;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

static uint64_t granule(const struct block *b)
{
    return b->pool % 2 ? MPR_CACHING_SMALL_SEGMENT : MPR_CACHING_LARGE_SEGMENT;
}

/* ---- expandable segments: memory is mapped and unmapped in granules, from the segment's begin on
 */

/* Maps memory at the begin of an unmapped hole.  Returns the hole with that memory, or 0. */
static uint32_t map(struct mpr_caching_allocator *a, uint32_t number, uint64_t bytes)
{
    const uint64_t addr = at(a, number)->addr;
    bytes = round_up(bytes, granule(at(a, number)));
    if (!driver_has(a, bytes)) return 0;
    remove_hole(a, number);
    if (bytes < at(a, number)->size) add_hole(a, cut(a, number, bytes));
    at(a, number)->mapped = true;
    add_merged_hole(a, number);
    report(a, MPR_CACHING_MAPS, addr, bytes);
    return number;
}

/* Returns true if enough bytes follow, from the block on, until the next block in use. */
static bool has_room(struct mpr_caching_allocator *a, uint32_t number, uint64_t bytes)
{
    uint64_t room = 0;
    for (; room < bytes && number && !at(a, number)->used; number = at(a, number)->next) {
        room += at(a, number)->size;
        a->totals.steps++;
    }
    a->totals.steps++;
    return room >= bytes;
}

/* Returns the first hole, mapped or not, from which on the bytes can be mapped. */
static uint32_t find_room(struct mpr_caching_allocator *a, uint32_t pool, uint64_t stream,
                          uint64_t bytes)
{
    const uint32_t *root = &a->pool[pool].unmapped;
    for (uint32_t i = first_from(a, *root, (struct key){ .stream = stream });
         i && at(a, i)->stream == stream; i = next_in(a, *root, i)) {
        const uint32_t before = at(a, i)->prev, from = before && !at(a, before)->used ? before : i;
        if (has_room(a, from, bytes)) return from;
    }
    struct block b = { .stream = stream, .pool = pool, .expandable = true };
    b.size = round_up(a->driver.total + a->driver.total / 8, granule(&b));
    if (b.size < bytes) b.size = round_up(bytes, granule(&b));
    b.addr = b.base = place(a, b.size);
    const uint32_t number = new_block(a, &b);
    add_hole(a, number);
    return number;
}

/* Returns a hole of at least that size, or 0. */
static uint32_t expand(struct mpr_caching_allocator *a, uint32_t pool, uint64_t stream,
                       uint64_t bytes)
{
    uint32_t hole = find_room(a, pool, stream, bytes);
    if (!at(a, hole)->mapped) {
        const uint64_t size = at(a, hole)->size;
        hole = map(a, hole, size < bytes ? size : bytes);
    }
    while (hole && at(a, hole)->size < bytes) {
        const uint64_t missing = bytes - at(a, hole)->size;
        const uint32_t next = at(a, hole)->next;
        const uint64_t size = at(a, next)->size;
        hole = map(a, next, size < missing ? size : missing);
    }
    return hole;
}

/* Unmaps the granules that are inside of the hole. */
static void unmap(struct mpr_caching_allocator *a, uint32_t number)
{
    const struct block b = *at(a, number);
    const uint64_t unit = granule(&b), from = b.base + round_up(b.addr - b.base, unit),
                   to = b.base + (b.addr + b.size - b.base) / unit * unit;
    if (from >= to) return;
    remove_hole(a, number);
    if (from > b.addr) {
        const uint32_t rest = cut(a, number, from - b.addr);
        add_hole(a, number);
        number = rest;
    }
    if (b.addr + b.size > to) add_hole(a, cut(a, number, to - from));
    at(a, number)->mapped = false;
    merge(a, number, at(a, number)->prev);
    merge(a, number, at(a, number)->next);
    if (is_whole(at(a, number))) drop_block(a, number);
    else add_hole(a, number);
    report(a, MPR_CACHING_UNMAPS, from, to - from);
}

/* ---- segments */

uint64_t mpr_caching_segment_size(uint64_t bytes)
{
    if (bytes <= MPR_CACHING_SMALL) return MPR_CACHING_SMALL_SEGMENT;
    if (bytes < MPR_CACHING_LARGE_SEGMENT / 2) return MPR_CACHING_LARGE_SEGMENT;
    return round_up(bytes, MPR_CACHING_LARGE_ROUND);
}

static uint64_t allowed(const struct mpr_caching_allocator *a)
{
    const double share = a->settings.memory_fraction;
    return share > 0 ? (uint64_t)(share * (double)a->driver.total) : UINT64_MAX;
}

/* Returns a hole for the request, with memory from the driver, or 0. */
static uint32_t take_segment(struct mpr_caching_allocator *a, uint32_t pool, uint64_t stream,
                             uint64_t bytes)
{
    const uint64_t size = mpr_caching_segment_size(bytes), most = allowed(a);
    if (a->totals.reserved > most || size > most - a->totals.reserved) return 0;
    if (a->settings.expandable_segments) return expand(a, pool, stream, bytes);
    if (!driver_has(a, size)) return 0;
    const uint64_t addr = place(a, size);
    const uint32_t number = new_block(
        a, &(struct block){
               .addr = addr, .size = size, .stream = stream, .pool = pool, .mapped = true });
    add_hole(a, number);
    report(a, MPR_CACHING_TAKES, addr, size);
    return number;
}

static void release(struct mpr_caching_allocator *a, uint32_t number)
{
    const struct block b = *at(a, number);
    remove_hole(a, number);
    drop_block(a, number);
    report(a, MPR_CACHING_GIVES, b.addr, b.size);
}

static void release_pool(struct mpr_caching_allocator *a, uint32_t pool)
{
    uint32_t *expandable = NULL, count = 0, cap = 0;
    for (uint32_t i = first_from(a, a->pool[pool].free, (struct key){ .stream = 0 }), next; i;
         i = next) {
        next = next_in(a, a->pool[pool].free, i);
        if (at(a, i)->expandable) *MPR_ADD(expandable, count, cap) = i;
        else if (is_whole(at(a, i))) release(a, i);
    }
    for (uint32_t i = 0; i < count; i++) unmap(a, expandable[i]);
    free(expandable);
}

void mpr_caching_empty_cache(struct mpr_caching_allocator *a)
{
    /* large blocks before small ones, except in private pools */
    release_pool(a, 0);
    release_pool(a, 1);
    for (uint32_t i = 2; i + 1 < a->pools; i += 2) {
        if (!a->pool[i].freeable) continue;
        release_pool(a, i + 1);
        release_pool(a, i);
    }
}

/* Releases blocks that are too large to be split: one that suffices, or the largest ones.  Returns
 * true if it may be enough. */
static bool release_oversize(struct mpr_caching_allocator *a, uint32_t pool, uint64_t stream,
                             uint64_t bytes)
{
    const uint64_t least = a->settings.max_split_size, want = bytes < least ? least : bytes;
    const struct key key = { .stream = stream, .size = want };
    uint64_t released = 0;
    if (least == UINT64_MAX) return false;
    uint32_t i = first_from(a, a->pool[pool].free, key);
    if (i && at(a, i)->stream == stream) {
        release(a, i);
        return true;
    }
    while (released < want && (i = last_before(a, a->pool[pool].free, key)) &&
           at(a, i)->stream == stream && at(a, i)->size >= least) {
        released += at(a, i)->size;
        release(a, i);
    }
    return released >= want;
}

/* ---- garbage collection: idle segments of the default pool that were not used for long */

static uint64_t age(const struct mpr_caching_allocator *a, uint32_t number)
{
    return a->pool[0].calls - at(a, number)->born;
}

/* Releases segments of at least the average age.  Returns false if there was none. */
static bool collect_old(struct mpr_caching_allocator *a, uint64_t *reclaimed)
{
    uint64_t total = 0, count = 0;
    bool any = false;
    const uint32_t *root = &a->pool[0].free;
    for (uint32_t i = first_from(a, *root, (struct key){ .stream = 0 }); i;
         i = next_in(a, *root, i)) {
        if (!is_whole(at(a, i))) continue;
        total += age(a, i);
        count++;
    }
    if (!count) return false;
    const double average = (double)total / (double)count;
    for (uint32_t i = first_from(a, *root, (struct key){ .stream = 0 }), next; i; i = next) {
        next = next_in(a, *root, i);
        if (!is_whole(at(a, i)) || (double)age(a, i) < average) continue;
        *reclaimed += at(a, i)->size;
        release(a, i);
        any = true;
    }
    return any;
}

static bool collects(const struct mpr_caching_allocator *a)
{
    return a->settings.collect_above > 0 && a->settings.memory_fraction > 0;
}

static void collect(struct mpr_caching_allocator *a)
{
    const uint64_t limit = (uint64_t)(a->settings.collect_above * (double)allowed(a));
    uint64_t reclaimed = 0;
    if (a->totals.reserved <= limit) return;
    const uint64_t excess = a->totals.reserved - limit;
    while (reclaimed < excess && collect_old(a, &reclaimed)) {}
}

/* ---- requests */

/* Returns the bytes of the hole and of the unmapped memory after it. */
static uint64_t expanded_size(const struct mpr_caching_allocator *a, uint32_t number)
{
    const struct block *b = at(a, number), *next = at(a, b->next);
    return b->size + (b->next && !next->mapped ? next->size : 0);
}

/* Returns the best hole, or 0.  Among the holes of
 * expandable segments it is the one with the fewest bytes if it were expanded. */
static uint32_t find_hole(struct mpr_caching_allocator *a, uint32_t pool, uint64_t stream,
                          uint64_t bytes)
{
    const struct mpr_caching_settings *s = &a->settings;
    const uint32_t *root = &a->pool[pool].free;
    a->pool[pool].calls += collects(a);
    uint32_t i = first_from(a, *root, (struct key){ .stream = stream, .size = bytes });
    if (!i || at(a, i)->stream != stream) return 0;
    for (uint32_t next; at(a, i)->expandable; i = next) {
        next = next_in(a, *root, i);
        if (!next || at(a, next)->stream != stream || expanded_size(a, next) >= expanded_size(a, i))
            break;
    }
    if (bytes < s->max_split_size && at(a, i)->size >= s->max_split_size) return 0;
    if (bytes >= s->max_split_size && at(a, i)->size - bytes >= s->max_non_split_rounding) return 0;
    return i;
}

static bool is_split(const struct mpr_caching_allocator *a, const struct block *hole,
                     uint64_t bytes)
{
    const uint64_t rest = hole->size - bytes;
    if (hole->pool % 2 || a->settings.expandable_segments) return rest >= MPR_CACHING_BLOCK;
    return bytes < a->settings.max_split_size && rest > MPR_CACHING_SMALL;
}

/* Returns the smallest request that gets this hole without a split.  A smaller hole would have been
 * preferred. */
static uint64_t least_for(const struct mpr_caching_allocator *a, uint32_t number)
{
    const struct block *b = at(a, number);
    const uint64_t max = a->settings.max_split_size;
    if (b->pool % 2 || a->settings.expandable_segments) return b->size;
    const bool oversize = b->size >= max;
    const uint64_t slack =
        oversize ? a->settings.max_non_split_rounding - MPR_CACHING_BLOCK : MPR_CACHING_SMALL;
    uint64_t least = oversize ? max : MPR_CACHING_SMALL + MPR_CACHING_BLOCK;
    if (b->size > slack && b->size - slack > least) least = b->size - slack;
    const uint32_t smaller =
        last_before(a, a->pool[b->pool].free, (struct key){ .stream = b->stream, .size = b->size });
    if (smaller && at(a, smaller)->stream == b->stream && at(a, smaller)->size >= least)
        least = at(a, smaller)->size + MPR_CACHING_BLOCK;
    return least;
}

/* Makes a block of the hole. */
static uint32_t carve(struct mpr_caching_allocator *a, uint32_t number, uint64_t bytes)
{
    struct mpr_caching_totals *t = &a->totals;
    const bool split = is_split(a, at(a, number), bytes);
    a->least_request = split ? bytes : least_for(a, number);
    remove_hole(a, number);
    if (split) add_hole(a, cut(a, number, bytes));
    struct block *b = at(a, number);
    b->used = true;
    t->allocated += b->size;
    if (t->allocated > t->allocated_peak) t->allocated_peak = t->allocated;
    return number;
}

static void reach_pool(struct mpr_caching_allocator *a, uint32_t number)
{
    if (2 * number + 1 < a->pools) return;
    MPR_REACH(a->pool, 2 * number + 1, a->pools);
}

uint32_t mpr_caching_alloc(struct mpr_caching_allocator *a,
                           const struct mpr_caching_request *request)
{
    if (request->bytes > MPR_CACHING_MAX) return 0;
    const uint64_t bytes = mpr_caching_round(&a->settings, request->bytes),
                   stream = request->stream;
    const uint32_t pool = 2 * request->pool + (bytes <= MPR_CACHING_SMALL);
    reach_pool(a, request->pool);
    uint32_t hole = find_hole(a, pool, stream, bytes);
    if (!hole) {
        if (collects(a)) collect(a);
        hole = take_segment(a, pool, stream, bytes);
    }
    if (!hole && release_oversize(a, pool, stream, bytes))
        hole = take_segment(a, pool, stream, bytes);
    if (!hole && !request->capturing) {
        a->totals.retries++;
        mpr_caching_empty_cache(a);
        hole = take_segment(a, pool, stream, bytes);
    }
    return hole ? carve(a, hole, bytes) : 0;
}

void mpr_caching_free(struct mpr_caching_allocator *a, uint32_t block)
{
    at(a, block)->used = false;
    a->totals.allocated -= at(a, block)->size;
    add_merged_hole(a, block);
}

void mpr_caching_release_pool(struct mpr_caching_allocator *a, uint32_t pool)
{
    reach_pool(a, pool);
    a->pool[2 * pool].freeable = true;
}

/* ---- rounding */

static uint64_t round_to_divisions(uint64_t bytes, uint32_t divisions)
{
    const uint64_t floor = UINT64_C(1) << (63 - __builtin_clzll(bytes)),
                   step = floor >> (31 - __builtin_clz(divisions));
    return bytes == floor ? bytes : step ? round_up(bytes, step) : floor << 1;
}

uint64_t mpr_caching_round(const struct mpr_caching_settings *settings, uint64_t bytes)
{
    if (bytes < MPR_CACHING_BLOCK) return MPR_CACHING_BLOCK;
    int index = 63 - __builtin_clzll(bytes) - 20;
    if (index < 0) index = 0;
    if (index > MPR_CACHING_INTERVALS - 1) index = MPR_CACHING_INTERVALS - 1;
    const uint32_t divisions = settings->power2_divisions[index];
    return divisions > 1 && bytes > (uint64_t)MPR_CACHING_BLOCK * divisions
               ? round_to_divisions(bytes, divisions)
               : round_up(bytes, MPR_CACHING_BLOCK);
}

/* ---- making, ending */

struct mpr_caching_allocator *mpr_caching_new(const struct mpr_caching_settings *settings,
                                              const struct mpr_caching_driver *driver)
{
    struct mpr_caching_allocator *a = mpr_alloc(1, sizeof *a);
    a->settings = *settings;
    a->driver = *driver;
    a->capacity = UINT64_MAX;
    a->next_address = UINT64_C(1) << 40;
    *MPR_ADD(a->block, a->blocks, a->block_cap) = (struct block){ .used = true };
    reach_pool(a, 0);
    return a;
}

void mpr_caching_close(struct mpr_caching_allocator *a)
{
    if (!a) return;
    free(a->block);
    free(a->pool);
    free(a);
}

void mpr_caching_set_capacity(struct mpr_caching_allocator *a, uint64_t bytes)
{
    a->capacity = bytes;
}

uint64_t mpr_caching_address(const struct mpr_caching_allocator *a, uint32_t block)
{
    return at(a, block)->addr;
}

uint64_t mpr_caching_size(const struct mpr_caching_allocator *a, uint32_t block)
{
    return at(a, block)->size;
}

uint64_t mpr_caching_least_request(const struct mpr_caching_allocator *a)
{
    return a->least_request;
}

const struct mpr_caching_totals *mpr_caching_totals(const struct mpr_caching_allocator *a)
{
    return &a->totals;
}
