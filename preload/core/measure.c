/* The table has the blocks that at least one measurement counts, by kind and address. Each has the
 * set of measurements that count it, one bit each. Blocks of malloc, of the CUDA driver and of
 * PyTorch have separate addresses.
 *
 * Invariants:
 *  - For each measurement and heap, `live` is the sum of the blocks in the table, of the blocks
 * that realloc works on, and of the writable spans, that have the measurement's bit.
 *  - A block that realloc works on, or that the driver frees, left its place in the table, because
 * its address may be given to another block, and is under the number of its thread.
 *  - The table's memory is that of this process, and is unmapped when the last measurement ends. */
#include "core/measure.h"

#include <string.h>

#include "core/records.h"
#include "core/state.h"
#include "core/survey.h"
#include "mpf/event.h"

uint32_t mp_measures;
uint64_t mp_measure_arena_stack;

enum kind {
    NO_KIND,
    MALLOC, /* blocks of malloc */
    DRIVER, /* blocks of the CUDA driver */
    TORCH,  /* blocks of PyTorch's allocator */
    HANDLE, /* a handle of physical memory: `other` is its object */
    OBJECT, /* physical memory, by a number of this file: `other` has its references and mappings */
    MOVING, /* by thread, the block that it reallocates or frees: `other` is its key */
    REMAPPING /* by thread, the bytes that mremap moves: `other` is their start */
};

struct entry {
    uint64_t key; /* address << 4 | kind; 0: a free place */
    uint64_t bytes;
    uint64_t other;
    uint8_t measures; /* set of measurements */
    uint8_t heap;
};

struct span {
    uint64_t start, end;
    uint64_t object; /* the physical memory that a device's address is mapped to */
    uint8_t measures, heap;
    bool writable;
};

/* Mappings by address. */
struct spans {
    struct span *at;
    uint64_t count, places;
};

struct measurement {
    bool used, incomplete;
    uint64_t from, until;
    uint64_t lost; /* events that were lost before it began */
    /* by GPU: the peak of the driver's memory when some was freed last. Since then it only grew. */
    uint64_t device_peak[MPF_GPUS];
    struct mp_measured row[MP_MEASURED_ROWS];
};

static struct measurement measurement[MP_MEASURES];
static struct entry *table;
static uint64_t places, entries; /* places: a power of two */
static struct spans host_maps, device_maps;
static uint64_t objects;
static uint64_t taken_upto;

/* ---- memory */

static void lose(void)
{
    for (unsigned i = 0; i < MP_MEASURES; i++) measurement[i].incomplete |= measurement[i].used;
}

static uint64_t place_of(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (places - 1);
}

static struct entry *find(enum kind kind, uint64_t address)
{
    const uint64_t key = address << 4 | kind;
    if (!entries) return NULL;
    for (uint64_t i = place_of(key); table[i].key; i = (i + 1) & (places - 1))
        if (table[i].key == key) return &table[i];
    return NULL;
}

static void put(const struct entry *e)
{
    uint64_t i = place_of(e->key);
    while (table[i].key) i = (i + 1) & (places - 1);
    table[i] = *e;
}

static bool has_room(void)
{
    enum { FIRST = 4096 };
    if (table && entries < places / 2) return true;
    const uint64_t old_places = places, new_places = places ? 2 * places : FIRST;
    struct entry *const larger = mp_sys_map(new_places * sizeof *larger), *const old = table;
    if (!larger) return false;
    table = larger;
    places = new_places;
    for (uint64_t i = 0; i < old_places; i++)
        if (old[i].key) put(&old[i]);
    if (old) mp_sys_munmap(old, old_places * sizeof *old);
    return true;
}

static bool insert(enum kind kind, uint64_t address, const struct entry *e)
{
    struct entry made = *e;
    made.key = address << 4 | kind;
    if (!has_room()) {
        lose();
        return false;
    }
    put(&made);
    entries++;
    return true;
}

/* Moves later entries of the same row of places back, so that no place between an entry and the
 * place of its key is free. */
static void erase(struct entry *e)
{
    uint64_t hole = (uint64_t)(e - table);
    for (uint64_t i = (hole + 1) & (places - 1); table[i].key; i = (i + 1) & (places - 1)) {
        const uint64_t from_wanted = (i - place_of(table[i].key)) & (places - 1);
        if (from_wanted < ((i - hole) & (places - 1))) continue;
        table[hole] = table[i];
        hole = i;
    }
    table[hole].key = 0;
    entries--;
}

/* Removes an entry from the table into *out. Returns false if there is none. */
static bool take(enum kind kind, uint64_t address, struct entry *out)
{
    struct entry *e = find(kind, address);
    if (!e) return false;
    *out = *e;
    erase(e);
    return true;
}

static void clear_spans(struct spans *s)
{
    if (s->at) mp_sys_munmap(s->at, s->places * sizeof *s->at);
    *s = (struct spans){ 0 };
}

static void clear(void)
{
    if (table) mp_sys_munmap(table, places * sizeof *table);
    table = NULL;
    places = entries = 0;
    clear_spans(&host_maps);
    clear_spans(&device_maps);
}

/* ---- sums */

static void add_to(struct mp_measured *row, uint64_t bytes, uint64_t time)
{
    row->live += bytes;
    if (row->live <= row->peak) return;
    row->peak = row->live;
    row->peak_time = time;
}

/* Returns the row that includes the row of the heap, or MP_MEASURED_ROWS. */
static unsigned next_row(unsigned heap)
{
    if (heap == MP_MEASURED_ARENAS) return MPF_HEAP_MMAP;
    return mpf_heap_is_host(heap) ? MP_MEASURED_HOST : MP_MEASURED_ROWS;
}

static void add(unsigned measures, unsigned heap, uint64_t bytes, uint64_t time)
{
    for (; measures; measures &= measures - 1) {
        struct mp_measured *row = measurement[__builtin_ctz(measures)].row;
        for (unsigned i = heap; i < MP_MEASURED_ROWS; i = next_row(i)) add_to(&row[i], bytes, time);
    }
}

static void count_allocation(unsigned measures, unsigned heap)
{
    for (; measures; measures &= measures - 1) {
        struct mp_measured *row = measurement[__builtin_ctz(measures)].row;
        for (unsigned i = heap; i < MP_MEASURED_ROWS; i = next_row(i)) row[i].allocations++;
    }
}

static void subtract(unsigned measures, unsigned heap, uint64_t bytes)
{
    for (; measures; measures &= measures - 1) {
        struct measurement *const m = &measurement[__builtin_ctz(measures)];
        struct mp_measured *const row = m->row;
        for (unsigned i = heap; i < MP_MEASURED_ROWS; i = next_row(i)) row[i].live -= bytes;
        if (mpf_heap_code(heap) == MPF_HEAP_DEVICE)
            m->device_peak[mpf_heap_device(heap)] = row[heap].peak;
    }
}

static void count_out(const struct entry *e) { subtract(e->measures, e->heap, e->bytes); }

/* Returns the measurements that count memory which is allocated at this time. */
static uint8_t measures_at(uint64_t time)
{
    unsigned result = 0;
    for (unsigned i = 0; i < MP_MEASURES; i++) {
        const struct measurement *m = &measurement[i];
        if (m->used && time >= m->from && time < m->until) result |= 1u << i;
    }
    return (uint8_t)result;
}

/* ---- blocks */

static enum kind kind_of(unsigned heap)
{
    switch (mpf_heap_code(heap)) {
    case MPF_HEAP_HOST:
    case MPF_HEAP_PART: return MALLOC;
    case MPF_HEAP_TORCH: return TORCH;
    case MPF_HEAP_PINNED:
    case MPF_HEAP_DEVICE:
    case MPF_HEAP_POOL:
    case MPF_HEAP_MANAGED: return DRIVER;
    default: return NO_KIND;
    }
}

/* If a block is in the table at this address, its free was not recorded. */
static void allocate(enum kind kind, unsigned heap, uint64_t address, uint64_t bytes, uint64_t time)
{
    struct entry e;
    if (take(kind, address, &e)) count_out(&e);
    e = (struct entry){ .bytes = bytes,
                        .measures = measures_at(time),
                        .heap = (uint8_t)(heap == MPF_HEAP_PART ? MPF_HEAP_HOST : heap) };
    if (!e.measures || !insert(kind, address, &e)) return;
    count_allocation(e.measures, e.heap);
    add(e.measures, e.heap, bytes, time);
}

static void release(enum kind kind, uint64_t address)
{
    struct entry e;
    if (take(kind, address, &e)) count_out(&e);
}

/* The call failed, or its end was not recorded. */
static void move_back(uint32_t thread)
{
    struct entry e;
    if (!take(MOVING, thread, &e)) return;
    const enum kind kind = (enum kind)(e.other & 15);
    release(kind, e.other >> 4);
    if (!insert(kind, e.other >> 4, &e)) count_out(&e);
}

static void begin_move(uint32_t thread, enum kind kind, uint64_t address)
{
    struct entry e;
    move_back(thread);
    if (!take(kind, address, &e)) return;
    e.other = e.key;
    if (!insert(MOVING, thread, &e)) count_out(&e);
}

/* ---- mappings by address */

/* Returns the first span that ends after the address. */
static uint64_t first_after(const struct spans *s, uint64_t address)
{
    uint64_t low = 0, high = s->count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (s->at[middle].end > address) high = middle;
        else low = middle + 1;
    }
    return low;
}

static bool has_room_for_span(struct spans *s)
{
    enum { FIRST = 128 };
    if (s->count < s->places) return true;
    const uint64_t more = s->places ? 2 * s->places : FIRST;
    struct span *const larger = mp_sys_map(more * sizeof *larger);
    if (!larger) return false;
    if (s->at) memcpy(larger, s->at, s->count * sizeof *larger);
    if (s->at) mp_sys_munmap(s->at, s->places * sizeof *s->at);
    s->at = larger;
    s->places = more;
    return true;
}

static bool insert_span(struct spans *s, const struct span *made)
{
    if (!has_room_for_span(s)) {
        lose();
        return false;
    }
    const uint64_t at = first_after(s, made->start);
    memmove(s->at + at + 1, s->at + at, (s->count - at) * sizeof *s->at);
    s->at[at] = *made;
    s->count++;
    return true;
}

static void remove_spans(struct spans *s, uint64_t at, uint64_t count)
{
    if (!count) return;
    memmove(s->at + at, s->at + at + count, (s->count - at - count) * sizeof *s->at);
    s->count -= count;
}

static uint64_t end_of(uint64_t start, uint64_t bytes)
{
    return start + bytes < start ? UINT64_MAX : start + bytes;
}

/* ---- physical memory of a device: its bytes count until its last reference and its last mapping
 * are gone. An object without references is found by its mappings only. */

#define ONE_MAPPING (UINT64_C(1) << 32)

static void release_if_unused(struct entry *object)
{
    if (object->other) return;
    count_out(object);
    erase(object);
}

/* Another handle of the object may have dropped its last reference. */
static void drop(uint64_t handle)
{
    struct entry known;
    if (!take(HANDLE, handle, &known)) return;
    struct entry *const object = find(OBJECT, known.other);
    if (!object || !(uint32_t)object->other) return;
    object->other--;
    if ((uint32_t)object->other) insert(HANDLE, handle, &known);
    else release_if_unused(object);
}

static void create(unsigned heap, uint64_t handle, uint64_t bytes, uint64_t time)
{
    while (find(HANDLE, handle)) drop(handle);
    struct entry e = { .bytes = bytes, .other = 1, .heap = (uint8_t)heap };
    e.measures = measures_at(time);
    const uint64_t number = ++objects;
    if (!e.measures || !insert(OBJECT, number, &e)) return;
    insert(HANDLE, handle, &(struct entry){ .other = number });
    count_allocation(e.measures, heap);
    add(e.measures, heap, bytes, time);
}

/* Another handle for the memory at a device's address. */
static void retain(uint64_t handle, uint64_t address)
{
    const uint64_t at = first_after(&device_maps, address);
    const bool is_mapped = at < device_maps.count && device_maps.at[at].start <= address;
    const struct entry *const known = find(HANDLE, handle);
    const uint64_t number = is_mapped ? device_maps.at[at].object : known ? known->other : 0;
    struct entry *const object = number ? find(OBJECT, number) : NULL;
    if (!object) return;
    object->other++;
    if (!known) insert(HANDLE, handle, &(struct entry){ .other = number });
}

static void unmap_device(uint64_t address, uint64_t bytes)
{
    const uint64_t first = first_after(&device_maps, address), end = end_of(address, bytes);
    uint64_t count = 0;
    for (; first + count < device_maps.count; count++) {
        const struct span *const map = &device_maps.at[first + count];
        struct entry *const object = find(OBJECT, map->object);
        if (map->start >= end) break;
        if (!object) continue;
        object->other -= ONE_MAPPING;
        release_if_unused(object);
    }
    remove_spans(&device_maps, first, count);
}

/* @where: address, bytes, offset */
static void map_device(uint64_t handle, const uint64_t *where)
{
    const struct entry *const known = find(HANDLE, handle);
    struct entry *const object = known ? find(OBJECT, known->other) : NULL;
    const struct span map = { .start = where[0],
                              .end = end_of(where[0], where[1]),
                              .object = known ? known->other : 0 };
    if (!object) return;
    unmap_device(where[0], where[1]);
    if (insert_span(&device_maps, &map)) object->other += ONE_MAPPING;
}

/* ---- segments of PyTorch: memory of the driver is one from the first block of PyTorch in it on */

/* Returns its bytes if it was not known to be a segment. */
static uint64_t make_segment(struct entry *memory, unsigned device, uint64_t time)
{
    if (!memory || memory->heap != mpf_heap_gpu(MPF_HEAP_DEVICE, device)) return 0;
    for (unsigned measures = memory->measures; measures; measures &= measures - 1)
        measurement[__builtin_ctz(measures)].row[memory->heap].live -= memory->bytes;
    memory->heap = MP_MEASURED_SEGMENTS(device);
    add(memory->measures, memory->heap, memory->bytes, time);
    return memory->bytes;
}

/* The allocator has just taken these bytes from the driver, so they raised the device's peak. */
static void take_segments(unsigned device, uint64_t address, uint64_t bytes, uint64_t time)
{
    uint64_t taken = make_segment(find(DRIVER, address), device, time);
    for (uint64_t i = first_after(&device_maps, address);
         i < device_maps.count && device_maps.at[i].start < address + bytes; i++)
        taken += make_segment(find(OBJECT, device_maps.at[i].object), device, time);
    for (unsigned i = 0; taken && i < MP_MEASURES; i++) {
        const uint64_t before = measurement[i].device_peak[device];
        struct mp_measured *const row = &measurement[i].row[mpf_heap_gpu(MPF_HEAP_DEVICE, device)];
        if (row->peak <= before) continue;
        row->peak = row->peak - before > taken ? row->peak - taken : before;
        if (row->peak < row->live) row->peak = row->live;
    }
}

/* ---- mappings of the host. Only those that were made during a measurement are known. */

static void count_span_out(const struct span *s)
{
    if (s->writable) subtract(s->measures, s->heap, s->end - s->start);
}

/* Makes the address a border between spans. If there is no memory for another span, the part
 * before the address is forgotten. */
static void split(uint64_t address)
{
    const uint64_t at = first_after(&host_maps, address);
    if (at == host_maps.count || host_maps.at[at].start >= address) return;
    struct span left = host_maps.at[at];
    left.end = address;
    host_maps.at[at].start = address;
    if (!insert_span(&host_maps, &left)) count_span_out(&left);
}

/* Returns the number of spans within the range, from *first on. */
static uint64_t cut_out(uint64_t start, uint64_t end, uint64_t *first)
{
    uint64_t count = 0;
    split(start);
    split(end);
    *first = first_after(&host_maps, start);
    while (*first + count < host_maps.count && host_maps.at[*first + count].start < end) count++;
    return count;
}

/* @bytes: 0 for the whole mapping that begins there (shmdt) */
static void unmap(uint64_t start, uint64_t bytes)
{
    uint64_t at = first_after(&host_maps, start);
    if (!bytes && at < host_maps.count && host_maps.at[at].start == start)
        bytes = host_maps.at[at].end - start;
    if (!bytes) return;
    const uint64_t count = cut_out(start, end_of(start, bytes), &at);
    for (uint64_t i = 0; i < count; i++) count_span_out(&host_maps.at[at + i]);
    remove_spans(&host_maps, at, count);
}

static void map(const struct span *s, uint64_t time)
{
    unmap(s->start, s->end - s->start);
    if (s->start == s->end || !insert_span(&host_maps, s) || !s->writable) return;
    count_allocation(s->measures, s->heap);
    add(s->measures, s->heap, s->end - s->start, time);
}

static void protect(uint64_t start, uint64_t bytes, bool writable, uint64_t time)
{
    uint64_t at;
    const uint64_t count = cut_out(start, end_of(start, bytes), &at);
    for (uint64_t i = at; i < at + count; i++) {
        struct span *const s = &host_maps.at[i];
        if (s->writable == writable) continue;
        if (!writable) count_span_out(s);
        s->writable = writable;
        if (!writable) continue;
        s->measures |= measures_at(time);
        count_allocation(s->measures, s->heap);
        add(s->measures, s->heap, s->end - s->start, time);
    }
}

/* The mapping is at its old place until mremap has returned. */
static void begin_remap(uint32_t thread, uint64_t start, uint64_t bytes)
{
    struct entry e;
    take(REMAPPING, thread, &e);
    const uint64_t at = first_after(&host_maps, start);
    if (at == host_maps.count || host_maps.at[at].start >= end_of(start, bytes)) return;
    insert(REMAPPING, thread, &(struct entry){ .bytes = bytes, .other = start });
}

static void end_remap(uint32_t thread, uint64_t start, uint64_t bytes, uint64_t time)
{
    struct entry from;
    uint64_t at;
    if (!take(REMAPPING, thread, &from)) return;
    if (!cut_out(from.other, end_of(from.other, from.bytes), &at)) return;
    struct span moved = host_maps.at[at];
    moved.start = start;
    moved.end = end_of(start, bytes);
    unmap(from.other, from.bytes);
    map(&moved, time);
}

/* ---- events */

static void take_block(const struct mpf_slot *s, uint32_t thread)
{
    const unsigned heap = mpf_slot_heap(s->head);
    const enum kind kind = kind_of(heap);
    struct entry moved;
    if (kind == NO_KIND) return;
    switch (mpf_slot_op(s->head)) {
    case MPF_OP_MOVE_END:
        if (take(MOVING, thread, &moved)) count_out(&moved);
        if (!s->addr) break;
        /* fall through */
    case MPF_OP_ALLOC:
        allocate(kind, heap, s->addr, mpf_slot_size(s->head), s->time);
        if (kind == TORCH)
            take_segments(mpf_heap_device(heap), s->addr, mpf_slot_size(s->head), s->time);
        break;
    case MPF_OP_FREE: release(kind, s->addr); break;
    case MPF_OP_MOVE_BEGIN: begin_move(thread, kind, s->addr); break;
    default: break;
    }
}

static void take_failure(unsigned heap, uint32_t thread)
{
    struct entry e;
    if (mpf_fail_ends_move(heap)) move_back(thread);
    if (heap == MPF_HEAP_MMAP) take(REMAPPING, thread, &e);
}

/* The call stacks of an event are in the slots before it. */
static bool is_arena(const struct mpf_slot *s)
{
    const struct mpf_slot *const before = s - 1;
    return s > mpf_slot_chunk(s)->slot && mp_measure_arena_stack &&
           mpf_slot_op(before->head) == MPF_OP_AT_PYTHON &&
           before->addr == __atomic_load_n(&mp_measure_arena_stack, __ATOMIC_RELAXED);
}

static void take_mapping(const struct mpf_slot *s, bool writable)
{
    const unsigned heap = is_arena(s) ? MP_MEASURED_ARENAS : mpf_slot_heap(s->head);
    const struct span made = { .start = s->addr,
                               .end = end_of(s->addr, mpf_slot_size(s->head)),
                               .measures = measures_at(s->time),
                               .heap = (uint8_t)heap,
                               .writable = writable };
    if (made.measures) map(&made, s->time);
    else unmap(s->addr, mpf_slot_size(s->head));
}

/* The first words of a DATA event are in the slot after it. */
static void take_device(const struct mpf_slot *s)
{
    uint64_t data[4] = { 0 };
    switch (mpf_slot_op(s->head)) {
    case MPF_OP_HANDLE_RETAIN:
        memcpy(data, s + 1, MPF_CONT_BYTES);
        retain(s->addr, data[0]);
        break;
    case MPF_OP_HANDLE_MAP:
        memcpy(data, s + 1, MPF_CONT_BYTES);
        map_device(s->addr, data);
        break;
    case MPF_OP_HANDLE_NEW:
        create(mpf_slot_heap(s->head), s->addr, mpf_slot_size(s->head), s->time);
        break;
    case MPF_OP_HANDLE_DROP: drop(s->addr); break;
    case MPF_OP_HANDLE_UNMAP: unmap_device(s->addr, mpf_slot_size(s->head)); break;
    default: break;
    }
}

static void take_event(const struct mpf_slot *s, uint32_t thread)
{
    const uint64_t size = mpf_slot_size(s->head);
    switch (mpf_slot_op(s->head)) {
    case MPF_OP_ALLOC:
    case MPF_OP_FREE:
    case MPF_OP_MOVE_BEGIN:
    case MPF_OP_MOVE_END: take_block(s, thread); break;
    case MPF_OP_FAIL: take_failure(mpf_slot_heap(s->head), thread); break;
    case MPF_OP_MAP: take_mapping(s, true); break;
    case MPF_OP_RESERVE: take_mapping(s, false); break;
    case MPF_OP_UNMAP: unmap(s->addr, size); break;
    case MPF_OP_PROTECT_RW: protect(s->addr, size, true, s->time); break;
    case MPF_OP_PROTECT_NONE: protect(s->addr, size, false, s->time); break;
    case MPF_OP_REMAP_FROM: begin_remap(thread, s->addr, size); break;
    case MPF_OP_REMAP_TO: end_remap(thread, s->addr, size, s->time); break;
    default: take_device(s); break;
    }
}

void mp_measure_take(const struct mp_selection *slots)
{
    const uint8_t *const base = mp_process->pool.base;
    for (uint32_t i = 0; i < slots->events; i++) {
        const struct mpf_slot *const s =
            (const struct mpf_slot *)(base + ((uint64_t)slots->place[i] << 3));
        take_event(s, mpf_slot_chunk(s)->thread);
    }
}

/* ---- measurements */

static uint64_t lost_events(void)
{
    return __atomic_load_n(&mp_process->lost_total, __ATOMIC_RELAXED);
}

unsigned mp_measure_begin(uint64_t from)
{
    for (unsigned i = 0; i < MP_MEASURES; i++) {
        struct measurement *const m = &measurement[i];
        if (m->used) continue;
        memset(m, 0, sizeof *m);
        m->used = true;
        m->from = from;
        m->until = UINT64_MAX;
        m->lost = lost_events();
        __atomic_store_n(&mp_measures, mp_measures + 1, __ATOMIC_RELAXED);
        return i + 1;
    }
    return 0;
}

static struct measurement *measurement_of(unsigned number)
{
    return number - 1 < MP_MEASURES && measurement[number - 1].used ? &measurement[number - 1]
                                                                    : NULL;
}

void mp_measure_stop(unsigned number, uint64_t until)
{
    struct measurement *const m = measurement_of(number);
    if (m && until < m->until) m->until = until;
}

const struct mp_measured *mp_measure_rows(unsigned number)
{
    const struct measurement *const m = measurement_of(number);
    return m ? m->row : NULL;
}

struct mp_measured_span mp_measure_span(unsigned number)
{
    const struct measurement *const m = measurement_of(number);
    if (!m) return (struct mp_measured_span){ .incomplete = true };
    return (struct mp_measured_span){ m->from, m->until, lost_events() - m->lost, m->incomplete };
}

static bool adds_up_to(uint64_t counted, uint64_t more, uint64_t limit)
{
    return counted <= limit && more <= limit - counted;
}

/* A peak is at most that of the events which were taken, and the bytes that all others allocate. */
bool mp_measure_is_below(unsigned number, uint64_t host, uint64_t gpu)
{
    const struct measurement *const m = measurement_of(number);
    const uint32_t threads = mp_threads_ever();
    uint64_t more = 0;
    if (!m || m->incomplete || lost_events() != m->lost) return false;
    for (uint32_t i = 0; i < threads; i++) more += mp_survey_allocated(mp_thread_at(i), m->from);
    for (unsigned i = 0; i < MP_MEASURED_ROWS; i++)
        if (!adds_up_to(m->row[i].peak, more, mpf_heap_is_gpu(i) ? gpu : host)) return false;
    return true;
}

/* Blocks that only this measurement counted stay in the table without one until they are freed, or
 * until the last measurement ends. */
void mp_measure_end(unsigned number)
{
    struct measurement *const m = measurement_of(number);
    const uint8_t others = (uint8_t) ~(1u << (number - 1));
    if (!m) return;
    m->used = false;
    __atomic_store_n(&mp_measures, mp_measures - 1, __ATOMIC_RELAXED);
    if (!mp_measures) {
        clear();
        return;
    }
    for (uint64_t i = 0; i < places; i++) table[i].measures &= others;
    for (uint64_t i = 0; i < host_maps.count; i++) host_maps.at[i].measures &= others;
}

void mp_measure_taken(uint64_t upto) { __atomic_store_n(&taken_upto, upto, __ATOMIC_RELEASE); }

uint64_t mp_measure_upto(void) { return __atomic_load_n(&taken_upto, __ATOMIC_ACQUIRE); }

void mp_measure_reset(void)
{
    clear();
    for (unsigned i = 0; i < MP_MEASURES; i++) measurement[i].used = false;
    mp_measures = 0;
    taken_upto = 0;
}
