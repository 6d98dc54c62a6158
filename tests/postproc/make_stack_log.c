/* make_stack_log SCENARIO PATH: writes logs with call stacks for the command line tests. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mpf/slot.h"
#include "testlog.h"

#define KIB    (UINT64_C(1) << 10)
#define MIB    (UINT64_C(1) << 20)
#define MS     UINT64_C(1000000)
#define PROG   UINT64_C(0x400000)
#define LIBC   UINT64_C(0x7f0000000000)
#define LIBIMG UINT64_C(0x7f0000100000)

enum { LOAD = 0x51, DECODE, RESIZE, START }; /* IDs of stacks */
enum { IN_LOAD = 0x91, IN_TRAIN };           /* IDs of Python stacks */

static struct testlog *target;
static uint64_t now;

static void event(unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    testlog_event(target, now += MS, 1, op, heap, addr, size);
}

static void data(unsigned op, uint64_t addr, const void *bytes, uint64_t count)
{
    testlog_data(target, now += MS, 1, op, addr, bytes, count);
}

#define STACK(id, ...)                                                                             \
    do {                                                                                           \
        const uint64_t words[] = { __VA_ARGS__ };                                                  \
        data(MPF_OP_STACK, id, words, sizeof words);                                               \
    } while (0)

static void module(uint64_t from, const char *path)
{
    uint8_t bytes[256];
    const uint64_t head[] = { from + 0x10000, 0 };
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, path, strlen(path));
    data(MPF_OP_MODULE, from, bytes, sizeof head + strlen(path));
}

static void frame(uint64_t id, uint64_t line, const char *function, const char *file)
{
    uint8_t bytes[256];
    const size_t n = strlen(function) + 1, m = strlen(file) + 1;
    memcpy(bytes, &line, sizeof line);
    memcpy(bytes + 8, function, n);
    memcpy(bytes + 8 + n, file, m);
    data(MPF_OP_FRAME, id, bytes, 8 + n + m);
}

/* There are no files with these names, so frames have object files and offsets. */
static void begin(const char *path, const char *const *pairs)
{
    target = testlog_open(path, pairs);
    now = 0;
    testlog_data(target, 0, 1, MPF_OP_THREAD, 4242, "main", 4);
    module(PROG, "/nowhere/prog");
    module(LIBC, "/nowhere/libc.so.6");
    module(LIBIMG, "/nowhere/libimg.so.2");
    STACK(LOAD, PROG + 0x1100, PROG + 0x1000, LIBC + 0x2700);
    STACK(DECODE, LIBIMG + 0x300, LIBIMG + 0x200, PROG + 0x1100, PROG + 0x1000, LIBC + 0x2700);
    STACK(RESIZE, LIBIMG + 0x400, PROG + 0x1180, PROG + 0x1000, LIBC + 0x2700);
    STACK(START, LIBC + 0x2600);
}

static void at(uint64_t stack, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    if (stack) event(MPF_OP_AT, 0, stack, 0);
    event(op, heap, addr, size);
}

/* Every block of 1 MiB has its stack. The peak is before the free. */
static void native(const char *path)
{
    static const char *const pairs[] = { "pid",   "4242",         "argv",    "./prog", "stacks",
                                         "large", "stacks.large", "1048576", NULL };
    begin(path, pairs);
    at(START, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, MIB);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000000, 6 * MIB);
    at(DECODE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x3000000, 9 * MIB);
    at(DECODE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x4000000, 3 * MIB);
    for (uint64_t i = 0; i < 8; i++)
        at(0, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x5000000 + i * MIB, 128 * KIB);
    at(RESIZE, MPF_OP_MAP, MPF_HEAP_MMAP, 0x7e0000000000, 4 * MIB);
    at(RESIZE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x6000000, 2 * MIB);
    at(0, MPF_OP_FREE, MPF_HEAP_HOST, 0x3000000, 0);
    event(MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, 0x2000000, 0);
    at(RESIZE, MPF_OP_MOVE_END, MPF_HEAP_HOST, 0x7000000, 7 * MIB);
    testlog_close(target, "exit");
}

/* A server whose requests are ranges. The blocks that it allocated before have only call stacks. */
static void ranged(const char *path)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "./prog", "stacks", "all", NULL };
    begin(path, pairs);
    data(MPF_OP_NAME, 100, "request", strlen("request"));
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, 20 * MIB);
    at(DECODE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x3000000, 10 * MIB);
    event(MPF_OP_PUSH, 0, 100, 0);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x5000000, 5 * MIB);
    event(MPF_OP_POP, 0, 0, 0);
    testlog_close(target, "exit");
}

static void cut_at(uint64_t stack, uint64_t reason)
{
    data(MPF_OP_STACK_CUT, stack, &reason, sizeof reason);
}

/* Stacks that end before main: one with each reason, one with a reason of a later version, and a
 * Python stack. */
static void cut(const char *path)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "./prog", "stacks", "all", NULL };
    enum { DEEP = 0x61, NO_RULE, LOST, LATER };
    const uint64_t python[] = { 0xf1, 0xf0 };
    begin(path, pairs);
    for (uint64_t i = 0; i < 4; i++) {
        cut_at(DEEP + i, i < 3 ? i + 1 : 1000);
        STACK(DEEP + i, PROG + 0x2000 + i, PROG + 0x3000);
        at(DEEP + i, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000 * (i + 1), (8 - i) * MIB);
    }
    frame(0xf0, 0, mpf_cut_text(MPF_CUT_DEPTH), "");
    frame(0xf1, 12, "load", "/app/loader.py");
    data(MPF_OP_PYTHON, IN_LOAD, python, sizeof python);
    event(MPF_OP_AT_PYTHON, 0, IN_LOAD, 0);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x9000000, 3 * MIB);
    testlog_close(target, "exit");
}

/* Code that is in no object file, and code in a file that exists only in memory. */
static void generated(const char *path)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "./prog", "stacks", "all", NULL };
    enum { ANONYMOUS = 0x61, IN_MEMFD };
    begin(path, pairs);
    module(0x700000000000, "/memfd:doublemapper (deleted)");
    STACK(ANONYMOUS, PROG + 0x2000, 0x5000110, PROG + 0x3000);
    STACK(IN_MEMFD, PROG + 0x2000, 0x700000000200, 0x5000800, PROG + 0x3000);
    at(ANONYMOUS, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, 8 * MIB);
    at(IN_MEMFD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000000, 4 * MIB);
    testlog_close(target, "exit");
}

/* Call stacks were switched off. */
static void unstacked(const char *path)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "./prog", "stacks", "off", NULL };
    begin(path, pairs);
    at(0, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, 40 * MIB);
    testlog_close(target, "exit");
}

/* Names that a program can choose. */
static void nasty(const char *path)
{
    const uint64_t id = 0xf0;
    begin(path, NULL);
    frame(id, 7, "a;b\xff\xc3\xa9 \xe2\x80\xae\n1", "/app/main.py");
    data(MPF_OP_PYTHON, IN_LOAD, &id, sizeof id);
    event(MPF_OP_AT_PYTHON, 0, IN_LOAD, 0);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, 5 * MIB);
    testlog_close(target, "exit");
}

/* The same as `native` with the calling Python code and without ranges. */
static void python_with(const char *path, const char *method)
{
    static const char *const pairs[] = {
        "pid", "4242", "argv", "python3", "stacks", "large", NULL
    };
    const uint64_t load[] = { 0xf1, 0xf0 }, train[] = { 0xf2, 0xf0 };
    begin(path, pairs);
    frame(0xf0, 90, "<module>", "/app/main.py");
    frame(0xf1, 12, method, "/app/loader.py");
    frame(0xf2, 40, "train", "/app/train.py");
    data(MPF_OP_PYTHON, IN_LOAD, load, sizeof load);
    data(MPF_OP_PYTHON, IN_TRAIN, train, sizeof train);
    event(MPF_OP_AT_PYTHON, 0, IN_LOAD, 0);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, 5 * MIB);
    event(MPF_OP_AT_PYTHON, 0, IN_TRAIN, 0);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000000, 3 * MIB);
    at(DECODE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x3000000, 2 * MIB);
    testlog_close(target, "exit");
}

static void python(const char *path) { python_with(path, "Loader.load"); }
static void foreign(const char *path) { python_with(path, "Loader.größe"); }

static uint64_t seed = 11;
static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

/* 20,000 blocks of 4 KiB by one stack and 5,000 of 12 KiB by another. One in 16 and one in 6 have
 * their stack: with 64 KiB between samples, 1 - exp(-4 / 64) and 1 - exp(-12 / 64). A large block
 * always has its stack. In another run other blocks are sampled, and each has twice as many bytes
 * decoded. */
static void sampled_of(const char *path, uint64_t other, uint64_t decoded, double chance)
{
    static const char *const pairs[] = { "pid",          "4242",    "argv",
                                         "./prog",       "stacks",  "sample",
                                         "stacks.large", "1048576", "stacks.mean",
                                         "65536",        NULL };
    begin(path, pairs);
    seed += other;
    now += 1000 * MS;
    for (uint64_t i = 0; i < 25000; i++) {
        const bool often = i % 5 != 0;
        const uint64_t stack = uniform() < (often ? 0.0605869 : chance) ? often ? LOAD : DECODE : 0;
        if (stack) testlog_event(target, now += 1000, 1, MPF_OP_AT, 0, stack, 0);
        testlog_event(target, now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000 + i * 0x4000,
                      (often ? 4 : decoded) * KIB);
    }
    at(RESIZE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x6000000, 16 * MIB);
    for (uint64_t i = 0; i < 25000; i += 2)
        event(MPF_OP_FREE, MPF_HEAP_HOST, 0x10000000 + i * 0x4000, 0);
    testlog_close(target, "exit");
}

static void sampled(const char *path) { sampled_of(path, 0, 12, 0.170971); }
static void resampled(const char *path) { sampled_of(path, 1, 24, 0.312711); }

/* Nearly all small blocks happen to be sampled. Their estimate must not exceed the counted
 * bytes. */
static void nearly_all_sampled(const char *path)
{
    static const char *const pairs[] = { "pid",          "4242",    "argv",
                                         "./prog",       "stacks",  "sample",
                                         "stacks.large", "1048576", "stacks.mean",
                                         "65536",        NULL };
    begin(path, pairs);
    for (uint64_t i = 0; i < 10; i++) {
        if (i) testlog_event(target, now += 1000, 1, MPF_OP_AT, 0, i < 7 ? LOAD : DECODE, 0);
        testlog_event(target, now += 1000, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000 + i * 0x4000,
                      4 * KIB);
    }
    testlog_close(target, "exit");
}

/* Most blocks are too small to have a stack. The command needs quotes in a shell, or belongs to a
 * process that the user did not start. */
static void small_of(const char *path, const char *root)
{
    static const char *const code = "import json\nprint('it')";
    const char *const pairs[] = { "pid",          "4242",    "argv", "python3", "argv",
                                  "-c",           "argv",    code,   "stacks",  "large",
                                  "stacks.large", "1048576", "root", root,      NULL };
    begin(path, pairs);
    at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, 2 * MIB);
    for (uint64_t i = 0; i < 600; i++)
        event(MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000 + i * MIB, 64 * KIB);
    at(RESIZE, MPF_OP_MAP, MPF_HEAP_MMAP, 0x7e0000000000, 40 * MIB);
    event(MPF_OP_MAP, MPF_HEAP_MMAP, 0x7e0004000000, 4 * MIB); /* less than a tenth */
    testlog_close(target, "exit");
}

/* Python objects: 32 arenas, and in the second log a sample of the objects in them. With 64 KiB
 * between samples, each of 480 samples represents 64 KiB and half of its bytes. */
static void python_objects(const char *path, const char *key, const char *value)
{
    const char *const pairs[] = {
        "pid",   "4242",         "argv",    "python3",     "argv",  "t.py", "stacks",
        "large", "stacks.large", "1048576", "stacks.mean", "65536", "root", "1",
        key,     value,          NULL
    };
    const uint64_t arena = 0xfa, load[] = { 0xf1, 0xf0 };
    begin(path, pairs);
    frame(arena, 0, "pymalloc arena", "");
    frame(0xf0, 9, "<module>", "/app/t.py");
    frame(0xf1, 5, "load", "/app/t.py");
    data(MPF_OP_PYTHON, IN_TRAIN, &arena, sizeof arena);
    data(MPF_OP_PYTHON, IN_LOAD, load, sizeof load);
    for (uint64_t i = 0; i < 32; i++) {
        event(MPF_OP_AT_PYTHON, 0, IN_TRAIN, 0);
        event(MPF_OP_MAP, MPF_HEAP_MMAP, 0x7e0000000000 + i * MIB, MIB);
    }
    for (uint64_t i = 0; value && i < 480; i++) {
        if (i % 16) event(MPF_OP_AT_PYTHON, 0, IN_LOAD, 0);
        event(MPF_OP_ALLOC, MPF_HEAP_PYTHON, 0x7e0000000000 + i * 64 * KIB, 100);
    }
}

static void arenas_of(const char *path, const char *key, const char *value)
{
    python_objects(path, key, value);
    for (uint64_t i = 0; value && i < 480; i += 2)
        event(MPF_OP_FREE, MPF_HEAP_PYTHON, 0x7e0000000000 + i * 64 * KIB, 0);
    testlog_close(target, "exit");
}

/* The program ends and frees everything within 50 ms. */
static void given_back(const char *path)
{
    python_objects(path, "stacks.python", "sample");
    for (uint64_t i = 0; i < 480; i++)
        testlog_event(target, now += MS / 10, 1, MPF_OP_FREE, MPF_HEAP_PYTHON,
                      0x7e0000000000 + i * 64 * KIB, 0);
    for (uint64_t i = 0; i < 32; i++)
        event(MPF_OP_UNMAP, MPF_HEAP_MMAP, 0x7e0000000000 + i * MIB, MIB);
    testlog_close(target, "exit");
}

static void arenas(const char *path) { arenas_of(path, NULL, NULL); }
static void objects(const char *path) { arenas_of(path, "stacks.python", "sample"); }

static void small(const char *path) { small_of(path, "1"); }
static void small_child(const char *path) { small_of(path, "0"); }

/* 180 requests in 0.9 s. Each keeps 100 KiB, and allocates and frees other blocks. */
static void hurried(const char *path, uint64_t others)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "./prog", "stacks", "all", NULL };
    begin(path, pairs);
    for (uint64_t i = 0; i < 180; i++) {
        at(DECODE, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000, others);
        at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000 + i * MIB, 100 * KIB);
        event(MPF_OP_FREE, MPF_HEAP_HOST, 0x1000000, 0);
    }
    testlog_close(target, "exit");
}

static void hurried_server(const char *path) { hurried(path, 2 * MIB); }
static void hurried_loader(const char *path) { hurried(path, 64 * KIB); }

/* A server that numbers its requests. Each keeps two sessions, and the first three fill a cache. */
static void requests(const char *path)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "python3", "stacks", "all", NULL };
    const uint64_t session[] = { 0xf1, 0xf0 }, cache[] = { 0xf2, 0xf0 };
    begin(path, pairs);
    frame(0xf0, 90, "serve", "/app/main.py");
    frame(0xf1, 12, "make_session", "/app/sessions.py");
    frame(0xf2, 40, "fill", "/app/cache.py");
    data(MPF_OP_PYTHON, IN_LOAD, session, sizeof session);
    data(MPF_OP_PYTHON, IN_TRAIN, cache, sizeof cache);
    for (uint64_t i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "request %d", (int)i);
        data(MPF_OP_NAME, 100 + i, name, strlen(name));
        event(MPF_OP_PUSH, 0, 100 + i, 0);
        now += 50 * MS;
        for (uint64_t k = 0; k < 2; k++) {
            event(MPF_OP_AT_PYTHON, 0, IN_LOAD, 0);
            at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000000 + (2 * i + k) * MIB, 200 * KIB);
        }
        if (i < 3) {
            event(MPF_OP_AT_PYTHON, 0, IN_TRAIN, 0);
            at(LOAD, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000 + i * MIB, MIB);
        }
        event(MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(target, "exit");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(const char *path);
    } scenarios[] = {
        { "native", native },
        { "nasty", nasty },
        { "python", python },
        { "foreign", foreign },
        { "sampled", sampled },
        { "resampled", resampled },
        { "nearly_all_sampled", nearly_all_sampled },
        { "small", small },
        { "small_child", small_child },
        { "arenas", arenas },
        { "objects", objects },
        { "given_back", given_back },
        { "requests", requests },
        { "unstacked", unstacked },
        { "cut", cut },
        { "generated", generated },
        { "ranged", ranged },
        { "hurried_server", hurried_server },
        { "hurried_loader", hurried_loader },
    };
    if (argc != 3) errx(2, "usage: make_stack_log SCENARIO PATH");
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) return scenarios[i].make(argv[2]), 0;
    }
    errx(2, "unknown scenario %s", argv[1]);
}
