/* index.h would be too slow here, because every event of host memory looks up an unpredictable
 * address.  In this table a key and its block are in one place, four places are the cache line that
 * is prefetched, and the memory consists of huge pages. */
#include "blocks.h"

#include <assert.h>
#include <sys/mman.h>

#include "alloc.h"

#define FIRST_LINES 1024u

static_assert(sizeof(struct mpr_block) == 16, "four to a cache line");
static_assert(sizeof(struct mpr_block_line) == 64, "a cache line");

/* Blocks are scattered over the table, so with small pages nearly every access would miss the TLB.
 */
static void make_table(struct mpr_blocks *b, size_t lines)
{
    void *at = mmap(NULL, lines * sizeof *b->line, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) mpr_alloc_fail();
    madvise(at, lines * sizeof *b->line, MADV_HUGEPAGE);
    *b = (struct mpr_blocks){
        .line = at, .mask = lines - 1, .live = b->live, .limit = lines * MPR_LINE / 2
    };
}

void mpr_blocks_init(struct mpr_blocks *b)
{
    *b = (struct mpr_blocks){ 0 };
    make_table(b, FIRST_LINES);
}

void mpr_blocks_free(struct mpr_blocks *b)
{
    if (b->line) munmap(b->line, (b->mask + 1) * sizeof *b->line);
    *b = (struct mpr_blocks){ 0 };
}

/* Returns how many places of a line that is not full are used: the first ones. */
static inline unsigned used_places(const struct mpr_block_line *line)
{
    return (unsigned)(line->at[0].key != 0) + (line->at[1].key != 0) + (line->at[2].key != 0);
}

static inline bool is_full(const struct mpr_block_line *line)
{
    return line->at[MPR_LINE - 1].key != 0;
}

/* Returns the block's place, or the empty place where it belongs.  Computes the place in a line
 * without branches, because it cannot be predicted. */
static inline struct mpr_block *find(const struct mpr_blocks *b, uint64_t key)
{
    for (size_t i = mpr_blocks_home(b, key);; i = (i + 1) & b->mask) {
        struct mpr_block_line *line = &b->line[i];
        struct mpr_block *at = line->at;
        at += (at[1].key == key) + 2 * (at[2].key == key) + 3 * (at[3].key == key);
        if (at->key == key) return at;
        if (!is_full(line)) return &line->at[used_places(line)];
    }
}

MPR_COLD static void grow(struct mpr_blocks *b)
{
    struct mpr_blocks old = *b;
    make_table(b, (old.mask + 1) * 2);
    for (size_t i = 0; i <= old.mask; i++) {
        for (const struct mpr_block *block = old.line[i].at; block < old.line[i].at + MPR_LINE;
             block++)
            if (block->key) *find(b, block->key) = *block;
    }
    mpr_blocks_free(&old);
}

struct mpr_block *mpr_blocks_insert(struct mpr_blocks *b, uint64_t key, bool *existed)
{
    if (b->live >= b->limit) grow(b);
    struct mpr_block *block = find(b, key);
    *existed = block->key != 0;
    block->key = key;
    b->live += !*existed;
    return block;
}

/* Fills the gap with the last block of the line. */
static inline void close_gap(struct mpr_block_line *line, struct mpr_block *gap)
{
    struct mpr_block *last =
        is_full(line) ? &line->at[MPR_LINE - 1] : &line->at[used_places(line) - 1];
    *gap = *last;
    last->key = 0;
}

/* Returns a block of line `at` that belongs in line `gap` or an earlier one, or NULL. */
static struct mpr_block *displaced_entry(const struct mpr_blocks *b, size_t at, size_t gap)
{
    for (unsigned i = 0; i < MPR_LINE; i++) {
        struct mpr_block *block = &b->line[at].at[i];
        if (block->key &&
            ((at - mpr_blocks_home(b, block->key)) & b->mask) >= ((at - gap) & b->mask))
            return block;
    }
    return NULL;
}

/* Empties a place of a full line.  Displaced blocks move back, because a search ends at the first
 * line that is not full. */
MPR_COLD static void remove_from_full_line(struct mpr_blocks *b, struct mpr_block *gap)
{
    size_t line = (size_t)(gap - b->line->at) / MPR_LINE;
    bool full = true;
    for (size_t at = line; full;) {
        at = (at + 1) & b->mask;
        full = is_full(&b->line[at]);
        struct mpr_block *block = displaced_entry(b, at, line);
        if (!block) continue;
        *gap = *block;
        gap = block;
        line = at;
    }
    close_gap(&b->line[line], gap);
}

bool mpr_blocks_take(struct mpr_blocks *b, uint64_t key, struct mpr_block *out)
{
    struct mpr_block *block = find(b, key);
    if (!block->key) return false;
    *out = *block;
    struct mpr_block_line *line = &b->line[(size_t)(block - b->line->at) / MPR_LINE];
    if (is_full(line)) remove_from_full_line(b, block);
    else close_gap(line, block);
    b->live--;
    return true;
}
