#include "steps.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ranges.h"
#include "truth.h"

#define PAGE ((size_t)4096)
enum { IN_A_RANGE = 16 };

__thread void *(*steps_library)(size_t);
bool steps_corrupt, steps_all_calls;
/* True while this thread is in the allocator, or in a function that may call it. */
static __thread volatile bool inside = true;

uint64_t roll(uint64_t *dice)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return *dice >> 33;
}

bool owner_begin(struct owner *o, uint64_t seed)
{
    o->lane = truth_lane();
    o->dice = seed * 0x9E3779B97F4A7C15u + 1;
    if (o->lane < 0) return false;
    snprintf(o->heap_name, sizeof o->heap_name, "lane %d", o->lane);
    snprintf(o->map_name, sizeof o->map_name, "maps %d", o->lane);
    return true;
}

/* ---- blocks */

static char mark_of(const struct block *b) { return (char)(b->size * 7 + 1); }

static void mark(struct block *b) { b->p[0] = b->p[b->size - 1] = mark_of(b); }

static void look(const struct block *b)
{
    if (b->p[0] != mark_of(b) || b->p[b->size - 1] != mark_of(b)) steps_corrupt = true;
}

/* Most sizes are small. One in 64 is a few KiB, one in 2,048 up to 4 MiB. */
static size_t some_size(struct owner *o)
{
    const uint64_t x = roll(&o->dice);
    if (x % 2048 == 0) return 1 + roll(&o->dice) % ((size_t)4 << 20);
    if (x % 64 == 0) return 1 + roll(&o->dice) % 70000;
    return 1 + x / 2048 % 600;
}

static void *make(struct owner *o, size_t size)
{
    void *p = NULL;
    if (steps_library) return steps_library(size);
    switch (roll(&o->dice) % 24) {
    case 0: return calloc(1, size);
    case 1: return calloc(size, 1);
    case 2: return realloc(NULL, size);
    case 3: return reallocarray(NULL, size, 1);
    case 4: return memalign(64, size);
    case 5: return aligned_alloc(128, size);
    case 6: return posix_memalign(&p, 4096, size) == 0 ? p : NULL;
    case 7: return steps_all_calls ? valloc(size) : malloc(size);
    case 8: return steps_all_calls ? pvalloc(size) : malloc(size);
    default: return malloc(size);
    }
}

static void take(struct owner *o, struct block *b)
{
    struct held s = truth_now(o->lane);
    b->size = some_size(o);
    s.allocations++;
    s.bytes += b->size;
    truth_begin(o->lane, s);
    inside = true;
    b->p = make(o, b->size);
    inside = false;
    if (!b->p) return truth_refused(o->lane);
    truth_done(o->lane);
    mark(b);
}

static void drop(struct owner *o, struct block *b)
{
    struct held s = truth_now(o->lane);
    look(b);
    s.bytes -= b->size;
    truth_begin(o->lane, s);
    inside = true;
    free(b->p);
    inside = false;
    truth_done(o->lane);
    truth->lane[o->lane].frees++;
    b->p = NULL;
}

static void change(struct owner *o, struct block *b)
{
    struct held s = truth_now(o->lane);
    const size_t size = some_size(o);
    look(b);
    s.allocations++;
    s.bytes += size - b->size;
    truth_begin(o->lane, s);
    inside = true;
    char *p = roll(&o->dice) % 2 ? realloc(b->p, size) : reallocarray(b->p, size, 1);
    inside = false;
    if (!p) return truth_refused(o->lane);
    truth_done(o->lane);
    truth->lane[o->lane].frees++;
    *b = (struct block){ p, size };
    mark(b);
}

static void heap_step(struct owner *o)
{
    const uint64_t x = roll(&o->dice);
    struct block *b = &o->block[x % BLOCKS];
    if (!b->p) take(o, b);
    else if (x / BLOCKS % 4 == 0) change(o, b);
    else drop(o, b);
}

/* ---- mappings */

static size_t some_pages(struct owner *o) { return PAGE * (1 + roll(&o->dice) % 40); }

static void map(struct owner *o, struct block *b)
{
    struct held s = truth_now(o->lane);
    b->size = some_pages(o);
    s.mapped += b->size;
    truth_begin(o->lane, s);
    b->p = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->p != MAP_FAILED) return truth_done(o->lane);
    b->p = NULL;
    truth_refused(o->lane);
}

/* Unmaps all of it, or its end. */
static void unmap(struct owner *o, struct block *b, size_t keep)
{
    struct held s = truth_now(o->lane);
    s.mapped -= b->size - keep;
    truth_begin(o->lane, s);
    munmap(b->p + keep, b->size - keep);
    truth_done(o->lane);
    b->size = keep;
    if (!keep) b->p = NULL;
}

static void remap(struct owner *o, struct block *b)
{
    struct held s = truth_now(o->lane);
    const size_t size = some_pages(o);
    s.mapped += size - b->size;
    truth_begin(o->lane, s);
    char *p = mremap(b->p, b->size, size, MREMAP_MAYMOVE);
    if (p == MAP_FAILED) return truth_refused(o->lane);
    truth_done(o->lane);
    *b = (struct block){ p, size };
}

static void map_step(struct owner *o)
{
    const uint64_t x = roll(&o->dice);
    struct block *b = &o->map[x % MAPS];
    if (!b->p) map(o, b);
    else if (x / MAPS % 3 == 0) remap(o, b);
    else unmap(o, b, x / MAPS % 3 == 1 ? 0 : b->size / 2 / PAGE * PAGE);
}

/* ---- blocks and mappings */

void steps(struct owner *o, unsigned count)
{
    inside = false;
    for (unsigned n; count; count -= n) {
        n = count < IN_A_RANGE ? count : IN_A_RANGE;
        range_push(o->heap_name);
        for (unsigned i = 0; i < n; i++) heap_step(o);
        range_pop();
        range_push(o->map_name);
        map_step(o);
        range_pop();
    }
    inside = true;
}

void steps_in_handler(struct owner *o)
{
    if (!inside) {
        range_push(o->heap_name);
        heap_step(o);
        range_pop();
    }
    range_push(o->map_name);
    map_step(o);
    range_pop();
}

void steps_free_inherited(struct owner *o, struct owner *from, unsigned max_blocks)
{
    for (struct block *b = from->block; b < from->block + BLOCKS && max_blocks; b++) {
        if (!b->p) continue;
        look(b);
        free(b->p);
        b->p = NULL;
        truth->lane[o->lane].inherited++;
        max_blocks--;
    }
}
