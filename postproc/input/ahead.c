#include "ahead.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Below these bytes a log is read sooner than a thread is made; batches that are ahead, each of
 * many of the log's, for handing one over costs some us; data of a batch and of a read, above which
 * nothing more is put behind it and its room is given back: a log that is none of ours may have
 * much. */
enum {
    LEAST = 1 << 19,
    BATCHES = 4,
    READS = 8,
    EVENTS = READS * MPR_BATCH,
    STACK = 1 << 19,
    DATA = 1 << 22
};

/* The data of the events of one read of the log. */
struct data {
    uint8_t *at;
    size_t cap;
};

struct batch {
    struct mpf_event event[EVENTS];
    struct data data[READS];
    long count; /* 0: the end; -1: error */
    uint64_t position;
};

struct mpr_ahead {
    struct mpr_log *log;
    bool has_thread;
    long end; /* the log has said so: 0 or -1; 1: not yet */
    struct mpr_error error;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    unsigned long made, taken; /* batches; the newest one taken is in use until the next */
    bool stopped;
    struct batch batch[]; /* BATCHES, where there is a thread */
};

/* ---- the thread */

static size_t data_bytes(const struct mpf_event *event, long count)
{
    size_t sum = 0;
    for (long i = 0; i < count; i++)
        if (event[i].data) sum += event[i].size;
    return sum;
}

static bool make_room(struct data *data, size_t bytes)
{
    if (!bytes || (bytes <= data->cap && data->cap <= DATA)) return true;
    uint8_t *grown = realloc(data->at, bytes);
    if (!grown) return false;
    *data = (struct data){ grown, bytes };
    return true;
}

/* The log's data is gone with its next events.  *sum: more by its bytes. */
static bool keep_data(struct data *data, struct mpf_event *event, long count, size_t *sum)
{
    const size_t bytes = data_bytes(event, count);
    if (!make_room(data, bytes)) return false;
    uint8_t *to = data->at;
    for (long i = 0; bytes && i < count; i++) {
        if (!event[i].data) continue;
        event[i].data = memcpy(to, event[i].data, event[i].size);
        to += event[i].size;
    }
    *sum += bytes;
    return true;
}

/* What there was before the log ended, or failed, is handed over first. */
static void fill(struct mpr_ahead *a, struct batch *b)
{
    size_t data = 0;
    b->count = 0;
    for (int i = 0; i < READS && a->end > 0 && data < DATA; i++) {
        struct mpf_event *const to = b->event + b->count;
        const long count = mpr_log_read(a->log, to, &a->error);
        if (count <= 0) a->end = count;
        else if (keep_data(&b->data[i], to, count, &data)) b->count += count;
        else a->end = mpr_fail_memory(&a->error, "the log");
    }
    if (!b->count) b->count = a->end;
    b->position = mpr_log_position(a->log);
}

/* Under the lock. */
static bool waits_for_room(const struct mpr_ahead *a)
{
    return a->made - a->taken == BATCHES - 1 && !a->stopped;
}

static void *decode(void *arg)
{
    struct mpr_ahead *a = arg;
    bool more = true;
    while (more) {
        struct batch *b = &a->batch[a->made % BATCHES];
        fill(a, b);
        pthread_mutex_lock(&a->lock);
        a->made++;
        pthread_cond_signal(&a->filled);
        while (waits_for_room(a)) pthread_cond_wait(&a->emptied, &a->lock);
        more = b->count > 0 && !a->stopped;
        pthread_mutex_unlock(&a->lock);
    }
    return NULL;
}

/* ---- who replays */

static bool is_worth_it(const struct mpr_log *log)
{
    cpu_set_t mine;
    return mpr_log_status(log)->bytes - mpr_log_position(log) >= LEAST &&
           sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) > 1;
}

/* Signals that others send are for the thread that was there before. */
static bool start(struct mpr_ahead *a)
{
    static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
    pthread_attr_t small;
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&others, own[i]);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->filled, NULL);
    pthread_cond_init(&a->emptied, NULL);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const bool started = pthread_create(&a->thread, &small, decode, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    return started;
}

struct mpr_ahead *mpr_ahead_start(struct mpr_log *log)
{
    const size_t batches = is_worth_it(log) ? BATCHES : 0;
    struct mpr_ahead *a = calloc(1, sizeof *a + batches * sizeof *a->batch);
    if (!a) return NULL;
    a->log = log;
    a->end = 1;
    a->has_thread = batches && start(a);
    return a;
}

/* The one before is empty now. */
static struct batch *take(struct mpr_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->made == a->taken) pthread_cond_wait(&a->filled, &a->lock);
    struct batch *b = &a->batch[a->taken++ % BATCHES];
    pthread_cond_signal(&a->emptied);
    pthread_mutex_unlock(&a->lock);
    return b;
}

long mpr_ahead_next(struct mpr_ahead *a, const struct mpf_event **events, uint64_t *position,
                    struct mpr_error *error)
{
    if (!a) return mpr_fail_memory(error, "the log");
    if (!a->has_thread) {
        const long count = mpr_log_next(a->log, events, error);
        *position = mpr_log_position(a->log);
        return count;
    }
    const struct batch *b = take(a);
    *events = b->event;
    *position = b->position;
    if (b->count < 0) *error = a->error;
    return b->count;
}

static void join(struct mpr_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->stopped = true;
    pthread_cond_signal(&a->emptied);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    for (size_t i = 0; i < BATCHES; i++)
        for (size_t k = 0; k < READS; k++) free(a->batch[i].data[k].at);
}

void mpr_ahead_stop(struct mpr_ahead *a)
{
    if (a && a->has_thread) join(a);
    free(a);
}
