#include "double.h"

#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "core/loss.h"
#include "core/process.h"
#include "core/record.h"
#include "core/window.h"

static struct double_event *events;
static size_t used;
uint64_t double_lost;
int double_active = 1;
__thread uint32_t double_guard;
uint64_t mp_clock_turn;
/* NULL: every event takes the slow path, which is defined below. */
__thread struct mp_thread *mp_self;

void double_reset(void)
{
    const size_t bytes = sizeof *events * DOUBLE_EVENTS;
    if (!events)
        events = mp_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    used = 0;
    double_lost = 0;
    double_guard = 0;
}

static void add(unsigned op, uint64_t addr, uint64_t size, const void *data)
{
    if (double_guard) return;
    const size_t at = __atomic_fetch_add(&used, 1, __ATOMIC_ACQ_REL);
    if (at >= DOUBLE_EVENTS) __builtin_trap();
    struct double_event *e = &events[at];
    *e = (struct double_event){ .op = op, .tid = mp_sys_gettid(), .addr = addr, .size = size };
    if (data) memcpy(e->data, data, size < DOUBLE_TEXT - 1 ? size : DOUBLE_TEXT - 1);
}

uint64_t mp_record_slow(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    (void)heap;
    add(op, addr, size, NULL);
    return addr;
}

uint64_t mp_record_timed(struct mp_thread *t, uint64_t at, uint64_t addr, uint64_t head)
{
    (void)t;
    (void)at;
    (void)head;
    return addr;
}

void mp_record_data(unsigned op, unsigned heap, uint64_t addr, const void *data, size_t bytes)
{
    (void)heap;
    add(op, addr, bytes, data);
}

bool mp_record_here(void) { return !double_guard; }
void mp_record_left_out(void) {}
bool mp_process_active(void) { return double_active; }
uint32_t mp_loss_generation;

void mp_loss(unsigned reason, uint64_t n)
{
    if (reason == MPF_LOSS_NAMES) __atomic_fetch_add(&double_lost, n, __ATOMIC_RELAXED);
}

size_t double_total(void) { return used; }
const struct double_event *double_at(size_t index) { return &events[index]; }

size_t double_count(unsigned op)
{
    size_t n = 0;
    for (size_t i = 0; i < used; i++) n += events[i].op == op;
    return n;
}

const struct double_event *double_last(unsigned op)
{
    for (size_t i = used; i-- > 0;)
        if (events[i].op == op) return &events[i];
    return NULL;
}

uint32_t double_id(unsigned op, const char *text)
{
    for (size_t i = 0; i < used; i++)
        if (events[i].op == op && strcmp(events[i].data, text) == 0)
            return (uint32_t)events[i].addr;
    return 0;
}

struct mp_window mp_window = { .open = 1, .range = MP_WINDOW_NO_RANGE };
void mp_window_begins(uint64_t range) { (void)range; }
void mp_window_ends(uint64_t range) { (void)range; }
