/* make_nasty_log PATH [NAME]: a log in which every name is a text that a terminal, a browser, a
 * spreadsheet or a parser would interpret, at every place where a log has names. With NAME all
 * names are that text.
 *
 * make_nasty_log --list: prints the texts, each followed by a zero byte. */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "mpf/gpu.h"
#include "mpf/sample.h"
#include "testlog.h"

#define DEVICE mpf_heap_gpu(MPF_HEAP_DEVICE, 0)
#define TORCH  mpf_heap_gpu(MPF_HEAP_TORCH, 0)
#define BASE   UINT64_C(0x10000000)
#define MIB    (UINT64_C(1) << 20)

static const char *const texts[] = {
    "\033]0;owned\a\033[31m",
    "\033P+q544e\033\\",
    "\302\233"
    "31m",
    "a\rb",
    "a\nb",
    "a\bb",
    "a\177b",
    "a\001b",
    "=HYPERLINK(\"http://x\")",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\"=1",
    ",=1",
    "\302\240=1",
    "\357\274\235"
    "1",
    "a\342\200\256b",
    "a\330\234b",
    "a\342\200\213b",
    "a\357\273\277b",
    "a\363\240\200\201b",
    "a\363\240\201\277b",
    "a\342\201\240b",
    "a\302\255b",
    "a\342\200\217b",
    "a\342\201\246b",
    "a\342\200\250b",
    "a\357\277\271b",
    "a\341\240\216b",
    "a\357\270\217b",
    "a\303\050b",
    "\377\376",
    "\355\240\200",
    "\300\257",
    "\360\237",
    "\xed\xb0\x80",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "' onload='alert(1)",
    "<!--",
    "-->",
    "]]>",
    "&lt;&#60;",
    "javascript:alert(1)",
    "\"",
    "'",
    "\\",
    "\\\"",
    "a,b",
    "a;b",
    "a;=1;b",
    "a; @SUM(1)",
    "a|b",
    "step 12",
    "a 1 2.5 ",
    "{\"a\":1}",
    "::error file=a::owned",
    "a ::add-mask::a",
    ";;debug::owned",
    "##[error]owned",
    "##vso[task.setvariable variable=PATH]owned",
    "%n%s%d",
    "$(id)",
    "`id`",
    "../../../etc/passwd",
    "/dev/stdin",
    "'; DROP TABLE heaps; --",
    "",
};
enum { TEXTS = sizeof texts / sizeof *texts };
static const char *only; /* NULL: all texts in turn */

static const char *name_of(size_t i) { return only ? only : texts[i % TEXTS]; }

static struct testlog *out;
static uint64_t now;

static void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    testlog_event(out, now++, thread, op, heap, addr, size);
}

static void data(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, const void *bytes,
                 size_t count)
{
    testlog_heap_data(out, now++, thread, op, heap, addr, bytes, count);
}

#define WORDS(thread, op, heap, addr, ...)                                                         \
    do {                                                                                           \
        const uint64_t words[] = { __VA_ARGS__ };                                                  \
        data(thread, op, heap, addr, words, sizeof words);                                         \
    } while (0)

static void text(uint32_t thread, unsigned op, uint64_t addr, const char *text)
{
    data(thread, op, 0, addr, text, strlen(text));
}

/* Two numbers, then strings, each followed by a zero byte. */
static void strings(unsigned op, uint64_t addr, uint64_t a, size_t words, const char *one,
                    const char *two)
{
    uint8_t bytes[512] = { 0 };
    memcpy(bytes, &a, sizeof a);
    size_t at = words * sizeof a;
    at += (size_t)sprintf((char *)bytes + at, "%s", one) + 1;
    if (two) at += (size_t)sprintf((char *)bytes + at, "%s", two) + 1;
    data(1, op, 0, addr, bytes, at);
}

/* The driver's description of a device. */
static void device(uint32_t index)
{
    static const char *const keys[] = { "uuid",  "name",       "pci",           "driver",
                                        "cupti", "cupti.path", "cupti.refused", "used" };
    char bytes[4096];
    size_t at = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        at += (size_t)sprintf(bytes + at, "%s%c%s%c", keys[i], 0, name_of(index * 8 + i), 0);
    data(1, MPF_OP_GPU_DEVICE, 0, index, bytes, at);
}

/* A thread, a range of a domain, a file, a function, a place in Python, and an NVTX heap and region
 * with this name, and blocks of each. */
static void named(uint32_t i)
{
    const uint32_t thread = 2 + i;
    const uint64_t at = BASE + i * 2 * MIB;
    text(1, MPF_OP_NAME, 1000 + i, name_of(i));
    text(1, MPF_OP_DOMAIN, 10 + i, name_of(i));
    text(thread, MPF_OP_THREAD, 100 + i, name_of(i));
    strings(MPF_OP_SCHEMA, i, 18, 2, name_of(i), NULL);
    strings(MPF_OP_FRAME, 1 + i, i, 1, name_of(i), name_of(i));
    WORDS(1, MPF_OP_PYTHON, 0, 1 + i, 1 + i);
    uint8_t module[256] = { 0 };
    const uint64_t end = at + 4096;
    memcpy(module, &end, sizeof end);
    memcpy(module + 16, name_of(i), strlen(name_of(i)));
    data(1, MPF_OP_MODULE, 0, at, module, 16 + strlen(name_of(i)));
    WORDS(1, MPF_OP_STACK, 0, 1 + i, at + 16);

    event(thread, MPF_OP_PUSH, 0, 1000 + i, 0);
    event(thread, MPF_OP_PUSH, 0, (1000 + i) | (uint64_t)(10 + i) << 32, 0);
    event(thread, MPF_OP_MARK, 0, 1000 + i, 0);
    event(thread, MPF_OP_AT, 0, 1 + i, 0);
    event(thread, MPF_OP_ALLOC, MPF_HEAP_HOST, at, MIB + i);
    event(thread, MPF_OP_POP, 0, (uint64_t)(10 + i) << 32, 0);
    event(thread, MPF_OP_POP, 0, 0, 0);
    event(thread, MPF_OP_AT, 0, 1 + i, 0);
    event(thread, MPF_OP_AT_PYTHON, 0, 1 + i, 0);
    event(thread, MPF_OP_ALLOC, TORCH, at, MIB + i);
    event(thread, MPF_OP_ALLOC, DEVICE, at, 2 * MIB);
    WORDS(thread, MPF_OP_NVTX_HEAP, MPF_HEAP_NVTX, at, MIB, 1000 + i);
    event(thread, MPF_OP_NVTX_IN, MPF_HEAP_NVTX, at, 0);
    event(thread, MPF_OP_ALLOC, MPF_HEAP_NVTX, at, 4096 + i);
    event(thread, MPF_OP_NVTX_NAME, MPF_HEAP_NVTX, at, 1000 + i);
    event(thread, MPF_OP_PUSH, 0, 1000 + i, 0);
    event(thread, MPF_OP_FAIL, MPF_HEAP_HOST, 12, 4096);
    WORDS(thread, MPF_OP_TORCH_OOM, TORCH, 4096, 1, 2, 3, 4);
    event(thread, MPF_OP_ALLOC, MPF_HEAP_HOST, at + MIB, 64);
    event(thread, MPF_OP_FREE, MPF_HEAP_HOST, at + MIB, 0);
    text(thread, MPF_OP_THREAD_NAME, 100 + i, name_of(i));
}

/* A repeating range whose name combines a step's number and this name. */
static void step(const char *name, uint32_t id)
{
    text(1, MPF_OP_NAME, id, name);
    for (uint64_t i = 0; i < 4; i++) {
        event(1, MPF_OP_PUSH, 0, id, 0);
        event(1, MPF_OP_ALLOC, MPF_HEAP_HOST, BASE - (i + 1) * MIB, MIB << (i == 2));
        event(1, MPF_OP_POP, 0, 0, 0);
    }
}

static int list(void)
{
    for (size_t i = 0; i < TEXTS; i++) fwrite(texts[i], 1, strlen(texts[i]) + 1, stdout);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const keys[] = { "exe",       "cwd",  "rank",   "env.RANK", "journal",
                                        "allocator", "libc", "kernel", "memprof",  "heap",
                                        "window",    "keep", "stacks", "clock",    "parent.log" };
    enum { KEYS = sizeof keys / sizeof *keys };
    const char *pairs[2 * (KEYS + TEXTS) + 1] = { NULL };
    if (argc != 2 && argc != 3) return 2;
    if (!strcmp(argv[1], "--list")) return list();
    only = argv[2];
    for (size_t i = 0; i < KEYS; i++) {
        pairs[2 * i] = keys[i];
        pairs[2 * i + 1] = name_of(7 * i);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        pairs[2 * (KEYS + i)] = "argv";
        pairs[2 * (KEYS + i) + 1] = name_of(i);
    }
    testlog_host = name_of(0);
    out = testlog_open(argv[1], pairs);
    for (uint32_t i = 0; i < 8; i++) device(i);
    for (uint32_t i = 0; i < TEXTS; i++) named(i);
    step("\033[2J<step>=1", 900);
    testlog_close(out, "\033[31m=reason</script>");
    return 0;
}
