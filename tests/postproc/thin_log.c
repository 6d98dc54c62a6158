/* thin_log LOG OUT: a recorded log without the events of host/heap and host/mmap, small enough to
 * be kept with the tests.
 *
 * What is left is as it was: device memory, ranges, call stacks, samples, times.  Blocks of the
 * host have their own tests. */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mpf/event.h"
#include "testlog.h"

enum { THREADS = 1 << 16 };

/* What says where the thread's next event happens waits for that event. */
struct waiting {
    struct mpf_event at[2];
    unsigned count;
};
static struct waiting *waiting;

static bool is_host(const struct mpf_event *e)
{
    return (e->heap == MPF_HEAP_HOST || e->heap == MPF_HEAP_MMAP) && !e->data;
}

static bool is_place(const struct mpf_event *e)
{
    return e->op == MPF_OP_AT || e->op == MPF_OP_AT_PYTHON;
}

static void put(struct testlog *out, const struct mpf_event *e)
{
    if (e->data)
        testlog_heap_data(out, e->time, e->thread, e->op, e->heap, e->addr, e->data, e->size);
    else testlog_event(out, e->time, e->thread, e->op, e->heap, e->addr, e->size);
}

/* Definitions come between a place and its event. */
static bool is_definition(const struct mpf_event *e) { return e->op >= MPF_OP_MODULE; }

static void copy(struct testlog *out, const struct mpf_event *e)
{
    struct waiting *w = &waiting[e->thread % THREADS];
    if (is_place(e)) {
        if (w->count < 2) w->at[w->count++] = *e;
        return;
    }
    for (unsigned i = 0; !is_host(e) && !is_definition(e) && i < w->count; i++) {
        w->at[i].time = e->time;
        put(out, &w->at[i]);
    }
    if (!is_definition(e)) w->count = 0;
    if (!is_host(e)) put(out, e);
}

int main(int argc, char **argv)
{
    static const char *const kept[] = { "host",         "pid",         "ppid",
                                        "rank",         "argv",        "stacks",
                                        "stacks.large", "stacks.mean", "stacks.torch" };
    const char *pairs[2 * sizeof kept / sizeof *kept + 1];
    struct mpr_log *log;
    struct mpr_error error;
    const struct mpf_event *e;
    size_t n = 0;
    waiting = calloc(THREADS, sizeof *waiting);
    if (argc != 3 || !waiting) errx(2, "usage: thin_log LOG OUT");
    if (mpr_log_open(&log, argv[1], &error) != 0) errx(1, "%s", error.text);
    long count = mpr_log_next(log, &e, &error);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = mpr_header_get(mpr_log_header(log), kept[i]);
        if (!value) continue;
        pairs[n++] = kept[i];
        pairs[n++] = value;
    }
    pairs[n] = NULL;
    struct testlog *out = testlog_open(argv[2], pairs);
    for (; count > 0; count = mpr_log_next(log, &e, &error))
        for (long i = 0; i < count; i++) copy(out, &e[i]);
    if (count < 0) errx(1, "%s", error.text);
    testlog_close(out, "exit");
    mpr_log_close(log);
    return 0;
}
