/* Replay of random traces has the same results as a simple model that keeps everything and
 * recomputes all sums. */
#include "replay_test.h"

enum { ADDRESSES = 64, THREADS = 4, NAMES = 3, PAGES = 48, PATHS = 1 + NAMES };

/* Live blocks, pages and open ranges as plain arrays. A path is the name of the only range that a
 * thread has open. */
struct model {
    uint64_t size[ADDRESSES], peak, best[PATHS];
    /* 0: free; otherwise path + 1; -1 for reserved pages. */
    int owner[ADDRESSES], page_owner[PAGES];
    int path[THREADS];
    uint64_t page_peak, page_best[PATHS];
};

static void model_check_peak(struct model *m)
{
    uint64_t sum[PATHS] = { 0 }, pages[PATHS] = { 0 }, total = 0, page_total = 0;
    for (int i = 0; i < ADDRESSES; i++)
        if (m->owner[i]) sum[m->owner[i] - 1] += m->size[i], total += m->size[i];
    for (int i = 0; i < PAGES; i++)
        if (m->page_owner[i] > 0) pages[m->page_owner[i] - 1] += 4096, page_total += 4096;
    if (total > m->peak) m->peak = total, memcpy(m->best, sum, sizeof sum);
    if (page_total > m->page_peak)
        m->page_peak = page_total, memcpy(m->page_best, pages, sizeof pages);
    assert_int_equal(heap(H)->bytes, total);
    assert_int_equal(heap(M)->bytes, page_total);
}

static void random_block(struct model *m, unsigned thread)
{
    const unsigned i = pick(ADDRESSES), to = pick(ADDRESSES);
    const uint64_t size = pick(5000), addr = 0x1000 + i * 64;
    if (!m->owner[i]) {
        event(thread, MPF_OP_ALLOC, H, addr, size);
        m->owner[i] = m->path[thread] + 1;
        m->size[i] = size;
    } else if (pick(2) || (m->owner[to] && to != i)) {
        event(thread, MPF_OP_FREE, H, addr, 0);
        m->owner[i] = 0;
    } else {
        event(thread, MPF_OP_MOVE_BEGIN, H, addr, 0);
        if (pick(4) == 0) {
            event(thread, MPF_OP_FAIL, H, 12, size);
            return;
        }
        event(thread, MPF_OP_MOVE_END, H, 0x1000 + to * 64, size);
        m->owner[i] = 0;
        m->owner[to] = m->path[thread] + 1;
        m->size[to] = size;
    }
}

static void random_pages(struct model *m, unsigned thread)
{
    static const uint8_t ops[] = { MPF_OP_MAP, MPF_OP_RESERVE, MPF_OP_UNMAP, MPF_OP_PROTECT_RW,
                                   MPF_OP_PROTECT_NONE };
    const uint8_t op = ops[pick(sizeof ops)];
    const unsigned first = pick(PAGES), count = 1 + pick(PAGES - first);
    event(thread, op, M, 0x100000 + first * 4096, count * 4096);
    for (unsigned i = first; i < first + count; i++) {
        int *owner = &m->page_owner[i];
        if (op == MPF_OP_MAP) *owner = m->path[thread] + 1;
        else if (op == MPF_OP_RESERVE) *owner = -1;
        else if (op == MPF_OP_UNMAP) *owner = 0;
        else if (op == MPF_OP_PROTECT_RW && *owner < 0) *owner = m->path[thread] + 1;
        else if (op == MPF_OP_PROTECT_NONE && *owner > 0) *owner = -1;
    }
}

static void random_remap(struct model *m, unsigned thread)
{
    const unsigned from = pick(PAGES / 2), count = 1 + pick(6), to = PAGES / 2 + pick(PAGES / 4),
                   grown = count + pick(4);
    for (unsigned i = from; i < from + count; i++)
        if (m->page_owner[i] <= 0 || m->page_owner[i] != m->page_owner[from]) return;
    if (from + count > PAGES / 2 || to + grown > PAGES) return;
    event(thread, MPF_OP_REMAP_FROM, M, 0x100000 + from * 4096, count * 4096);
    event(thread, MPF_OP_REMAP_TO, M, 0x100000 + to * 4096, grown * 4096);
    for (unsigned i = 0; i < grown; i++)
        m->page_owner[to + i] = i < count ? m->page_owner[from] : m->path[thread] + 1;
    for (unsigned i = from; i < from + count; i++) m->page_owner[i] = 0;
}

static void random_range(struct model *m, unsigned thread)
{
    if (m->path[thread]) {
        event(thread, MPF_OP_POP, 0, 0, 0);
        m->path[thread] = 0;
    } else {
        m->path[thread] = 1 + (int)pick(NAMES);
        event(thread, MPF_OP_PUSH, 0, (uint64_t)m->path[thread] + 100, 0);
    }
}

static void compare_peaks(const struct model *m)
{
    assert_int_equal(heap(H)->peak_bytes, m->peak);
    assert_int_equal(heap(M)->peak_bytes, m->page_peak);
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        const struct mpr_cell *cell = &replay.accounts.cell[i];
        const uint32_t path = cell->key ? replay.ranges.node[cell->key].name - 100 : 0;
        assert_int_equal(mpr_accounts_at_peak(&replay.accounts, cell).bytes,
                         (cell->heap == H ? m->best : m->page_best)[path]);
    }
}

static void random_traces_agree_with_the_naive_model(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 200; run++) {
        struct model m = { 0 };
        pick_from(run + 1);
        begin();
        for (unsigned step = 0; step < 1000; step++) {
            const unsigned thread = pick(THREADS), what = pick(10);
            if (what < 6) random_block(&m, thread);
            else if (what < 7) random_remap(&m, thread);
            else if (what < 8) random_pages(&m, thread);
            else random_range(&m, thread);
            model_check_peak(&m);
        }
        end();
        compare_peaks(&m);
        mpr_replay_free(&replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_traces_agree_with_the_naive_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
