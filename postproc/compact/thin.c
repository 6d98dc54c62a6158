#include "thin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "fates.h"
#include "kept.h"
#include "log.h"
#include "mpf/columns.h"
#include "mpf/event.h"
#include "mpf/frame.h"
#include "mpf/sample.h"

enum {
    EVENTS = 49152, /* of a frame: as many as a writer's have */
    LEVEL = 3,      /* of zstd */
};
#define GRAIN_LEAST (UINT64_C(1) << 20) /* ns */

/* Of the numbers of autograd's nodes the newest is told before what needs it. */
struct next {
    uint64_t addr, size, told_addr, told_size;
    bool seen;
};
struct thread {
    struct next next;
    bool moving; /* its MOVE_BEGIN is in the thinned log */
};

struct level {
    uint64_t after;
    uint8_t heap;
    enum mpr_level_how how;
    uint64_t bytes, blocks;
};

struct writer {
    const struct mpr_kept *kept;
    const struct mpr_fates *fates;
    int fd; /* -1: frames are counted only */
    uint64_t origin, real;
    uint64_t frames, bytes, seq; /* seq: of the first frame */
    uint64_t events;             /* of the log that is thinned */
    uint64_t now;
    struct mpf_clock from;
    struct mpf_columns *columns;
    uint64_t data; /* bytes of it in the frame */
    uint8_t *body, *out;
    size_t body_cap, out_cap;
    ZSTD_CCtx *zstd;
    struct thread *thread;
    uint32_t threads;
    struct level *level;
    size_t levels, level_cap, next_level;
    bool across[MPR_HEAPS]; /* is told as live until the next event is behind */
    bool any_across;
    int error; /* errno */
};

/* ---- frames */

static struct mpf_clock clock_at(const struct writer *w, uint64_t time)
{
    return (struct mpf_clock){ w->origin + time, w->origin + time, w->real + time };
}

static void write_all(struct writer *w, const uint8_t *bytes, size_t count)
{
    while (count && !w->error) {
        const ssize_t n = write(w->fd, bytes, count);
        if (n < 0 && errno != EINTR) w->error = errno;
        if (n < 0) continue;
        bytes += n;
        count -= (size_t)n;
    }
}

static void flush(struct writer *w)
{
    const struct mpf_clock to = clock_at(w, w->now);
    if (!mpf_columns_count(w->columns)) return;
    if (w->fd >= 0) {
        const long body =
            mpf_columns_finish(w->columns, &w->from, &to, w->body + MPF_FRAME_HEAD, w->body_cap);
        const struct mpf_frame frame = { MPF_MAJOR,          MPF_MINOR, MPF_FRAME_EVENTS,
                                         w->seq + w->frames, NULL,      (size_t)body };
        const long bytes =
            body < 0 ? body : mpf_frame_write(w->zstd, LEVEL, &frame, w->body, w->out, w->out_cap);
        if (bytes < 0) w->error = ENOMEM;
        else write_all(w, w->out, (size_t)bytes);
        if (bytes > 0) w->bytes += (uint64_t)bytes;
    }
    w->frames++;
    w->from = to;
    w->data = 0;
    mpf_columns_begin(w->columns);
}

static void put(struct writer *w, const struct mpf_event *e)
{
    const uint64_t data = e->data ? e->size : 0,
                   size = e->size < MPF_SIZE_MAX ? e->size : MPF_SIZE_MAX;
    if (!mpf_columns_room(w->columns) || w->data + data > EVENTS * MPF_CONT_BYTES) flush(w);
    const struct mpf_slot slot = { w->origin + e->time, e->addr,
                                   mpf_slot_head(e->op, e->heap, 0, size) };
    mpf_columns_add(w->columns, &slot, e->thread, e->data);
    w->data += data;
    w->events += e->op != MPF_OP_FOLDED;
    w->now = e->time;
}

/* ---- levels */

static void put_folded(struct writer *w, uint64_t time, uint8_t heap,
                       const uint64_t value[MPF_FOLDED_COUNT])
{
    const struct mpf_event e = { .time = time,
                                 .op = MPF_OP_FOLDED,
                                 .heap = heap,
                                 .size = MPF_FOLDED_COUNT * sizeof *value,
                                 .data = (const uint8_t *)value };
    put(w, &e);
}

static void put_none(struct writer *w, uint64_t time, uint8_t heap)
{
    put_folded(w, time, heap, (const uint64_t[MPF_FOLDED_COUNT]){ 0 });
}

static void end_across(struct writer *w, uint64_t time)
{
    for (int i = 0; w->any_across && i < MPR_HEAPS; i++)
        if (w->across[i]) put_none(w, time, (uint8_t)i);
    memset(w->across, 0, sizeof w->across);
    w->any_across = false;
}

/* Behind an event: what was live of the blocks that are gone. */
static void put_levels(struct writer *w, uint64_t event, uint64_t time)
{
    for (; w->next_level < w->levels && w->level[w->next_level].after == event; w->next_level++) {
        const struct level *l = &w->level[w->next_level];
        if (l->how == MPR_LEVEL_TOLD || !l->blocks) continue;
        put_folded(w, time, l->heap, (const uint64_t[MPF_FOLDED_COUNT]){ l->bytes, l->blocks });
        if (l->how == MPR_LEVEL_ACROSS) w->across[l->heap] = w->any_across = true;
        else put_none(w, time, l->heap);
    }
}

/* One that a thinning before this wrote: more is gone of what it tells. */
static void put_told(struct writer *w, const struct mpf_event *e, uint64_t event)
{
    uint64_t value[MPF_FOLDED_COUNT] = { 0 };
    memcpy(value, e->data, e->size < sizeof value ? e->size : sizeof value);
    for (size_t i = w->next_level; i < w->levels && w->level[i].after == event; i++)
        if (w->level[i].how == MPR_LEVEL_TOLD && w->level[i].heap == e->heap) {
            value[MPF_FOLDED_BYTES] += w->level[i].bytes;
            value[MPF_FOLDED_BLOCKS] += w->level[i].blocks;
        }
    put_folded(w, e->time, e->heap, value);
    w->events++;
}

static int by_event(const void *left, const void *right)
{
    const struct level *a = left, *b = right;
    if (a->after != b->after) return a->after < b->after ? -1 : 1;
    return (int)a->heap - (int)b->heap;
}

static void list_levels(struct writer *w)
{
    for (uint32_t i = 0; i < w->kept->heaps.count; i++) {
        const uint8_t heap = w->kept->heaps.code[i];
        const struct mpr_levels_of *l = &w->kept->level[heap];
        const struct mpr_gone *gone = &w->fates->of[heap];
        for (size_t k = 0; k < l->count; k++) {
            MPR_GROW(w->level, w->levels, w->level_cap);
            w->level[w->levels++] =
                (struct level){ l->at[k].after, heap, l->at[k].how, (uint64_t)gone->bytes[k],
                                (uint64_t)gone->blocks[k] };
        }
    }
    if (w->levels) qsort(w->level, w->levels, sizeof *w->level, by_event);
}

/* ---- events */

static struct thread *thread_of(struct writer *w, uint32_t number)
{
    if (number >= MPR_THREADS_MAX) number = 0; /* as in replay */
    MPR_REACH(w->thread, number, w->threads);
    return &w->thread[number];
}

static bool needs_next(const struct mpf_event *e)
{
    return e->op == MPF_OP_PUSH || e->op == MPF_OP_POP ||
           (e->op == MPF_OP_ALLOC && mpf_heap_code(e->heap) == MPF_HEAP_TORCH);
}

static void put_next(struct writer *w, uint32_t thread, uint64_t time)
{
    struct next *n = &thread_of(w, thread)->next;
    if (!n->seen || (n->addr == n->told_addr && n->size == n->told_size)) return;
    const struct mpf_event e = {
        .time = time, .op = MPF_OP_TORCH_NEXT, .thread = thread, .addr = n->addr, .size = n->size
    };
    put(w, &e);
    n->told_addr = n->addr;
    n->told_size = n->size;
}

static void note_next(struct writer *w, const struct mpf_event *e)
{
    struct next *n = &thread_of(w, e->thread)->next;
    if (!n->seen) n->told_addr = n->told_size = UINT64_MAX;
    n->addr = e->addr;
    n->size = e->size;
    n->seen = true;
}

/* A realloc whose block goes was an allocation; one whose result goes, a free. */
static void put_moved(struct writer *w, const struct mpf_event *e, bool gone)
{
    struct thread *t = thread_of(w, e->thread);
    struct mpf_event moved = *e;
    if (!t->moving && gone) return;
    if (gone) moved.addr = moved.size = 0;
    else if (!t->moving && e->addr) moved.op = MPF_OP_ALLOC;
    t->moving = false;
    put(w, &moved);
}

static void put_kept(struct writer *w, const struct mpf_event *e, uint64_t event)
{
    if (needs_next(e)) put_next(w, e->thread, e->time);
    switch (e->op) {
    case MPF_OP_MOVE_BEGIN: thread_of(w, e->thread)->moving = true; break;
    case MPF_OP_FAIL: thread_of(w, e->thread)->moving &= !mpf_fail_ends_move(e->heap); break;
    case MPF_OP_FOLDED: put_told(w, e, event); return;
    default: break;
    }
    put(w, e);
}

/* Of a newer version's nobody knows here what it says, and no writer makes longer data. */
static bool is_ours(const struct mpf_event *e)
{
    return mpf_op_class(e->op) != MPF_CLASS_NONE && (!e->data || e->size <= MPF_DATA_MAX);
}

static void see(struct writer *w, const struct mpf_event *e, uint64_t event)
{
    const bool gone = mpr_fates_gone(w->fates, event) || !is_ours(e), told = w->any_across;
    if (e->op == MPF_OP_TORCH_NEXT) note_next(w, e);
    else if (e->op == MPF_OP_MOVE_END) put_moved(w, e, gone);
    else if (!gone) put_kept(w, e, event);
    if (told) end_across(w, e->time);
    put_levels(w, event, e->time);
}

/* What the events behind this part build on, and what came and went in it. */
static void end(struct writer *w)
{
    const uint64_t time = w->kept->until;
    for (uint32_t i = 0; i < w->threads; i++) put_next(w, i, time);
    end_across(w, time);
    for (uint32_t i = 0; i < w->kept->heaps.count; i++) {
        const uint8_t heap = w->kept->heaps.code[i];
        const struct mpr_gone *gone = &w->fates->of[heap];
        if (gone->allocations)
            put_folded(
                w, time, heap,
                (const uint64_t[MPF_FOLDED_COUNT]){
                    [MPF_FOLDED_MADE] = gone->allocations, [MPF_FOLDED_FREED] = gone->frees });
    }
    flush(w);
}

static void begin(struct writer *w, const struct mpr_header *header)
{
    w->origin = header->start.mono;
    w->real = header->start.real;
    w->from = clock_at(w, 0);
    w->frames = w->bytes = w->events = w->now = w->data = w->next_level = 0;
    free(w->thread);
    w->thread = NULL;
    w->threads = 0;
    mpf_columns_begin(w->columns);
}

static int write_log(struct writer *w, const char *path, uint64_t seq, struct mpr_error *error)
{
    const struct mpf_event *events;
    struct mpr_log *log;
    uint64_t event = 0;
    long count;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_log_stop_after(log, seq);
    begin(w, mpr_log_header(log));
    while ((count = mpr_log_next(log, &events, error)) > 0 && !w->error)
        for (long i = 0; i < count; i++, event++) see(w, &events[i], event);
    end(w);
    mpr_log_close(log);
    return count < 0 ? -1 : 0;
}

/* ---- the whole */

static void open_writer(struct writer *w)
{
    /* The columns want memory that begins at a multiple of 64. */
    const size_t columns = (mpf_columns_memory(EVENTS) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, columns);
    w->zstd = ZSTD_createCCtx();
    if (!memory || !w->zstd) mpr_alloc_end();
    w->columns = mpf_columns_init(memset(memory, 0, columns), EVENTS, 0);
    w->body_cap = mpf_columns_bound(EVENTS);
    w->out_cap = mpf_frame_bound(w->body_cap);
    w->body = mpr_alloc(1, MPF_FRAME_HEAD + w->body_cap);
    w->out = mpr_alloc(1, w->out_cap);
}

static void close_writer(struct writer *w)
{
    free(w->columns);
    free(w->body);
    free(w->out);
    free(w->thread);
    free(w->level);
    ZSTD_freeCCtx(w->zstd);
}

/* Counts the frames first: their numbers say where they end. */
static int write_thinned(struct writer *w, const char *path, uint64_t seq, int fd,
                         struct mpr_error *error)
{
    open_writer(w);
    list_levels(w);
    w->fd = -1;
    if (write_log(w, path, seq, error) != 0) return -1;
    if (w->frames > seq)
        return mpr_fail(error, "%s: too short to be thinned; nothing was changed", path);
    w->seq = seq + 1 - w->frames;
    w->fd = fd;
    if (write_log(w, path, seq, error) != 0) return -1;
    if (!w->error) return 0;
    errno = w->error;
    return mpr_fail_errno(error, path, "write its thinned part");
}

/* An event that stays takes a byte or more: what cannot fit is not written. */
static int attempt(const struct mpr_kept *kept, const char *path, uint64_t seq, uint64_t budget,
                   int fd, struct mpr_thinned *out, struct mpr_error *error)
{
    struct mpr_fates fates;
    struct writer w = { .kept = kept, .fates = &fates };
    int result = mpr_fates_find(&fates, kept, path, seq, error);
    const uint64_t stay = kept->events - fates.removed;
    if (result == 0 && stay > budget) w.bytes = stay;
    else if (result == 0) result = write_thinned(&w, path, seq, fd, error);
    *out = (struct mpr_thinned){ .frames = w.frames,
                                 .bytes = w.bytes,
                                 .removed = kept->events > w.events ? kept->events - w.events : 0,
                                 .until = w.origin + kept->until,
                                 .grain = kept->grain };
    mpr_fates_free(&fates);
    close_writer(&w);
    return result;
}

/* Nothing of an attempt that was too large is left. */
static int begin_again(int fd, off_t at, const char *path, struct mpr_error *error)
{
    if (ftruncate(fd, at) == 0 && lseek(fd, at, SEEK_SET) == at) return 0;
    return mpr_fail_errno(error, path, "write its thinned part");
}

/* About half as many bins, half as many bytes: as often as it takes, once at least. */
static bool coarsen(struct mpr_kept *kept, uint64_t bytes, uint64_t budget)
{
    bool can = mpr_kept_coarsen(kept);
    while (can && (bytes /= 2) / 2 > budget) can = mpr_kept_coarsen(kept);
    return can;
}

int mpr_thin(const char *path, uint64_t seq, uint64_t budget, int fd, struct mpr_thinned *out,
             struct mpr_error *error)
{
    const off_t at = lseek(fd, 0, SEEK_CUR);
    struct mpr_kept kept;
    *out = (struct mpr_thinned){ 0 };
    uint64_t before = UINT64_MAX;
    int result = mpr_kept_find(&kept, path, seq, GRAIN_LEAST, error);
    if (result == 0) result = attempt(&kept, path, seq, budget, fd, out, error);
    while (result == 0 && out->bytes > budget && before != 0) {
        /* Where wider bins hardly help, there is nothing more to be had. */
        const bool can = out->bytes < before / 8 * 7 && coarsen(&kept, out->bytes, budget);
        before = can ? out->bytes : 0;
        result = begin_again(fd, at, path, error);
        if (result == 0)
            result = attempt(&kept, path, seq, can ? budget : UINT64_MAX, fd, out, error);
    }
    mpr_kept_free(&kept);
    return result;
}
