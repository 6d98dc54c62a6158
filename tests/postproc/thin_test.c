#include "thin_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folded.h"
#include "frames.h"
#include "index.h"
#include "log.h"
#include "map.h"
#include "reader.h"

char whole_log[] = "/tmp/memprof-whole.XXXXXX", thinned_log[] = "/tmp/memprof-thin.XXXXXX";

void make_files(void)
{
    strcpy(whole_log + strlen(whole_log) - 6, "XXXXXX");
    strcpy(thinned_log + strlen(thinned_log) - 6, "XXXXXX");
    close(mkstemp(whole_log));
    close(mkstemp(thinned_log));
}

void remove_files(void)
{
    unlink(whole_log);
    unlink(thinned_log);
}

/* ---- thinning: the same as `compact` and `recover` together */

static void put(int fd, const void *bytes, size_t count)
{
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
}

static void put_fold(int to, int from, const struct mpr_thinned *t, uint64_t seq)
{
    uint8_t mark_bytes[MPR_MARK_BYTES], *frames = malloc(t->bytes + 1);
    const struct mpr_mark mark = { seq, 0, t->until, t->removed, t->grain };
    const long length = mpr_mark_write(&mark, t->frames, mark_bytes);
    assert_true(length > 0);
    put(to, mark_bytes, (size_t)length);
    assert_int_equal(pread(from, frames, t->bytes, 0), (ssize_t)t->bytes);
    put(to, frames, t->bytes);
    free(frames);
}

struct mpr_thinned thin(const char *from, const char *to, unsigned share, uint64_t budget)
{
    struct mpr_map map = { 0 };
    struct mpr_frames frames;
    struct mpf_frame frame;
    struct mpr_error error;
    struct mpr_thinned out;
    uint64_t seq[256];
    size_t end[256], header = 0, count = 0;
    char part[] = "/tmp/memprof-part.XXXXXX";
    const int fd = open(to, O_WRONLY | O_TRUNC), scratch = mkstemp(part);
    unlink(part);
    assert_int_equal(mpr_map_open(&map, from, &error), 0);
    assert_int_equal(mpr_frames_open(&frames, &map), 0);
    while (mpr_frames_next(&frames, &frame) == 1) {
        if (frame.kind == MPF_FRAME_HEADER) header = frames.at;
        if (frame.kind != MPF_FRAME_EVENTS || count == 256) continue;
        seq[count] = frame.seq;
        end[count++] = frames.at;
    }
    assert_true(count > 0);
    const size_t last = (count + share - 1) / share - 1;
    if (mpr_thin(from, seq[last], budget, scratch, &out, &error) != 0) fail_msg("%s", error.text);
    put(fd, map.data, header);
    put_fold(fd, scratch, &out, seq[last]);
    put(fd, map.data + end[last], map.size - end[last]);
    mpr_frames_close(&frames);
    mpr_map_close(&map);
    close(scratch);
    close(fd);
    return out;
}

/* ---- content of a log */

static void read_log(struct mpr_reader *reader, const char *path, enum mpr_group by)
{
    static const struct mpr_progress none;
    struct mpr_error error;
    if (mpr_reader_run(reader, path, by, MPR_INSTANT_PEAK, &none, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(mpr_log_status(reader->log)->missing_frames, 0);
    assert_int_equal(mpr_log_status(reader->log)->damaged, 0);
}

static uint64_t hash_of_path(const struct mpr_replay *r, uint64_t node)
{
    uint64_t hash = 1;
    for (; node; node = r->ranges.node[node].parent) {
        size_t bytes;
        const char *name = mpr_texts_get(&r->ranges.names, r->ranges.node[node].name, &bytes);
        for (size_t i = 0; name && i < bytes; i++) hash = mpr_hash(hash + (uint8_t)name[i]);
        hash = mpr_hash(hash + r->ranges.node[node].domain);
    }
    return hash;
}

/* Returns a checksum of the owners at the heap's peak and at the end. It does not depend on their
 * order. */
static uint64_t print_of(const struct mpr_replay *r, uint8_t heap)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        const uint64_t bytes = mpr_accounts_at_peak(&r->accounts, cell).bytes;
        if (cell->heap != heap || (!bytes && !cell->bytes)) continue;
        const uint64_t owner =
            r->options.by == MPR_GROUP_THREAD ? cell->key : hash_of_path(r, cell->key);
        sum += mpr_hash(owner + mpr_hash(bytes + mpr_hash(cell->bytes + mpr_hash(cell->blocks))));
    }
    return sum;
}

static void assert_same_by(const char *a, const char *b, enum mpr_group by)
{
    struct mpr_reader whole, thinned;
    read_log(&whole, a, by);
    read_log(&thinned, b, by);
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *x = &whole.replay.accounts.heap[i],
                              *y = &thinned.replay.accounts.heap[i];
        assert_int_equal(x->peak_bytes, y->peak_bytes);
        assert_int_equal(x->peak_blocks, y->peak_blocks);
        assert_int_equal(x->peak_time, y->peak_time);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->blocks, y->blocks);
        assert_int_equal(x->allocations, y->allocations);
        assert_int_equal(x->frees, y->frees);
        assert_int_equal(x->failures, y->failures);
        assert_int_equal(x->unmatched, y->unmatched);
        if (by != MPR_GROUP_STACK) /* stack IDs differ between logs */
            assert_int_equal(print_of(&whole.replay, (uint8_t)i),
                             print_of(&thinned.replay, (uint8_t)i));
    }
    mpr_reader_close(&whole);
    mpr_reader_close(&thinned);
}

void assert_same(const char *a, const char *b)
{
    assert_same_by(a, b, MPR_GROUP_RANGE);
    assert_same_by(a, b, MPR_GROUP_THREAD);
    assert_same_by(a, b, MPR_GROUP_STACK);
}

uint64_t count_events(const char *path, int op)
{
    const struct mpf_event *events;
    struct mpr_error error;
    struct mpr_log *log;
    uint64_t found = 0;
    long count;
    if (mpr_log_open(&log, path, &error) != 0) fail_msg("%s", error.text);
    while ((count = mpr_log_next(log, &events, &error)) > 0)
        for (long i = 0; i < count; i++) found += op < 0 || events[i].op == op;
    assert_int_equal(count, 0);
    mpr_log_close(log);
    return found;
}
