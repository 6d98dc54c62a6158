#include "real.h"

#include <link.h>
#include <string.h>

#include "sys.h"

struct mp_real mp_real;
int (*mp_real_mallctl)(const char *, void *, size_t *, void *, size_t);
bool mp_real_known;
uint8_t mp_real_arena[MP_ARENA_BYTES] __attribute__((aligned(4096)));

static size_t arena_used;
static int resolver;            /* thread that resolves now */

void *mp_real_arena_alloc(size_t bytes, size_t alignment)
{
    if (bytes > MP_ARENA_BYTES || alignment > 4096) return NULL;
    if (alignment < 16) alignment = 16;
    size_t old = __atomic_load_n(&arena_used, __ATOMIC_RELAXED), at;
    do {
        at = (old + alignment - 1) & ~(alignment - 1);
        if (at + bytes > MP_ARENA_BYTES) return NULL;
    } while (!__atomic_compare_exchange_n(&arena_used, &old, at + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return mp_real_arena + at;
}

/* Allocator ABI functions that a C library may lack behave as their nearest relative. */
static void stand_in(struct mp_real *real)
{
    if (!real->cfree) real->cfree = real->free;
    if (!real->mmap64) real->mmap64 = (__typeof__(real->mmap64))real->mmap;
}

bool mp_real_resolve(void)
{
    const int me = mp_sys_gettid();
    int nobody = 0;
    if (!__atomic_compare_exchange_n(&resolver, &nobody, me, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return __atomic_load_n(&mp_real_known, __ATOMIC_ACQUIRE);
    struct mp_real real;
#define MP_HOOK(name) real.name = (__typeof__(real.name))dlsym(RTLD_NEXT, #name);
#define MP_HOOK_CXX(name)
#define MP_HOOK_TORCH(name)
#include "hooks.def"
#undef MP_HOOK
#undef MP_HOOK_CXX
#undef MP_HOOK_TORCH
    stand_in(&real);
    mp_real_mallctl = (__typeof__(mp_real_mallctl))dlsym(RTLD_NEXT, "mallctl");
    mp_real = real;
    __atomic_store_n(&mp_real_known, true, __ATOMIC_RELEASE);
    return true;
}

bool mp_real_object_of(const void *function, const char **name, const void **base)
{
    Dl_info info;
    if (!function || !dladdr(function, &info)) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    *name = slash ? slash + 1 : info.dli_fname;
    *base = info.dli_fbase;
    return true;
}

struct extent { uintptr_t from, to; };
struct search { const void *base; struct extent found; };

static struct { const char *name; struct extent extent; bool searched; } allocator;
static struct extent excluded;

static int find_extent(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct search *s = arg;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD) continue;
        const uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (at < from) from = at;
        if (at + p->p_memsz > to) to = at + p->p_memsz;
    }
    if ((uintptr_t)s->base < from || (uintptr_t)s->base >= to) return 0;
    s->found = (struct extent){ from, to };
    return 1;
}

/* The addresses of the object file that `base` lies in. */
static struct extent extent_of(const void *base)
{
    struct search s = { .base = base };
    dl_iterate_phdr(find_extent, &s);
    return s.found;
}

static bool within(const void *code, const struct extent *e) { return (uintptr_t)code >= e->from && (uintptr_t)code < e->to; }

const char *mp_real_allocator(void)
{
    if (allocator.searched) return allocator.name;
    const void *base;
    allocator.name = "";
    if (mp_real_object_of((const void *)mp_real.malloc, &allocator.name, &base) && strncmp(allocator.name, "libc.so", 7) != 0)
        allocator.extent = extent_of(base);
    allocator.searched = true;
    return allocator.name;
}

bool mp_real_in_allocator(const void *code)
{
    mp_real_allocator();
    return within(code, &allocator.extent) || within(code, &excluded);
}

void mp_real_exclude(const void *code) { excluded = extent_of(code); }
