/* `jit HOW`: main > run > code generated in memory > in_jit allocates a block of 2 MiB.
 *
 * plain: the code keeps a frame record, as JITs do for profilers.
 * map: the code also has a name in /tmp/perf-PID.map.
 * replaced: two functions were at the place of the code, one after the other.
 * open, old: everybody may write to that file, or it was changed before the process began.
 * without: the code keeps no frame record, and uses the frame pointer for a number. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FRAME        __attribute__((noinline, noclone)) static
#define NOT_THE_LAST __asm__ volatile("" : : : "memory") /* so that no call becomes a jump */
enum { PAGE = 4096 };
static void *volatile kept;

FRAME void in_jit(void)
{
    kept = malloc(2 << 20);
    NOT_THE_LAST;
}

#if defined(__x86_64__)
static const unsigned char code[] = {
    0x55,             /* push %rbp */
    0x48, 0x89, 0xe5, /* mov %rsp, %rbp; for `without`: xor $1, %rbp */
    0xff, 0xd7,       /* call *%rdi */
    0x5d, 0xc3,       /* pop %rbp; ret */
};
static const unsigned char number[] = { 0x48, 0x83, 0xf5, 0x01 };
#else
static const unsigned char code[] = { 0 }, number[] = { 0 };
#endif

static void *generate(int with_record)
{
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) exit(1);
    memcpy(page, code, sizeof code);
    if (!with_record) {
        memcpy(page + 1, number, sizeof number);
        memcpy(page + 1 + sizeof number, code + 4, sizeof code - 4);
    }
    if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) != 0) exit(1);
    return page;
}

static void write_map(const void *at, int names, const char *how)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (!map) exit(1);
    fprintf(map, "10 20 not here\n");
    for (int i = 0; i < names; i++)
        fprintf(map, "%lx %x script_%c a.js:1\n", (unsigned long)(uintptr_t)at, PAGE, 'a' + i);
    fclose(map);
    if (!strcmp(how, "open")) chmod(path, 0666);
    if (!strcmp(how, "old")) utimensat(AT_FDCWD, path, old, 0);
}

FRAME void run(void *page)
{
    ((void (*)(void (*)(void)))page)(in_jit);
    NOT_THE_LAST;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (sizeof code == 1) return 77;
    void *page = generate(strcmp(how, "without") != 0);
    if (!strcmp(how, "replaced")) write_map(page, 2, how);
    else if (strcmp(how, "plain") != 0 && strcmp(how, "without") != 0) write_map(page, 1, how);
    run(page);
    NOT_THE_LAST;
    return 0;
}
