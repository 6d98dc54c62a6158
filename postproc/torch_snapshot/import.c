/* The newest snapshot stays in memory after it is closed, because a report opens its log several
 * times.  Events are made when they are read: first definitions, then memory that is older than the
 * traces, then the entries of all devices and the annotations in the order of their times. */
#include "import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "arena.h"
#include "index.h"
#include "log.h"
#include "map.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "mpf/header.h"
#include "mpf/sample.h"
#include "pickle.h"

#define MIB (UINT64_C(1) << 20)
/* The driver maps memory of expandable segments in pieces of these sizes. */
#define LARGE_PIECE (20 * MIB)
#define SMALL_PIECE (2 * MIB)

/* An object file with one call stack, by which replay recognizes PyTorch's segments. */
#define LIBRARY       "libc10_cuda.so"
#define LIBRARY_BEGIN 0x1000
#define LIBRARY_END   0x2000
#define LIBRARY_CALL  0x1800
enum { THREAD = 1, STACK = 1, NAMES_FROM = 16 }; /* names below are reserved (FORMAT.md) */

/* ---- a snapshot */

enum memory { PLAIN_SEGMENT, PIECE, BLOCK };

/* Memory that is older than the traces. */
struct old {
    uint64_t addr, size;
    uint32_t stack;
    uint8_t device, memory;
};

struct snapshot {
    struct mpr_map map;
    struct mpr_pickle pickle;
    struct old *old;
    size_t olds, old_cap;
    uint32_t *name; /* of annotations: number of the first one with the same name */
    uint64_t start_us;
    unsigned devices;
    char header[128];
    size_t header_bytes;
    unsigned users; /* open readings */
};

static uint64_t round_up(uint64_t size)
{
    return size > UINT64_MAX - 511 ? size : (size + 511) / 512 * 512;
}

static uint64_t piece_size(uint64_t size)
{
    return size % LARGE_PIECE == 0 ? LARGE_PIECE : SMALL_PIECE;
}

/* Takes the pieces of a mapped range from the number of those that are still looked at.  A snapshot
 * that was made to take long names more.  Returns false if there are not enough. */
#define PIECES_MAX (UINT64_C(1) << 25)
static bool take_pieces(uint64_t *pieces, uint64_t size)
{
    const uint64_t count = size / SMALL_PIECE + 1;
    if (count > *pieces) return false;
    *pieces -= count;
    return true;
}

static void add_old(struct snapshot *s, struct old old)
{
    if (!old.size) return;
    *MPR_ADD(s->old, s->olds, s->old_cap) = old;
}

/* ---- memory that is older than the traces */

/* Addresses that the trace has allocated so far. */
struct known {
    struct mpr_index block, segment, piece;
    uint64_t pieces; /* that may still be looked at */
};

static void add_old_pieces(struct snapshot *s, struct known *known, uint64_t addr, uint64_t size,
                           unsigned device)
{
    const uint64_t unit = piece_size(size);
    if (!take_pieces(&known->pieces, size)) return;
    for (uint64_t at = addr; at - addr < size && size - (at - addr) >= unit; at += unit) {
        if (mpr_index_get(&known->piece, at)) continue;
        add_old(s, (struct old){ at, unit, 0, (uint8_t)device, PIECE });
        mpr_index_set(&known->piece, at, 1);
    }
}

static void know_pieces(struct known *known, uint64_t addr, uint64_t size)
{
    const uint64_t unit = piece_size(size);
    if (!take_pieces(&known->pieces, size)) return;
    for (uint64_t at = addr; at - addr < size; at += unit) mpr_index_set(&known->piece, at, 1);
}

static void look_at_entry(struct snapshot *s, struct known *known, unsigned device,
                          const struct mpr_pickle_entry *e)
{
    switch (e->action) {
    case MPR_PICKLE_ALLOC: mpr_index_set(&known->block, e->addr, 1); break;
    case MPR_PICKLE_FREE_REQUESTED:
        if (!mpr_index_get(&known->block, e->addr))
            add_old(s,
                    (struct old){ e->addr, round_up(e->size), e->stack, (uint8_t)device, BLOCK });
        mpr_index_set(&known->block, e->addr, 2);
        break;
    case MPR_PICKLE_SEGMENT_ALLOC: mpr_index_set(&known->segment, e->addr, 1); break;
    case MPR_PICKLE_SEGMENT_FREE:
        if (!mpr_index_get(&known->segment, e->addr))
            add_old(s, (struct old){ e->addr, e->size, 0, (uint8_t)device, PLAIN_SEGMENT });
        mpr_index_set(&known->segment, e->addr, 2);
        break;
    case MPR_PICKLE_SEGMENT_MAP: know_pieces(known, e->addr, e->size); break;
    case MPR_PICKLE_SEGMENT_UNMAP: add_old_pieces(s, known, e->addr, e->size, device); break;
    default: break;
    }
}

/* Segments and blocks at the end that the trace did not allocate. */
static void look_at_segment(struct snapshot *s, struct known *known,
                            const struct mpr_pickle_segment *segment)
{
    const struct mpr_pickle *p = &s->pickle;
    const uint8_t device = (uint8_t)segment->device;
    uint64_t addr = segment->addr;
    if (segment->expandable) add_old_pieces(s, known, addr, segment->size, device);
    else if (!mpr_index_get(&known->segment, addr))
        add_old(s, (struct old){ addr, segment->size, segment->stack, device, PLAIN_SEGMENT });
    for (uint32_t i = 0; i < mpr_pickle_length(p, segment->list); i++) {
        const uint32_t row = mpr_pickle_block_at(p, segment->list, i);
        const struct mpr_pickle_block *b = &p->block[row];
        if (!row) continue;
        if (b->addr) addr = b->addr; /* PyTorch before 2.1 does not write it */
        if (b->allocated && !mpr_index_get(&known->block, addr))
            add_old(s, (struct old){ addr, b->size, b->stack, device, BLOCK });
        addr += b->size;
    }
}

static void find_old_memory(struct snapshot *s)
{
    const struct mpr_pickle *p = &s->pickle;
    for (unsigned device = 0; device < s->devices; device++) {
        const uint32_t trace =
            device < mpr_pickle_length(p, p->traces) ? mpr_pickle_list_at(p, p->traces, device) : 0;
        struct known known = { .pieces = PIECES_MAX };
        for (uint32_t i = 0; i < mpr_pickle_length(p, trace); i++) {
            const uint32_t row = mpr_pickle_entry_at(p, trace, i);
            if (row) look_at_entry(s, &known, device, &p->entry[row]);
        }
        for (uint32_t i = 0; i < mpr_pickle_length(p, p->all_segments); i++) {
            const uint32_t row = mpr_pickle_segment_at(p, p->all_segments, i);
            if (row && p->segment[row].device == device)
                look_at_segment(s, &known, &p->segment[row]);
        }
        mpr_index_free(&known.block);
        mpr_index_free(&known.segment);
        mpr_index_free(&known.piece);
    }
}

/* ---- opening */

static unsigned count_devices(const struct mpr_pickle *p)
{
    uint64_t devices = mpr_pickle_length(p, p->traces);
    for (uint32_t i = 1; i < p->segments; i++)
        if (p->segment[i].device + 1 > devices && p->segment[i].device < MPF_GPUS)
            devices = p->segment[i].device + 1;
    return devices < MPF_GPUS ? (unsigned)devices : MPF_GPUS;
}

static bool same_text(const struct mpr_pickle *p, struct mpr_pickle_text a,
                      struct mpr_pickle_text b)
{
    return a.bytes == b.bytes && memcmp(p->data + a.at, p->data + b.at, a.bytes) == 0;
}

static void number_names(struct snapshot *s)
{
    const struct mpr_pickle *p = &s->pickle;
    struct mpr_index of = { .at = NULL };
    s->name = mpr_alloc(p->annotations, sizeof *s->name);
    for (uint32_t i = 1; i < p->annotations; i++) {
        const struct mpr_pickle_text text = p->annotation[i].name;
        uint64_t hash = 0;
        for (uint32_t k = 0; k < text.bytes; k++) hash = mpr_hash(hash + p->data[text.at + k]);
        MPR_INDEX_EACH(number, &of, hash)
            if (same_text(p, p->annotation[number].name, text)) s->name[i] = number;
        if (s->name[i]) continue;
        s->name[i] = i;
        mpr_index_add(&of, hash, i);
    }
    mpr_index_free(&of);
}

static void find_start(struct snapshot *s)
{
    const struct mpr_pickle *p = &s->pickle;
    s->start_us = UINT64_MAX;
    for (uint32_t i = 1; i < p->entries; i++)
        if (p->entry[i].time_us < s->start_us) s->start_us = p->entry[i].time_us;
    for (uint32_t i = 1; i < p->annotations; i++)
        if (p->annotation[i].time_us < s->start_us) s->start_us = p->annotation[i].time_us;
    if (s->start_us == UINT64_MAX) s->start_us = 0;
}

static void describe(struct snapshot *s)
{
    struct mpf_pairs pairs;
    mpf_pairs_init(&pairs, s->header, sizeof s->header);
    mpf_pairs_add(&pairs, "source", "torch-snapshot");
    mpf_pairs_add(&pairs, "argv", "PyTorch snapshot");
    mpf_pairs_add_u64(&pairs, "start.real",
                      s->start_us < UINT64_MAX / 1000 ? s->start_us * 1000 : 0);
    s->header_bytes = mpf_pairs_bytes(&pairs);
}

static void free_snapshot(struct snapshot *s)
{
    mpr_pickle_free(&s->pickle);
    mpr_map_close(&s->map);
    free(s->old);
    free(s->name);
    free(s);
}

static struct snapshot *read_snapshot(const char *path, struct mpr_error *error)
{
    struct snapshot *s = mpr_alloc(1, sizeof *s);
    s->map.fd = -1;
    if (mpr_map_open(&s->map, path, error) != 0) {
        free(s);
        return NULL;
    }
    int status = mpr_pickle_read(&s->pickle, &s->map, path, error);
    if (s->map.changed)
        status = mpr_fail(error, "%s: truncated while it was read; try again", path);
    if (status != 0) {
        free_snapshot(s);
        return NULL;
    }
    s->devices = count_devices(&s->pickle);
    find_old_memory(s);
    number_names(s);
    find_start(s);
    describe(s);
    return s;
}

static struct snapshot *newest;

static bool is_file(const struct snapshot *s, const struct stat *st)
{
    const struct stat *own = &s->map.st;
    return own->st_dev == st->st_dev && own->st_ino == st->st_ino && own->st_size == st->st_size &&
           own->st_mtim.tv_sec == st->st_mtim.tv_sec && own->st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* Returns the snapshot of a file, which was read before if it is the newest one. */
static struct snapshot *take_snapshot(const char *path, const struct stat *st,
                                      struct mpr_error *error)
{
    if (newest && is_file(newest, st)) {
        newest->users++;
        return newest;
    }
    if (newest && !newest->users) free_snapshot(newest);
    newest = read_snapshot(path, error);
    if (newest) newest->users = 1;
    return newest;
}

static void drop_snapshot(struct snapshot *s)
{
    if (!--s->users && s != newest) free_snapshot(s);
}

/* ---- events */

enum phase { DEFINITIONS, FRAMES, STACKS, NAMES, OLD_MEMORY, TRACES };

struct reading {
    struct snapshot *snapshot;
    enum phase phase;
    uint32_t next; /* in the phase */
    uint64_t now;  /* ns */
    uint32_t trace[MPF_GPUS], entry[MPF_GPUS], annotation;
    uint64_t done; /* pieces of the entry, or of 2 MiB, whose events were made */
    uint32_t open_ranges;
    uint64_t allocated[MPF_GPUS], reserved[MPF_GPUS];
    struct mpr_index piece; /* by address: 1 + bytes / 2 MiB */
    uint64_t pieces;        /* that may still be looked at */
    struct mpr_arena data;  /* of the events of one batch */
    struct mpf_event *event;
    size_t events;
};

/* Room for the events of an entry, or of a piece of an expandable segment, or of the definitions.
 */
enum { EVENTS_OF_ONE = 32 };

static void put(struct reading *r, enum mpf_op op, uint64_t addr, uint64_t size)
{
    r->event[r->events++] = (struct mpf_event){
        .time = r->now, .addr = addr, .size = size, .thread = THREAD, .op = (uint8_t)op
    };
}

static void put_memory(struct reading *r, enum mpf_op op, unsigned device, enum mpf_heap heap,
                       uint64_t addr, uint64_t size)
{
    put(r, op, addr, size);
    r->event[r->events - 1].heap = mpf_heap_gpu(heap, device);
}

/* Returns room for the data of the event. */
static void *put_data(struct reading *r, enum mpf_op op, uint64_t addr, size_t bytes)
{
    put(r, op, addr, bytes);
    uint8_t *data = mpr_arena_alloc(&r->data, bytes);
    r->event[r->events - 1].data = data;
    return data;
}

static void put_words(struct reading *r, enum mpf_op op, uint64_t addr, const uint64_t *word,
                      size_t words)
{
    memcpy(put_data(r, op, addr, words * sizeof *word), word, words * sizeof *word);
}

static void put_site(struct reading *r, bool native, uint32_t stack)
{
    if (native) put(r, MPF_OP_AT, STACK, 0);
    if (stack) put(r, MPF_OP_AT_PYTHON, stack, 0);
}

/* ---- definitions */

static void put_library(struct reading *r)
{
    const uint64_t words[] = { LIBRARY_END, 0 }, call = LIBRARY_CALL;
    uint8_t *data = put_data(r, MPF_OP_MODULE, LIBRARY_BEGIN, sizeof words + sizeof LIBRARY - 1);
    memcpy(data, words, sizeof words);
    memcpy(data + sizeof words, LIBRARY, sizeof LIBRARY - 1);
    put_words(r, MPF_OP_STACK, STACK, &call, 1);
}

static void put_definitions(struct reading *r)
{
    static const char name[] = "PyTorch";
    memcpy(put_data(r, MPF_OP_THREAD, 1, sizeof name - 1), name, sizeof name - 1);
    put_library(r);
    for (unsigned i = 0; i < r->snapshot->devices; i++) put_data(r, MPF_OP_GPU_DEVICE, i, 0);
}

static void put_frame(struct reading *r, uint32_t number)
{
    const struct mpr_pickle *p = &r->snapshot->pickle;
    const struct mpr_pickle_frame *f = &p->frame[number];
    enum { TEXT_MAX = 4096 };
    const uint32_t name = f->name.bytes < TEXT_MAX ? f->name.bytes : TEXT_MAX,
                   file = f->file.bytes < TEXT_MAX ? f->file.bytes : TEXT_MAX;
    uint8_t *data = put_data(r, MPF_OP_FRAME, number, sizeof f->line + name + 1 + file + 1);
    memcpy(data, &f->line, sizeof f->line);
    memcpy(data + sizeof f->line, p->data + f->name.at, name);
    memcpy(data + sizeof f->line + name + 1, p->data + f->file.at, file);
}

static bool is_python(const struct mpr_pickle *p, const struct mpr_pickle_frame *f)
{
    const char *file = (const char *)p->data + f->file.at;
    return f->file.bytes > 3 && (*file == '<' || memcmp(file + f->file.bytes - 3, ".py", 3) == 0);
}

/* A stack of Python's frames, or of native ones if it has no others. */
static void put_stack(struct reading *r, uint32_t number)
{
    const struct mpr_pickle *p = &r->snapshot->pickle;
    const struct mpr_pickle_stack *s = &p->stack[number];
    const uint32_t *frame = &p->stack_frame[s->first];
    enum { FRAMES_MAX = 256 };
    uint64_t word[FRAMES_MAX];
    size_t words = 0;
    bool python = false;
    for (uint32_t i = 0; i < s->frames; i++) python |= is_python(p, &p->frame[frame[i]]);
    for (uint32_t i = 0; i < s->frames && words < FRAMES_MAX; i++)
        if (!python || is_python(p, &p->frame[frame[i]])) word[words++] = frame[i];
    put_words(r, MPF_OP_PYTHON, number, word, words);
}

static void put_name(struct reading *r, uint32_t number)
{
    const struct mpr_pickle *p = &r->snapshot->pickle;
    const struct mpr_pickle_text text = p->annotation[number].name;
    const uint32_t bytes = text.bytes < 4096 ? text.bytes : 4096;
    if (r->snapshot->name[number] != number) return;
    memcpy(put_data(r, MPF_OP_NAME, NAMES_FROM + number, bytes), p->data + text.at, bytes);
}

/* ---- memory */

static void allocate_segment(struct reading *r, unsigned device, uint64_t addr, uint64_t size,
                             uint32_t stack)
{
    put_site(r, true, stack);
    put_memory(r, MPF_OP_ALLOC, device, MPF_HEAP_DEVICE, addr, size);
    r->reserved[device] += size;
}

static void free_segment(struct reading *r, unsigned device, uint64_t addr, uint64_t size)
{
    put_memory(r, MPF_OP_MOVE_BEGIN, device, MPF_HEAP_DEVICE, addr, 0);
    put_memory(r, MPF_OP_MOVE_END, device, MPF_HEAP_DEVICE, 0, 0);
    r->reserved[device] -= size < r->reserved[device] ? size : r->reserved[device];
}

static void map_piece(struct reading *r, unsigned device, uint64_t addr, uint64_t size,
                      uint32_t stack)
{
    const uint64_t words[] = { addr, size, 0 };
    put_site(r, true, stack);
    put_memory(r, MPF_OP_HANDLE_NEW, device, MPF_HEAP_DEVICE, addr, size);
    put_words(r, MPF_OP_HANDLE_MAP, addr, words, 3);
    mpr_index_set(&r->piece, addr, (uint32_t)(1 + size / SMALL_PIECE));
    r->reserved[device] += size;
}

static void unmap_piece(struct reading *r, unsigned device, uint64_t addr, uint64_t size)
{
    put(r, MPF_OP_HANDLE_UNMAP, addr, size);
    put(r, MPF_OP_HANDLE_DROP, addr, 0);
    mpr_index_set(&r->piece, addr, 0);
    r->reserved[device] -= size < r->reserved[device] ? size : r->reserved[device];
}

static void allocate_block(struct reading *r, unsigned device, uint64_t addr, uint64_t size,
                           uint32_t stack)
{
    put_site(r, false, stack);
    put_memory(r, MPF_OP_ALLOC, device, MPF_HEAP_TORCH, addr, size);
    r->allocated[device] += size;
}

static void put_old(struct reading *r, uint32_t number)
{
    const struct old *old = &r->snapshot->old[number];
    switch (old->memory) {
    case PLAIN_SEGMENT: allocate_segment(r, old->device, old->addr, old->size, old->stack); break;
    case PIECE: map_piece(r, old->device, old->addr, old->size, old->stack); break;
    case BLOCK: allocate_block(r, old->device, old->addr, old->size, old->stack); break;
    }
}

/* ---- entries */

/* PyTorch asks the driver for a segment. */
static uint64_t segment_for(uint64_t size)
{
    if (size <= MIB) return SMALL_PIECE;
    if (size < LARGE_PIECE / 2) return LARGE_PIECE;
    return size > UINT64_MAX - SMALL_PIECE ? size
                                           : (size + SMALL_PIECE - 1) / SMALL_PIECE * SMALL_PIECE;
}

static void put_oom(struct reading *r, unsigned device, const struct mpr_pickle_entry *e)
{
    const uint64_t free_bytes = e->device_free == UINT64_MAX ? MPF_UNKNOWN : e->device_free,
                   refused[] = { 2, free_bytes, MPF_UNKNOWN, 0, 0 },
                   totals[] = { r->allocated[device], r->reserved[device], free_bytes,
                                MPF_UNKNOWN };
    put_site(r, true, e->stack);
    put_words(r, MPF_OP_GPU_FAIL, segment_for(e->size), refused, 5);
    r->event[r->events - 1].heap = mpf_heap_gpu(MPF_HEAP_DEVICE, device);
    put_site(r, false, e->stack);
    put_words(r, MPF_OP_TORCH_OOM, e->size, totals, 4);
    r->event[r->events - 1].heap = mpf_heap_gpu(MPF_HEAP_TORCH, device);
}

/* Maps the pieces of the range that the batch has room for.  Returns false if more remain. */
static bool put_map(struct reading *r, unsigned device, const struct mpr_pickle_entry *e)
{
    const uint64_t unit = piece_size(e->size);
    if (!r->done && !take_pieces(&r->pieces, e->size)) return true;
    for (; r->done < e->size / unit; r->done++) {
        if (r->events + EVENTS_OF_ONE > MPR_BATCH) return false;
        map_piece(r, device, e->addr + r->done * unit, unit, e->stack);
    }
    return true;
}

/* The same for a range that is unmapped. */
static bool put_unmap(struct reading *r, unsigned device, const struct mpr_pickle_entry *e)
{
    if (!r->done && !take_pieces(&r->pieces, e->size)) return true;
    while (r->done < e->size / SMALL_PIECE) {
        const uint64_t at = e->addr + r->done * SMALL_PIECE;
        const uint32_t known = mpr_index_get(&r->piece, at);
        if (r->events + EVENTS_OF_ONE > MPR_BATCH) return false;
        if (known) unmap_piece(r, device, at, (known - 1) * SMALL_PIECE);
        r->done += known > 1 ? known - 1 : 1;
    }
    return true;
}

static void free_block(struct reading *r, unsigned device, const struct mpr_pickle_entry *e)
{
    const uint64_t size = round_up(e->size);
    put_memory(r, MPF_OP_FREE, device, MPF_HEAP_TORCH, e->addr, 0);
    r->allocated[device] -= size < r->allocated[device] ? size : r->allocated[device];
}

/* Makes the events of an entry.  Returns false if more of them remain, because the batch is full.
 */
static bool put_entry(struct reading *r, unsigned device, const struct mpr_pickle_entry *e)
{
    switch (e->action) {
    case MPR_PICKLE_ALLOC:
        allocate_block(r, device, e->addr, round_up(e->size), e->stack);
        return true;
    case MPR_PICKLE_FREE_REQUESTED: free_block(r, device, e); return true;
    case MPR_PICKLE_SEGMENT_ALLOC:
        allocate_segment(r, device, e->addr, e->size, e->stack);
        return true;
    case MPR_PICKLE_SEGMENT_FREE: free_segment(r, device, e->addr, e->size); return true;
    case MPR_PICKLE_SEGMENT_MAP: return put_map(r, device, e);
    case MPR_PICKLE_SEGMENT_UNMAP: return put_unmap(r, device, e);
    case MPR_PICKLE_OOM: put_oom(r, device, e); return true;
    default: return true;
    }
}

/* ---- traces and annotations, by time */

static void set_time(struct reading *r, uint64_t us)
{
    const uint64_t since = us - r->snapshot->start_us;
    if (us == UINT64_MAX || us < r->snapshot->start_us || since > UINT64_MAX / 1000) return;
    if (since * 1000 > r->now) r->now = since * 1000;
}

/* Returns the next entry of a device's trace, or NULL. */
static const struct mpr_pickle_entry *next_entry(struct reading *r, unsigned device)
{
    const struct mpr_pickle *p = &r->snapshot->pickle;
    for (; r->entry[device] < mpr_pickle_length(p, r->trace[device]); r->entry[device]++) {
        const uint32_t row = mpr_pickle_entry_at(p, r->trace[device], r->entry[device]);
        if (row) return &p->entry[row];
    }
    return NULL;
}

/* An entry without a time follows the previous one. */
static uint64_t time_of(uint64_t us) { return us == UINT64_MAX ? 0 : us; }

static void put_annotation(struct reading *r, uint32_t number)
{
    const struct mpr_pickle_annotation *a = &r->snapshot->pickle.annotation[number];
    set_time(r, a->time_us);
    if (a->begins) {
        put(r, MPF_OP_PUSH, NAMES_FROM + r->snapshot->name[number], 0);
        r->open_ranges++;
    } else if (r->open_ranges) {
        put(r, MPF_OP_POP, 0, 0);
        r->open_ranges--;
    }
}

/* Makes the events of the earliest entry or annotation.  Entries in the microsecond in which a
 * range begins or ends are in the range.  Returns false after the last one. */
static bool put_next(struct reading *r)
{
    const struct mpr_pickle *p = &r->snapshot->pickle;
    const struct mpr_pickle_entry *first = NULL;
    unsigned device = 0;
    for (unsigned i = 0; i < r->snapshot->devices; i++) {
        const struct mpr_pickle_entry *e = next_entry(r, i);
        if (!e || (first && time_of(e->time_us) >= time_of(first->time_us))) continue;
        first = e;
        device = i;
    }
    if (!r->done && r->annotation < p->annotations) {
        const struct mpr_pickle_annotation *a = &p->annotation[r->annotation];
        const uint64_t time = time_of(a->time_us);
        if (!first || time < time_of(first->time_us) ||
            (a->begins && time == time_of(first->time_us))) {
            put_annotation(r, r->annotation++);
            return true;
        }
    }
    if (!first) return false;
    set_time(r, first->time_us);
    if (!put_entry(r, device, first)) return true;
    r->done = 0;
    r->entry[device]++;
    return true;
}

/* ---- the source of a log */

/* Makes the next events.  Returns false after the last ones. */
static bool step(struct reading *r)
{
    const struct snapshot *s = r->snapshot;
    const struct {
        void (*put)(struct reading *r, uint32_t number);
        size_t from, to;
    } table[] = { [FRAMES] = { put_frame, 1, s->pickle.frames },
                  [STACKS] = { put_stack, 1, s->pickle.stacks },
                  [NAMES] = { put_name, 1, s->pickle.annotations },
                  [OLD_MEMORY] = { put_old, 0, s->olds } };
    if (r->phase == TRACES) return put_next(r);
    if (r->phase == DEFINITIONS) put_definitions(r);
    else if (r->next < table[r->phase].to) {
        table[r->phase].put(r, r->next++);
        return true;
    }
    r->phase++;
    r->next = r->phase < TRACES ? (uint32_t)table[r->phase].from : 0;
    return true;
}

static void *open_snapshot(const char *path, const struct stat *st, const uint8_t **header,
                           size_t *bytes, struct mpr_error *error)
{
    struct snapshot *s = take_snapshot(path, st, error);
    if (!s) return NULL;
    struct reading *r = mpr_alloc(1, sizeof *r);
    r->snapshot = s;
    r->annotation = 1;
    r->pieces = PIECES_MAX;
    for (unsigned i = 0; i < s->devices; i++)
        if (i < mpr_pickle_length(&s->pickle, s->pickle.traces))
            r->trace[i] = mpr_pickle_list_at(&s->pickle, s->pickle.traces, i);
    *header = (const uint8_t *)s->header;
    *bytes = s->header_bytes;
    return r;
}

/* A batch may be full although no event was made for the last entries. */
static long read_events(void *reading, struct mpf_event *events)
{
    struct reading *r = reading;
    mpr_arena_free(&r->data);
    r->data = (struct mpr_arena){ .newest = NULL };
    r->event = events;
    r->events = 0;
    while (r->events + EVENTS_OF_ONE <= MPR_BATCH && step(r)) {}
    return (long)r->events;
}

static void close_snapshot(void *reading)
{
    struct reading *r = reading;
    drop_snapshot(r->snapshot);
    mpr_arena_free(&r->data);
    mpr_index_free(&r->piece);
    free(r);
}

void mpr_import_snapshots(void)
{
    static const struct mpr_log_import import = { .recognizes = mpr_pickle_recognizes,
                                                  .open = open_snapshot,
                                                  .read = read_events,
                                                  .close = close_snapshot };
    mpr_log_set_import(&import);
}
