/* Each rule of replay has its effect on the accounts. */
#include "alloc_context.h"
#include "replay_test.h"

static void realloc_is_no_peak_of_both_sizes(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    assert_int_equal(heap(H)->bytes, 1000);
    event(1, MPF_OP_MOVE_END, H, 0x2000, 1500);
    end();
    assert_int_equal(heap(H)->peak_bytes, 1500);
    assert_int_equal(heap(H)->allocations, 2);
    assert_int_equal(heap(H)->frees, 1);
    assert_int_equal(heap(H)->blocks, 1);
    mpr_replay_free(&replay);
}

static void failed_realloc_leaves_the_block(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(1, MPF_OP_FAIL, H, 12 | UINT64_C(1) << 32, 5);
    assert_int_equal(heap(H)->bytes, 1000);
    assert_int_equal(heap(H)->failures, 1);
    assert_int_equal(heap(H)->largest.size, (UINT64_C(1) << 40) + 5);
    assert_int_equal(heap(H)->largest.error, 12);
    event(1, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->unmatched, 0);
    mpr_replay_free(&replay);
}

static void a_refused_mmap_of_a_handler_ends_no_realloc(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(1, MPF_OP_FAIL, M, 12, 5);
    event(1, MPF_OP_MOVE_END, H, 0x2000, 1500);
    end();
    assert_int_equal(heap(H)->bytes, 1500);
    assert_int_equal(heap(H)->frees, 1);
    assert_int_equal(heap(M)->failures, 1);
    mpr_replay_free(&replay);
}

static void a_realloc_to_0_bytes_frees(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(1, MPF_OP_MOVE_END, H, 0, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->frees, 1);
    assert_int_equal(heap(H)->allocations, 1);
    mpr_replay_free(&replay);
}

static void an_address_may_be_reused_during_realloc(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 1000);
    event(1, MPF_OP_MOVE_BEGIN, H, 0x1000, 0);
    event(2, MPF_OP_ALLOC, H, 0x1000, 10);
    assert_int_equal(heap(H)->bytes, 1010);
    event(1, MPF_OP_MOVE_END, H, 0x2000, 2000);
    assert_int_equal(heap(H)->bytes, 2010);
    event(2, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->bytes, 2000);
    assert_int_equal(heap(H)->missed, 0);
    assert_int_equal(heap(H)->repairs, 0);
    mpr_replay_free(&replay);
}

static void a_childs_frees_of_unknown_blocks_are_its_parents(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .at = MPR_INSTANT_PEAK, .has_parent = true });
    event(1, MPF_OP_FREE, H, 0x1000, 0);
    end();
    assert_int_equal(heap(H)->inherited, 1);
    assert_int_equal(heap(H)->unmatched, 0);
    assert_int_equal(heap(H)->bytes, 0);
    mpr_replay_free(&replay);
}

static uint32_t path_of_thread(uint32_t thread) { return replay.threads.at[thread]->node; }

static void pop_takes_the_newest_range_of_its_domain(void **state)
{
    (void)state;
    const uint64_t nccl = UINT64_C(7) << 32;
    begin();
    event(1, MPF_OP_PUSH, 0, nccl | 20, 0);
    event(1, MPF_OP_PUSH, 0, 10, 0);
    event(1, MPF_OP_POP, 0, nccl, 0);
    const struct mpr_node *node = &replay.ranges.node[path_of_thread(1)];
    assert_int_equal(node->name, 10);
    assert_int_equal(node->depth, 1);
    event(1, MPF_OP_POP, 0, 0, 0);
    assert_int_equal(path_of_thread(1), 0);
    event(1, MPF_OP_POP, 0, 0, 0);
    assert_int_equal(path_of_thread(1), 0);
    mpr_replay_free(&replay);
}

static void a_thread_number_may_be_reused_after_its_end(void **state)
{
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, 0x1000, 10);
    event(2, MPF_OP_ALLOC, H, 0x2000, 10);
    event(2, MPF_OP_THREAD_END, MPF_HEAP_NONE, 2, 0);
    const uint64_t end_time = now;
    event(1, MPF_OP_FREE, H, 0x2000, 0);
    assert_false(replay.threads.at[1]->ended);
    assert_true(replay.threads.at[2]->ended);
    assert_int_equal(replay.threads.at[2]->ended_ns, end_time);
    mpr_replay_free(&replay);
}

static void at_shows_the_state_of_that_instant(void **state)
{
    (void)state;
    begin_with((struct mpr_replay_options){ .at = MPR_INSTANT_AT(2500) });
    event_at(1000, 1, MPF_OP_ALLOC, H, 0x1000, 500);
    event_at(2000, 1, MPF_OP_FREE, H, 0x1000, 0);
    event_at(2500, 1, MPF_OP_ALLOC, H, 0x2000, 30);
    event_at(3000, 1, MPF_OP_ALLOC, H, 0x3000, 9000);
    end();
    assert_int_equal(heap(H)->peak_bytes, 30);
    assert_int_equal(heap(H)->peak_time, 2500);
    assert_int_equal(heap(H)->bytes, 9030);
    mpr_replay_free(&replay);
}

static void size_classes_are_powers_of_two(void **state)
{
    (void)state;
    assert_int_equal(mpr_size_class(0), 0);
    assert_int_equal(mpr_size_class(1), 1);
    assert_int_equal(mpr_size_class(2), 2);
    assert_int_equal(mpr_size_class(3), 3);
    assert_int_equal(mpr_size_class(4), 3);
    assert_int_equal(mpr_size_class(1025), 12);
}

static void samples_around_the_peak(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 1; i <= 3; i++) {
        const uint64_t rss[MPF_RSS_COUNT] = { i * 100 };
        const struct mpf_event e = { .time = i * 1000,
                                     .op = MPF_OP_SAMPLE_RSS,
                                     .thread = 1,
                                     .size = sizeof rss,
                                     .data = (const uint8_t *)rss };
        mpr_replay_batch(&replay, &e, 1);
        event_at(i * 1000 + 500, 1, i < 3 ? MPF_OP_ALLOC : MPF_OP_FREE, H,
                 i < 3 ? i * 0x1000 : 0x1000, 10);
    }
    end();
    const struct mpr_sample_track *rss = &replay.samples.source[MPR_SOURCE_RSS];
    assert_int_equal(rss->before[H].value[MPF_RSS_ANON], 200);
    assert_int_equal(rss->after[H].value[MPF_RSS_ANON], 300);
    assert_int_equal(rss->largest.value[MPF_RSS_ANON], 300);
    mpr_replay_free(&replay);
}

static void sample(uint64_t time, uint8_t op, uint64_t addr, const void *data, uint64_t size)
{
    const struct mpf_event e = { .time = time, .op = op, .addr = addr, .size = size, .data = data };
    mpr_replay_batch(&replay, &e, 1);
}

static void resident(uint64_t time, uint64_t stacks, const char *file)
{
    const uint64_t value[MPF_RESIDENT_COUNT] = {
        [MPF_RESIDENT_ANON] = 10, [MPF_RESIDENT_STACKS] = stacks, [MPF_RESIDENT_HUGE] = 1000
    };
    struct {
        uint64_t kind;
        char path[16];
    } named = { .kind = MPF_RESIDENT_FILES };
    memcpy(named.path, file, strlen(file));
    sample(time, MPF_OP_SAMPLE_RESIDENT, 0, value, sizeof value);
    sample(time, MPF_OP_RESIDENT_FILE, 7, &named, sizeof named.kind + strlen(file));
}

static void the_largest_sample_of_resident_memory_keeps_its_file(void **state)
{
    (void)state;
    begin();
    event_at(500, 1, MPF_OP_ALLOC, H, 0x1000, 30);
    resident(1000, 50, "first");
    resident(2000, 70, "second");
    resident(3000, 60, "third");
    end();
    const struct mpr_resident *r = &replay.samples.resident;
    assert_int_equal(r->time, 2000);
    assert_int_equal(r->sum, 80); /* huge pages are part of it */
    assert_int_equal(r->live_blocks, 30);
    assert_int_equal(r->file[MPF_RESIDENT_FILES].bytes, 7);
    assert_string_equal(r->file[MPF_RESIDENT_FILES].path, "second");
    mpr_replay_free(&replay);
}

static void rss(uint64_t time, uint64_t page_tables)
{
    const uint64_t value[MPF_RSS_COUNT] = { [MPF_RSS_PAGE_TABLES] = page_tables };
    sample(time, MPF_OP_SAMPLE_RSS, 0, value, sizeof value);
}

static void equal_samples_of_resident_memory_keep_the_one_with_most_page_tables(void **state)
{
    (void)state;
    begin();
    resident(1000, 50, "first"); /* before page tables are known */
    rss(1500, 4096);
    resident(2000, 50, "second");
    rss(2500, 8192);
    resident(3000, 50, "third");
    rss(3500, 4096);
    resident(4000, 50, "fourth");
    end();
    const struct mpr_resident *r = &replay.samples.resident;
    assert_int_equal(r->time, 3000);
    assert_int_equal(r->page_tables, 8192);
    assert_string_equal(r->file[MPF_RESIDENT_FILES].path, "third");
    mpr_replay_free(&replay);
}

static void damaged_samples_of_resident_memory_are_bounded(void **state)
{
    (void)state;
    const uint64_t huge[2 * MPF_RESIDENT_COUNT] = { UINT64_MAX, 5, UINT64_MAX / 2 };
    uint64_t path[64];
    memset(path, 'x', sizeof path);
    begin();
    sample(1000, MPF_OP_SAMPLE_RESIDENT, 0, huge, sizeof huge);
    sample(1000, MPF_OP_RESIDENT_FILE, 7, path, 3);
    path[0] = MPF_RESIDENT_COUNT;
    sample(1000, MPF_OP_RESIDENT_FILE, 7, path, sizeof path);
    path[0] = MPF_RESIDENT_DATA;
    sample(1000, MPF_OP_RESIDENT_FILE, 7, path, sizeof path);
    end();
    assert_int_equal(replay.samples.resident.sum, 5);
    assert_int_equal(strlen(replay.samples.resident.file[MPF_RESIDENT_DATA].path),
                     MPR_RESIDENT_PATH - 1);
    mpr_replay_free(&replay);
}

/* A mapping of @bytes; @share: of its parts of 1 MiB, or NULL. */
static void mapping(uint64_t from, uint64_t bytes, uint64_t resident, const char *share)
{
    struct {
        uint64_t value[MPF_MAPPING_COUNT];
        char share[MPF_MAPPING_PARTS];
    } data = { .value = { bytes, resident, 0, share ? 1 << 20 : 0 } };
    const size_t parts = share ? strlen(share) : 0;
    for (size_t i = 0; i < parts; i++) data.share[i] = share[i] == '#' ? (char)255 : 0;
    sample(1000, MPF_OP_RESIDENT_MAPPING, from, &data, sizeof data.value + parts);
}

static void resident_memory_of_large_mappings_has_owners(void **state)
{
    enum { MIB = 1 << 20, FIRST = 0x10000000, JOINED = 0x20000000, SPAN = 0x30000000 };
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, FIRST + 16, 20 * MIB);
    event(1, MPF_OP_ALLOC, H, JOINED, 10 * MIB);
    event(1, MPF_OP_MAP, M, JOINED + 10 * MIB, 10 * MIB);
    event(1, MPF_OP_MAP, M, SPAN, 40 * MIB);
    resident(1000, 50, "file");
    mapping(FIRST, 20 * MIB + 4096, 5 * MIB, NULL);
    mapping(JOINED, 20 * MIB, 9 * MIB, "#.........########..");
    mapping(SPAN, 40 * MIB, 41 * MIB, NULL); /* damage: more than the mapping */
    end();
    const struct mpr_resident *r = &replay.samples.resident;
    assert_int_equal(r->cells, 2);
    assert_int_equal(replay.accounts.cell[r->cell[0].cell].heap, H);
    assert_in_range(r->cell[0].resident, 6 * MIB - 4096, 6 * MIB);
    assert_int_equal(replay.accounts.cell[r->cell[1].cell].heap, M);
    assert_int_equal(r->cell[1].resident, 8 * MIB + 40 * MIB);
    mpr_replay_free(&replay);
}

static void joined_mappings_without_parts_have_no_owner(void **state)
{
    enum { MIB = 1 << 20, FIRST = 0x10000000 };
    (void)state;
    begin();
    mapping(FIRST, 20 * MIB, MIB, NULL); /* without a sample */
    event(1, MPF_OP_ALLOC, H, FIRST + 16, 10 * MIB);
    event(1, MPF_OP_ALLOC, H, FIRST + 10 * MIB + 4096 + 16, 10 * MIB);
    resident(1000, 50, "file");
    mapping(FIRST, 20 * MIB + 8192, 5 * MIB, NULL);
    mapping(0x50000000, 20 * MIB, 5 * MIB, NULL); /* nobody's */
    mapping(FIRST + MIB, 0, 0, NULL);             /* damage */
    resident(1000, 40, "file");                   /* a smaller sample */
    mapping(FIRST, 10 * MIB, 5 * MIB, NULL);
    end();
    assert_int_equal(replay.samples.resident.cells, 0);
    mpr_replay_free(&replay);
}

static void freed_blocks_own_no_resident_memory(void **state)
{
    enum { MIB = 1 << 20, FIRST = 0x10000000 };
    (void)state;
    begin();
    event(1, MPF_OP_ALLOC, H, FIRST + 16, 20 * MIB);
    event(1, MPF_OP_FREE, H, FIRST + 16, 0);
    event(1, MPF_OP_ALLOC, H, FIRST + 16, 4 * MIB);
    event(1, MPF_OP_MOVE_BEGIN, H, FIRST + 16, 0);
    event(1, MPF_OP_MOVE_END, H, FIRST + 16, 8 * MIB);
    resident(1000, 50, "file");
    mapping(FIRST, 20 * MIB, 20 * MIB, NULL);
    end();
    assert_int_equal(replay.samples.resident.cells, 1);
    assert_int_equal(replay.samples.resident.cell[0].bytes, 8 * MIB);
    mpr_replay_free(&replay);
}

static void rss_of(uint64_t time, uint64_t anonymous, uint64_t high)
{
    const uint64_t rss[] = { anonymous, 1, 0, high };
    sample(time, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
}

static void the_highest_resident_memory_is_between_two_samples_or_in_one(void **state)
{
    (void)state;
    begin();
    rss_of(1000, 10, 11);
    rss_of(2000, 20, 21);
    const struct mpr_sample_high *high = &replay.samples.source[MPR_SOURCE_RSS].high;
    assert_true(high->sampled);
    assert_int_equal(high->bytes, 21);
    rss_of(3000, 15, 40);
    rss_of(4000, 5, 40);
    end();
    assert_false(high->sampled);
    assert_int_equal(high->bytes, 40);
    assert_int_equal(high->before.time, 2000);
    assert_int_equal(high->after.time, 3000);
    mpr_replay_free(&replay);
}

static void charge(uint64_t time, uint64_t usage, uint64_t peak)
{
    const uint64_t cgroup[] = { usage, UINT64_MAX, peak };
    sample(time, MPF_OP_SAMPLE_CGROUP, 0, cgroup, sizeof cgroup);
}

static void a_mark_of_the_cgroup_that_is_older_than_the_process_does_not_count(void **state)
{
    (void)state;
    begin();
    charge(1000, 10, 90);
    charge(2000, 30, 90);
    charge(3000, 20, 90);
    const struct mpr_sample_high *high = &replay.samples.source[MPR_SOURCE_CGROUP].high;
    assert_int_equal(high->bytes, 30);
    assert_true(high->sampled);
    charge(4000, 20, 95);
    end();
    assert_int_equal(high->bytes, 95);
    assert_false(high->sampled);
    assert_int_equal(high->after.time, 4000);
    mpr_replay_free(&replay);
}

static void a_million_live_blocks_are_summed(void **state)
{
    (void)state;
    enum { BLOCKS = 1000000 };
    begin();
    for (uint64_t i = 0; i < BLOCKS; i++) event(1, MPF_OP_ALLOC, H, 0x10000 + i * 16, i);
    assert_int_equal(heap(H)->blocks, BLOCKS);
    for (uint64_t i = 0; i < BLOCKS; i += 2) event(1, MPF_OP_FREE, H, 0x10000 + i * 16, 0);
    for (uint64_t i = 1; i < BLOCKS; i += 2) event(1, MPF_OP_FREE, H, 0x10000 + i * 16, 0);
    end();
    assert_int_equal(heap(H)->bytes, 0);
    assert_int_equal(heap(H)->unmatched, 0);
    assert_int_equal(replay.blocks.live, 0);
    mpr_replay_free(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(realloc_is_no_peak_of_both_sizes),
        cmocka_unit_test(failed_realloc_leaves_the_block),
        cmocka_unit_test(a_refused_mmap_of_a_handler_ends_no_realloc),
        cmocka_unit_test(a_realloc_to_0_bytes_frees),
        cmocka_unit_test(an_address_may_be_reused_during_realloc),
        cmocka_unit_test(a_childs_frees_of_unknown_blocks_are_its_parents),
        cmocka_unit_test(pop_takes_the_newest_range_of_its_domain),
        cmocka_unit_test(a_thread_number_may_be_reused_after_its_end),
        cmocka_unit_test(at_shows_the_state_of_that_instant),
        cmocka_unit_test(size_classes_are_powers_of_two),
        cmocka_unit_test(samples_around_the_peak),
        cmocka_unit_test(the_largest_sample_of_resident_memory_keeps_its_file),
        cmocka_unit_test(equal_samples_of_resident_memory_keep_the_one_with_most_page_tables),
        cmocka_unit_test(damaged_samples_of_resident_memory_are_bounded),
        cmocka_unit_test(resident_memory_of_large_mappings_has_owners),
        cmocka_unit_test(joined_mappings_without_parts_have_no_owner),
        cmocka_unit_test(freed_blocks_own_no_resident_memory),
        cmocka_unit_test(the_highest_resident_memory_is_between_two_samples_or_in_one),
        cmocka_unit_test(a_mark_of_the_cgroup_that_is_older_than_the_process_does_not_count),
        cmocka_unit_test(a_million_live_blocks_are_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
