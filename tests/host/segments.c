/* `segments HOW [LIBRARY]`: main > outer > inner allocates a block of 2 MiB, in a program that is
 * linked with gaps between its segments.
 *
 * plain: only the block.
 * moved: the program first copies its code to memory without a file, at the same addresses, as
 * programs do to get huge pages.
 * hidden: LIBRARY allocates the block, and its first page cannot be read. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAME        __attribute__((noinline, noclone)) static
#define NOT_THE_LAST __asm__ volatile("" : : : "memory") /* so that no call becomes a jump */
static void *volatile kept;

FRAME void inner(size_t bytes)
{
    kept = malloc(bytes);
    NOT_THE_LAST;
}

FRAME void outer(size_t bytes)
{
    inner(bytes);
    NOT_THE_LAST;
}

struct span {
    uintptr_t from, bytes;
};

/* The callback is first called for the main program. */
static int find_code(struct dl_phdr_info *info, size_t size, void *out)
{
    struct span *code = out;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        const uintptr_t in_page = (uintptr_t)getpagesize() - 1, at = info->dlpi_addr + p->p_vaddr;
        code->from = at & ~in_page;
        code->bytes = (at + p->p_memsz - code->from + in_page) & ~in_page;
    }
    return 1;
}

static int move_code(void)
{
    struct span code = { 0 };
    dl_iterate_phdr(find_code, &code);
    void *copy = mmap(NULL, code.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!code.bytes || copy == MAP_FAILED) return -1;
    memcpy(copy, (void *)code.from, code.bytes);
    if (mprotect(copy, code.bytes, PROT_READ | PROT_EXEC) != 0) return -1;
    void *const to = (void *)code.from;
    return mremap(copy, code.bytes, code.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to ? 0 : -1;
}

static int call_hidden(const char *file)
{
    Dl_info info;
    void *library = dlopen(file, RTLD_NOW), *go = library ? dlsym(library, "go") : NULL;
    if (!go || !dladdr(go, &info)) return -1;
    if (mprotect(info.dli_fbase, (size_t)getpagesize(), PROT_NONE) != 0) return -1;
    ((void (*)(size_t))go)(2 << 20);
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "hidden") && argc > 2) return call_hidden(argv[2]) != 0;
    if (!strcmp(how, "moved") && move_code() != 0) return 1;
    outer(2 << 20);
    NOT_THE_LAST;
    return 0;
}
