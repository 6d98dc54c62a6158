/* A library preloaded below libmemprof.so that counts exactly the calls that reach the real
 * allocator. It shares no code with memprof, and writes its counts as JSON to $ORACLE_OUT.
 *
 * It counts the calls that memprof has to record:
 *  - from the time when the C library has an environment. Before that memprof cannot know where to
 *    write its log.
 *  - until memprof's END. Handlers of on_exit run in reverse order. This library registers its
 *    handler inside memprof's call of on_exit, immediately before memprof's handler, so it runs
 *    immediately after it.
 *  - without the blocks of memprof's encoder thread and of its creation, which are recognised by
 *    the caller of pthread_create.
 *
 * One lock orders the calls. The table is mapped, never allocated. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOTS = 1 << 21 };
#define FREED UINT64_MAX
/* addr 0: never used; size FREED: not live; usable: malloc_usable_size */
static struct block {
    uint64_t addr, size, usable;
} * table;
static uint64_t allocations, frees, failures, live_bytes, peak_bytes, live_blocks, peak_blocks;
static bool begun, closed;
static int word;
static __thread bool memprofs __attribute__((tls_model("initial-exec")));

static void lock(void)
{
    while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE)) sched_yield();
}
static void unlock(void) { __atomic_store_n(&word, 0, __ATOMIC_RELEASE); }

/* ---- the table */

static struct block *find(uint64_t addr)
{
    for (uint64_t i = addr * 0x9E3779B97F4A7C15u >> 43;; i = (i + 1) % SLOTS)
        if (table[i].addr == addr || !table[i].addr) return &table[i];
}

size_t malloc_usable_size(void *p)
{
    static size_t (*next)(void *);
    if (!next) next = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(p);
}

static void insert(void *p, size_t size)
{
    *find((uintptr_t)p) = (struct block){ (uintptr_t)p, size, malloc_usable_size(p) };
    allocations++;
    live_blocks++;
    live_bytes += size;
    if (live_bytes <= peak_bytes) return;
    peak_bytes = live_bytes;
    peak_blocks = live_blocks;
}

/* memprof's own blocks, and blocks from before counting began, are not in the table. */
static bool drop(void *p)
{
    struct block *b = find((uintptr_t)p);
    if (!b->addr || b->size == FREED) return false;
    live_bytes -= b->size;
    live_blocks--;
    frees++;
    b->size = FREED;
    return true;
}

/* ---- the end */

static void write_live(int fd, bool usable)
{
    const char *comma = "";
    for (size_t i = 0; i < SLOTS; i++) {
        const struct block *b = &table[i];
        if (!b->addr || b->size == FREED) continue;
        dprintf(fd, "%s[%" PRIu64 ", %" PRIu64 "]", comma, b->addr, usable ? b->usable : b->size);
        comma = ", ";
    }
}

static void write_counters(int fd)
{
    dprintf(fd,
            "{\"allocations\": %" PRIu64 ", \"frees\": %" PRIu64 ", \"failures\": %" PRIu64
            ", \"peak_bytes\": %" PRIu64 ", \"peak_blocks\": %" PRIu64 ", \"live_bytes\": %" PRIu64
            ", \"live\": [",
            allocations, frees, failures, peak_bytes, peak_blocks, live_bytes);
    write_live(fd, false);
    dprintf(fd, "], \"usable\": [");
    write_live(fd, true);
    dprintf(fd, "]}\n");
}

static void end(int status, void *arg)
{
    (void)status;
    (void)arg;
    lock();
    closed = true;
    unlock();
    const int fd = open(getenv("ORACLE_OUT"), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return;
    write_counters(fd);
    close(fd);
}

/* ---- the calls */

static bool begin(void)
{
    if (begun) return !closed && !memprofs;
    if (!environ) return false;
    table = mmap(NULL, SLOTS * sizeof *table, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) return false;
    return begun = true;
}

/* NEXT(f) defines next_f(), the next library's f. memprof has already looked up all of them, and
 * serves the allocations of dlsym from its own arena. */
#define NEXT(name)                                                                                 \
    static __typeof__(name) *next_##name(void)                                                     \
    {                                                                                              \
        static __typeof__(name) *f;                                                                \
        if (!f) f = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                   \
        return f;                                                                                  \
    }
NEXT(malloc)
NEXT(calloc)
NEXT(realloc)
NEXT(free)
NEXT(memalign)
NEXT(aligned_alloc)
NEXT(posix_memalign)
NEXT(valloc)
NEXT(pvalloc)
NEXT(pthread_create)
NEXT(on_exit)

static void *made(void *p, size_t size)
{
    const int saved = errno;
    lock();
    if (begin()) {
        if (p) insert(p, size);
        else failures++;
    }
    unlock();
    errno = saved;
    return p;
}

static bool dropped(void *p)
{
    lock();
    const bool counted = p && begin() && drop(p);
    unlock();
    return counted;
}

void *malloc(size_t n) { return made(next_malloc()(n), n); }
void *calloc(size_t n, size_t each) { return made(next_calloc()(n, each), n * each); }
void *memalign(size_t a, size_t n) { return made(next_memalign()(a, n), n); }
void *aligned_alloc(size_t a, size_t n) { return made(next_aligned_alloc()(a, n), n); }
void *valloc(size_t n) { return made(next_valloc()(n), n); }
void *pvalloc(size_t n) { return made(next_pvalloc()(n), n); }

int posix_memalign(void **out, size_t a, size_t n)
{
    const int error = next_posix_memalign()(out, a, n);
    made(error ? NULL : *out, n);
    return error;
}

void free(void *p)
{
    dropped(p);
    next_free()(p);
}

/* The block is removed and added at once after the call. Until then other threads can get its
 * address only by the real call, which runs under the lock. */
void *realloc(void *p, size_t n)
{
    if (!p) return made(next_realloc()(p, n), n);
    lock();
    void *q = next_realloc()(p, n);
    const int saved = errno;
    if (begin()) {
        if (q || !n) drop(p);
        else failures++;
        if (q) insert(q, n);
    }
    unlock();
    errno = saved;
    return q;
}

/* ---- what memprof calls for itself */

static bool in_memprof(const void *code)
{
    Dl_info info;
    return dladdr(code, &info) && strstr(info.dli_fname, "libmemprof.so");
}

int on_exit(void (*handler)(int, void *), void *arg)
{
    if (in_memprof(__builtin_return_address(0))) next_on_exit()(end, NULL);
    return next_on_exit()(handler, arg);
}

struct start {
    void *(*run)(void *);
    void *arg;
};

static void *run_memprofs(void *arg)
{
    const struct start start = *(struct start *)arg;
    memprofs = true;
    return start.run(start.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    static struct start start;
    if (!in_memprof(__builtin_return_address(0)))
        return next_pthread_create()(thread, attr, run, arg);
    start = (struct start){ run, arg };
    memprofs = true;
    const int error = next_pthread_create()(thread, attr, run_memprofs, &start);
    memprofs = false;
    return error;
}
