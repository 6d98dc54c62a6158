/* make_log SCENARIO PATH [N]: writes the logs of the command line tests, and large ones for
 * measurements. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpf/sample.h"
#include "mpf/slot.h"
#include "testlog.h"

#define MIB (UINT64_C(1) << 20)
#define MS  UINT64_C(1000000)

static void name(struct testlog *log, unsigned op, uint32_t id, const char *text)
{
    testlog_data(log, 0, 1, op, id, text, strlen(text));
}

static void sample_in(struct testlog *log, uint64_t ns, uint64_t anonymous, uint64_t usage,
                      uint64_t limit)
{
    const uint64_t rss[] = { anonymous, 3 * MIB,     0,           anonymous + 4 * MIB,
                             0,         MPF_UNKNOWN, MPF_UNKNOWN, MIB }; /* as in version 1.1 */
    const uint64_t cgroup[] = { usage, limit, usage, 0 };                /* as in version 1.9 */
    testlog_data(log, ns, 1, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
    testlog_data(log, ns, 1, MPF_OP_SAMPLE_CGROUP, 0, cgroup, sizeof cgroup);
}

static void sample(struct testlog *log, uint64_t ns, uint64_t anonymous)
{
    sample_in(log, ns, anonymous, anonymous + 2 * MIB, 64 * MIB);
}

/* Two threads, nested ranges and a domain. The peak, 12 MiB and 300 bytes, is at 30 ms. */
static void story(struct testlog *log)
{
    const uint64_t nccl = UINT64_C(1) << 32;
    testlog_data(log, 0, 1, MPF_OP_THREAD, 4242, "main", 4);
    name(log, MPF_OP_NAME, 10, "step 1");
    name(log, MPF_OP_NAME, 11, "forward");
    name(log, MPF_OP_NAME, 12, "AllReduce");
    name(log, MPF_OP_DOMAIN, 1, "NCCL");
    testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 300);
    testlog_event(log, 2 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
    testlog_event(log, 3 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000, 4 * MIB);
    sample(log, 5 * MS, 6 * MIB);
    testlog_event(log, 10 * MS, 1, MPF_OP_PUSH, 0, 11, 0);
    testlog_event(log, 20 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x900000, 6 * MIB);
    testlog_data(log, 21 * MS, 2, MPF_OP_THREAD, 4243, "worker", 6);
    testlog_event(log, 22 * MS, 2, MPF_OP_PUSH, 0, nccl | 12, 0);
    testlog_event(log, 30 * MS, 2, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x3000, 2 * MIB);
    sample(log, 32 * MS, 15 * MIB);
    testlog_event(log, 40 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x900000, 0);
    testlog_event(log, 41 * MS, 1, MPF_OP_POP, 0, 0, 0);
    testlog_event(log, 42 * MS, 1, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 1 << 30);
    testlog_event(log, 50 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, 0x7f0000000000, MIB);
    testlog_event(log, 51 * MS, 2, MPF_OP_POP, 0, nccl, 0);
}

static void whole(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    story(log);
    testlog_close(log, "exit");
}

/* Resident memory grows after the peak of the program's blocks, and its parts are sampled less
 * often than the total. */
static void samples(const char *path)
{
    static const uint64_t anonymous[] = { 12, 40, 300 };
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 30 * MIB);
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t part = i ? MPF_UNKNOWN : 15 * MIB;
        const uint64_t rss[] = {
            anonymous[i] * MIB, 3 * MIB, 0, anonymous[i] * MIB + 3 * MIB, 0, part, part, MIB
        };
        testlog_data(log, 100 * MS + i * i * 1000 * MS, 1, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
    }
    testlog_event(log, 4200 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
    testlog_close(log, "exit");
}

/* Memory that is mapped but never written to, as garbage collectors reserve it. */
static void reserved(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    sample(log, 1 * MS, 20 * MIB);
    testlog_event(log, 2 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, 0x7f0000000000, 10240 * MIB);
    testlog_event(log, 3 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 100 * MIB);
    sample(log, 101 * MS, 118 * MIB);
    testlog_close(log, "exit");
}

static void unended(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    story(log);
    testlog_close(log, NULL);
}

/* A log without an end, of a process that did not run out of memory. */
static void crashed(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, "step 1");
    sample(log, 1 * MS, 4 * MIB);
    testlog_event(log, 2 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
    testlog_event(log, 3 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000, 4 * MIB);
    testlog_event(log, 50 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x900000, 6 * MIB);
    testlog_close(log, NULL);
}

/* The journal has a new peak: 8 MiB more at 60 ms. */
static void killed(const char *path)
{
    char journal_path[4096];
    struct testlog *log = testlog_open(path, NULL);
    story(log);
    testlog_flush(log);
    const uint64_t frames = testlog_frames(log);
    testlog_close(log, NULL);
    snprintf(journal_path, sizeof journal_path, "%s.journal", path);
    struct testjournal *j = testjournal_open(journal_path);
    testjournal_chunk(j, 1, 1, 0, frames - 1, 1);
    testjournal_event(j, 50 * MS, MPF_OP_MAP, MPF_HEAP_MMAP, 0x7f0000000000, MIB);
    testjournal_event(j, 60 * MS, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x5000, 8 * MIB);
    testjournal_chunk(j, 2, 2, 0, frames - 1, 0);
    testjournal_event(j, 55 * MS, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x6000, 1000);
    testjournal_close(j);
}

static void lossy(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    story(log);
    testlog_event(log, 60 * MS, 1, MPF_OP_LOST, 0, 7, MPF_LOSS_STALLED);
    testlog_close(log, "exit");
}

/* The disk was full from 40 ms to 55 ms. */
static void full(const char *path)
{
    const struct mpf_unwritten spell = { 28, TESTLOG_START + 40 * MS, TESTLOG_START + 55 * MS,
                                         1293499, 900000 };
    struct testlog *log = testlog_open(path, NULL);
    story(log);
    testlog_event(log, 60 * MS, 0, MPF_OP_LOST, 0, spell.events, MPF_LOSS_WRITE);
    testlog_data(log, 60 * MS, 0, MPF_OP_UNWRITTEN, spell.error, &spell, sizeof spell);
    testlog_close(log, "exit");
}

/* A request that a limit of the address space refused. */
static void limited(const char *path)
{
    const uint64_t rss[MPF_RSS_COUNT] = { 20 * MIB,  3 * MIB,     0,           23 * MIB,
                                          0,         MPF_UNKNOWN, MPF_UNKNOWN, MIB,
                                          150 * MIB, 256 * MIB,   MPF_UNKNOWN };
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 18 * MIB);
    testlog_data(log, 2 * MS, 0, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
    testlog_event(log, 2 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x8000000, 60 * MIB);
    testlog_event(log, 3 * MS, 1, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 64 * MIB);
    testlog_event(log, 4 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
    testlog_close(log, "exit");
}

/* The kernel refuses a request for huge pages, and the same request without them succeeds. Then a
 * mapping fails because its address is in use. */
static void probed(const char *path)
{
    const uint64_t taken = 17, no_memory = 12;
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 1 * MS, 1, MPF_OP_FAIL, MPF_HEAP_SHM, no_memory, 146 * MIB);
    testlog_event(log, 1 * MS, 2, MPF_OP_MAP, MPF_HEAP_MMAP, 0x10000000, MIB);
    testlog_event(log, 1 * MS, 1, MPF_OP_MAP, MPF_HEAP_SHM, 0x20000000, 144 * MIB);
    testlog_event(log, 2 * MS, 1, MPF_OP_FAIL, MPF_HEAP_MMAP, taken, 32 * MIB);
    testlog_close(log, "exit");
}

/* Two requests for huge pages that the pool does not have. The program does not repeat them. */
static void huge_pages(const char *path)
{
    const uint64_t no_memory = 12 | MPF_FAIL_HUGE_PAGES;
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 1 * MS, 1, MPF_OP_FAIL, MPF_HEAP_MMAP, no_memory, 146 * MIB);
    testlog_event(log, 2 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, 0x20000000, 32 * MIB);
    testlog_event(log, 3 * MS, 1, MPF_OP_FAIL, MPF_HEAP_SHM, no_memory | 2ull << 32, 5);
    testlog_close(log, "exit");
}

/* A refused request, after which the program requests half as much. */
static void halved(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 1 * MS, 1, MPF_OP_FAIL, MPF_HEAP_MMAP, 12, 64 * MIB);
    testlog_event(log, 2 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, 0x20000000, 32 * MIB);
    testlog_close(log, "exit");
}

static void hole(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    story(log);
    testlog_skip(log);
    testlog_event(log, 60 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x8000, 10);
    testlog_close(log, "exit");
}

/* Names that a terminal, a page or JSON could misinterpret. */
static void nasty(const char *path)
{
    struct testlog *log = testlog_open(path, NULL);
    static const char *const names[] = { "bell\a \033[31mred", "</script>\"quoted\" \\",
                                         "caf\xc3\xa9 \xff\xfe bytes", "right\xe2\x80\xaeleft",
                                         "" };
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        name(log, MPF_OP_NAME, 10 + i, names[i]);
        testlog_event(log, 1 * MS, 1, MPF_OP_PUSH, 0, 10 + i, 0);
        testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000 * (i + 1), 100u << i);
        testlog_event(log, 1 * MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

/* One range with this name. */
static void named(const char *path, const char *text)
{
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, text);
    testlog_event(log, 1 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
    testlog_event(log, 2 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 5000);
    testlog_close(log, "exit");
}

/* The call stack of the next block: one Python frame, "f (file.c:12)". */
static void call(struct testlog *log, uint64_t id, const char *text)
{
    uint8_t bytes[256];
    const char *open = strrchr(text, '('), *colon = strrchr(text, ':');
    const uint64_t line = strtoull(colon + 1, NULL, 10);
    const int n = snprintf((char *)bytes + sizeof line, sizeof bytes - sizeof line, "%.*s%c%.*s",
                           (int)(open - 1 - text), text, 0, (int)(colon - open - 1), open + 1);
    memcpy(bytes, &line, sizeof line);
    testlog_data(log, 1 * MS, 1, MPF_OP_FRAME, id, bytes, sizeof line + (size_t)n + 1);
    testlog_data(log, 1 * MS, 1, MPF_OP_PYTHON, id, &id, sizeof id);
    testlog_event(log, 1 * MS, 1, MPF_OP_AT_PYTHON, 0, id, 0);
}

/* "KIB range > range" allocates a block of KIB KiB in these ranges, "KIB f (file.c:12)" one with
 * that call stack. */
static void ranges(const char *path, char *const *block, int blocks)
{
    struct testlog *log = testlog_open(path, NULL);
    uint32_t number = 10;
    for (int i = 0; i < blocks; i++) {
        char *rest = strchr(block[i], ' ') + 1, *end;
        int depth = 0;
        for (; rest; rest = end ? end + strlen(" > ") : NULL) {
            end = strstr(rest, " > ");
            if (end) *end = 0;
            if (rest[strlen(rest) - 1] == ')' && strchr(rest, ':')) {
                call(log, number++, rest);
                continue;
            }
            name(log, MPF_OP_NAME, number, rest);
            testlog_event(log, 1 * MS, 1, MPF_OP_PUSH, 0, number++, 0);
            depth++;
        }
        testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000u * (uint64_t)(i + 1),
                      strtoull(block[i], NULL, 10) << 10);
        while (depth--) testlog_event(log, 1 * MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

/* A process with this command, which has 40 MiB without a name. */
static void command(const char *path, char *const *word, int words)
{
    enum { MOST = 64 };
    const char *pairs[2 * MOST + 7] = { "root", "1", "stacks", "large", "stacks.large", "1048576" };
    for (int i = 0; i < words && i < MOST; i++) {
        pairs[6 + 2 * i] = "argv";
        pairs[7 + 2 * i] = word[i];
    }
    struct testlog *log = testlog_open(path, pairs);
    testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000000, 40 * MIB);
    testlog_close(log, "exit");
}

/* N threads of a pool, each with a block of 2 MiB, the third with 64 MiB. Then two threads whose
 * numbers are parts of their names, and two without numbers. */
static void pool(const char *path, uint64_t threads)
{
    static const char *const others[] = { "io1", "io2", "loader", "loader" };
    struct testlog *log = testlog_open(path, NULL);
    char text[32];
    for (uint32_t i = 0; i < threads + 4; i++) {
        snprintf(text, sizeof text, "worker %u", i);
        const char *name = i < threads ? text : others[i - threads];
        testlog_data(log, 0, i + 1, MPF_OP_THREAD, 4242 + i, name, strlen(name));
        testlog_event(log, (i + 1) * MS, i + 1, MPF_OP_ALLOC, MPF_HEAP_HOST,
                      0x10000000u * (uint64_t)(i + 1), i == 2 ? 64 * MIB : 2 * MIB);
    }
    testlog_close(log, "exit");
}

/* A child of the process of `whole`. */
static void child(const char *path)
{
    static const char *const pairs[] = { "pid",  "4300",       "ppid",
                                         "4242", "parent.log", "/elsewhere/whole.zst",
                                         "argv", "./child",    NULL };
    struct testlog *log = testlog_open(path, pairs);
    testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 5000);
    testlog_event(log, 2 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x777000, 0);
    testlog_close(log, "exit");
}

/* N events of a program that has 100,000 live blocks and frees them in random order. */
static void churn(const char *path, uint64_t events)
{
    enum { LIVE = 100000 };
    struct testlog *log = testlog_open(path, NULL);
    uint8_t *live = calloc(LIVE, 1);
    uint64_t seed = 1;
    for (uint64_t i = 0; i < events; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint64_t block = (seed >> 33) % LIVE, addr = 0x550000000000 + block * 64;
        if (live[block]) testlog_event(log, i * 20, 1, MPF_OP_FREE, MPF_HEAP_HOST, addr, 0);
        else
            testlog_event(log, i * 20, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, addr,
                          16 + (seed >> 20 & 63));
        live[block] ^= 1;
    }
    free(live);
    testlog_close(log, "exit");
}

/* N events of four threads in forty nested ranges that repeat. There are sizes of all classes, and
 * the heap grows and shrinks. An allocation fails after a quarter of the events. */
static void mixed(const char *path, uint64_t events)
{
    enum { LIVE = 50000, RANGES = 40, THREADS = 4 };
    struct testlog *log = testlog_open(path, NULL);
    uint8_t *live = calloc(LIVE, 1);
    uint64_t seed = 7;
    for (uint32_t i = 0; i < RANGES; i++) {
        char text[32];
        snprintf(text, sizeof text, "%s %u", i < 8 ? "phase" : "layer", i);
        name(log, MPF_OP_NAME, 10 + i, text);
    }
    for (uint64_t i = 0; i < events; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint64_t at = i * 200, swing = i / (events / 40 + 1) % 2 ? LIVE : LIVE / 3,
                       block = (seed >> 33) % swing;
        const uint32_t thread = 1 + (uint32_t)(i / 1000 % THREADS);
        const uint64_t addr = 0x550000000000 + block * 0x100000;
        if (i % 1000 == 0) {
            testlog_event(log, at, thread, MPF_OP_PUSH, 0, 10 + i / 1000 % 8, 0);
            testlog_event(log, at, thread, MPF_OP_PUSH, 0, 18 + i / 1000 % 32, 0);
        }
        if (i == events / 4)
            testlog_event(log, at, thread, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 1 << 30);
        if (live[block]) testlog_event(log, at, thread, MPF_OP_FREE, MPF_HEAP_HOST, addr, 0);
        else
            testlog_event(log, at, thread, MPF_OP_ALLOC, MPF_HEAP_HOST, addr,
                          UINT64_C(1) << (seed >> 20) % 17 | (seed >> 50 & 15));
        live[block] ^= 1;
        for (int pops = i % 1000 == 999 ? 2 : 0; pops; pops--)
            testlog_event(log, at, thread, MPF_OP_POP, 0, 0, 0);
    }
    free(live);
    testlog_close(log, "exit");
}

/* N changes on a clock with coarse steps, like a real one: several changes share a time, blocks are
 * freed and allocated within it, and mappings are split. */
static void ticks(const char *path, uint64_t events)
{
    enum { LIVE = 500, STEP = 1024, PAGE = 4096 };
    struct testlog *log = testlog_open(path, NULL);
    uint8_t live[LIVE] = { 0 };
    uint64_t seed = 11;
    for (uint32_t i = 0; i < 8; i++) {
        char text[16];
        snprintf(text, sizeof text, "phase %u", i);
        name(log, MPF_OP_NAME, 10 + i, text);
    }
    for (uint64_t i = 0; i < events; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint64_t at = i / 4 * STEP, block = (seed >> 33) % LIVE,
                       addr = 0x550000000000 + block * 0x100000;
        const uint64_t map = 0x7f0000000000 + block % 16 * 16 * PAGE, size = UINT64_C(16)
                                                                             << (seed >> 20) % 14;
        if (i % 100 == 0) testlog_event(log, at, 1, MPF_OP_PUSH, 0, 10 + i / 100 % 8, 0);
        if (!live[block]) testlog_event(log, at, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, addr, size);
        else if (seed >> 62) testlog_event(log, at, 1, MPF_OP_FREE, MPF_HEAP_HOST, addr, 0);
        else {
            testlog_event(log, at, 1, MPF_OP_MOVE_BEGIN, MPF_HEAP_HOST, addr, 0);
            testlog_event(log, at, 1, MPF_OP_MOVE_END, MPF_HEAP_HOST, addr, size);
        }
        live[block] = !live[block] || !(seed >> 62);
        if (seed >> 59 == 1) testlog_event(log, at, 1, MPF_OP_MAP, MPF_HEAP_MMAP, map, 16 * PAGE);
        if (seed >> 59 == 2)
            testlog_event(log, at, 1, MPF_OP_UNMAP, MPF_HEAP_MMAP, map + 4 * PAGE, 4 * PAGE);
        if (seed >> 59 == 3) testlog_event(log, at, 1, MPF_OP_UNMAP, MPF_HEAP_MMAP, map, 40 * PAGE);
        if (i % 100 == 99) testlog_event(log, at, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

/* N events. One in the middle allocates a gibibyte for a microsecond. */
static void spike(const char *path, uint64_t events)
{
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, "the culprit");
    for (uint64_t i = 0; i < events; i++) {
        const uint64_t at = i * 1000, addr = 0x550000000000 + i / 2 % 1000 * 4096;
        if (i == events / 2) {
            testlog_event(log, at, 1, MPF_OP_PUSH, 0, 10, 0);
            testlog_event(log, at, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x7f0000000000,
                          UINT64_C(1) << 30);
            testlog_event(log, at + 1, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x7f0000000000, 0);
            testlog_event(log, at + 1, 1, MPF_OP_POP, 0, 0, 0);
        }
        testlog_event(log, at + 2, 1, i % 2 ? MPF_OP_FREE : MPF_OP_ALLOC, MPF_HEAP_HOST, addr,
                      i % 2 ? 0 : 100 + i % 977);
    }
    testlog_close(log, "exit");
}

/* N threads that work all the time, and a loop in the first one. */
static void crowd(const char *path, uint64_t threads)
{
    struct testlog *log = testlog_open(path, NULL);
    uint64_t now = 0;
    name(log, MPF_OP_NAME, 10, "worker");
    name(log, MPF_OP_NAME, 11, "step");
    for (uint32_t t = 2; t < threads + 2; t++)
        testlog_event(log, now += MS, t, MPF_OP_PUSH, 0, 10, 0);
    for (uint64_t i = 0; i < 8; i++) {
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 11, 0);
        testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000 + i * MIB, MIB);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    for (uint32_t t = 2; t < threads + 2; t++)
        testlog_event(log, now += MS, t, MPF_OP_POP, 0, 0, 0);
    testlog_close(log, "exit");
}

/* A rank of a training run with N steps of forward and backward in nested ranges. Rank 5 uses more
 * memory and has two failures. */
static void rank(const char *path, uint64_t number)
{
    enum { STEPS = 30, LAYERS = 12 };
    char text[2][16];
    snprintf(text[0], sizeof text[0], "%u", (unsigned)(5000 + number));
    snprintf(text[1], sizeof text[1], "%u", (unsigned)number);
    const char *const pairs[] = { "pid", text[0], "rank", text[1], "argv", "train.py", NULL };
    struct testlog *log = testlog_open(path, pairs);
    const uint64_t more = number == 5 ? 3 : 2;
    uint64_t now = MS;
    name(log, MPF_OP_NAME, 10, "step");
    name(log, MPF_OP_NAME, 11, "forward");
    name(log, MPF_OP_NAME, 12, "backward");
    name(log, MPF_OP_NAME, 13, "checkpoint");
    testlog_data(log, 0, 1, MPF_OP_THREAD, 5000 + number, "main", 4);
    testlog_event(log, now, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, 40 * MIB);
    for (uint64_t step = 0; step < STEPS; step++) {
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10, 0);
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 11, 0);
        for (uint64_t i = 1; i <= LAYERS; i++)
            testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 32,
                          more * MIB + i * 4096);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 12, 0);
        for (uint64_t i = LAYERS; i >= 1; i--) {
            testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, (100 + i) << 32, MIB / 2);
            testlog_event(log, now += MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, i << 32, 0);
        }
        for (uint64_t i = LAYERS; i >= 1; i--)
            testlog_event(log, now += MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, (100 + i) << 32, 0);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        if (step % 10 == 9) testlog_event(log, now += MS, 1, MPF_OP_MARK, 0, 13, 0);
        if (number == 5 && step > 27)
            testlog_event(log, now += MS, 1, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 512 * MIB);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

/* A loader (0) and its workers, which keep some memory in each step of a second. The second worker
 * is refused memory, and killed after 150 s. The ninth has a long name. */
static void worker(const char *path, uint64_t number)
{
    char pid[16], ppid[16];
    snprintf(pid, sizeof pid, "%u", (unsigned)(6000 + number));
    snprintf(ppid, sizeof ppid, "%u", number ? 6000u : 1u);
    const char *const program = number == 9 ? "画像を縮小して保存する長い名前"
                                : number    ? "worker"
                                            : "train.py";
    const char *const pairs[] = { "pid", pid, "ppid", ppid, "argv", program, NULL };
    struct testlog *log = testlog_open(path, pairs);
    const uint64_t seconds = number == 2 ? 150 : 200, grain = (number + 1) * MIB / 8;
    name(log, MPF_OP_NAME, 10, "load");
    name(log, MPF_OP_NAME, 11, "decode");
    testlog_data(log, 0, 1, MPF_OP_THREAD, 6000 + number, "main", 4);
    testlog_event(log, 0, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, 3 * MIB);
    for (uint64_t i = 1; i <= seconds; i++) {
        testlog_event(log, i * 1000 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
        testlog_event(log, i * 1000 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 32, grain);
        testlog_event(log, i * 1000 * MS, 1, MPF_OP_PUSH, 0, 11, 0);
        testlog_event(log, i * 1000 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 32 | 0x1000,
                      i < 100 ? 0 : grain / 2);
        if (number == 2 && i > 147)
            testlog_event(log, i * 1000 * MS, 1, MPF_OP_FAIL, MPF_HEAP_HOST, 12, i * MIB);
        testlog_event(log, i * 1000 * MS, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, i * 1000 * MS, 1, MPF_OP_POP, 0, 0, 0);
        if (i % 10 == 0) sample(log, i * 1000 * MS + MS, 4 * MIB + i * grain);
    }
    testlog_close(log, number == 2 ? NULL : "exit");
}

/* N steps of a server. 100 MiB live from the beginning. Each step allocates 4 layers of 50 MiB, the
 * 7th one 1.7 GiB more for its logits, and frees all of it. Each step leaves 41 sessions of 224
 * bytes, and each of the first quarter an entry of 1 MiB in a cache. @numbered: ranges are "step
 * 0", "step 1", ... instead of "step". */
static void loop_of(const char *path, uint64_t steps, bool numbered)
{
    enum { LAYERS = 4, SESSIONS = 41, WARM = 1, STEP = 2, FORWARD, LOGITS, SESSION, CACHE, LAYER };
    static const char *const names[] = { [WARM] = "load",
                                         [STEP] = "step",
                                         [FORWARD] = "forward",
                                         [LOGITS] = "logits",
                                         [SESSION] = "make_session",
                                         [CACHE] = "cache" };
    struct testlog *log = testlog_open(path, NULL);
    uint64_t now = MS, kept = 0x100000000000;
    char text[32];
    for (uint32_t i = WARM; i < LAYER; i++) name(log, MPF_OP_NAME, 10 + i, names[i]);
    for (uint32_t i = 0; i < LAYERS; i++) {
        snprintf(text, sizeof text, "layers.%u", i);
        name(log, MPF_OP_NAME, 10 + LAYER + i, text);
    }
    testlog_data(log, 0, 1, MPF_OP_THREAD, 4242, "main", 4);
    testlog_event(log, now, 1, MPF_OP_PUSH, 0, 10 + WARM, 0);
    testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, 100 * MIB);
    testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
    for (uint32_t step = 0; step < steps; step++) {
        const uint32_t own = numbered ? 100 + step : 10 + STEP;
        snprintf(text, sizeof text, "step %u", step);
        if (numbered) name(log, MPF_OP_NAME, own, text);
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, own, 0);
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10 + FORWARD, 0);
        for (uint32_t i = 0; i < LAYERS; i++) {
            testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10 + LAYER + i, 0);
            testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, (i + 1ull) << 32,
                          50 * MIB);
            testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        }
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10 + LOGITS, 0);
        testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x900000000,
                      step == 6 ? 1750 * MIB : 10 * MIB);
        testlog_event(log, now += MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x900000000, 0);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        for (uint32_t i = 0; i < LAYERS; i++)
            testlog_event(log, now += MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, (i + 1ull) << 32, 0);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10 + SESSION, 0);
        for (uint32_t i = 0; i < SESSIONS; i++)
            testlog_event(log, now, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, kept += 4096, 224);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10 + CACHE, 0);
        if (step < steps / 4)
            testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, kept += 4 * MIB, MIB);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

static void loop(const char *path, uint64_t steps) { loop_of(path, steps, false); }
static void numbered_loop(const char *path, uint64_t steps) { loop_of(path, steps, true); }

/* N steps, of which no two consecutive ones are equal. The step at four fifths allocates 1.7 GiB,
 * and the one before it keeps 64 MiB. */
static void jagged(const char *path, uint64_t steps)
{
    struct testlog *log = testlog_open(path, NULL);
    const uint64_t worst = steps * 4 / 5;
    uint64_t now = MS;
    name(log, MPF_OP_NAME, 10, "step");
    for (uint64_t i = 1; i <= steps; i++) {
        testlog_event(log, now += MS, 1, MPF_OP_PUSH, 0, 10, 0);
        testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000,
                      i == worst ? 1700 * MIB : (300 + i * 7 % 11 * 8) * MIB);
        if (i + 1 == worst)
            testlog_event(log, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x2000, 64 * MIB);
        testlog_event(log, now += MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x1000, 0);
        testlog_event(log, now += MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

/* A process that executes another program. @number: 0 for the first program, 1 or 2 for the next
 * one. 2 is killed when it has filled its cgroup. */
static void image(const char *path, uint64_t number)
{
    const char *const pairs[] = { "pid",  "7000", "ppid",
                                  "6000", "argv", number ? "/usr/bin/tool" : "/bin/sh",
                                  NULL };
    struct testlog *log = testlog_open(path, pairs);
    testlog_event(log, MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, (number + 1) * MIB);
    for (uint64_t i = 1; number == 2 && i <= 20; i++) {
        testlog_event(log, i * 3 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 32, 3 * MIB);
        sample(log, i * 3 * MS, i * 3 * MIB);
    }
    testlog_close(log, number == 2 ? NULL : number ? "exit" : "exec");
}

/* A process with N MiB. It is killed at the limit of its cgroup, 200 MiB. If N is odd, the kinds of
 * the charge are known: most of it is files on tmpfs. */
static void charged(const char *path, uint64_t n)
{
    const uint64_t cgroup[MPF_CGROUP_COUNT] = { 198 * MIB, 200 * MIB, 198 * MIB, 0,      0,
                                                n * MIB,   MIB,       160 * MIB, 9 * MIB };
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, "load");
    testlog_event(log, 1 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
    testlog_event(log, 2 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, n / 2 * MIB);
    testlog_event(log, 800 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, UINT64_C(1) << 32, n / 2 * MIB);
    sample_in(log, 900 * MS, n * MIB, 198 * MIB, 200 * MIB);
    if (n % 2) testlog_data(log, 900 * MS, 1, MPF_OP_SAMPLE_CGROUP, 0, cgroup, sizeof cgroup);
    testlog_event(log, 950 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, UINT64_C(2) << 32, 64);
    testlog_close(log, NULL);
}

/* A process that maps 200 GiB and writes to MIBS of it. It is killed a second later, and no cgroup
 * is known. */
static void untouched(const char *path, uint64_t mibs)
{
    const uint64_t rss[] = { mibs * MIB, 2 * MIB,     0,           (mibs + 2) * MIB,
                             0,          MPF_UNKNOWN, MPF_UNKNOWN, MIB };
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, "load");
    testlog_event(log, 1 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
    testlog_event(log, 2 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, UINT64_C(1) << 40,
                  UINT64_C(200) << 30);
    testlog_data(log, 900 * MS, 1, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
    testlog_event(log, 1000 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 64);
    testlog_close(log, NULL);
}

/* A phase allocates a block of 2 MiB every 40 ms, N in all, and frees them. The next phase keeps 10
 * blocks of 5 MiB, and the program runs 400 ms longer. */
static void phases(const char *path, uint64_t blocks)
{
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, "build");
    name(log, MPF_OP_NAME, 11, "keep");
    testlog_event(log, 0, 1, MPF_OP_PUSH, 0, 10, 0);
    uint64_t now = 0;
    for (uint64_t i = 0; i < blocks; i++)
        testlog_event(log, now += 40 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, (i + 1) << 24, 2 * MIB);
    for (uint64_t i = 0; i < blocks; i++)
        testlog_event(log, now, 1, MPF_OP_FREE, MPF_HEAP_HOST, (i + 1) << 24, 0);
    testlog_event(log, now, 1, MPF_OP_POP, 0, 0, 0);
    testlog_event(log, now, 1, MPF_OP_PUSH, 0, 11, 0);
    for (uint64_t i = 0; i < 10; i++)
        testlog_event(log, now += 40 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, (i + 1) << 40, 5 * MIB);
    testlog_event(log, now += 400 * MS, 1, MPF_OP_POP, 0, 0, 0);
    testlog_close(log, "exit");
}

/* Two mappings. The larger one is not resident any more when the second one is made, N ms before
 * the only sample. */
static void dropped(const char *path, uint64_t n)
{
    const uint64_t rss[] = { 20 * MIB, 2 * MIB, 0, 302 * MIB, 0, MPF_UNKNOWN, MPF_UNKNOWN, MIB };
    struct testlog *log = testlog_open(path, NULL);
    testlog_event(log, 1 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, UINT64_C(1) << 32, 300 * MIB);
    testlog_event(log, 1000 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, UINT64_C(2) << 32, 20 * MIB);
    testlog_data(log, (1000 + n) * MS, 1, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
    testlog_close(log, "exit");
}

static void sample_high(struct testlog *log, uint64_t ns, uint64_t anonymous, uint64_t high,
                        uint64_t usage, uint64_t peak)
{
    const uint64_t rss[] = { anonymous, 2 * MIB, 0, high, 0, MPF_UNKNOWN, MPF_UNKNOWN, MIB };
    const uint64_t cgroup[] = { usage, 1024 * MIB, peak, 0 };
    testlog_data(log, ns, 1, MPF_OP_SAMPLE_RSS, 0, rss, sizeof rss);
    testlog_data(log, ns, 1, MPF_OP_SAMPLE_CGROUP, 0, cgroup, sizeof cgroup);
}

static void mapping_at(struct testlog *log, uint64_t ns, uint64_t from, uint64_t bytes,
                       uint64_t resident, uint64_t huge)
{
    const uint64_t value[MPF_MAPPING_COUNT] = { bytes, resident, huge, 0 };
    testlog_data(log, ns, 1, MPF_OP_RESIDENT_MAPPING, from, value, sizeof value);
}

/* 10 MiB of the first mapping of `high` are resident, and all of the second one. */
static void resident_at(struct testlog *log, uint64_t ns)
{
    const uint64_t kind[MPF_RESIDENT_COUNT] = { 1 * MIB, 330 * MIB, 28 * MIB, 0,         2 * MIB,
                                                0,       0,         MIB,      100 * MIB, 3 };
    testlog_data(log, ns, 1, MPF_OP_SAMPLE_RESIDENT, 0, kind, sizeof kind);
    mapping_at(log, ns, UINT64_C(2) << 32, 320 * MIB, 320 * MIB, 100 * MIB);
    mapping_at(log, ns, UINT64_C(1) << 32, 40 * MIB, 10 * MIB, 0);
}

/* Resident memory is highest with 360 MiB in the range burst, at 150 ms; live bytes are highest
 * with the range reserve, which does not touch its memory.  The cgroup's mark of 900 MiB is older
 * than the process.  @n: 0: the sample at 200 ms has the highest resident memory; 1: it was taken
 * after the burst; 2: the cgroup's mark rises after that; 3: as 0, with resident memory by kind and
 * by large mapping. */
static void high(const char *path, uint64_t n)
{
    const uint64_t top = 362 * MIB, burst = UINT64_C(2) << 32;
    const bool sampled = n == 0 || n == 3;
    struct testlog *log = testlog_open(path, NULL);
    name(log, MPF_OP_NAME, 10, "burst");
    name(log, MPF_OP_NAME, 11, "reserve");
    testlog_event(log, 1 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, UINT64_C(1) << 32, 40 * MIB);
    sample_high(log, 100 * MS, 40 * MIB, 42 * MIB, 500 * MIB, 900 * MIB);
    testlog_event(log, 140 * MS, 1, MPF_OP_PUSH, 0, 10, 0);
    testlog_event(log, 150 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, burst, 320 * MIB);
    if (!sampled) testlog_event(log, 190 * MS, 1, MPF_OP_UNMAP, 0, burst, 320 * MIB);
    sample_high(log, 200 * MS, sampled ? 360 * MIB : 40 * MIB, top, 700 * MIB, 900 * MIB);
    if (n == 3) resident_at(log, 200 * MS);
    if (sampled) testlog_event(log, 290 * MS, 1, MPF_OP_UNMAP, 0, burst, 320 * MIB);
    testlog_event(log, 300 * MS, 1, MPF_OP_POP, 0, 0, 0);
    testlog_event(log, 900 * MS, 1, MPF_OP_PUSH, 0, 11, 0);
    testlog_event(log, 950 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, UINT64_C(3) << 32, 500 * MIB);
    sample_high(log, 1000 * MS, 40 * MIB, top, 600 * MIB, n == 2 ? 980 * MIB : 900 * MIB);
    testlog_close(log, "exit");
}

/* A mapping of 300 MiB, and a sample 2 ms later, before the program writes to it. 1: a later sample
 * includes its pages. 2: the process is killed 50 ms after the mapping. 3: the program unmaps it
 * before the next sample, and the high-water mark is older. */
static void touched_later(const char *path, uint64_t kind)
{
    const uint64_t high = kind == 3 ? 500 * MIB : 8 * MIB;
    const uint64_t before[] = { 6 * MIB, 2 * MIB, 0, high, 0, MPF_UNKNOWN, MPF_UNKNOWN, MIB },
                   after[] = { 306 * MIB, 2 * MIB, 0, 308 * MIB, 0, MPF_UNKNOWN, MPF_UNKNOWN, MIB };
    struct testlog *log = testlog_open(path, NULL);
    testlog_data(log, 999 * MS, 1, MPF_OP_SAMPLE_RSS, 0, before, sizeof before);
    testlog_event(log, 1000 * MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, UINT64_C(1) << 32, 300 * MIB);
    testlog_data(log, 1002 * MS, 1, MPF_OP_SAMPLE_RSS, 0, before, sizeof before);
    if (kind == 1) testlog_data(log, 1400 * MS, 1, MPF_OP_SAMPLE_RSS, 0, after, sizeof after);
    if (kind == 2) testlog_event(log, 1050 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x1000, 16);
    if (kind == 3) {
        testlog_event(log, 1050 * MS, 1, MPF_OP_UNMAP, MPF_HEAP_MMAP, UINT64_C(1) << 32, 300 * MIB);
        testlog_data(log, 1100 * MS, 1, MPF_OP_SAMPLE_RSS, 0, before, sizeof before);
    }
    testlog_close(log, kind == 2 ? NULL : "exit");
}

/* Two processes of a cgroup that process 1 fills: it frees 100 of its 120 MiB, whose pages malloc
 * keeps, allocates 2 MiB elsewhere and is killed half a second later. Process 2 has almost no
 * memory, and its parent ends it. */
static void filled(const char *path, uint64_t number)
{
    const char *const pid = number == 1 ? "7101" : "7102";
    const char *const pairs[] = { "pid", pid, "ppid", "7100", "argv", "worker", NULL };
    struct testlog *log = testlog_open(path, pairs);
    name(log, MPF_OP_NAME, 10, "load");
    name(log, MPF_OP_NAME, 11, "serve");
    testlog_event(log, 0, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, MIB);
    if (number == 1) {
        testlog_event(log, MS, 1, MPF_OP_PUSH, 0, 10, 0);
        for (uint64_t i = 1; i <= 60; i++)
            testlog_event(log, i * 20 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, i << 32, 2 * MIB);
        testlog_event(log, 1201 * MS, 1, MPF_OP_POP, 0, 0, 0);
        for (uint64_t i = 1; i <= 50; i++)
            testlog_event(log, (1201 + i) * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, i << 32, 0);
        testlog_event(log, 1260 * MS, 1, MPF_OP_PUSH, 0, 11, 0);
        testlog_event(log, 1270 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, UINT64_C(100) << 32, 2 * MIB);
    }
    sample_in(log, 1300 * MS, (number == 1 ? 124 : 1) * MIB, 128 * MIB, 128 * MIB);
    testlog_event(log, 1700 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x20000, 64);
    testlog_close(log, NULL);
}

/* N workers of a team with 10 MiB each, and two helpers with the same name, when the process is
 * killed. Almost nothing grew before. */
static void team(const char *path, uint64_t workers)
{
    struct testlog *log = testlog_open(path, NULL);
    char text[32];
    testlog_data(log, 0, 1, MPF_OP_THREAD, 4242, "main", 4);
    testlog_event(log, 0, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x10000, 3 * MIB);
    for (uint32_t i = 2; i < workers + 4; i++) {
        if (i < 4) snprintf(text, sizeof text, "helper");
        else snprintf(text, sizeof text, "worker-%u", i - 4);
        testlog_data(log, i * MS, i, MPF_OP_THREAD, 4242 + i, text, strlen(text));
        testlog_event(log, i * MS, i, MPF_OP_ALLOC, MPF_HEAP_HOST, (uint64_t)i << 32,
                      i < 4 ? MIB : 10 * MIB);
    }
    testlog_event(log, 100 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x20000, MIB / 16);
    testlog_close(log, NULL);
}

/* A server with N requests of 40 ms that keep 40,000 B each. Blocks are counted every 120 ms, and a
 * sample of them is recorded, of which none to four live at the end of a request. */
static void counted(const char *path, uint64_t requests)
{
    static const char *const pairs[] = { "pid",       "4242",   "argv",        "./server",
                                         "root",      "1",      "host.blocks", "sample",
                                         "host.mean", "524288", "host.large",  "2411724",
                                         NULL };
    struct testlog *log = testlog_open(path, pairs);
    name(log, MPF_OP_NAME, 10, "request");
    for (uint64_t i = 0, live = 0; i < requests; i++) {
        const uint64_t now = (i + 1) * 40 * MS, bytes = (i + 1) * 40000,
                       totals[MPF_HOST_COUNT] = {
                           [MPF_HOST_MADE_BYTES] = bytes, [MPF_HOST_MADE_BLOCKS] = bytes / 100
                       };
        if (i % 3 == 0) testlog_data(log, now, 0, MPF_OP_SAMPLE_HOST, 0, totals, sizeof totals);
        testlog_event(log, now + MS, 1, MPF_OP_PUSH, 0, 10, 0);
        while (live > 0)
            testlog_event(log, now + MS, 1, MPF_OP_FREE, MPF_HEAP_PART, 0x10000 * live--, 0);
        while (live < i * 7 % 5)
            testlog_event(log, now + MS, 1, MPF_OP_ALLOC, MPF_HEAP_PART, 0x10000 * ++live, 30000);
        testlog_event(log, now + 4 * MS, 1, MPF_OP_POP, 0, 0, 0);
    }
    testlog_close(log, "exit");
}

/* N blocks that are allocated one after the other and freed more than twice as fast when the
 * program ends. A child of the process of `command`. */
static void leaver(const char *path, uint64_t blocks)
{
    const char *const pairs[] = { "pid",    "4243",  "ppid",         "4242",    "argv", "./leaver",
                                  "stacks", "large", "stacks.large", "1048576", NULL };
    struct testlog *log = testlog_open(path, pairs);
    for (uint64_t i = 0; i < blocks; i++)
        testlog_event(log, (i + 1) * 10 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, (i + 1) << 20, MIB);
    for (uint64_t i = 0; i < blocks; i++)
        testlog_event(log, blocks * 10 * MS + (i + 1) * 4 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST,
                      (i + 1) << 20, 0);
    testlog_close(log, "exit");
}

/* A table of N blocks is loaded within two seconds. Then the process is idle for eight seconds, in
 * which only samples are recorded, and SIGKILL ends it. */
static void idler(const char *path, uint64_t blocks)
{
    const char *const pairs[] = { "pid",   "4243",         "argv",    "./idler", "stacks",
                                  "large", "stacks.large", "1048576", NULL };
    struct testlog *log = testlog_open(path, pairs);
    for (uint64_t i = 0; i < blocks; i++)
        testlog_event(log, (i + 1) * 2000 * MS / blocks, 1, MPF_OP_ALLOC, MPF_HEAP_HOST,
                      (i + 1) << 24, 2 * MIB);
    for (uint64_t s = 1; s <= 10; s++) sample(log, s * 1000 * MS, blocks * 2 * MIB);
    testlog_close(log, NULL);
}

/* Places a block in the next chunk of a heap of glibc, and returns its address. */
static uint64_t place(struct testlog *log, uint64_t ns, uint64_t *top, uint64_t size)
{
    const uint64_t addr = *top + 16, chunk = (size + 23) / 16 * 16;
    testlog_event(log, ns, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, addr, size);
    *top += chunk;
    return addr;
}

/* A burst of 64 replies of 4,000 B in a heap whose first chunk is at `top`.  After every eighth one
 * comes a session of 64 B, which stays. Returns the new top. */
static uint64_t serve_burst(struct testlog *log, uint64_t ns, uint64_t top)
{
    enum { REPLIES = 64, EACH = 8 };
    uint64_t reply[REPLIES];
    for (int i = 0; i < REPLIES; i++) {
        testlog_event(log, ns, 1, MPF_OP_PUSH, 0, 10, 0);
        reply[i] = place(log, ns + (uint64_t)i * MS / 8, &top, 4000);
        testlog_event(log, ns, 1, MPF_OP_POP, 0, 0, 0);
        testlog_event(log, ns, 1, MPF_OP_PUSH, 0, 11, 0);
        if (i % EACH == EACH - 1) place(log, ns + (uint64_t)i * MS / 8, &top, 64);
        testlog_event(log, ns, 1, MPF_OP_POP, 0, 0, 0);
    }
    for (int i = 0; i < REPLIES; i++)
        testlog_event(log, ns + 50 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, reply[i], 0);
    return top;
}

/* Sessions pin pages of a burst of replies.  @n: 0: glibc, with the main heap, a heap of another
 * arena, and a block with its own mapping; 1: jemalloc; 2: of glibc, but only a sample of the
 * blocks; 3: of glibc, with resident memory by kind; 4: the same, and malloc_trim returns most free
 * pages. */
static void pages(const char *path, uint64_t n)
{
    const char *const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6", *const pairs[] = {
        "pid",
        "4242",
        "argv",
        "./server",
        "page_size",
        "4096",
        "allocator",
        n == 1 ? "/usr/lib/libjemalloc.so.2" : libc,
        n == 2 ? "host.blocks" : NULL,
        "large",
        "host.large",
        "4096",
        NULL
    };
    struct testlog *log = testlog_open(path, pairs);
    name(log, MPF_OP_NAME, 10, "reply");
    name(log, MPF_OP_NAME, 11, "session");
    testlog_event(log, 1 * MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, 0x7f2000000010, MIB);
    uint64_t top = serve_burst(log, 10 * MS, 0x555555560000);
    if (n == 3) { /* free memory above the last session */
        const uint64_t above = place(log, 80 * MS, &top, 100000);
        testlog_event(log, 81 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, above, 0);
    }
    serve_burst(log, 100 * MS, 0x7f1004000030);
    sample(log, 400 * MS, 3 * MIB);
    if (n >= 3) {
        const uint64_t kind[MPF_RESIDENT_COUNT] = {
            [MPF_RESIDENT_BRK] = 512 << 10, [MPF_RESIDENT_ANON] = 3 * MIB / 2
        };
        testlog_data(log, 400 * MS, 1, MPF_OP_SAMPLE_RESIDENT, 0, kind, sizeof kind);
    }
    if (n == 4) sample(log, 1600 * MS, 2 * MIB + (96 << 10));
    testlog_event(log, 2000 * MS, 1, MPF_OP_FREE, MPF_HEAP_HOST, 0x7f2000000010, 0);
    testlog_close(log, "exit");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(const char *path);
    } scenarios[] = {
        { "whole", whole },       { "unended", unended },
        { "reserved", reserved }, { "samples", samples },
        { "full", full },         { "limited", limited },
        { "killed", killed },     { "lossy", lossy },
        { "hole", hole },         { "nasty", nasty },
        { "child", child },       { "crashed", crashed },
        { "probed", probed },     { "huge_pages", huge_pages },
        { "halved", halved },
    };
    static const struct {
        const char *name;
        void (*make)(const char *path, uint64_t n);
    } numbered[] = {
        { "churn", churn },     { "mixed", mixed },
        { "ticks", ticks },     { "spike", spike },
        { "rank", rank },       { "worker", worker },
        { "loop", loop },       { "numbered_loop", numbered_loop },
        { "image", image },     { "crowd", crowd },
        { "jagged", jagged },   { "pool", pool },
        { "team", team },       { "leaver", leaver },
        { "counted", counted }, { "filled", filled },
        { "idler", idler },     { "charged", charged },
        { "dropped", dropped }, { "touched_later", touched_later },
        { "phases", phases },   { "untouched", untouched },
        { "high", high },       { "pages", pages },
    };
    if (argc == 4 && strcmp(argv[1], "named") == 0) return named(argv[2], argv[3]), 0;
    if (argc > 3 && strcmp(argv[1], "command") == 0) return command(argv[2], argv + 3, argc - 3), 0;
    if (argc > 3 && strcmp(argv[1], "ranges") == 0) return ranges(argv[2], argv + 3, argc - 3), 0;
    if (argc < 3) errx(2, "usage: make_log SCENARIO PATH [N]");
    for (size_t i = 0; argc == 4 && i < sizeof numbered / sizeof *numbered; i++) {
        if (strcmp(numbered[i].name, argv[1]) == 0)
            return numbered[i].make(argv[2], strtoull(argv[3], NULL, 10)), 0;
    }
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) return scenarios[i].make(argv[2]), 0;
    }
    errx(2, "unknown scenario %s", argv[1]);
}
