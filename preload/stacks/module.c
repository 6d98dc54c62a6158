#include "stacks/module.h"

#include <link.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/loss.h"
#include "core/record.h"
#include "core/worker.h"
#include "mpf/event.h"
#include "stacks/build_id.h"
#include "stacks/cfi.h"

enum { MODULES = 4096, PATH_BYTES = 1024 };
/* Code without a file (of a JIT) must not cause a scan each time. */
#define RESCAN_NS 100000000u

uint32_t mp_module_generation;

/* The modules in the log. Reads as zeros in a forked child, which has another log. */
static struct known {
    struct mp_lock lock;
    uint64_t next_scan;
    uint32_t in_log; /* mp_loss_now() before all of them were recorded */
    bool again;      /* they are being recorded again; changed under the lock */
    uint32_t count;  /* grows under the lock, but is read without it */
    /* to: 0 if it was unloaded */
    struct {
        uint64_t from, to, object;
    } module[MODULES];
} * known;

bool mp_module_init(void)
{
    if (!known) known = mp_sys_map_wiped(sizeof *known);
    return known != NULL;
}

void mp_module_reset(void)
{
    if (known) mp_sys_wipe(known, sizeof *known);
}

/* Returns the number of the module plus 1, or 0 if none is known there. */
static uint32_t find(uint64_t pc)
{
    const uint32_t n = known ? __atomic_load_n(&known->count, __ATOMIC_ACQUIRE) : 0;
    for (uint32_t i = 0; i < n; i++)
        if (pc >= known->module[i].from &&
            pc < __atomic_load_n(&known->module[i].to, __ATOMIC_RELAXED))
            return i + 1;
    return 0;
}

static bool is_known(uint64_t pc) { return find(pc) != 0; }

enum { NOT_KNOWN, NOTHING };

/* Identifies the object at an address by its name and extent, to see whether it changed. */
static uint64_t object_at(uint64_t at)
{
    struct dl_find_object o;
    struct link_map l;
    char name[64];
    const int pid = mp_sys_getpid();
    if (!mp_cfi_object(at, &o)) return NOTHING;
    if (!mp_sys_peek(pid, (uintptr_t)o.dlfo_link_map, &l, sizeof l)) return NOT_KNOWN;
    uint64_t h = (uintptr_t)o.dlfo_map_start ^ (uintptr_t)o.dlfo_map_end << 16 ^
                 (uintptr_t)o.dlfo_eh_frame << 32;
    for (uint64_t p = (uintptr_t)l.l_name; mp_sys_peek(pid, p, name, sizeof name); p += sizeof name)
        for (size_t i = 0; i < sizeof name; i++) {
            if (!name[i]) return h | 2;
            h = (h ^ (uint8_t)name[i]) * UINT64_C(0x9e3779b97f4a7c15);
        }
    return NOT_KNOWN;
}

static bool is_other(uint64_t before, uint64_t now)
{
    return before != NOT_KNOWN && now != NOT_KNOWN && before != now;
}

static bool is_gone(uint32_t i)
{
    return is_other(known->module[i].object, object_at(known->module[i].from));
}

/* ---- /proc/self/maps */

struct mapping {
    uint64_t from, to;
    char path[PATH_BYTES];
};

static void add(const struct mapping *m)
{
    const uint32_t n = known->count;
    const bool old = is_known(m->from);
    if (!m->path[0] || (old ? !known->again : n == MODULES)) return;
    /* Used under the lock. */
    static uint64_t data[2 + (MP_BUILD_ID_BYTES + PATH_BYTES) / sizeof(uint64_t)];
    uint8_t *at = (uint8_t *)&data[2];
    data[0] = m->to;
    data[1] = mp_build_id(m->from, at);
    memcpy(at + data[1], m->path, strlen(m->path));
    mp_record_data(MPF_OP_MODULE, MPF_HEAP_NONE, m->from, data, 16 + data[1] + strlen(m->path));
    if (old) return;
    known->module[n].from = m->from;
    known->module[n].to = m->to;
    known->module[n].object = object_at(m->from);
    __atomic_store_n(&known->count, n + 1, __ATOMIC_RELEASE);
}

/* The main program is one module from its first segment to its last, because there may be gaps
 * between them, and a part may have been moved into memory without a file (huge pages). */
static bool is_in_program(uint64_t at)
{
    const struct mp_span program = mp_cfi_program();
    return at >= program.from && at < program.to;
}

/* "from-to rwxp offset dev inode   path": consecutive parts of one file are one module, which
 * begins at offset 0. */
static void take_line(void *arg, const char *line)
{
    struct mapping *m = arg;
    const char *path = strchr(line, '/');
    uint64_t from, to;
    mp_text_range(line, &from, &to);
    if (m->path[0] && is_in_program(m->from) && is_in_program(from)) return;
    if (path && m->path[0] && strcmp(path, m->path) == 0) {
        m->to = to;
        return;
    }
    if (!path && m->path[0] && from == m->to) return; /* its zero-filled data */
    add(m);
    m->path[0] = 0;
    if (!path || strlen(path) >= sizeof m->path || strncmp(path, "/dev/", 5) == 0) return;
    *m = (struct mapping){ .from = from, .to = to };
    if (is_in_program(from)) m->from = mp_cfi_program().from, m->to = mp_cfi_program().to;
    memcpy(m->path, path, strlen(path) + 1);
}

static const char maps[] = "/proc/thread-self/maps"; /* the main thread may have ended */

static void scan(void)
{
    static struct mapping m;
    m.path[0] = 0;
    mp_worker_lines(maps, take_line, &m);
    add(&m);
}

/* Drops all unloaded modules, so that one scan finds their successors. */
static bool drop_gone(void)
{
    bool any = false;
    for (uint32_t i = 0; i < known->count; i++)
        if (known->module[i].to && is_gone(i)) {
            __atomic_store_n(&known->module[i].to, 0, __ATOMIC_RELAXED);
            any = true;
        }
    if (any) __atomic_fetch_add(&mp_module_generation, 1, __ATOMIC_RELEASE);
    return any;
}

/* Records the modules again after a frame was lost. */
static void record_again(void)
{
    const uint64_t signals = mp_lock(&known->lock);
    const uint32_t now = mp_loss_now();
    if (known->in_log != now) {
        known->again = true;
        scan();
        known->again = false;
        __atomic_store_n(&known->in_log, now, __ATOMIC_RELEASE);
    }
    mp_unlock(&known->lock, signals);
}

void mp_module_seen(const uint64_t *pc, unsigned count)
{
    if (!known) return;
    if (__atomic_load_n(&known->in_log, __ATOMIC_ACQUIRE) != mp_loss_now()) record_again();
    uint32_t checked[16] = { 0 }; /* a stack passes through the same few files repeatedly */
    for (unsigned i = 0; i < count; i++) {
        const uint32_t at = find(pc[i]);
        uint32_t *const before = &checked[at % 16];
        if (at && (*before == at || !is_gone(at - 1))) {
            *before = at;
            continue;
        }
        const uint64_t signals = mp_lock(&known->lock);
        if (drop_gone() ||
            (!is_known(pc[i]) &&
             (object_at(pc[i]) != NOTHING || mp_sys_clock(CLOCK_MONOTONIC) >= known->next_scan))) {
            scan();
            known->next_scan = mp_sys_clock(CLOCK_MONOTONIC) + RESCAN_NS;
        }
        mp_unlock(&known->lock, signals);
    }
}

/* Finds the section of a file at the address in its handle. */
struct mp_module_place mp_module_opened(const void *handle)
{
    struct link_map l;
    if (!known || !mp_sys_peek(mp_sys_getpid(), (uintptr_t)handle, &l, sizeof l))
        return (struct mp_module_place){ 0, NOT_KNOWN };
    return (struct mp_module_place){ (uintptr_t)l.l_ld, object_at((uintptr_t)l.l_ld) };
}

/* A forked child does not know its parent's objects, so the generation changes in any case. */
void mp_module_closed(struct mp_module_place before)
{
    if (!known || !is_other(before.object, object_at(before.at))) return;
    const uint64_t signals = mp_lock(&known->lock);
    if (!drop_gone()) __atomic_fetch_add(&mp_module_generation, 1, __ATOMIC_RELEASE);
    mp_unlock(&known->lock, signals);
}

struct named {
    const char *part;
    char *path;
    size_t cap;
};

static void named_line(void *arg, const char *line)
{
    struct named *n = arg;
    const char *path = strchr(line, '/'), *part = path ? strstr(path, n->part) : NULL;
    if (!part || strchr(part + strlen(n->part), '/') || strlen(path) >= n->cap) return;
    memcpy(n->path, path, strlen(path) + 1);
}

bool mp_module_file(const char *part, char *path, size_t cap)
{
    struct named n = { part, path, cap };
    *path = 0;
    if (!known) return false;
    const uint64_t signals = mp_lock(&known->lock);
    mp_worker_lines(maps, named_line, &n);
    mp_unlock(&known->lock, signals);
    return *path;
}

struct search {
    uint64_t at, from, to;
};

static void search_line(void *arg, const char *line)
{
    struct search *s = arg;
    uint64_t from, to;
    mp_text_range(line, &from, &to);
    if (s->at < from || s->at >= to) return;
    s->from = from;
    s->to = to;
}

bool mp_module_mapping(uintptr_t at, uintptr_t *from, uintptr_t *to)
{
    struct search s = { .at = at };
    if (!known) return false;
    const uint64_t signals = mp_lock(&known->lock);
    mp_worker_lines(maps, search_line, &s);
    mp_unlock(&known->lock, signals);
    *from = s.from;
    *to = s.to;
    return s.to != 0;
}
