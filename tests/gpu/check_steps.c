/* check_steps LOG: replays a log and compares memory at each mark "step:NAME dev=.. managed=..
 * pinned=.. pool=.. regions=.." with the program's own numbers. Prints each difference, and exits
 * with their number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "replay.h"

static unsigned marks, wrong;

static void compare(const struct mpr_replay *r, const char *step, const char *text, const char *key,
                    unsigned heap)
{
    const char *at = strstr(text, key);
    if (!at) return;
    const uint64_t expected = strtoull(at + strlen(key), NULL, 10),
                   recorded = r->accounts.heap[heap].bytes;
    if (expected == recorded) return;
    printf("%s: %s%" PRIu64 ", and the log has %" PRIu64 "\n", step, key, expected, recorded);
    wrong++;
}

static void on_event(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    (void)arg;
    (void)t;
    size_t bytes;
    char step[64];
    const char *text =
        e->op == MPF_OP_MARK ? mpr_texts_get(&r->ranges.names, (uint32_t)e->addr, &bytes) : NULL;
    if (!text || sscanf(text, "step:%63s", step) != 1) return;
    marks++;
    compare(r, step, text, " dev=", mpf_heap_gpu(MPF_HEAP_DEVICE, 0));
    compare(r, step, text, " managed=", mpf_heap_gpu(MPF_HEAP_MANAGED, 0));
    compare(r, step, text, " pinned=", MPF_HEAP_PINNED);
    compare(r, step, text, " pool=", mpf_heap_gpu(MPF_HEAP_POOL, 0));
    compare(r, step, text, " regions=", MPF_HEAP_NVTX);
}

int main(int argc, char **argv)
{
    struct mpr_log *log;
    struct mpr_error error;
    static struct mpr_replay replay;
    /* As for logs since 1.11: a sample may be older than the newest level of a pool. */
    const struct mpr_replay_options options = { .by = MPR_GROUP_RANGE,
                                                .at = MPR_INSTANT_PEAK,
                                                .pools_exact = true };
    if (argc != 2 || mpr_log_open(&log, argv[1], &error) != 0) return 255;
    mpr_replay_init(&replay, &options);
    mpr_watch_begin(&replay, (struct mpr_watch){ on_event, NULL });
    const struct mpf_event *events;
    for (long n; (n = mpr_log_next(log, &events, &error)) > 0;)
        mpr_replay_batch(&replay, events, (size_t)n);
    mpr_replay_finish(&replay);
    mpr_replay_free(&replay);
    mpr_log_close(log);
    printf("%u marks, %u differences\n", marks, wrong);
    return marks ? wrong < 254 ? (int)wrong : 254 : 255;
}
