/* One row per function that allocates or frees host memory: `table ROW` runs one, `table --list`
 * names them.
 *
 * A row whose byte counts depend on the C library prints the bytes that it keeps. test_table.py has
 * the numbers of the other rows. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
#include <wchar.h>

#define MIB ((size_t)1 << 20)
static void *volatile kept[8];
static int count;

static void *keep(void *p)
{
    kept[count++] = p;
    return p;
}

/* Prints the sum of the row's live blocks, if only the C library knows it. */
static void print_bytes(size_t bytes) { dprintf(1, "%zu\n", bytes); }

/* Returns a function that not every libc declares, because it is old or new. */
static void *function(const char *name)
{
    void *f = dlsym(RTLD_DEFAULT, name);
    if (!f) _exit(77);
    return f;
}

/* ---- host/heap */

// clang-format off
static void row_nothing(void) {}
static void row_malloc(void) { keep(malloc(1000)); free(malloc(500)); }
static void row_malloc_0(void) { keep(malloc(0)); free(malloc(0)); }
static void row_malloc_fails(void) { if (malloc(SIZE_MAX / 2)) abort(); }
static void row_calloc(void) { keep(calloc(10, 100)); free(calloc(1, 7)); }
static void row_calloc_overflow(void) { if (calloc(SIZE_MAX / 2, 3)) abort(); }
static void row_realloc_null(void) { keep(realloc(NULL, 300)); }
static void row_realloc_grow(void) { keep(realloc(malloc(100), 5000)); }
static void row_realloc_shrink(void) { keep(realloc(malloc(5000), 100)); }
static void row_realloc_zero(void) { if (realloc(malloc(100), 0)) abort(); }
static void row_realloc_fails(void)
{
    void *p = keep(malloc(100));
    if (realloc(p, SIZE_MAX / 2)) abort();
}
static void row_realloc_moves(void)
{
    char *p = malloc(16);
    for (size_t n = 32; n <= 4 * MIB; n *= 2) {
        keep(malloc(8));            /* so that the block has to move */
        free(kept[--count]);
        p = realloc(p, n);
    }
    free(p);
}
static void row_reallocarray(void) { keep(reallocarray(malloc(10), 10, 100)); }
static void row_reallocarray_overflow(void)
{
    void *p = keep(malloc(100));
    if (reallocarray(p, SIZE_MAX / 2, 3)) abort();
}
static void row_free_null(void) { free(NULL); }
static void row_cfree(void) { ((void (*)(void *))function("cfree"))(malloc(100)); }
static void row_memalign(void) { keep(memalign(256, 1000)); free(memalign(64, 10)); }
static void row_aligned_alloc(void) { keep(aligned_alloc(4096, 8192)); free(aligned_alloc(64, 64)); }
static void row_posix_memalign(void)
{
    void *p;
    if (posix_memalign(&p, 512, 1000) != 0) abort();
    keep(p);
}
static void row_posix_memalign_fails(void)
{
    void *p = NULL;
    if (posix_memalign(&p, 3, 1000) != EINVAL || p) abort();
}
static void row_valloc(void) { keep(valloc(1000)); }
static void row_pvalloc(void) { keep(pvalloc(1000)); }
static void row_free_sized(void) { ((void (*)(void *, size_t))function("free_sized"))(malloc(100), 100); }
static void row_free_aligned_sized(void)
{
    ((void (*)(void *, size_t, size_t))function("free_aligned_sized"))(aligned_alloc(64, 128), 64, 128);
}
static void row_strdup(void) { keep(strdup("nine char")); }
static void row_strndup(void) { keep(strndup("nine char", 4)); }
static void row_wcsdup(void) { keep(wcsdup(L"nine char")); }
static void row_asprintf(void)
{
    char *text;
    print_bytes((size_t)asprintf(&text, "%300d", 1) + 1);
    keep(text);
}
static void row_getcwd(void) { print_bytes(strlen(keep(getcwd(NULL, 0))) + 1); }
static void row_realpath(void) { keep(realpath("/", NULL)); }
static void row_getline(void)
{
    char *line = NULL;
    size_t n = 0;
    FILE *f = fmemopen((char[]){ "a line\n" }, 7, "r");
    if (getline(&line, &n, f) != 7) abort();
    fclose(f);
    print_bytes(n);
    keep(line);
}
static void row_open_memstream(void)
{
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    fprintf(f, "%5000d", 1);
    fclose(f);
    free(text);
}

/* ---- host/mmap */

static char *map(size_t bytes, int prot, int flags) { return mmap(NULL, bytes, prot, flags | MAP_ANONYMOUS, -1, 0); }
static char *map_rw(size_t bytes) { return map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE); }

static void row_mmap(void) { map_rw(MIB); munmap(map_rw(2 * MIB), 2 * MIB); }
static void row_mmap64(void) { mmap64(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void row_mmap_odd_size(void) { map_rw(MIB + 1); }
static void row_mmap_fails(void) { if (map_rw((size_t)1 << 60) != MAP_FAILED) abort(); }
static void row_mmap_none(void) { map(64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE); }
static void row_mmap_read(void) { map(64 * MIB, PROT_READ, MAP_PRIVATE); }
static void row_mmap_fixed_over(void)
{
    char *p = map_rw(4 * MIB);
    mmap(p + MIB, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
static void row_mmap_fixed_none(void)
{
    char *p = map_rw(4 * MIB);
    mmap(p + MIB, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}
static void row_mmap_file_over(void)
{
    char *p = map_rw(4 * MIB);
    const int fd = open("/proc/self/exe", O_RDONLY);
    mmap(p + MIB, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
    close(fd);
}
static void row_munmap_part(void) { munmap(map_rw(4 * MIB) + MIB, MIB); }
static void row_munmap_two(void)
{
    char *p = map(4 * MIB, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
    mmap(p, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mmap(p + 2 * MIB, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    /* Half of the first mapping, the reservation, and a quarter of the last mapping. */
    munmap(p + MIB / 2, 2 * MIB);
}
static void row_munmap_fails(void) { if (munmap(map_rw(MIB) + 1, MIB) != -1) abort(); }
static void row_mprotect_rw(void) { mprotect(map(4 * MIB, PROT_NONE, MAP_PRIVATE), MIB, PROT_READ | PROT_WRITE); }
static void row_mprotect_none(void) { mprotect(map_rw(4 * MIB) + MIB, MIB, PROT_NONE); }
static void row_mprotect_fails(void) { if (mprotect(map_rw(MIB) + 1, MIB, PROT_NONE) != -1) abort(); }
static void row_madvise(void) { madvise(map_rw(4 * MIB), MIB, MADV_DONTNEED); }
static void row_mremap_grow(void) { mremap(map_rw(MIB), MIB, 3 * MIB, MREMAP_MAYMOVE); }
static void row_mremap_shrink(void) { mremap(map_rw(4 * MIB), 4 * MIB, MIB, 0); }
static void row_mremap_fixed(void)
{
    char *place = map_rw(4 * MIB), *p = map_rw(MIB);
    mremap(p, MIB, MIB, MREMAP_MAYMOVE | MREMAP_FIXED, place + MIB);
}
static void row_mremap_fails(void) { if (mremap(map_rw(MIB), MIB, (size_t)1 << 60, MREMAP_MAYMOVE) != MAP_FAILED) abort(); }
static void row_sbrk(void)
{
    sbrk(3 * MIB);
    sbrk(100 - 2 * (intptr_t)MIB);  /* ends in the middle of a page */
}
static void row_sbrk_fails(void) { if (sbrk((intptr_t)1 << 60) != (void *)-1) abort(); }
static void row_brk(void)
{
    char *p = sbrk(0);
    /* The last call does not move the break. */
    if (brk(p + 3 * MIB) || brk(p + MIB) || brk(NULL)) abort();
}
static void row_brk_fails(void) { if (brk((char *)sbrk(0) + ((size_t)1 << 60)) != -1) abort(); }
static void row_mmap_private_file(void)
{
    const int fd = open("/proc/self/exe", O_RDONLY);
    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
}
static void row_mmap_stack(void) { map(MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_STACK | MAP_NORESERVE); }

/* ---- host/shm */

static char *map_fd(int fd, size_t bytes)
{
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0) _exit(77);
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
static void row_mmap_shared(void) { map(MIB, PROT_READ | PROT_WRITE, MAP_SHARED); }
static void row_shm_open(void)
{
    char name[64];
    snprintf(name, sizeof name, "/memprof-test-%d", (int)getpid());
    const int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    shm_unlink(name);
    map_fd(fd, MIB);
}
static void row_memfd(void)
{
    char *p = map_fd(memfd_create("test", 0), 2 * MIB);
    munmap(p, MIB);
}
static void row_mremap_shared(void) { mremap(map_fd(memfd_create("test", 0), 4 * MIB), 4 * MIB, 2 * MIB, 0); }
static int sysv(size_t bytes)
{
    const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    if (id < 0) _exit(77);
    return id;
}
static void row_shmat(void)
{
    const int id = sysv(MIB);
    shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
}
static void row_shmdt(void)
{
    const int id = sysv(MIB);
    void *p = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    if (shmdt(p) != 0) abort();
}

#define ROWS(X)                                                                                                         \
    X(nothing) X(malloc) X(malloc_0) X(malloc_fails) X(calloc) X(calloc_overflow) X(realloc_null) X(realloc_grow)       \
    X(realloc_shrink) X(realloc_zero) X(realloc_fails) X(realloc_moves) X(reallocarray) X(reallocarray_overflow)        \
    X(free_null) X(cfree) X(memalign) X(aligned_alloc) X(posix_memalign) X(posix_memalign_fails) X(valloc) X(pvalloc)   \
    X(free_sized) X(free_aligned_sized) X(strdup) X(strndup) X(wcsdup) X(asprintf) X(getcwd) X(realpath) X(getline)     \
    X(open_memstream)                                                                                                   \
    X(mmap) X(mmap64) X(mmap_odd_size) X(mmap_fails) X(mmap_none) X(mmap_read) X(mmap_fixed_over) X(mmap_fixed_none)    \
    X(mmap_file_over) X(munmap_part) X(munmap_two) X(munmap_fails) X(mprotect_rw) X(mprotect_none) X(mprotect_fails)    \
    X(madvise) X(mremap_grow) X(mremap_shrink) X(mremap_fixed) X(mremap_fails) X(mmap_private_file) X(mmap_stack)       \
    X(sbrk) X(sbrk_fails) X(brk) X(brk_fails)                                                                           \
    X(mmap_shared) X(shm_open) X(memfd) X(mremap_shared) X(shmat) X(shmdt)

// clang-format on
static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {
#define X(name) { #name, row_##name },
    ROWS(X)
#undef X
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (argc < 2) dprintf(1, "%s\n", rows[i].name);
        else if (!strcmp(argv[1], rows[i].name)) {
            rows[i].run();
            return 0;
        }
    return argc < 2 ? 0 : 2;
}
