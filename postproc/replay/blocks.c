#include "blocks.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_PLACES 4096u

static_assert(sizeof(struct mpr_block) == 16, "four to a cache line");

static size_t table_bytes(const struct mpr_blocks *b) { return (b->mask + 1) * sizeof *b->at; }

/* Huge pages: blocks land anywhere in the table, so with small ones nearly each access misses the TLB. */
static int make_table(struct mpr_blocks *b, size_t places)
{
    void *at = mmap(NULL, places * sizeof *b->at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return -1;
    madvise(at, places * sizeof *b->at, MADV_HUGEPAGE);
    *b = (struct mpr_blocks){ .at = at, .mask = places - 1, .live = b->live, .limit = places / 2 };
    return 0;
}

int mpr_blocks_init(struct mpr_blocks *b)
{
    *b = (struct mpr_blocks){ 0 };
    return make_table(b, FIRST_PLACES);
}

void mpr_blocks_free(struct mpr_blocks *b)
{
    if (b->at) munmap(b->at, table_bytes(b));
    *b = (struct mpr_blocks){ 0 };
}

static size_t find(const struct mpr_blocks *b, uint64_t key)
{
    size_t at = mpr_blocks_home(b, key);
    while (b->at[at].key && b->at[at].key != key) at = (at + 1) & b->mask;
    return at;
}

static int grow(struct mpr_blocks *b)
{
    struct mpr_blocks old = *b;
    if (make_table(b, (old.mask + 1) * 2) != 0) return -1;
    for (size_t i = 0; i <= old.mask; i++) {
        if (old.at[i].key) b->at[find(b, old.at[i].key)] = old.at[i];
    }
    mpr_blocks_free(&old);
    return 0;
}

struct mpr_block *mpr_blocks_insert(struct mpr_blocks *b, uint64_t key, bool *existed)
{
    if (b->live >= b->limit && grow(b) != 0) return NULL;
    struct mpr_block *block = &b->at[find(b, key)];
    *existed = block->key != 0;
    if (!*existed) {
        block->key = key;
        b->live++;
    }
    return block;
}

/* Closes the gap, so that probes never need tombstones: each later block moves up unless it is at home before the
 * gap. */
static void close_gap(struct mpr_blocks *b, size_t gap)
{
    size_t at = gap;
    for (;;) {
        at = (at + 1) & b->mask;
        if (!b->at[at].key) break;
        const size_t home = mpr_blocks_home(b, b->at[at].key);
        if (((at - home) & b->mask) < ((at - gap) & b->mask)) continue;
        b->at[gap] = b->at[at];
        gap = at;
    }
    b->at[gap].key = 0;
}

bool mpr_blocks_take(struct mpr_blocks *b, uint64_t key, struct mpr_block *out)
{
    const size_t at = find(b, key);
    if (!b->at[at].key) return false;
    *out = b->at[at];
    close_gap(b, at);
    b->live--;
    return true;
}
