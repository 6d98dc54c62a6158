#include "teardown.h"

#include "amount.h"
#include "error.h"
#include "reader.h"

enum {
    TICKS = 32,           /* from the peak to the end */
    RISE_SHARE = 8,       /* a rise by this share of the lost bytes is work */
    MOMENT_NS = 100000000 /* a process may end this long after its last free */
};

struct course {
    unsigned heap;
    uint64_t half;        /* bytes halfway between the peak and the end */
    uint64_t least, rose; /* bytes so far: the least, and the most above it */
    uint64_t over_half;   /* ns: the newest tick with more than the half */
};

static void tick(void *arg, const struct mpr_replay *r, uint64_t time)
{
    struct course *c = arg;
    const uint64_t bytes = r->books.heap[c->heap].bytes;
    if (bytes < c->least) c->least = bytes;
    if (bytes - c->least > c->rose) c->rose = bytes - c->least;
    if (bytes > c->half) c->over_half = time;
}

static bool is_teardown(const struct course *c, const struct mpr_first_heap *h, uint64_t end)
{
    const uint64_t lost = mpr_less(h->peak_bytes, h->end_bytes), all = mpr_less(end, h->peak_ns),
                   low = mpr_less(end, c->over_half);
    return c->rose <= lost / RISE_SHARE && (low <= MOMENT_NS || low <= all / 4 * 3);
}

bool mpr_teardown_follows(const struct mpr_first_look *known, unsigned heap, const char *path,
                          const struct mpr_progress *progress)
{
    struct mpr_reader reader;
    struct mpr_error none;
    const struct mpr_first_heap *h = &known->heap[heap];
    struct course c = { .heap = heap,
                        .half = h->end_bytes + mpr_less(h->peak_bytes, h->end_bytes) / 2,
                        .least = UINT64_MAX,
                        .over_half = h->peak_ns };
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, &none) != 0) return false;
    mpr_clock_begin(&reader.replay, &(struct mpr_clock){
                                        .tick = tick,
                                        .arg = &c,
                                        .next = h->peak_ns + 1,
                                        .every = mpr_less(known->end_ns, h->peak_ns) / TICKS + 1 });
    if (mpr_reader_replay(&reader, path, progress, &none) != 0) return false;
    mpr_reader_close(&reader);
    return is_teardown(&c, h, known->end_ns);
}
