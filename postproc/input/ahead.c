#include "log.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MIN_BYTES   ((uint64_t)1 << 19) /* a shorter log is read faster than a thread starts */
#define STACK_BYTES ((size_t)1 << 19)
/* After this many bytes of data a batch is not filled further, and a larger buffer is replaced at
 * its next use: only a damaged log has as much data. */
#define DATA_MAX ((size_t)1 << 22)

/* A batch has the events of several reads, because the two threads need some microseconds to pass
 * it on. */
enum { BATCHES = 4, READS = 8, EVENTS = READS * MPR_BATCH };

/* The data of the events of one read of the log. */
struct data {
    uint8_t *at;
    size_t cap;
};

struct batch {
    struct mpf_event event[EVENTS];
    struct data data[READS];
    long count; /* 0 at the end, -1 for an error */
    uint64_t position;
};

struct mpr_ahead {
    struct mpr_log *log;
    bool has_thread;
    long end; /* 0 or -1 after the log has returned that, else 1 */
    struct mpr_error error;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    unsigned long made, taken; /* numbers of batches; the reader still uses the last one it took */
    bool stopped;
    struct batch batch[]; /* BATCHES if there is a thread */
};

/* ---- the thread */

/* Copies the data of events, whose memory the log reuses for the next ones.  Adds the bytes to
 * *sum.  Returns false if memory runs out. */
static bool keep_data(struct data *data, struct mpf_event *event, long count, size_t *sum)
{
    size_t bytes = 0;
    for (long i = 0; i < count; i++)
        if (event[i].data) bytes += event[i].size;
    if (!bytes) return true;
    if (bytes > data->cap || data->cap > DATA_MAX) {
        uint8_t *resized = realloc(data->at, bytes);
        if (!resized) return false;
        *data = (struct data){ resized, bytes };
    }
    uint8_t *to = data->at;
    for (long i = 0; i < count; i++) {
        if (!event[i].data) continue;
        event[i].data = memcpy(to, event[i].data, event[i].size);
        to += event[i].size;
    }
    *sum += bytes;
    return true;
}

/* If the log ends or fails, this batch has the events before that, and the next one the end. */
static void fill(struct mpr_ahead *a, struct batch *b)
{
    size_t data = 0;
    b->count = 0;
    for (int i = 0; i < READS && a->end > 0 && data < DATA_MAX; i++) {
        struct mpf_event *const to = b->event + b->count;
        const long count = mpr_log_read(a->log, to, &a->error);
        if (count <= 0) a->end = count;
        else if (keep_data(&b->data[i], to, count, &data)) b->count += count;
        else a->end = mpr_fail_memory(&a->error, "the log");
    }
    if (!b->count) b->count = a->end;
    b->position = mpr_log_position(a->log);
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
        while (a->made - a->taken == BATCHES - 1 && !a->stopped)
            pthread_cond_wait(&a->emptied, &a->lock);
        more = b->count > 0 && !a->stopped;
        pthread_mutex_unlock(&a->lock);
    }
    return NULL;
}

/* ---- the reader */

/* The thread blocks all signals except those of faults: the program's threads handle the others. */
static bool start_thread(struct mpr_ahead *a)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
    pthread_attr_t attributes;
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->filled, NULL);
    pthread_cond_init(&a->emptied, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const bool started = pthread_create(&a->thread, &attributes, decode, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

struct mpr_ahead *mpr_ahead_start(struct mpr_log *log)
{
    cpu_set_t allowed;
    const bool worth_it = mpr_log_status(log)->bytes - mpr_log_position(log) >= MIN_BYTES &&
                          sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
                          CPU_COUNT(&allowed) > 1;
    const size_t batches = worth_it ? BATCHES : 0;
    struct mpr_ahead *a = calloc(1, sizeof *a + batches * sizeof *a->batch);
    if (!a) return NULL;
    a->log = log;
    a->end = 1;
    a->has_thread = worth_it && start_thread(a);
    return a;
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
    pthread_mutex_lock(&a->lock);
    while (a->made == a->taken) pthread_cond_wait(&a->filled, &a->lock);
    const struct batch *b = &a->batch[a->taken++ % BATCHES];
    pthread_cond_signal(&a->emptied); /* the batch that was taken before is empty now */
    pthread_mutex_unlock(&a->lock);
    *events = b->event;
    *position = b->position;
    if (b->count < 0) *error = a->error;
    return b->count;
}

void mpr_ahead_stop(struct mpr_ahead *a)
{
    if (a && a->has_thread) {
        pthread_mutex_lock(&a->lock);
        a->stopped = true;
        pthread_cond_signal(&a->emptied);
        pthread_mutex_unlock(&a->lock);
        pthread_join(a->thread, NULL);
        for (size_t i = 0; i < BATCHES; i++)
            for (size_t k = 0; k < READS; k++) free(a->batch[i].data[k].at);
    }
    free(a);
}
