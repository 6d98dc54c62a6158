#include "real/real.h"

#include <link.h>
#include <string.h>

#include "base/machine.h"
#include "base/sys.h"
#include "real/raw.h"
#include "real/symbol.h"

/* Stand-ins, which are called if the program's files do not have the name. */
struct mp_real mp_real = {
    .malloc = __libc_malloc,
    .calloc = __libc_calloc,
    .realloc = __libc_realloc,
    .free = __libc_free,
    .memalign = __libc_memalign,
    .aligned_alloc = __libc_memalign,
    .posix_memalign = mp_raw_posix_memalign,
    .valloc = __libc_valloc,
    .pvalloc = __libc_pvalloc,
    .mmap = mp_raw_mmap,
    .mmap64 = mp_raw_mmap,
    .munmap = mp_raw_munmap,
    .mremap = mp_raw_mremap,
    .mprotect = mp_raw_mprotect,
    .brk = mp_raw_brk,
    .sbrk = mp_raw_sbrk,
    .shmat = mp_raw_shmat,
    .shmdt = mp_raw_shmdt,
    .execve = mp_raw_execve,
    .execv = mp_raw_execv,
    .execvp = mp_raw_execvp,
    .execvpe = mp_raw_execvpe,
    .fexecve = mp_raw_fexecve,
    .execveat = mp_raw_execveat,
    .pthread_setname_np = mp_raw_pthread_setname_np,
    .prctl = mp_raw_prctl,
    .dlclose = mp_raw_dlclose,
    .unshare = mp_raw_unshare,
    .setns = mp_raw_setns,
    .mlockall = mp_raw_mlockall,
};
int (*mp_real_mallctl)(const char *, void *, size_t *, void *, size_t);
bool mp_real_known, mp_real_has_heap, mp_real_frees_libc;
static bool attached;

/* The loader's list begins with the program. */
static bool program_defines_malloc(void)
{
    const struct link_map *program = _r_debug.r_map;
    return mp_symbol_is_in(program->l_addr, program->l_ld, "malloc");
}

/* Every thread finds the same functions, and so does a signal handler in the middle of it, so no
 * thread has to wait. */
void mp_real_resolve(void)
{
    void *found;
#define MP_HOOK(name)                                                                              \
    if ((found = mp_symbol_next(#name)))                                                           \
        __atomic_store_n(&mp_real.name, (__typeof__(mp_real.name))found, __ATOMIC_RELAXED);
#define MP_HOOK_CXX(name)
#define MP_HOOK_TORCH(name)
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_CXX
#undef MP_HOOK_TORCH
    mp_real_frees_libc = mp_symbol_is_libcs("malloc", (const void *)mp_real.malloc) &&
                         mp_symbol_is_libcs("free", (const void *)mp_real.free) &&
                         !mp_machine_tags_memory();
    mp_real_has_heap = attached ? !program_defines_malloc()
                                : mp_symbol_before_libc() && !mp_symbol_before("malloc");
    mp_real_mallctl =
        mp_real_has_heap ? (__typeof__(mp_real_mallctl))mp_symbol_next("mallctl") : NULL;
    __atomic_store_n(&mp_real_known, true, __ATOMIC_RELEASE);
}

void mp_real_attach(void)
{
    attached = true;
    mp_real_resolve();
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

static bool is_of_allocator(const void *function)
{
    const char *name;
    const void *base, *malloc_base;
    return mp_real_object_of(function, &name, &base) &&
           mp_real_object_of((const void *)mp_real.malloc, &name, &malloc_base) &&
           base == malloc_base;
}

size_t (*mp_real_usable(void))(void *)
{
    void *f = mp_symbol_next("malloc_usable_size");
    return is_of_allocator(f) ? (size_t(*)(void *))f : NULL;
}

struct extent {
    uintptr_t from, to;
};
struct search {
    const void *base;
    struct extent found;
};

static struct {
    const char *name;
    struct extent extent;
    bool searched;
} allocator;
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

/* Returns the address range of the object file that contains @base. */
static struct extent extent_of(const void *base)
{
    struct search s = { .base = base };
    dl_iterate_phdr(find_extent, &s);
    return s.found;
}

static bool within(const void *code, const struct extent *e)
{
    return (uintptr_t)code >= e->from && (uintptr_t)code < e->to;
}

/* The program itself has no name in the loader's list. */
static const char *name_in_front(void)
{
    const char *path = mp_symbol_before("malloc")->l_name, *slash = strrchr(path, '/');
    return !*path ? mp_sys_program_name() : slash ? slash + 1 : path;
}

const char *mp_real_allocator(void)
{
    if (allocator.searched) return allocator.name;
    const void *base;
    allocator.name = "";
    if (!mp_real_has_heap) allocator.name = name_in_front();
    else if (mp_real_object_of((const void *)mp_real.malloc, &allocator.name, &base) &&
             strncmp(allocator.name, "libc.so", 7) != 0)
        allocator.extent = extent_of(base);
    allocator.searched = true;
    return allocator.name;
}

bool mp_real_in_allocator(const void *code)
{
    return within(code, &allocator.extent) || within(code, &excluded);
}

void mp_real_exclude(const void *code) { excluded = extent_of(code); }
