/* make_own_log PATH [other]: a log of this program with its own call stacks. It is built with -g,
 * and load() is inlined. other: as if it had been another build. */
#define _GNU_SOURCE
#include <elf.h>
#include <err.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpf/slot.h"
#include "testlog.h"

#define MIB (UINT64_C(1) << 20)
#define MS  UINT64_C(1000000)

static struct testlog *target;
static uint64_t now, stacks, end_of_main;

static void data(unsigned op, uint64_t addr, const void *bytes, uint64_t count)
{
    testlog_data(target, now += MS, 1, op, addr, bytes, count);
}

/* ---- the object file */

struct own {
    uint64_t from, to, id_bytes;
    uint8_t id[64];
};

static void find_build_id(const char *at, const char *end, struct own *own)
{
    while (at < end) {
        const ElfW(Nhdr) *n = (const void *)at;
        const char *id = at + sizeof *n + ((n->n_namesz + 3u) & ~3u);
        if (n->n_type == NT_GNU_BUILD_ID) memcpy(own->id, id, own->id_bytes = n->n_descsz);
        at = id + ((n->n_descsz + 3u) & ~3u);
    }
}

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct own *own = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && p->p_offset == 0) own->from = at;
        if (p->p_type == PT_LOAD) own->to = at + p->p_memsz;
        if (p->p_type == PT_NOTE)
            find_build_id((const char *)at, (const char *)at + p->p_memsz, own);
    }
    return 1; /* the first object is the program */
}

static void write_module(bool other)
{
    struct own own = { 0 };
    uint8_t bytes[64 + 16 + PATH_MAX];
    char path[PATH_MAX];
    dl_iterate_phdr(find_own, &own);
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length < 0 || !own.id_bytes) errx(1, "no path or no build ID");
    if (other) own.id[0] ^= 1;
    const uint64_t head[] = { own.to, own.id_bytes };
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, own.id, own.id_bytes);
    memcpy(bytes + sizeof head + own.id_bytes, path, (size_t)length);
    data(MPF_OP_MODULE, own.from, bytes, sizeof head + own.id_bytes + (size_t)length);
}

/* ---- the program */

static void keep(void);

/* Sets the number of the next line, because the cases contain line numbers. */
#line 74
/* Replaces malloc, which records its caller. */
static __attribute__((noinline, noclone)) void allocate(uint64_t bytes, uint64_t caller)
{
    const uint64_t pc[] = { (uint64_t)(uintptr_t)__builtin_return_address(0), caller, end_of_main };
    const uint64_t id = ++stacks;
    data(MPF_OP_STACK, id, pc, sizeof pc);
    testlog_event(target, now += MS, 1, MPF_OP_AT, 0, id, 0);
    testlog_event(target, now += MS, 1, MPF_OP_ALLOC, MPF_HEAP_HOST, id * 64 * MIB, bytes);
}

static inline __attribute__((always_inline)) void load(uint64_t bytes, uint64_t caller)
{
    allocate(bytes, caller);
}

static __attribute__((noinline, noclone)) void images(void)
{
    const uint64_t caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
    load(5 * MIB, caller);
    load(3 * MIB, caller);
}

static __attribute__((noinline, noclone)) void tables(void)
{
    allocate(2 * MIB, (uint64_t)(uintptr_t)__builtin_return_address(0));
    __asm__ volatile(""); /* prevents a tail call */
}

static __attribute__((noinline, noclone)) void work(void)
{
    end_of_main = (uint64_t)(uintptr_t)__builtin_return_address(0);
    images();
    tables();
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    static const char *const pairs[] = { "pid", "4242", "argv", "./own", "stacks", "all", NULL };
    if (argc < 2) errx(2, "usage: make_own_log PATH [other|allocator]");
    target = testlog_open(argv[1], pairs);
    write_module(argc > 2 && strcmp(argv[2], "other") == 0);
    (argc > 2 && strcmp(argv[2], "allocator") == 0 ? keep : work)();
    testlog_close(target, "exit");
    return 0;
}

/* ---- a program that contains an allocator */

static uint64_t calls[4]; /* innermost first */

#define ENTER(depth) calls[depth] = (uint64_t)(uintptr_t)__builtin_return_address(0)
#define LEAVE        __asm__ volatile("") /* prevents a tail call */

static __attribute__((noinline, noclone)) void map(uint64_t bytes)
{
    ENTER(0);
    const uint64_t id = ++stacks;
    data(MPF_OP_STACK, id, calls, sizeof calls);
    testlog_event(target, now += MS, 1, MPF_OP_AT, 0, id, 0);
    testlog_event(target, now += MS, 1, MPF_OP_MAP, MPF_HEAP_MMAP, id * 64 * MIB, bytes);
}

static __attribute__((noinline, noclone)) void pages_map(uint64_t bytes)
{
    ENTER(1);
    map(bytes);
    LEAVE;
}

static __attribute__((noinline, noclone)) void je_malloc(uint64_t bytes)
{
    ENTER(2);
    pages_map(bytes);
    LEAVE;
}

static __attribute__((noinline, noclone)) void keep(void)
{
    ENTER(3);
    je_malloc(8 * MIB);
    LEAVE;
}
