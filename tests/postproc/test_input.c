/* The events of a log are read in order from complete, truncated, damaged and recovered logs, and
 * from logs with a journal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "header.h"
#include "log.h"
#include "mpf/frame.h"
#include "mpf/slot.h"
#include "own_log.h"
#include "recover.h"
#include "testlog.h"

static char folder[] = "/tmp/memprof-test-XXXXXX", log_path[64], journal_path[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(log_path, sizeof log_path, "%s/log.zst", folder);
    snprintf(journal_path, sizeof journal_path, "%s/log.zst.journal", folder);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    char run_path[sizeof folder + 16];
    snprintf(run_path, sizeof run_path, "%s/memprof.run", folder);
    unlink(log_path);
    unlink(journal_path);
    unlink(run_path);
    return 0;
}

static int remove_folder(void **state)
{
    remove_files(state);
    return rmdir(folder);
}

struct seen {
    struct mpr_log_status status;
    uint64_t events, sum;
    bool incomplete, in_order;
    struct mpf_event last;
};

/* Returns 0, or -1 if mpr_log_open or mpr_log_next failed. */
static int read_log(const char *path, struct seen *seen)
{
    struct mpr_log *log;
    struct mpr_error error;
    const struct mpf_event *events;
    long count;
    *seen = (struct seen){ .in_order = true };
    if (mpr_log_open(&log, path, &error) != 0) return -1;
    while ((count = mpr_log_next(log, &events, &error)) > 0) {
        for (long i = 0; i < count; i++) {
            seen->in_order &= events[i].time >= seen->last.time;
            seen->sum += events[i].size;
            seen->last = events[i];
        }
        seen->events += (uint64_t)count;
    }
    seen->status = *mpr_log_status(log);
    seen->incomplete = mpr_log_incomplete(&seen->status);
    mpr_log_close(log);
    return (int)count;
}

static void write_blocks(struct testlog *log, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        testlog_event(log, i * 100, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000 + i * 64, i);
}

static void make_log(const char *end)
{
    struct testlog *log = testlog_open(log_path, NULL);
    write_blocks(log, 0, 100);
    testlog_flush(log);
    write_blocks(log, 100, 100);
    testlog_close(log, end);
}

static void whole_log_is_complete(void **state)
{
    (void)state;
    struct seen seen;
    make_log("exit");
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_int_equal(seen.events, 200);
    assert_int_equal(seen.sum, 199 * 200 / 2);
    assert_true(seen.status.ended);
    assert_false(seen.incomplete);
    assert_int_equal(seen.status.end, MPF_END_EXIT);
    assert_int_equal(seen.status.good_ns, 19900);
}

static void journal_is_joined_in_order_of_time(void **state)
{
    (void)state;
    struct seen seen;
    struct testlog *log = testlog_open(log_path, NULL);
    write_blocks(log, 0, 10);
    testlog_flush(log);
    const uint64_t frames = testlog_frames(log);
    testlog_close(log, NULL);
    struct testjournal *j = testjournal_open(journal_path);
    /* a later chunk is first; its first event is already in the log; times of a thread may
     * decrease */
    testjournal_chunk(j, 1, 9, 0, frames - 1, 1);
    testjournal_event(j, 900, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1240, 9);
    testjournal_event(j, 5000, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xa000, 5);
    testjournal_event(j, 4990, MPF_OP_FREE, MPF_HEAP_HOST, 0xa000, 0);
    testjournal_chunk(j, 1, 4, 0, frames, 2);
    testjournal_event(j, 2000, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xb000, 7);
    testjournal_torn(j);
    testjournal_event(j, 2100, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xb100, 7);
    testjournal_chunk(j, 2, 1, 0, 0, 0);
    testjournal_event(j, 3000, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xc000, 11);
    testjournal_close(j);
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_int_equal(seen.status.journal_events, 5);
    assert_int_equal(seen.events, 15);
    assert_true(seen.in_order);
    assert_int_equal(seen.last.op, MPF_OP_FREE);
    assert_int_equal(seen.status.torn, 1);
    assert_true(seen.status.has_journal);
    assert_false(seen.incomplete);
}

/* The log was cut between two frames, which only the journal shows. */
static void missing_frames_are_known_from_the_journal(void **state)
{
    (void)state;
    struct seen seen;
    struct testlog *log = testlog_open(log_path, NULL);
    write_blocks(log, 0, 10);
    testlog_flush(log);
    const uint64_t frames = testlog_frames(log);
    testlog_close(log, NULL);
    struct testjournal *j = testjournal_open(journal_path);
    testjournal_chunk(j, 1, 9, 0, frames + 2, 1);
    testjournal_event(j, 5000, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xa000, 5);
    testjournal_close(j);
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_int_equal(seen.status.missing_frames, 2);
    assert_int_equal(seen.status.bad_offset, seen.status.bytes);
    assert_int_equal(seen.status.good_ns, 900);
    assert_true(seen.incomplete);
}

static void make_killed(void)
{
    struct testlog *log = testlog_open(log_path, NULL);
    write_blocks(log, 0, 10);
    testlog_flush(log);
    const uint64_t frames = testlog_frames(log);
    testlog_close(log, NULL);
    struct testjournal *j = testjournal_open(journal_path);
    testjournal_chunk(j, 1, 1, 0, frames - 1, 1);
    testjournal_event(j, 900, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1240, 9);
    for (uint64_t i = 0; i < 50; i++)
        testjournal_event(j, 5000 + i, MPF_OP_ALLOC, MPF_HEAP_HOST, 0xa000 + i * 32, 5);
    testjournal_beat(j, 5000000000);
    testjournal_close(j);
}

static void a_recovered_log_has_the_same_events(void **state)
{
    (void)state;
    struct seen before, after;
    struct mpr_recovery recovery;
    struct mpr_error error;
    make_killed();
    assert_int_equal(read_log(log_path, &before), 0);
    assert_int_equal(mpr_recover(log_path, false, &recovery, &error), 0);
    assert_int_equal(recovery.outcome, MPR_RECOVER_DONE);
    assert_int_equal(recovery.events, 50);
    assert_int_not_equal(access(journal_path, F_OK), 0);
    assert_int_equal(read_log(log_path, &after), 0);
    assert_int_equal(before.status.end_ns, 5000000000); /* it slept, and was killed */
    assert_int_equal(after.status.end_ns, before.status.end_ns);
    assert_int_equal(after.events, before.events);
    assert_int_equal(after.sum, before.sum);
    assert_true(after.status.ended);
    assert_true(after.status.has_journal);
    assert_int_equal(after.status.end, MPF_END_RECOVERED);
    assert_int_equal(mpr_recover(log_path, false, &recovery, &error), 0);
    assert_int_equal(recovery.outcome, MPR_RECOVER_WHOLE);
}

static void recovery_removes_a_torn_tail(void **state)
{
    (void)state;
    struct seen seen;
    struct mpr_recovery recovery;
    struct mpr_error error;
    make_killed();
    FILE *file = fopen(log_path, "a");
    assert_non_null(file);
    fwrite("\x28\xb5\x2f\xfd\x24", 1, 5, file);
    fclose(file);
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_true(seen.status.cut);
    assert_false(seen.incomplete);
    assert_int_equal(mpr_recover(log_path, false, &recovery, &error), 0);
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_false(seen.status.cut);
    assert_false(seen.incomplete);
    assert_int_equal(seen.events, 60);
}

static void the_journal_of_another_log_is_ignored(void **state)
{
    (void)state;
    struct seen seen;
    make_killed();
    FILE *file = fopen(journal_path, "r+");
    assert_non_null(file);
    fseek(file, offsetof(struct mpf_journal, id), SEEK_SET);
    fputc(99, file);
    fclose(file);
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_false(seen.status.has_journal);
    assert_true(seen.incomplete);
}

static void lone_journal_is_read_and_incomplete(void **state)
{
    (void)state;
    struct seen seen;
    make_killed();
    unlink(log_path);
    assert_int_equal(read_log(journal_path, &seen), 0);
    assert_int_equal(seen.status.journal_events, seen.events);
    assert_true(seen.events >= 50);
    assert_true(seen.status.journal_only);
    assert_true(seen.incomplete);
}

/* ---- the process of a log */

/* Writes a log of this program, which started at `started`, and a journal without a lock. */
static void make_own(uint64_t started, const char *real, const char *journal)
{
    struct own_pairs own;
    own_pairs_fill(&own, getpid(), started, real, journal);
    struct testlog *log = testlog_open(log_path, own.pair);
    write_blocks(log, 0, 10);
    testlog_close(log, NULL);
    struct testjournal *j = testjournal_open(journal);
    testjournal_chunk(j, 1, 1, 0, 0, 0);
    testjournal_close(j);
    own_journal_unlocked(journal);
}

static enum mpr_life life_of_log(void)
{
    struct seen seen;
    assert_int_equal(read_log(log_path, &seen), 0);
    return seen.status.process.life;
}

/* Not even a clock that is ten years fast. */
static void wrong_clocks_do_not_affect_liveness(void **state)
{
    (void)state;
    static const char *const real[] = { "1", "2015532800000000000" };
    struct mpr_recovery recovery;
    struct mpr_error error;
    for (int i = 0; i < 2; i++) {
        make_own(own_start(getpid()), real[i], journal_path);
        assert_int_equal(life_of_log(), MPR_LIFE_RUNS);
        assert_int_equal(mpr_recover(log_path, true, &recovery, &error), -1);
        assert_int_equal(access(journal_path, F_OK), 0);
    }
}

static void a_reused_process_id_is_another_process(void **state)
{
    (void)state;
    struct mpr_recovery recovery;
    struct mpr_error error;
    make_own(own_start(getpid()) - 1, "2015532800000000000", journal_path);
    assert_int_equal(life_of_log(), MPR_LIFE_ENDED);
    assert_int_equal(mpr_recover(log_path, false, &recovery, &error), 0);
    assert_int_equal(recovery.outcome, MPR_RECOVER_DONE);
    assert_int_not_equal(access(journal_path, F_OK), 0);
}

static void a_header_names_no_file_to_remove(void **state)
{
    (void)state;
    char elsewhere[96];
    struct mpr_recovery recovery;
    struct mpr_error error;
    snprintf(elsewhere, sizeof elsewhere, "%s/precious", folder);
    make_own(1, "1", elsewhere);
    assert_int_equal(mpr_recover(log_path, false, &recovery, &error), 0);
    assert_string_not_equal(recovery.left.text, "");
    assert_int_equal(unlink(elsewhere), 0);
}

/* Returns the bytes of a file. */
static uint8_t *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*bytes);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static void spill(const char *path, const uint8_t *data, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static void log_cut_at_any_byte_is_incomplete(void **state)
{
    (void)state;
    struct seen seen;
    size_t bytes;
    make_log("exit");
    uint8_t *data = slurp(log_path, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        spill(log_path, data, cut);
        if (read_log(log_path, &seen) != 0) continue;
        assert_true(seen.incomplete);
        assert_true(seen.events <= 200);
        assert_int_equal(seen.events % 100, 0);
    }
    free(data);
}

/* A changed byte is detected or has no effect, because zstd ignores some bits. */
static void any_flipped_byte_is_noticed(void **state)
{
    (void)state;
    struct seen seen, whole;
    size_t bytes;
    make_log("exit");
    assert_int_equal(read_log(log_path, &whole), 0);
    uint8_t *data = slurp(log_path, &bytes);
    for (size_t i = 0; i < bytes; i++) {
        data[i] ^= 0x40;
        spill(log_path, data, bytes);
        if (read_log(log_path, &seen) == 0 && !seen.incomplete) {
            assert_int_equal(seen.events, whole.events);
            assert_int_equal(seen.sum, whole.sum);
            assert_int_equal(seen.last.time, whole.last.time);
        }
        data[i] ^= 0x40;
    }
    free(data);
}

static void a_journal_of_random_bytes_does_not_crash_the_reader(void **state)
{
    (void)state;
    struct seen seen;
    size_t bytes;
    uint64_t seed = 7;
    make_killed();
    uint8_t *data = slurp(journal_path, &bytes);
    for (unsigned run = 0; run < 2000; run++) {
        uint8_t kept[8];
        size_t at[8];
        for (int i = 0; i < 8; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            at[i] = (seed >> 33) % (i & 1 ? bytes : 6000);
            kept[i] = data[at[i]];
            data[at[i]] = (uint8_t)(seed >> 25);
        }
        spill(journal_path, data, bytes);
        assert_int_equal(read_log(log_path, &seen), 0);
        assert_true(seen.in_order);
        for (int i = 8; i-- > 0;) data[at[i]] = kept[i];
    }
    free(data);
}

static void bytes_between_frames_are_damage(void **state)
{
    (void)state;
    struct seen seen;
    size_t bytes;
    make_log("exit");
    uint8_t *data = slurp(log_path, &bytes);
    FILE *file = fopen(log_path, "w");
    assert_non_null(file);
    fputs("stray bytes", file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_int_equal(seen.status.damaged, 1);
    assert_int_equal(seen.status.missing_frames, 0);
    assert_int_equal(seen.events, 200);
    assert_true(seen.incomplete);
    free(data);
}

static void write_run(const char *text)
{
    char path[sizeof folder + 16];
    snprintf(path, sizeof path, "%s/memprof.run", folder);
    spill(path, (const uint8_t *)text, strlen(text));
}

/* A log that began at 1 s of the clock, and records with its process ID in this boot and in
 * others. */
static void the_run_record_is_matched_to_the_right_process(void **state)
{
    (void)state;
    static const struct {
        const char *host, *end;
        int how;
        uint64_t ns;
    } rows[] = {
        { TESTLOG_HOST,
          "pid=4242 began=990000000 mono=3500000000 real=1700000002500000000 signal=9 oom=kernel",
          MPR_RUN_SIGNAL, 2500000000 },
        { TESTLOG_HOST, "pid=4242 began=1010000000 mono=3500000000 real=1700000002500000000 exit=7",
          MPR_RUN_EXIT, 2500000000 },
        { TESTLOG_HOST, "pid=4242 began=2000000000 mono=3500000000 real=1700000002500000000 exit=7",
          -1, 19900 },
        { TESTLOG_HOST, "pid=4242 began=500000000 mono=900000000 real=1699999999900000000 exit=7",
          -1, 19900 },
        { TESTLOG_HOST, "pid=4242 began=500000000 mono=3500000000 real=1700090000000000000 exit=7",
          -1, 19900 },
        { TESTLOG_HOST, "pid=4243 began=500000000 mono=3500000000 real=1700000002500000000 exit=7",
          -1, 19900 },
        { "elsewhere", "pid=4242 began=500000000 mono=3500000000 real=1700000002500000000 exit=7",
          -1, 19900 },
        { TESTLOG_HOST, "pid= began mono=\xff =9 signal", -1, 19900 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct seen seen;
        char text[512];
        make_log(NULL);
        snprintf(text, sizeof text, "run version=1 host=%s boot=\nend %s name=x\n", rows[i].host,
                 rows[i].end);
        write_run(text);
        assert_int_equal(read_log(log_path, &seen), 0);
        assert_int_equal(seen.status.run.known, rows[i].how >= 0);
        assert_int_equal(seen.status.end_ns, rows[i].ns);
        if (rows[i].how >= 0) assert_int_equal((int)seen.status.run.how, rows[i].how);
    }
}

static void missing_frame_is_noticed(void **state)
{
    (void)state;
    struct seen seen;
    struct testlog *log = testlog_open(log_path, NULL);
    write_blocks(log, 0, 10);
    testlog_skip(log);
    write_blocks(log, 10, 10);
    testlog_close(log, "exit");
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_int_equal(seen.status.missing_frames, 1);
    assert_int_equal(seen.status.good_ns, 900);
    assert_true(seen.incomplete);
}

static void a_frame_that_begins_before_the_last_one_ended_keeps_the_order(void **state)
{
    (void)state;
    struct seen seen;
    struct testlog *log = testlog_open(log_path, NULL);
    write_blocks(log, 10, 10);
    testlog_flush(log);
    write_blocks(log, 0, 5);
    testlog_flush(log);
    write_blocks(log, 20, 1);
    testlog_close(log, "exit");
    assert_int_equal(read_log(log_path, &seen), 0);
    assert_int_equal(seen.events, 16);
    assert_true(seen.in_order);
    assert_int_equal(seen.last.time, 2000);
}

/* A few bytes of a hostile log unpack to millions of pairs. */
static void a_header_of_more_than_a_mebibyte_is_damage(void **state)
{
    enum { PAIR = 4, MOST = 1 << 20 };
    struct mpr_header header;
    char *body = malloc(MOST + PAIR);
    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < MOST + PAIR; i += PAIR) memcpy(body + i, "a\0b", PAIR);
    assert_int_equal(mpr_header_read(&header, (uint8_t *)body, MOST + PAIR), MPF_ERR_DAMAGED);
    assert_int_equal(mpr_header_read(&header, (uint8_t *)body, MOST), 0);
    assert_int_equal(header.pairs, MOST / PAIR);
    mpr_header_free(&header);
    free(body);
}

static void a_missing_log_is_an_error(void **state)
{
    (void)state;
    struct seen seen;
    spill(log_path, (const uint8_t *)"hello, this is no log", 21);
    assert_int_equal(read_log(log_path, &seen), -1);
    spill(log_path, (const uint8_t *)"", 0);
    assert_int_equal(read_log(log_path, &seen), -1);
    unlink(log_path);
    assert_int_equal(read_log(log_path, &seen), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(whole_log_is_complete, remove_files),
        cmocka_unit_test_teardown(journal_is_joined_in_order_of_time, remove_files),
        cmocka_unit_test_teardown(missing_frames_are_known_from_the_journal, remove_files),
        cmocka_unit_test_teardown(a_recovered_log_has_the_same_events, remove_files),
        cmocka_unit_test_teardown(recovery_removes_a_torn_tail, remove_files),
        cmocka_unit_test_teardown(the_journal_of_another_log_is_ignored, remove_files),
        cmocka_unit_test_teardown(lone_journal_is_read_and_incomplete, remove_files),
        cmocka_unit_test_teardown(wrong_clocks_do_not_affect_liveness, remove_files),
        cmocka_unit_test_teardown(a_reused_process_id_is_another_process, remove_files),
        cmocka_unit_test_teardown(a_header_names_no_file_to_remove, remove_files),
        cmocka_unit_test_teardown(log_cut_at_any_byte_is_incomplete, remove_files),
        cmocka_unit_test_teardown(any_flipped_byte_is_noticed, remove_files),
        cmocka_unit_test_teardown(a_journal_of_random_bytes_does_not_crash_the_reader,
                                  remove_files),
        cmocka_unit_test_teardown(bytes_between_frames_are_damage, remove_files),
        cmocka_unit_test_teardown(the_run_record_is_matched_to_the_right_process, remove_files),
        cmocka_unit_test_teardown(missing_frame_is_noticed, remove_files),
        cmocka_unit_test_teardown(a_frame_that_begins_before_the_last_one_ended_keeps_the_order,
                                  remove_files),
        cmocka_unit_test(a_header_of_more_than_a_mebibyte_is_damage),
        cmocka_unit_test_teardown(a_missing_log_is_an_error, remove_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
