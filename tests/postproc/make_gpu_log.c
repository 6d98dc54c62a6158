/* make_gpu_log SCENARIO PATH [N]: writes logs of device memory for the command line tests. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpf/gpu.h"
#include "mpf/header.h"
#include "mpf/sample.h"
#include "mpf/slot.h"
#include "testlog.h"

#define MIB    (UINT64_C(1) << 20)
#define MS     UINT64_C(1000000)
#define DEVICE mpf_heap_gpu(MPF_HEAP_DEVICE, 0)
#define TORCH  mpf_heap_gpu(MPF_HEAP_TORCH, 0)
#define USED   mpf_heap_gpu(MPF_HEAP_USED, 0)
#define BASE   UINT64_C(0x7f0000000000)

enum { STEP = 10, LOSS, CAPTURE, ROPE };
enum { BY_TORCH = 0x51, BY_NCCL, BY_PROGRAM };

static struct testlog *target;
static uint64_t now, pace = MS; /* time between two events */

static void event(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    testlog_event(target, now += pace, 1, op, heap, addr, size);
}

static void data(unsigned op, unsigned heap, uint64_t addr, const void *bytes, uint64_t count)
{
    testlog_heap_data(target, now += pace, 1, op, heap, addr, bytes, count);
}

#define WORDS(op, heap, addr, ...)                                                                 \
    do {                                                                                           \
        const uint64_t words[] = { __VA_ARGS__ };                                                  \
        data(op, heap, addr, words, sizeof words);                                                 \
    } while (0)

static void name(uint32_t id, const char *text) { data(MPF_OP_NAME, 0, id, text, strlen(text)); }
static void push(uint32_t id) { event(MPF_OP_PUSH, 0, id, 0); }
static void pop(void) { event(MPF_OP_POP, 0, 0, 0); }

static void module(uint64_t from, const char *path)
{
    uint8_t bytes[256];
    const uint64_t head[] = { from + 0x1000, 0 };
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, path, strlen(path));
    data(MPF_OP_MODULE, 0, from, bytes, sizeof head + strlen(path));
}

static void frame(uint64_t id, uint64_t line, const char *function, const char *file)
{
    uint8_t bytes[256];
    const size_t n = strlen(function) + 1, m = strlen(file) + 1;
    memcpy(bytes, &line, sizeof line);
    memcpy(bytes + 8, function, n);
    memcpy(bytes + 8 + n, file, m);
    data(MPF_OP_FRAME, 0, id, bytes, 8 + n + m);
}

static void device(unsigned index, const char *uuid, const char *kind)
{
    char bytes[512];
    struct mpf_pairs p;
    mpf_pairs_init(&p, bytes, sizeof bytes);
    mpf_pairs_add(&p, "uuid", uuid);
    mpf_pairs_add(&p, "name", kind);
    mpf_pairs_add_u64(&p, "total", 1024 * MIB);
    data(MPF_OP_GPU_DEVICE, 0, index, bytes, mpf_pairs_bytes(&p));
}

static void begin_process(const char *path, const char *const *pairs, const char *uuid)
{
    target = testlog_open(path, pairs);
    now = 0;
    testlog_data(target, 0, 1, MPF_OP_THREAD, 4242, "main", 4);
    device(0, uuid, "H100");
    name(STEP, "step");
    name(LOSS, "loss");
    name(CAPTURE, "capture");
    name(ROPE, "rope cache");
    module(0x1000, "/lib/libc10_cuda.so");
    module(0x3000, "/lib/libnccl.so.2");
    module(0x5000, "/usr/bin/prog");
    WORDS(MPF_OP_STACK, 0, BY_TORCH, 0x1100);
    WORDS(MPF_OP_STACK, 0, BY_NCCL, 0x3100);
    WORDS(MPF_OP_STACK, 0, BY_PROGRAM, 0x5100);
    frame(0xf1, 88, "cache", "/app/rotary.py");
    WORDS(MPF_OP_PYTHON, 0, 0x91, 0xf1);
}

static void begin(const char *path)
{
    begin_process(path, NULL, "GPU-5c1e0000-0000-0000-0000-000000000000");
}

static void driver_alloc(uint64_t by, uint64_t addr, uint64_t bytes)
{
    event(MPF_OP_AT, 0, by, 0);
    event(MPF_OP_ALLOC, DEVICE, addr, bytes);
}

static void driver_free(uint64_t addr)
{
    event(MPF_OP_MOVE_BEGIN, DEVICE, addr, 0);
    event(MPF_OP_MOVE_END, DEVICE, 0, 0);
}

static void torch_alloc(uint64_t addr, uint64_t bytes) { event(MPF_OP_ALLOC, TORCH, addr, bytes); }
static void torch_free(uint64_t addr) { event(MPF_OP_FREE, TORCH, addr, 0); }

static void call(unsigned what, uint64_t before, uint64_t after, uint64_t handle)
{
    event(MPF_OP_GPU_ENTER, USED, what, before * MIB);
    WORDS(MPF_OP_GPU_RETURN, USED, after * MIB, what, 0, handle, 0, 1000 + handle);
}

/* One of PyTorch's captures: a segment, a block in its pool, and an executable that is created
 * later, as with keep_graph. */
static void torch_capture(uint64_t number, uint64_t addr, uint64_t bytes, uint64_t used)
{
    WORDS(MPF_OP_TORCH_CAPTURE, 0, 0x6000 + number, 0, 0);
    event(MPF_OP_CAPTURE_BEGIN, 0, 5, 0);
    driver_alloc(BY_TORCH, addr, bytes);
    torch_alloc(addr, bytes / 2);
    torch_free(addr);
    event(MPF_OP_CAPTURE_END, 0, 5, 0);
    WORDS(MPF_OP_TORCH_CAPTURE_END, 0, 0x6000 + number, 0, number);
    call(MPF_CALL_GRAPH, used, used + 4, number);
    call(MPF_CALL_GRAPH_LAUNCH, used + 4, used + 5, number);
}

/* Two captures in quick succession, one 5 s later, and an executable without a capture that is
 * destroyed. */
static void graphs(const char *path)
{
    begin(path);
    push(STEP);
    push(CAPTURE);
    torch_capture(1, BASE, 20 * MIB, 500);
    torch_capture(2, BASE + 64 * MIB, 40 * MIB, 545);
    pop();
    now += 5000 * MS;
    torch_capture(3, BASE + 128 * MIB, 2 * MIB, 552);
    now += 5000 * MS;
    call(MPF_CALL_GRAPH, 557, 559, 4);
    call(MPF_CALL_GRAPH_GONE, 559, 557, 4);
    testlog_close(target, "exit");
}

/* An executable whose creation increased the free memory of the device. */
static void lighter(const char *path)
{
    begin(path);
    call(MPF_CALL_GRAPH, 559, 557, 1);
    testlog_close(target, "exit");
}

/* A burst with a graph for each batch size, one size twice, and a graph with another name. */
static void sizes(const char *path)
{
    static const char *const text[] = { "capture bs=16", "capture bs=8", "draft", "capture bs=8",
                                        "capture bs=4" };
    begin(path);
    push(STEP);
    for (uint32_t i = 0; i < sizeof text / sizeof *text; i++) {
        name(100 + i, text[i]);
        push(100 + i);
        torch_capture(1 + i, BASE + i * 64 * MIB, (10 - 2 * i) * MIB, 500 + 20 * i);
        pop();
    }
    pop();
    testlog_close(target, "exit");
}

/* Segments in all states, one that a small old block pins, an expandable one, and a request that
 * does not fit. */
static void segments(const char *path)
{
    begin(path);
    event(MPF_OP_AT_PYTHON, 0, 0x91, 0);
    push(ROPE);
    driver_alloc(BY_TORCH, BASE, 20 * MIB);
    event(MPF_OP_AT_PYTHON, 0, 0x91, 0);
    torch_alloc(BASE + 4 * MIB, MIB);
    pop();
    push(STEP);
    torch_alloc(BASE + 5 * MIB, 10 * MIB);
    torch_capture(1, BASE + 64 * MIB, 40 * MIB, 841);   /* 100 MiB are then free at the failure */
    driver_alloc(BY_TORCH, BASE + 128 * MIB, 30 * MIB); /* unused at the failure */
    for (uint64_t i = 0; i < 2; i++) {                  /* expandable: two adjacent pieces */
        event(MPF_OP_AT, 0, BY_TORCH, 0);
        event(MPF_OP_HANDLE_NEW, DEVICE, 0x70 + i, 20 * MIB);
        WORDS(MPF_OP_HANDLE_MAP, 0, 0x70 + i, BASE + 1024 * MIB + i * 20 * MIB, 20 * MIB, 0);
    }
    torch_alloc(BASE + 1024 * MIB, 30 * MIB);
    driver_alloc(BY_NCCL, BASE + 256 * MIB, 8 * MIB);
    now += 1000 * MS;
    torch_free(BASE + 5 * MIB);
    push(LOSS);
    event(MPF_OP_AT, 0, BY_TORCH, 0);
    WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 100 * MIB, 1024 * MIB, 0, 0);
    driver_free(BASE + 128 * MIB);
    event(MPF_OP_AT, 0, BY_TORCH, 0);
    WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 130 * MIB, 1024 * MIB, 0, 0);
    WORDS(MPF_OP_TORCH_OOM, TORCH, 199 * MIB, 31 * MIB, 100 * MIB, MPF_UNKNOWN, MPF_UNKNOWN);
    pop();
    testlog_close(target, "exit");
}

/* Two graphs with separate pools. The first is reset half a second later. */
static void reset(const char *path)
{
    begin(path);
    push(CAPTURE);
    torch_capture(1, BASE, 20 * MIB, 500);
    torch_capture(2, BASE + 64 * MIB, 40 * MIB, 525);
    now += 500 * MS;
    event(MPF_OP_TORCH_GRAPH_RESET, 0, 0x6001, 0);
    driver_alloc(BY_TORCH, BASE + 512 * MIB, 2 * MIB);
    pop();
    testlog_close(target, "exit");
}

/* A graph whose pool returns its segment to the driver after the reset. */
static void released(const char *path)
{
    begin(path);
    WORDS(MPF_OP_TORCH_CAPTURE, 0, 0x6001, 0, 0);
    event(MPF_OP_CAPTURE_BEGIN, 0, 5, 0);
    driver_alloc(BY_TORCH, BASE, 20 * MIB);
    torch_alloc(BASE, 8 * MIB);
    torch_free(BASE);
    event(MPF_OP_CAPTURE_END, 0, 5, 0);
    WORDS(MPF_OP_TORCH_CAPTURE_END, 0, 0x6001, 0, 1);
    event(MPF_OP_TORCH_GRAPH_RESET, 0, 0x6001, 0);
    driver_free(BASE);
    driver_alloc(BY_TORCH, BASE + 64 * MIB, 2 * MIB);
    torch_alloc(BASE + 64 * MIB, MIB);
    testlog_close(target, "exit");
}

/* Memory that can be saved: a segment between old blocks (or, with @thrifty, one that grows), a
 * cache, two graphs with separate pools, a large stack limit, and memory that malloc kept. */
static void waste(const char *path, bool thrifty)
{
    begin(path);
    event(MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, 200 * MIB);
    WORDS(MPF_OP_SAMPLE_RSS, 0, 0, 210 * MIB, 0, 0, 220 * MIB);
    event(MPF_OP_FREE, MPF_HEAP_HOST, 0x10000, 0);
    WORDS(MPF_OP_SAMPLE_RSS, 0, 0, 205 * MIB, 0, 0, 220 * MIB);
    push(ROPE);
    for (uint64_t i = 0; i < 5; i++) {
        const uint64_t at = BASE + i * 40 * MIB;
        event(MPF_OP_AT, 0, BY_TORCH, 0);
        if (thrifty) {
            event(MPF_OP_HANDLE_NEW, DEVICE, 0x70 + i, 40 * MIB);
            WORDS(MPF_OP_HANDLE_MAP, 0, 0x70 + i, at, 40 * MIB, 0);
        } else event(MPF_OP_ALLOC, DEVICE, at, 40 * MIB);
        torch_alloc(at + 16 * MIB, 2 * MIB);
    }
    pop();
    if (!thrifty) driver_alloc(BY_TORCH, BASE + 512 * MIB, 80 * MIB);
    torch_capture(1, BASE + 1024 * MIB, 100 * MIB, 500);
    if (!thrifty) torch_capture(2, BASE + 2048 * MIB, 80 * MIB, 605);
    call(MPF_CALL_LIMIT, 690, thrifty ? 691 : 790, 0);
    /* Memory that is allocated only in the last second does not count. */
    if (!thrifty) now += 1100 * MS;
    push(ROPE);
    pop();
    testlog_close(target, "exit");
}

static void wasteful(const char *path) { waste(path, false); }
static void thrifty(const char *path) { waste(path, true); }

/* Three steps with growing activations and growing memory of a library. The third does not fit. */
static void growing(const char *path)
{
    begin(path);
    driver_alloc(BY_TORCH, BASE, 100 * MIB);
    push(ROPE);
    torch_alloc(BASE, 8 * MIB);
    pop();
    for (uint64_t step = 1; step <= 3; step++) {
        push(STEP);
        torch_alloc(BASE + 8 * MIB, 10 * MIB);
        push(LOSS);
        torch_alloc(BASE + 32 * MIB, step * 16 * MIB);
        driver_alloc(BY_NCCL, BASE + (512 + step * 16) * MIB, 2 * MIB);
        if (step == 3) WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 100 * MIB, 1024 * MIB, 0, 0);
        if (step == 3)
            WORDS(MPF_OP_TORCH_OOM, TORCH, 199 * MIB, 50 * MIB, 100 * MIB, MPF_UNKNOWN,
                  MPF_UNKNOWN);
        torch_free(BASE + 32 * MIB);
        pop();
        torch_free(BASE + 8 * MIB);
        pop();
    }
    testlog_close(target, "exit");
}

/* A model of eight layers, each with parameters and activations. In the second step the activations
 * of most layers grow, those of layer 5 much more, and those of two layers shrink, until no memory
 * is free. */
static void layers(const char *path)
{
    enum { LAYERS = 8, FIRST = 100 };
    static const uint8_t before[] = { 10, 10, 10, 10, 10, 10, 8, 8 },
                         after[] = { 14, 15, 14, 14, 14, 50, 7, 6 };
    begin(path);
    driver_alloc(BY_TORCH, BASE, 500 * MIB);
    for (uint32_t i = 0; i < LAYERS; i++) {
        char text[32];
        snprintf(text, sizeof text, "layers.%u.mlp", i);
        name(FIRST + i, text);
        push(FIRST + i);
        torch_alloc(BASE + i * MIB, MIB);
        pop();
    }
    for (uint64_t step = 0; step < 2; step++) {
        push(STEP);
        for (uint32_t i = 0; i < LAYERS; i++) {
            push(FIRST + i);
            torch_alloc(BASE + (8 + i * 56) * MIB, (step ? after : before)[i] * MIB);
            pop();
        }
        if (step) WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 100 * MIB, 1024 * MIB, 0, 0);
        for (uint64_t i = 0; i < LAYERS; i++) torch_free(BASE + (8 + i * 56) * MIB);
        pop();
    }
    testlog_close(target, "exit");
}

/* Requests of a program without PyTorch, each with a different name. The second and the fourth do
 * not fit. */
static void serving(const char *path)
{
    begin(path);
    driver_alloc(BY_PROGRAM, BASE, 100 * MIB);
    for (uint32_t i = 1; i <= 4; i++) {
        char text[32];
        snprintf(text, sizeof text, "request %u", i);
        name(100 + i, text);
        push(100 + i);
        push(LOSS);
        driver_alloc(BY_PROGRAM, BASE + 1024 * MIB, i * 8 * MIB);
        if (i % 2 == 0) WORDS(MPF_OP_GPU_FAIL, DEVICE, 2048 * MIB, 2, 900 * MIB, 1024 * MIB, 0, 0);
        driver_free(BASE + 1024 * MIB);
        pop();
        pop();
    }
    testlog_close(target, "exit");
}

/* A search for the largest batch: each attempt asks for more, and all refusals except the last are
 * caught. */
static void batches(const char *path)
{
    begin(path);
    driver_alloc(BY_TORCH, BASE, 100 * MIB);
    for (uint64_t i = 0; i < 20; i++) {
        push(STEP);
        torch_alloc(BASE, (50 + i) * MIB);
        event(MPF_OP_AT, 0, BY_TORCH, 0);
        WORDS(MPF_OP_GPU_FAIL, DEVICE, (200 + i * 20) * MIB, 2, 100 * MIB, 1024 * MIB, 0, 0);
        WORDS(MPF_OP_TORCH_OOM, TORCH, (200 + i * 20) * MIB, 31 * MIB, 100 * MIB, MPF_UNKNOWN,
              MPF_UNKNOWN);
        torch_free(BASE);
        pop();
    }
    testlog_close(target, "exit");
}

/* Two refusals at one time. Each event has the free bytes that the driver reported. */
static void refusals(const char *path)
{
    begin(path);
    torch_alloc(BASE, MIB);
    pace = 0;
    for (uint64_t i = 1; i < 3; i++) {
        WORDS(MPF_OP_GPU_FAIL, DEVICE, (200 + i) * MIB, 2, i * MIB, 1024 * MIB, 0, 0);
        WORDS(MPF_OP_TORCH_OOM, TORCH, (200 + i) * MIB, MIB, MIB, MPF_UNKNOWN, MPF_UNKNOWN);
    }
    testlog_close(target, "exit");
}

/* The program allocates more after a failed allocation. */
static void survivor(const char *path)
{
    begin(path);
    torch_alloc(BASE, MIB);
    WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, MIB, 1024 * MIB, 0, 0);
    WORDS(MPF_OP_TORCH_OOM, TORCH, 200 * MIB, MIB, MIB, MPF_UNKNOWN, MPF_UNKNOWN);
    torch_alloc(BASE + 2 * MIB, 4 * MIB);
    testlog_close(target, "exit");
}

/* Blocks at the beginning and in the middle of a segment of six pieces, and one in a segment that
 * cannot grow. */
static void expandable(const char *path)
{
    begin(path);
    push(STEP);
    for (uint64_t i = 0; i < 6; i++) {
        event(MPF_OP_AT, 0, BY_TORCH, 0);
        event(MPF_OP_HANDLE_NEW, DEVICE, 0x70 + i, 20 * MIB);
        WORDS(MPF_OP_HANDLE_MAP, 0, 0x70 + i, BASE + i * 20 * MIB, 20 * MIB, 0);
    }
    torch_alloc(BASE, 15 * MIB);
    torch_alloc(BASE + 75 * MIB, 10 * MIB);
    driver_alloc(BY_TORCH, BASE + 1024 * MIB, 60 * MIB);
    torch_alloc(BASE + 1024 * MIB, 20 * MIB);
    pop();
    testlog_close(target, "exit");
}

/* Ranges with unusual names. */
static void names(const char *path)
{
    char text[600];
    begin(path);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    name(50, text);
    name(51, "caf\xe9 \xff\xfe\n\"<b>\"");
    for (uint32_t i = 50; i < 52; i++) {
        push(i);
        torch_alloc(BASE + i * MIB, MIB);
        pop();
    }
    testlog_close(target, "exit");
}

/* The program's own steps, which contain those of torch.profiler. */
static void profiler(const char *path)
{
    char text[32];
    begin(path);
    data(MPF_OP_DOMAIN, 0, 1, "torch", 5);
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "ProfilerStep#%u", 7 + i);
        name(60 + i, text);
        push(STEP);
        event(MPF_OP_PUSH, 0, (60 + i) | UINT64_C(1) << 32, 0);
        torch_alloc(BASE + i * MIB, MIB);
        event(MPF_OP_POP, 0, UINT64_C(1) << 32, 0);
        pop();
    }
    testlog_close(target, "exit");
}

/* The tracked bytes exceed the used bytes that the driver reports. */
static void unaccounted(const char *path)
{
    begin(path);
    driver_alloc(BY_TORCH, BASE, 400 * MIB);
    torch_alloc(BASE, 400 * MIB);
    WORDS(MPF_OP_SAMPLE_GPU, USED, 0, 380 * MIB, 1024 * MIB, 380 * MIB, 0);
    driver_alloc(BY_PROGRAM, BASE + 1024 * MIB, 200 * MIB);
    testlog_close(target, "exit");
}

/* Device memory that the host's kernel also uses for files (GH200), more and more of it. At the end
 * it has grown, since the process was last measured, by more than the bytes of other processes. */
static void coherent(const char *path)
{
    begin(path);
    driver_alloc(BY_PROGRAM, BASE, 100 * MIB);
    WORDS(MPF_OP_SAMPLE_GPU, USED, 0, 400 * MIB, 1024 * MIB, 300 * MIB, 8 * MIB, MPF_UNKNOWN);
    WORDS(MPF_OP_SAMPLE_GPU, USED, 0, 700 * MIB, 1024 * MIB, 300 * MIB, 8 * MIB, 250 * MIB);
    now += 1000 * MS;
    WORDS(MPF_OP_SAMPLE_GPU, USED, 0, 720 * MIB, 1024 * MIB, 300 * MIB, 8 * MIB, 430 * MIB);
    testlog_close(target, "exit");
}

/* Managed memory is used, but it is not tracked and not in NVML's figure for the process. */
static void managed(const char *path)
{
    begin(path);
    driver_alloc(BY_PROGRAM, BASE, 300 * MIB);
    event(MPF_OP_ALLOC, mpf_heap_gpu(MPF_HEAP_MANAGED, 0), BASE + 4096 * MIB, 64 * MIB);
    WORDS(MPF_OP_SAMPLE_GPU, USED, 0, 370 * MIB, 1024 * MIB, 300 * MIB, 8 * MIB, MPF_UNKNOWN);
    testlog_close(target, "exit");
}

/* Validation after every eight steps keeps blocks. */
static void validating(const char *path)
{
    uint64_t at = BASE;
    begin(path);
    for (uint64_t i = 1; i <= 16; i++) {
        push(STEP);
        torch_alloc(BASE - 64 * MIB, 4 * MIB);
        torch_free(BASE - 64 * MIB);
        pop();
        for (uint64_t k = 0; k < 4 && i % 8 == 0; k++, at += 32 * MIB) torch_alloc(at, 32 * MIB);
    }
    testlog_close(target, "exit");
}

/* Old blocks pin most of the second device when the first one is full. */
static void neighbours(const char *path)
{
    const unsigned device = mpf_heap_gpu(MPF_HEAP_DEVICE, 1),
                   torch = mpf_heap_gpu(MPF_HEAP_TORCH, 1);
    begin(path);
    push(ROPE);
    for (uint64_t i = 0; i < 5; i++) {
        event(MPF_OP_AT, 0, BY_TORCH, 0);
        event(MPF_OP_ALLOC, device, BASE + (1 + i) * 40 * MIB, 40 * MIB);
        event(MPF_OP_ALLOC, torch, BASE + (1 + i) * 40 * MIB, 2 * MIB);
    }
    pop();
    driver_alloc(BY_TORCH, BASE, 20 * MIB);
    torch_alloc(BASE, 20 * MIB);
    WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 100 * MIB, 1024 * MIB, 0, 0);
    testlog_close(target, "exit");
}

static void on(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    testlog_event(target, now += MS, thread, op, heap, addr, size);
}

/* A node of autograd runs on thread 2 and allocates. Number 99 belongs to no operator. */
static void node(uint32_t text, uint64_t number, uint64_t addr, uint64_t bytes)
{
    on(2, MPF_OP_PUSH, 0, UINT64_C(7) << 32 | text, 0);
    if (number != 99) on(2, MPF_OP_TORCH_NODE, 0, number, 1);
    on(2, MPF_OP_ALLOC, TORCH, addr, bytes);
    on(2, MPF_OP_POP, 0, UINT64_C(7) << 32, 0);
}

/* An operator's forward under each of two ranges and one without a range, and the backward of all.
 * Then a request does not fit. */
static void backward(const char *path)
{
    enum { MUL = 20, ADD, SINK, BACKWARD, FORWARD, EMBED, HEAD };
    begin(path);
    data(MPF_OP_DOMAIN, 0, 7, "torch", 5);
    static const char *const text[] = {
        "MulBackward0", "AddBackward0", "torch::autograd::AccumulateGrad", "backward", "forward",
        "embedding",    "head"
    };
    for (uint32_t i = 0; i < sizeof text / sizeof *text; i++) name(MUL + i, text[i]);
    testlog_data(target, now += MS, 2, MPF_OP_THREAD, 4243, "pt_autograd_0", 13);
    driver_alloc(BY_TORCH, BASE, 100 * MIB);
    event(MPF_OP_TORCH_NEXT, 0, 0, 1);
    push(FORWARD);
    for (uint64_t i = 0; i < 3; i++) {
        if (i < 2) push(i ? HEAD : EMBED);
        event(MPF_OP_TORCH_NEXT, 0, i + 1, 1);
        if (i == 1) event(MPF_OP_AT_PYTHON, 0, 0x91, 0);
        torch_alloc(BASE + i * 16 * MIB, (i + 1) * MIB);
        if (i < 2) pop();
        else event(MPF_OP_POP, 0, 0, 0);
    }
    push(BACKWARD);
    node(ADD, 2, BASE + 64 * MIB, 5 * MIB);
    node(MUL, 1, BASE + 70 * MIB, 6 * MIB);
    node(MUL, 0, BASE + 76 * MIB, 7 * MIB);
    node(SINK, 99, BASE + 83 * MIB, MIB);
    on(2, MPF_OP_PUSH, 0, UINT64_C(7) << 32 | ADD, 0);
    on(2, MPF_OP_TORCH_NODE, 0, 0, 1);
    const uint64_t refused[] = { 2, 100 * MIB, 1024 * MIB, 0, 0 },
                   gave_up[] = { 31 * MIB, 100 * MIB, MPF_UNKNOWN, MPF_UNKNOWN };
    testlog_heap_data(target, now += MS, 2, MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, refused,
                      sizeof refused);
    testlog_heap_data(target, now += MS, 2, MPF_OP_TORCH_OOM, TORCH, 199 * MIB, gave_up,
                      sizeof gave_up);
    testlog_close(target, "exit");
}

/* Ranks of a job. Ranks 2 and 3 share a device. The loss of rank 1 needs more memory and does not
 * fit. */
static void rank(const char *path, unsigned number)
{
    const uint64_t unit = 10 * MIB;
    char pid[16], text[16], uuid[64];
    snprintf(pid, sizeof pid, "%u", 5000 + number);
    snprintf(text, sizeof text, "%u", number);
    snprintf(uuid, sizeof uuid, "GPU-0000000%u-0000-0000-0000-000000000000",
             number > 2 ? 2 : number);
    const char *const pairs[] = {
        "pid", pid, "rank", text, "argv", "train.py", "host", "n03", NULL
    };
    begin_process(path, pairs, uuid);
    driver_alloc(BY_TORCH, BASE, 100 * unit);
    push(STEP);
    torch_alloc(BASE + 8 * unit, (10 + number) * unit);
    push(LOSS);
    torch_alloc(BASE + 32 * unit, (number == 1 ? 48 : 16) * unit);
    if (number == 1) WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 24 * MIB, 1024 * MIB, 0, 0);
    now += 10 * MS;
    torch_alloc(BASE + 90 * unit, unit); /* after the failure of rank 1 */
    pop();
    pop();
    testlog_close(target, "exit");
}

#define FIRST_GPU  "GPU-0000000a-0000-0000-0000-000000000000"
#define SECOND_GPU "GPU-0000000b-0000-0000-0000-000000000000"

static void sample(uint64_t used, uint64_t own)
{
    WORDS(MPF_OP_SAMPLE_GPU, USED, 0, used * MIB, 1024 * MIB, own * MIB, 0);
}

/* Processes of one GPU: a server (0), and a trainer (1, 2) that does not fit next to it.  The last
 * sample of trainer 2 is older than the server's block. */
static void sharing(const char *path, unsigned number)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%u", 7000 + number);
    const char *const pairs[] = { "pid",  pid,   "argv", number ? "train.py" : "server.py",
                                  "host", "n03", NULL };
    begin_process(path, pairs, FIRST_GPU);
    now = 20 * MS;
    if (!number) {
        call(MPF_CALL_CONTEXT, 20, 120, 0xc1);
        now = 30 * MS;
        driver_alloc(BY_PROGRAM, BASE, 500 * MIB);
        now = 1000 * MS;
        push(STEP);
        pop();
    } else {
        call(MPF_CALL_CONTEXT, 120, 220, 0xc2);
        driver_alloc(BY_TORCH, BASE, 200 * MIB);
        push(STEP);
        torch_alloc(BASE + MIB, 150 * MIB);
        if (number == 2) sample(420, 300);
        now = 50 * MS;
        if (number == 1) sample(920, 300);
        WORDS(MPF_OP_GPU_FAIL, DEVICE, 200 * MIB, 2, 104 * MIB, 1024 * MIB, 0, 0);
        pop();
    }
    testlog_close(target, "exit");
}

/* Two ranks with a GPU each.  Rank 1 also has a context and a checkpoint on that of rank 0. */
static void job(const char *path, unsigned number)
{
    const uint8_t own = mpf_heap_gpu(MPF_HEAP_DEVICE, number),
                  torch = mpf_heap_gpu(MPF_HEAP_TORCH, number);
    char pid[16], text[16];
    snprintf(pid, sizeof pid, "%u", 7100 + number);
    snprintf(text, sizeof text, "%u", number);
    const char *const pairs[] = {
        "pid", pid, "rank", text, "argv", "train.py", "host", "n03", NULL
    };
    begin_process(path, pairs, FIRST_GPU);
    device(1, SECOND_GPU, "H100");
    event(MPF_OP_AT, 0, BY_TORCH, 0);
    event(MPF_OP_ALLOC, own, BASE + (uint64_t)number * 1024 * MIB, 600 * MIB);
    push(STEP);
    event(MPF_OP_ALLOC, torch, BASE + (uint64_t)number * 1024 * MIB, (300 + 200 * number) * MIB);
    pop();
    WORDS(MPF_OP_SAMPLE_GPU, mpf_heap_gpu(MPF_HEAP_USED, number), 0, 800 * MIB, 1024 * MIB,
          700 * MIB, 0);
    if (number) {
        call(MPF_CALL_CONTEXT, 620, 720, 0xc1);
        driver_alloc(BY_TORCH, BASE, 128 * MIB);
        event(MPF_OP_AT_PYTHON, 0, 0x91, 0);
        torch_alloc(BASE, 120 * MIB);
    }
    testlog_close(target, "exit");
}

/* A process with N devices, each given as "UUID KIND MIB": the driver allocated MIB MiB of KIND. */
static void devices(const char *path, char **spec, int count)
{
    char uuid[64], kind[64];
    unsigned mib[MPF_GPUS];
    target = testlog_open(path, NULL);
    now = 0;
    for (int i = 0; i < count; i++) {
        if (sscanf(spec[i], "%63s %63s %u", uuid, kind, &mib[i]) != 3)
            errx(2, "\"UUID KIND MIB\" is wanted, not %s", spec[i]);
        device((unsigned)i, uuid, kind);
    }
    for (int i = 0; i < count; i++)
        event(MPF_OP_ALLOC, mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)i),
              BASE + (unsigned)i * 1024 * MIB, mib[i] * MIB);
    testlog_close(target, "exit");
}

/* Like the host side of PyTorch around a kernel: small blocks that are allocated and freed. */
static void host_churn(uint64_t events)
{
    enum { LIVE = 2000 };
    static uint64_t made;
    for (; events; events -= events > 1 ? 2 : 1, made++) {
        const uint64_t addr = UINT64_C(0x550000000000) + made % LIVE * 1024;
        if (made >= LIVE) event(MPF_OP_FREE, MPF_HEAP_HOST, addr, 0);
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, addr, 40 + made * 37 % 900);
    }
}

/* N events of a launch-bound training run: steps of @a_step events, 512 of them on the device,
 * forward and backward over 32 layers. Layer 5 of one step is five times as large. */
static void training(const char *path, uint64_t events, uint64_t a_step)
{
    enum { LAYERS = 32, KERNELS = 8, FORWARD = 20, BACKWARD, LAYER };
    const uint64_t steps = events / a_step + 1, churn = a_step / (2 * LAYERS * KERNELS);
    begin(path);
    pace = 600;
    name(FORWARD, "forward");
    name(BACKWARD, "backward");
    for (uint32_t i = 0; i < LAYERS; i++) {
        char text[32];
        snprintf(text, sizeof text, "model.layers.%u", i);
        name(LAYER + i, text);
    }
    for (uint64_t i = 0; i < 45; i++) driver_alloc(BY_TORCH, BASE + i * 20 * MIB, 20 * MIB);
    for (uint64_t i = 0; i < LAYERS; i++) torch_alloc(BASE + i * 4 * MIB, 4 * MIB);
    for (uint64_t step = 0; step < steps; step++) {
        const uint64_t first = BASE + LAYERS * 4 * MIB;
        push(STEP);
        push(FORWARD);
        for (uint64_t i = 0; i < LAYERS; i++) {
            push(LAYER + (uint32_t)i);
            const uint64_t bytes = step == steps * 2 / 3 && i == 5 ? 2 * MIB + MIB / 2 : MIB / 2;
            for (uint64_t k = 0; k < KERNELS; k++) {
                torch_alloc(first + (i * KERNELS + k) * 3 * MIB, bytes + k * 512);
                host_churn(churn);
            }
            pop();
        }
        pop();
        WORDS(MPF_OP_SAMPLE_GPU, USED, 0, 990 * MIB, 1024 * MIB, 980 * MIB, 8 * MIB);
        push(BACKWARD);
        for (uint64_t i = LAYERS; i--;) {
            push(LAYER + (uint32_t)i);
            for (uint64_t k = KERNELS; k--;) {
                host_churn(churn);
                torch_free(first + (i * KERNELS + k) * 3 * MIB);
            }
            pop();
        }
        pop();
        pop();
    }
    testlog_close(target, "exit");
}

int main(int argc, char **argv)
{
    enum { A_STEP = 84000 }; /* events per step of training by default */
    static const struct {
        const char *name;
        void (*make)(const char *path);
    } scenarios[] = {
        { "graphs", graphs },         { "sizes", sizes },           { "segments", segments },
        { "growing", growing },       { "wasteful", wasteful },     { "thrifty", thrifty },
        { "reset", reset },           { "released", released },     { "serving", serving },
        { "backward", backward },     { "layers", layers },         { "batches", batches },
        { "neighbours", neighbours }, { "expandable", expandable }, { "unaccounted", unaccounted },
        { "lighter", lighter },       { "names", names },           { "refusals", refusals },
        { "profiler", profiler },     { "coherent", coherent },     { "survivor", survivor },
        { "validating", validating }, { "managed", managed },
    };
    static const struct {
        const char *name;
        void (*make)(const char *path, unsigned number);
    } numbered[] = { { "rank", rank }, { "sharing", sharing }, { "job", job } };
    if (argc == 4)
        for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++)
            if (strcmp(argv[1], numbered[i].name) == 0)
                return numbered[i].make(argv[2], (unsigned)strtoul(argv[3], NULL, 10)), 0;
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "training") == 0)
        return training(argv[2], strtoull(argv[3], NULL, 10),
                        argc == 5 ? strtoull(argv[4], NULL, 10) : A_STEP),
               0;
    if (argc > 3 && strcmp(argv[1], "devices") == 0) return devices(argv[2], argv + 3, argc - 3), 0;
    if (argc != 3) errx(2, "usage: make_gpu_log SCENARIO PATH [N [A_STEP]]");
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) return scenarios[i].make(argv[2]), 0;
    }
    errx(2, "unknown scenario %s", argv[1]);
}
