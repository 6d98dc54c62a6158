#include "thin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "amount.h"
#include "file.h"
#include "log.h"
#include "mpf/columns.h"
#include "mpf/event.h"
#include "mpf/frame.h"
#include "mpf/sample.h"

enum {
    FRAME_EVENTS = 49152, /* as in a writer's frames */
    ZSTD_LEVEL = 3,
};
#define MIN_GRAIN_NS (UINT64_C(1) << 20)

struct thread {
    /* The newest TORCH_NEXT that was read, and the newest that was written.  It is written just
     * before an event that needs it. */
    struct next {
        uint64_t addr, size, written_addr, written_size;
        bool any;
    } next;
    bool moving; /* its MOVE_BEGIN is in the thinned log */
};

/* The removed blocks of a heap that were live after an event. */
struct level {
    uint64_t after;
    uint8_t heap;
    enum mpr_level_how how;
    uint64_t bytes, blocks;
};

struct writer {
    const struct mpr_kept *kept;
    const struct mpr_retention *retention;
    int fd; /* -1: only count the frames */
    uint64_t origin, real;
    uint64_t frames, bytes, seq; /* seq: of the first frame */
    uint64_t events;             /* number of written events that are also in the original log */
    uint64_t now;
    struct mpf_clock from;
    struct mpf_columns *columns;
    uint64_t data; /* bytes of data in the frame */
    uint8_t *body, *out;
    size_t body_cap, out_cap;
    ZSTD_CCtx *zstd;
    struct thread *thread;
    uint32_t threads;
    struct level *level; /* sorted by event */
    size_t levels, level_cap, next_level;
    bool level_open[MPR_HEAPS]; /* a level was written that ends after the next event */
    bool any_level_open;
    int error; /* errno */
};

/* ---- frames */

static struct mpf_clock clock_at(const struct writer *w, uint64_t time)
{
    return (struct mpf_clock){ w->origin + time, w->origin + time, w->real + time };
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
            body < 0 ? body
                     : mpf_frame_write(w->zstd, ZSTD_LEVEL, &frame, w->body, w->out, w->out_cap);
        if (bytes < 0) w->error = ENOMEM;
        else if (!w->error && mpr_file_write(w->fd, w->out, (size_t)bytes) != 0) w->error = errno;
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
    if (!mpf_columns_room(w->columns) || w->data + data > FRAME_EVENTS * MPF_CONT_BYTES) flush(w);
    const struct mpf_slot slot = { w->origin + e->time, e->addr,
                                   mpf_slot_head(e->op, e->heap, 0, size) };
    mpf_columns_add(w->columns, &slot, e->thread, e->data);
    w->data += data;
    w->events += e->op != MPF_OP_FOLDED;
    w->now = e->time;
}

/* ---- levels */

MPR_COMPARE(by_event, struct level,
            mpr_compare(a->after, b->after) ?: mpr_compare(a->heap, b->heap))

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

static const uint64_t no_blocks[MPF_FOLDED_COUNT];

/* Ends the levels that were open at the event just written. */
static void end_levels(struct writer *w, uint64_t time)
{
    for (int i = 0; w->any_level_open && i < MPR_HEAPS; i++)
        if (w->level_open[i]) put_folded(w, time, (uint8_t)i, no_blocks);
    memset(w->level_open, 0, sizeof w->level_open);
    w->any_level_open = false;
}

/* Writes the removed blocks that were live after an event. */
static void put_levels(struct writer *w, uint64_t event, uint64_t time)
{
    for (; w->next_level < w->levels && w->level[w->next_level].after == event; w->next_level++) {
        const struct level *l = &w->level[w->next_level];
        if (l->how == MPR_LEVEL_RECORDED || !l->blocks) continue;
        put_folded(w, time, l->heap, (const uint64_t[MPF_FOLDED_COUNT]){ l->bytes, l->blocks });
        if (l->how == MPR_LEVEL_UNTIL_NEXT) w->level_open[l->heap] = w->any_level_open = true;
        else put_folded(w, time, l->heap, no_blocks);
    }
}

/* Writes a FOLDED event of an earlier thinning and adds the blocks that are removed now. */
static void put_recorded_level(struct writer *w, const struct mpf_event *e, uint64_t event)
{
    uint64_t value[MPF_FOLDED_COUNT] = { 0 };
    memcpy(value, e->data, e->size < sizeof value ? e->size : sizeof value);
    for (size_t i = w->next_level; i < w->levels && w->level[i].after == event; i++)
        if (w->level[i].how == MPR_LEVEL_RECORDED && w->level[i].heap == e->heap) {
            value[MPF_FOLDED_BYTES] += w->level[i].bytes;
            value[MPF_FOLDED_BLOCKS] += w->level[i].blocks;
        }
    put_folded(w, e->time, e->heap, value);
    w->events++;
}

/* ---- events */

static struct thread *thread_of(struct writer *w, uint32_t number)
{
    if (number >= MPR_THREADS_MAX) number = 0; /* as in replay */
    MPR_REACH(w->thread, number, w->threads);
    return &w->thread[number];
}

/* Writes the thread's newest TORCH_NEXT, unless it was written before. */
static void put_next(struct writer *w, uint32_t thread, uint64_t time)
{
    struct next *n = &thread_of(w, thread)->next;
    if (!n->any || (n->addr == n->written_addr && n->size == n->written_size)) return;
    const struct mpf_event e = {
        .time = time, .op = MPF_OP_TORCH_NEXT, .thread = thread, .addr = n->addr, .size = n->size
    };
    put(w, &e);
    n->written_addr = n->addr;
    n->written_size = n->size;
}

/* A realloc becomes an allocation if its old block is removed, and a free if its new block is. */
static void put_move_end(struct writer *w, const struct mpf_event *e, bool removed)
{
    struct thread *t = thread_of(w, e->thread);
    struct mpf_event moved = *e;
    if (!t->moving && removed) return;
    if (removed) moved.addr = moved.size = 0;
    else if (!t->moving && e->addr) moved.op = MPF_OP_ALLOC;
    t->moving = false;
    put(w, &moved);
}

static void put_kept(struct writer *w, const struct mpf_event *e, uint64_t event)
{
    if (e->op == MPF_OP_PUSH || e->op == MPF_OP_POP ||
        (e->op == MPF_OP_ALLOC && mpf_heap_code(e->heap) == MPF_HEAP_TORCH))
        put_next(w, e->thread, e->time);
    switch (e->op) {
    case MPF_OP_MOVE_BEGIN: thread_of(w, e->thread)->moving = true; break;
    case MPF_OP_FAIL: thread_of(w, e->thread)->moving &= !mpf_fail_ends_move(e->heap); break;
    case MPF_OP_FOLDED: put_recorded_level(w, e, event); return;
    default: break;
    }
    put(w, e);
}

/* Also removes events of a newer version, whose meaning is unknown, and events with more data than
 * any writer makes. */
static void on_event(struct writer *w, const struct mpf_event *e, uint64_t event)
{
    const bool known =
        mpf_op_class(e->op) != MPF_CLASS_NONE && (!e->data || e->size <= MPF_DATA_MAX);
    const bool removed = mpr_retention_is_removed(w->retention, event) || !known,
               ends_levels = w->any_level_open;
    if (e->op == MPF_OP_TORCH_NEXT) {
        struct next *n = &thread_of(w, e->thread)->next;
        if (!n->any) n->written_addr = n->written_size = UINT64_MAX;
        n->addr = e->addr;
        n->size = e->size;
        n->any = true;
    } else if (e->op == MPF_OP_MOVE_END) put_move_end(w, e, removed);
    else if (!removed) put_kept(w, e, event);
    if (ends_levels) end_levels(w, e->time);
    put_levels(w, event, e->time);
}

/* Writes the TORCH_NEXTs that the rest of the log needs, and the numbers of removed blocks. */
static void end(struct writer *w)
{
    const uint64_t time = w->kept->until;
    for (uint32_t i = 0; i < w->threads; i++) put_next(w, i, time);
    end_levels(w, time);
    for (uint32_t i = 0; i < w->kept->heaps.count; i++) {
        const uint8_t heap = w->kept->heaps.code[i];
        const struct mpr_removed_blocks *removed = &w->retention->of[heap];
        const uint64_t value[MPF_FOLDED_COUNT] = {
            [MPF_FOLDED_MADE] = removed->allocations, [MPF_FOLDED_FREED] = removed->frees
        };
        if (removed->allocations) put_folded(w, time, heap, value);
    }
    flush(w);
}

static int write_log(struct writer *w, const char *path, uint64_t seq, struct mpr_error *error)
{
    const struct mpf_event *events;
    struct mpr_log *log;
    uint64_t event = 0;
    long count;
    if (mpr_log_open(&log, path, error) != 0) return -1;
    mpr_log_stop_after(log, seq);
    const struct mpr_header *header = mpr_log_header(log);
    w->origin = header->start.mono;
    w->real = header->start.real;
    w->from = clock_at(w, 0);
    w->frames = w->bytes = w->events = w->now = w->data = w->next_level = 0;
    free(w->thread);
    w->thread = NULL;
    w->threads = 0;
    mpf_columns_begin(w->columns);
    while ((count = mpr_log_next(log, &events, error)) > 0 && !w->error)
        for (long i = 0; i < count; i++, event++) on_event(w, &events[i], event);
    end(w);
    mpr_log_close(log);
    return count < 0 ? -1 : 0;
}

/* ---- attempts */

/* Reads the log twice, the first time to count the frames, because their numbers depend on that. */
static int write_thinned(struct writer *w, const char *path, uint64_t seq, int fd,
                         struct mpr_error *error)
{
    /* The columns need memory aligned to 64 bytes. */
    const size_t columns = (mpf_columns_memory(FRAME_EVENTS) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, columns);
    w->zstd = ZSTD_createCCtx();
    if (!memory || !w->zstd) mpr_alloc_fail();
    w->columns = mpf_columns_init(memset(memory, 0, columns), FRAME_EVENTS, 0);
    w->body_cap = mpf_columns_bound(FRAME_EVENTS);
    w->out_cap = mpf_frame_bound(w->body_cap);
    w->body = mpr_alloc(1, MPF_FRAME_HEAD + w->body_cap);
    w->out = mpr_alloc(1, w->out_cap);
    for (uint32_t i = 0; i < w->kept->heaps.count; i++) {
        const uint8_t heap = w->kept->heaps.code[i];
        const struct mpr_level_list *l = &w->kept->level[heap];
        const struct mpr_removed_blocks *removed = &w->retention->of[heap];
        for (size_t k = 0; k < l->count; k++) {
            *MPR_ADD(w->level, w->levels, w->level_cap) =
                (struct level){ l->at[k].after, heap, l->at[k].how, (uint64_t)removed->bytes[k],
                                (uint64_t)removed->blocks[k] };
        }
    }
    if (w->levels) qsort(w->level, w->levels, sizeof *w->level, by_event);
    w->fd = -1;
    if (write_log(w, path, seq, error) != 0) return -1;
    if (w->frames > seq)
        return mpr_fail(error, "%s: the log is too short to be thinned; nothing was changed", path);
    w->seq = seq + 1 - w->frames;
    w->fd = fd;
    if (write_log(w, path, seq, error) != 0) return -1;
    if (!w->error) return 0;
    errno = w->error;
    return mpr_fail_errno(error, path, "write the thinned part of it");
}

/* Writes nothing if the events that stay cannot fit: each takes at least a byte. */
static int try_budget(const struct mpr_kept *kept, const char *path, uint64_t seq, uint64_t budget,
                      int fd, struct mpr_thinned *out, struct mpr_error *error)
{
    struct mpr_retention retention;
    struct writer w = { .kept = kept, .retention = &retention };
    int result = mpr_retention_find(&retention, kept, path, seq, error);
    const uint64_t stay = kept->events - retention.count;
    if (result == 0 && stay > budget) w.bytes = stay;
    else if (result == 0) result = write_thinned(&w, path, seq, fd, error);
    *out = (struct mpr_thinned){ .frames = w.frames,
                                 .bytes = w.bytes,
                                 .removed = kept->events > w.events ? kept->events - w.events : 0,
                                 .until = w.origin + kept->until,
                                 .grain = kept->grain };
    mpr_retention_free(&retention);
    free(w.columns);
    free(w.body);
    free(w.out);
    free(w.thread);
    free(w.level);
    ZSTD_freeCCtx(w.zstd);
    return result;
}

int mpr_thin(const char *path, uint64_t seq, uint64_t budget, int fd, struct mpr_thinned *out,
             struct mpr_error *error)
{
    const off_t at = lseek(fd, 0, SEEK_CUR);
    struct mpr_kept kept;
    *out = (struct mpr_thinned){ 0 };
    uint64_t before = UINT64_MAX; /* bytes of the previous attempt, or 0 after the last one */
    int result = mpr_kept_find(&kept, path, seq, MIN_GRAIN_NS, error);
    if (result == 0) result = try_budget(&kept, path, seq, budget, fd, out, error);
    while (result == 0 && out->bytes > budget && before != 0) {
        /* If wider bins hardly make it smaller, the last attempt has no budget.  Otherwise bins are
         * joined at least once, and again until the bytes are expected to fit: half as many bins
         * need about half as many bytes. */
        bool can = out->bytes < before / 8 * 7 && mpr_kept_coarsen(&kept);
        for (uint64_t bytes = out->bytes / 2; can && bytes / 2 > budget; bytes /= 2)
            can = mpr_kept_coarsen(&kept);
        before = can ? out->bytes : 0;
        if (ftruncate(fd, at) == 0 && lseek(fd, at, SEEK_SET) == at)
            result = try_budget(&kept, path, seq, can ? budget : UINT64_MAX, fd, out, error);
        else result = mpr_fail_errno(error, path, "write the thinned part of it");
    }
    mpr_kept_free(&kept);
    return result;
}
