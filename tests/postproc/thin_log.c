/* thin_log LOG OUT [SECONDS]: copies a recorded log without the events of host/heap, host/mmap and
 * host/shm, and without the call stacks and object files that only these had, so that it is small
 * enough to be kept with the tests. With SECONDS the copy ends there.
 *
 * The remaining events are unchanged: device memory, ranges, call stacks, samples, times. Other
 * tests have blocks of the host. */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "index.h"
#include "log.h"
#include "mpf/event.h"
#include "testlog.h"

enum { THREADS = 1 << 16 };

/* An event with the place of the thread's next event waits for that event. */
struct waiting {
    struct mpf_event at[2];
    unsigned count;
};
static struct waiting *waiting;

static bool is_host(const struct mpf_event *e)
{
    const bool region = e->op >= MPF_OP_MAP && e->op <= MPF_OP_REMAP_TO; /* some name no heap */
    return (region || e->heap == MPF_HEAP_HOST || e->heap == MPF_HEAP_MMAP) && !e->data;
}

static bool is_place(const struct mpf_event *e)
{
    return e->op == MPF_OP_AT || e->op == MPF_OP_AT_PYTHON;
}

/* Definitions may be between a place and its event. */
static bool is_definition(const struct mpf_event *e) { return e->op >= MPF_OP_MODULE; }

/* IDs that kept events need: native stacks, Python stacks, and frames of the latter. */
static struct mpr_index used_ids[3];
enum { STACKS, PYTHONS, FRAMES };

static void want(const struct mpf_event *place)
{
    mpr_index_set(&used_ids[place->op == MPF_OP_AT ? STACKS : PYTHONS], place->addr, 1);
}

/* Return addresses of the native stacks. */
static uint64_t *pc;
static size_t pcs, pc_cap;

/* A stack is defined after its frames and before its first use. So the first reading finds the
 * needed stacks, and the second one their parts. */
static void want_parts(const struct mpf_event *e)
{
    const bool python = e->op == MPF_OP_PYTHON;
    if (!python && e->op != MPF_OP_STACK) return;
    if (!mpr_index_get(&used_ids[python ? PYTHONS : STACKS], e->addr)) return;
    for (size_t at = 0; at + sizeof *pc <= e->size; at += sizeof *pc) {
        MPR_GROW(pc, pcs, pc_cap);
        memcpy(&pc[pcs], e->data + at, sizeof *pc);
        if (python) mpr_index_set(&used_ids[FRAMES], pc[pcs], 1);
        else pcs++;
    }
}

static bool has_calls(const struct mpf_event *module)
{
    uint64_t to;
    memcpy(&to, module->data, sizeof to);
    for (size_t i = 0; i < pcs; i++)
        if (pc[i] >= module->addr && pc[i] <= to) return true;
    return false;
}

static bool is_needless(const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_MODULE: return !has_calls(e);
    case MPF_OP_STACK: return !mpr_index_get(&used_ids[STACKS], e->addr);
    case MPF_OP_PYTHON: return !mpr_index_get(&used_ids[PYTHONS], e->addr);
    case MPF_OP_FRAME: return !mpr_index_get(&used_ids[FRAMES], e->addr);
    default: return false;
    }
}

/* Calls `kept` for each event that is kept, after its place. */
static void keep(const struct mpf_event *e, void (*kept)(const struct mpf_event *e))
{
    struct waiting *w = &waiting[e->thread % THREADS];
    if (is_place(e)) {
        if (w->count < 2) w->at[w->count++] = *e;
        return;
    }
    for (unsigned i = 0; !is_host(e) && !is_definition(e) && i < w->count; i++) {
        w->at[i].time = e->time;
        kept(&w->at[i]);
    }
    if (!is_definition(e)) w->count = 0;
    if (!is_host(e)) kept(e);
}

static struct testlog *out;

static void look(const struct mpf_event *e)
{
    if (is_place(e)) want(e);
}

static void put(const struct mpf_event *e)
{
    if (is_needless(e)) return;
    if (e->data)
        testlog_heap_data(out, e->time, e->thread, e->op, e->heap, e->addr, e->data, e->size);
    else testlog_event(out, e->time, e->thread, e->op, e->heap, e->addr, e->size);
}

/* ---- readings */

static struct mpr_log *open_log(const char *path)
{
    struct mpr_log *log;
    struct mpr_error error;
    if (mpr_log_open(&log, path, &error) != 0) errx(1, "%s", error.text);
    return log;
}

/* Reads the log and closes it.  Returns how its process ended. */
static enum mpf_end read_log(struct mpr_log *log, uint64_t until,
                             void (*kept)(const struct mpf_event *e))
{
    const struct mpf_event *e;
    struct mpr_error error;
    long count;
    memset(waiting, 0, THREADS * sizeof *waiting);
    while ((count = mpr_log_next(log, &e, &error)) > 0)
        for (long i = 0; i < count; i++) {
            if (e[i].time > until) continue;
            if (kept) keep(&e[i], kept);
            else want_parts(&e[i]);
        }
    if (count < 0) errx(1, "%s", error.text);
    const enum mpf_end end = mpr_log_status(log)->end;
    mpr_log_close(log);
    return end;
}

static bool is_kept_pair(const struct mpr_pair *pair)
{
    static const char *const kept[] = { "host",         "pid",         "ppid",        "rank",
                                        "run",          "root",        "argv",        "stacks",
                                        "stacks.large", "stacks.mean", "stacks.torch" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcmp(pair->key, kept[i]) == 0) return true;
    return false;
}

/* The times of the process's start are kept: they order the processes of a run. */
static struct testlog *copy_header(const struct mpr_log *log, const char *path)
{
    const struct mpr_header *header = mpr_log_header(log);
    const struct mpf_clock start = { TESTLOG_START, header->start.mono, header->start.real };
    const char **pairs = calloc(2 * header->pairs + 1, sizeof *pairs);
    size_t n = 0;
    if (!pairs) err(1, "memory");
    for (size_t i = 0; i < header->pairs; i++) {
        if (!is_kept_pair(&header->pair[i])) continue;
        pairs[n++] = header->pair[i].key;
        pairs[n++] = header->pair[i].value;
    }
    struct testlog *copy = testlog_open_at(path, pairs, &start);
    free(pairs);
    return copy;
}

int main(int argc, char **argv)
{
    waiting = calloc(THREADS, sizeof *waiting);
    if (argc < 3 || argc > 4 || !waiting) errx(2, "usage: thin_log LOG OUT [SECONDS]");
    const uint64_t until = argc > 3 ? (uint64_t)(strtod(argv[3], NULL) * 1e9) : UINT64_MAX;
    read_log(open_log(argv[1]), until, look);
    read_log(open_log(argv[1]), until, NULL);
    struct mpr_log *log = open_log(argv[1]);
    out = copy_header(log, argv[2]);
    const enum mpf_end end = read_log(log, until, put);
    /* a log without an END is that of a killed process: memprof.run says how it ended */
    testlog_close(out, mpf_end_name[end == MPF_END_NONE ? MPF_END_RECOVERED : end]);
    for (int i = 0; i < 3; i++) mpr_index_free(&used_ids[i]);
    free(pc);
    free(waiting);
    return 0;
}
