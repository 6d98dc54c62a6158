/* make_hostile_log KIND N PATH: logs that no program would write. Each has n events, whose time or
 * memory once grew faster than n.
 *
 * make_hostile_log --list: prints the kinds. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpf/gpu.h"
#include "mpf/sample.h"
#include "mpf/slot.h"
#include "testlog.h"

#define DEVICE mpf_heap_gpu(MPF_HEAP_DEVICE, 0)
#define TORCH  mpf_heap_gpu(MPF_HEAP_TORCH, 0)
#define USED   mpf_heap_gpu(MPF_HEAP_USED, 0)
#define MIB    (UINT64_C(1) << 20)
#define BASE   UINT64_C(0x10000000)

static struct testlog *out;
static uint64_t now;

static void on_thread(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    testlog_event(out, now++, thread, op, heap, addr, size);
}

static void event(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    on_thread(1, op, heap, addr, size);
}

static void data(unsigned op, unsigned heap, uint64_t addr, const void *bytes, size_t count)
{
    testlog_heap_data(out, now++, 1, op, heap, addr, bytes, count);
}

#define WORDS(op, heap, addr, ...)                                                                 \
    do {                                                                                           \
        const uint64_t words[] = { __VA_ARGS__ };                                                  \
        data(op, heap, addr, words, sizeof words);                                                 \
    } while (0)

static void name(uint32_t id, const char *text) { data(MPF_OP_NAME, 0, id, text, strlen(text)); }
static void domain(uint32_t id, const char *text)
{
    data(MPF_OP_DOMAIN, 0, id, text, strlen(text));
}

static void module(uint64_t from, uint64_t to, const char *path)
{
    uint8_t bytes[256] = { 0 };
    memcpy(bytes, &to, sizeof to);
    memcpy(bytes + 16, path, strlen(path));
    data(MPF_OP_MODULE, 0, from, bytes, 16 + strlen(path));
}

static void number_module(uint64_t number, uint64_t from, uint64_t to)
{
    char path[32];
    snprintf(path, sizeof path, "/m%llu.so", (unsigned long long)number);
    module(from, to, path);
}

/* ---- host */

static void maps_down(uint64_t n)
{
    for (uint64_t i = n; i > 0; i--) event(MPF_OP_MAP, MPF_HEAP_MMAP, BASE + i * 8192, 4096);
}

static void maps_remapped(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) event(MPF_OP_MAP, MPF_HEAP_MMAP, BASE + i * 8192, 4096);
    for (uint64_t i = 0; i < 8; i++) {
        event(MPF_OP_REMAP_FROM, MPF_HEAP_MMAP, BASE, n * 8192);
        event(MPF_OP_REMAP_TO, MPF_HEAP_MMAP, BASE, n * 8192);
    }
}

/* A mapping whose protections split it into pages, from the top. */
static void maps_protected(uint64_t n)
{
    event(MPF_OP_MAP, MPF_HEAP_MMAP, BASE, n * 8192);
    for (uint64_t i = n; i > 0; i--)
        event(MPF_OP_PROTECT_NONE, MPF_HEAP_MMAP, BASE + i * 8192 - 4096, 4096);
}

/* Addresses whose products with the golden ratio have equal halves: they share one place in a hash
 * table without a secret. */
static void colliding(uint64_t n)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t inverse = golden;
    for (int i = 0; i < 6; i++) inverse *= 2 - golden * inverse;
    for (uint64_t half = 1, made = 0; made < n; half++) {
        const uint64_t key = (half << 32 | half) * inverse;
        if ((key & 0xff) != MPF_HEAP_HOST) continue;
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, key >> 8, 64);
        made++;
    }
}

static void colliding_device(uint64_t n)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t inverse = golden;
    for (int i = 0; i < 6; i++) inverse *= 2 - golden * inverse;
    for (uint64_t half = 1; half <= n; half++)
        event(MPF_OP_ALLOC, TORCH, (half << 32 | half) * inverse, 64);
}

static void live_blocks(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE + i * 32, 16);
}

/* ---- ranges and threads */

static void domains(uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) event(MPF_OP_PUSH, 0, 3 | i << 32, 0);
    for (uint64_t i = 1; i <= n; i++) event(MPF_OP_POP, 0, i << 32, 0);
}

/* Open ranges in many domains, and pops in a domain without one. */
static void pops_of_nothing(uint64_t n)
{
    for (uint64_t i = 1; i <= n / 2; i++) event(MPF_OP_PUSH, 0, 3 | i << 32, 0);
    for (uint64_t i = 1; i <= n / 2; i++) event(MPF_OP_POP, 0, UINT64_C(0xffffffff) << 32, 0);
}

static void threads_pushing(uint64_t n)
{
    for (uint32_t i = 1; i <= n; i++) on_thread(i, MPF_OP_PUSH, 0, 3, 0);
    for (uint32_t i = 1; i <= n; i++) on_thread(i, MPF_OP_POP, 0, 0, 0);
}

/* Blocks of a thread without ranges, while each of many other threads opens and closes a range. */
static void carriers(uint64_t n)
{
    for (uint32_t i = 2; i <= n + 1; i++) on_thread(i, MPF_OP_PUSH, 0, 3, 0);
    for (uint32_t i = (uint32_t)n + 1; i > 1; i--) {
        on_thread(i, MPF_OP_POP, 0, 0, 0);
        on_thread(1, MPF_OP_ALLOC, TORCH, BASE + i * MIB, 512);
    }
}

static void thread_numbers(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        on_thread((1u << 22) - 1 - (uint32_t)(i & 1), MPF_OP_ALLOC, TORCH, BASE + (i & 1) * MIB,
                  64);
}

/* Deep paths that differ only at their ends. */
static void deep_paths(uint64_t n)
{
    for (uint32_t i = 0; i < 500; i++) event(MPF_OP_PUSH, 0, 3 + i % 7, 0);
    for (uint64_t i = 0; i < n; i++) {
        event(MPF_OP_PUSH, 0, 1000 + i, 0);
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE + i * 32, 16);
        event(MPF_OP_POP, 0, 0, 0);
    }
}

static void names(uint64_t n)
{
    char text[32];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "range %u", i);
        name(1000 + i, text);
        event(MPF_OP_PUSH, 0, 1000 + i, 0);
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE + i * UINT64_C(32), 16);
        event(MPF_OP_POP, 0, 0, 0);
    }
}

/* Ranges that begin and end while others are open and there are many heaps. */
static void crowd(uint64_t n)
{
    for (unsigned heap = 0; heap < 256; heap++)
        if (mpf_heap_is_gpu(heap)) event(MPF_OP_ALLOC, heap, BASE + heap * MIB, 512);
    for (uint64_t i = 0; i < n; i++) {
        for (uint32_t t = 2; i == 8 && t < 258; t++) on_thread(t, MPF_OP_PUSH, 0, 3, 0);
        event(MPF_OP_PUSH, 0, 3, 0);
        event(MPF_OP_POP, 0, 0, 0);
    }
}

static void long_name(uint32_t id)
{
    char text[32768];
    memset(text, 'a', sizeof text);
    data(MPF_OP_NAME, 0, id, text, sizeof text);
}

/* One long name below each of many ranges. */
static void long_names(uint64_t n)
{
    long_name(3);
    for (uint32_t i = 0; i < n; i++) {
        event(MPF_OP_PUSH, 0, 1000 + i, 0);
        event(MPF_OP_PUSH, 0, 3, 0);
        event(MPF_OP_POP, 0, 0, 0);
        event(MPF_OP_POP, 0, 0, 0);
    }
    event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE, 512);
}

/* A call with n template arguments. */
static void templates(uint64_t n)
{
    static const char argument[] = "a<bbbbbbbbbbbbbbb>,", source[] = " (f.c:1)";
    char *text = malloc(n * strlen(argument) + sizeof source), *end = text;
    if (!text) err(2, "malloc");
    for (uint64_t i = 0; i < n; i++) end = stpcpy(end, argument);
    stpcpy(end, source);
    name(3, text);
    event(MPF_OP_PUSH, 0, 3, 0);
    event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE, 8 * MIB);
    free(text);
}

/* ---- modules and call stacks */

static void modules(uint64_t n)
{
    for (uint64_t i = n; i > 0; i--) number_module(i, BASE + i * 8192, BASE + i * 8192 + 4096);
}

static void modules_on_stacks(uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) {
        number_module(i, BASE + i * 8192, BASE + i * 8192 + 4096);
        WORDS(MPF_OP_STACK, 0, i, BASE + i * 8192 + 16);
        event(MPF_OP_AT, 0, i, 0);
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE + i * 32, 16);
    }
}

static void stacks(uint64_t n)
{
    uint64_t pc[500];
    module(BASE, BASE * 1000, "/nowhere/a.so");
    for (uint64_t i = 1; i <= n; i++) {
        for (uint64_t k = 0; k < 500; k++) pc[k] = BASE + i * k;
        data(MPF_OP_STACK, 0, i, pc, sizeof pc);
        event(MPF_OP_AT, 0, i, 0);
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, BASE + i * 32, 16);
    }
}

/* ---- device memory */

/* Each allocation is a new peak, and each free shrinks memory, so every step needs a snapshot. */
static void sawtooth(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        event(MPF_OP_ALLOC, DEVICE, BASE + 2 * i * MIB, MIB);
        event(MPF_OP_ALLOC, DEVICE, BASE + (2 * i + 1) * MIB, MIB);
        event(MPF_OP_MOVE_BEGIN, DEVICE, BASE + 2 * i * MIB, 0);
        event(MPF_OP_MOVE_END, DEVICE, 0, 0);
    }
}

static void contexts(uint64_t n)
{
    event(MPF_OP_GPU_CONTEXT, 0, 7, 0);
    for (uint64_t i = 0; i < n; i++) {
        event(MPF_OP_ALLOC, DEVICE, BASE + i * 2 * MIB, 2 * MIB);
        event(MPF_OP_ALLOC, TORCH, BASE + i * 2 * MIB, 512);
    }
    event(MPF_OP_GPU_ENTER, USED, MPF_CALL_CONTEXT_GONE, MIB);
    WORDS(MPF_OP_GPU_RETURN, USED, MIB, MPF_CALL_CONTEXT_GONE, 0, 7, 0, 0);
}

static void handles(uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) {
        event(MPF_OP_HANDLE_NEW, DEVICE, i, 2 * MIB);
        WORDS(MPF_OP_HANDLE_MAP, 0, i, BASE + (n - i) * 2 * MIB, 2 * MIB, 0);
    }
    for (uint64_t i = 1; i <= n; i++) event(MPF_OP_HANDLE_DROP, 0, i, 0);
    for (uint64_t i = 0; i < n; i++) event(MPF_OP_HANDLE_UNMAP, 0, BASE + i * 2 * MIB, 2 * MIB);
}

/* Handles that are reused before their release is recorded. */
static void handles_owed(uint64_t n)
{
    for (int again = 0; again < 2; again++)
        for (uint64_t i = 1; i <= n; i++) event(MPF_OP_HANDLE_NEW, DEVICE, i, 2 * MIB);
    for (uint64_t i = n; i > 0; i--) event(MPF_OP_HANDLE_DROP, 0, i, 0);
}

static void pools(uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) event(MPF_OP_GPU_LEVEL, DEVICE, i, MIB);
}

static void call(unsigned what, uint64_t handle)
{
    event(MPF_OP_GPU_ENTER, USED, what, MIB);
    WORDS(MPF_OP_GPU_RETURN, USED, MIB, what, 0, handle, 0, 10);
}

static void executables(uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) call(MPF_CALL_GRAPH, i);
    for (uint64_t i = 1; i <= n; i++) call(MPF_CALL_GRAPH_LAUNCH, i);
    for (uint64_t i = 1; i <= n; i++) call(MPF_CALL_GRAPH_GONE, i);
}

static void captures(uint64_t n)
{
    module(0x1000, 0x2000, "/lib/libc10_cuda.so");
    WORDS(MPF_OP_STACK, 0, 1, 0x1100);
    for (uint64_t i = 1; i <= n; i++) {
        now += UINT64_C(2000000000);
        WORDS(MPF_OP_TORCH_CAPTURE, 0, i, 0, i);
        event(MPF_OP_AT, 0, 1, 0);
        event(MPF_OP_ALLOC, DEVICE, BASE + i * 2 * MIB, 2 * MIB);
        event(MPF_OP_ALLOC, TORCH, BASE + i * 2 * MIB, 512);
        WORDS(MPF_OP_TORCH_CAPTURE_END, 0, i, 0, i);
    }
    for (uint64_t i = 1; i <= n; i++) event(MPF_OP_TORCH_GRAPH_RESET, 0, i, 0);
}

static void communicators(uint64_t n)
{
    static const char schema[] = "\x12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0NCCL communicator ID";
    domain(1, "NCCL");
    for (uint64_t i = 1; i <= n; i++) data(MPF_OP_SCHEMA, 0, i, schema, sizeof schema);
    for (uint64_t i = 1; i <= n; i++) {
        event(MPF_OP_PUSH, 0, 3 | UINT64_C(1) << 32, 0);
        event(MPF_OP_ALLOC, DEVICE, BASE + i * MIB, MIB);
        event(MPF_OP_POP, 0, UINT64_C(1) << 32, 0);
        WORDS(MPF_OP_RANGE_DATA, 0, i, i);
    }
}

/* Refusals inside ranges whose names differ only in a number. */
static void refusals(uint64_t n)
{
    char text[32];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "step %u", i);
        name(1000 + i, text);
        event(MPF_OP_PUSH, 0, 1000 + i, 0);
        event(MPF_OP_ALLOC, TORCH, BASE + i * UINT64_C(512), 512);
        WORDS(MPF_OP_GPU_FAIL, DEVICE, MIB + i, 2, 0, MIB, 0, 0);
        WORDS(MPF_OP_TORCH_OOM, TORCH, MIB + i, MIB, MIB, 0, MIB);
        event(MPF_OP_POP, 0, 0, 0);
    }
}

/* Refusals at one time. */
static void at_once(uint64_t n)
{
    event(MPF_OP_ALLOC, TORCH, BASE, 512);
    for (uint64_t i = 0; i < n; i++, now = 1) {
        WORDS(MPF_OP_GPU_FAIL, DEVICE, MIB + i, 2, 0, MIB, 0, 0);
        now = 1;
        WORDS(MPF_OP_TORCH_OOM, TORCH, MIB + i, MIB, MIB, 0, MIB);
    }
}

/* One request that is refused again and again, while there are many live blocks. */
static void attempts(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) event(MPF_OP_ALLOC, DEVICE, BASE + i * MIB, MIB);
    for (uint64_t i = 0; i < n; i++) WORDS(MPF_OP_GPU_FAIL, DEVICE, MIB, 2, 0, MIB, 0, 0);
}

static void autograd(uint64_t n)
{
    for (uint32_t i = 1; i <= n; i++) on_thread(i, MPF_OP_TORCH_NEXT, 0, i, i);
    event(MPF_OP_PUSH, 0, 3, 0);
    for (uint64_t i = 1; i <= n; i++) event(MPF_OP_TORCH_NODE, 0, i, i);
}

static void failures(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        event(MPF_OP_PUSH, 0, 1000 + i, 0);
        event(MPF_OP_FAIL, MPF_HEAP_HOST, 12, MIB + i);
        event(MPF_OP_POP, 0, 0, 0);
    }
}

/* ---- numbers near the limits of their types */

/* Measurements that change by more than a signed number can represent. */
static void overflows(uint64_t n)
{
    static const uint64_t value[] = { 0, UINT64_MAX - 1, INT64_MAX, (uint64_t)INT64_MAX + 1, 1 };
    enum { VALUES = sizeof value / sizeof *value };
    module(0x1000, 0x2000, "/lib/libc10_cuda.so");
    WORDS(MPF_OP_STACK, 0, 1, 0x1100);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t a = value[i % VALUES], b = value[i / VALUES % VALUES],
                       c = value[i / VALUES / VALUES % VALUES];
        WORDS(MPF_OP_SAMPLE_GPU, USED, 0, a, b, c, 0);
        event(MPF_OP_GPU_ENTER, USED, MPF_CALL_CONTEXT + i % 14, b);
        event(MPF_OP_AT, 0, 1, 0);
        event(MPF_OP_ALLOC, DEVICE, BASE + i, a);
        event(MPF_OP_ALLOC, TORCH, BASE + i, b);
        event(MPF_OP_GPU_LEVEL, DEVICE, i % 3, c);
        WORDS(MPF_OP_GPU_RETURN, USED, a, MPF_CALL_CONTEXT + i % 14, 0, b, c, a);
        WORDS(MPF_OP_SAMPLE_RSS, 0, 0, a, b, c, a, b, c, a, b);
        WORDS(MPF_OP_SAMPLE_CGROUP, 0, 0, a, b, c, 1);
        event(MPF_OP_HANDLE_NEW, DEVICE, i, c);
        WORDS(MPF_OP_HANDLE_MAP, 0, i, a, b, c);
        WORDS(MPF_OP_GPU_FAIL, DEVICE, b, 2, a, c, 0, 0);
        WORDS(MPF_OP_TORCH_OOM, TORCH, a, b, c, a, b);
        event(MPF_OP_MAP, MPF_HEAP_MMAP, a, MPF_SIZE_MAX);
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, b + i, MPF_SIZE_MAX);
        event(MPF_OP_FAIL, MPF_HEAP_HOST, a, MPF_SIZE_MAX);
    }
}

/* Totals with more frees than allocations, more live bytes than allocated ones, and decreasing
 * values, and blocks that end in another heap. */
static void totals(uint64_t n)
{
    const uint64_t max = UINT64_MAX;
    for (uint64_t i = 0; i < n; i += 4) {
        WORDS(MPF_OP_SAMPLE_HOST, 0, 0, max - i, max, 0, i);
        WORDS(MPF_OP_SAMPLE_HOST, 0, 0, i, 1, max, max);
        WORDS(MPF_OP_SAMPLE_RESIDENT, 0, 0, i, max, max >> i % 64);
        WORDS(MPF_OP_RESIDENT_FILE, 0, max, i % 16, max, max);
        WORDS(MPF_OP_RESIDENT_MAPPING, 0, BASE + i * 64, max >> i % 64, max, max - i);
        event(MPF_OP_ALLOC, MPF_HEAP_PART, BASE + i * 64, max >> i % 64);
        event(MPF_OP_MOVE_BEGIN, i % 8 ? MPF_HEAP_HOST : MPF_HEAP_PART, BASE + i * 32, 0);
    }
}

static const struct {
    const char *name;
    void (*make)(uint64_t n);
} kind[] = {
#define KIND(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    KIND(maps_down),   KIND(maps_remapped),    KIND(maps_protected),
    KIND(colliding),   KIND(colliding_device), KIND(live_blocks),
    KIND(domains),     KIND(pops_of_nothing),  KIND(threads_pushing),
    KIND(carriers),    KIND(thread_numbers),   KIND(deep_paths),
    KIND(names),       KIND(modules),          KIND(modules_on_stacks),
    KIND(stacks),      KIND(sawtooth),         KIND(contexts),
    KIND(handles),     KIND(handles_owed),     KIND(pools),
    KIND(executables), KIND(captures),         KIND(communicators),
    KIND(refusals),    KIND(attempts),         KIND(autograd),
    KIND(failures),    KIND(overflows),        KIND(crowd),
    KIND(long_names),  KIND(templates),        KIND(totals),
    KIND(at_once),
};
enum { KINDS = sizeof kind / sizeof *kind };

int main(int argc, char **argv)
{
    for (size_t i = 0; i < KINDS && argc == 2 && !strcmp(argv[1], "--list"); i++)
        puts(kind[i].name);
    for (size_t i = 0; i < KINDS && argc == 4; i++) {
        if (strcmp(kind[i].name, argv[1]) != 0) continue;
        out = testlog_open(argv[3], NULL);
        kind[i].make(strtoull(argv[2], NULL, 10));
        testlog_close(out, "exit");
        return 0;
    }
    return argc == 2 ? 0 : 2;
}
