#include "companions/companion_hook.h"

#include <dlfcn.h>
#include <link.h>

#include "real/symbol.h"

/* The code whose calls are not the program's: the allocator, libmemprof.so, and this library. */
enum { SILENT = 3 };
struct extent {
    uintptr_t from, to;
};
static struct extent silent[SILENT];
static bool known;

void *mp_companion_next(void **slot, const char *name)
{
    void *f = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (f) return f;
    const int before = errno;
    if (!(f = mp_symbol_next(name))) f = dlsym(RTLD_NEXT, name);
    errno = before;
    __atomic_store_n(slot, f, __ATOMIC_RELEASE);
    return f;
}

static struct extent extent_of(const struct dl_phdr_info *info)
{
    struct extent e = { UINTPTR_MAX, 0 };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD) continue;
        const uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (at < e.from) e.from = at;
        if (at + p->p_memsz > e.to) e.to = at + p->p_memsz;
    }
    return e;
}

static bool inside(const struct extent *e, uintptr_t at) { return at >= e->from && at < e->to; }

static int keep_extent(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    const uintptr_t *address = arg;
    const struct extent e = extent_of(info);
    for (int i = 0; i < SILENT; i++) {
        if (inside(&e, address[i])) silent[i] = e;
    }
    return 0;
}

/* All threads find the same values, so concurrent calls do no harm. */
static void find_silent(const void *real)
{
    uintptr_t address[SILENT] = { (uintptr_t)real, (uintptr_t)memprof_record_alloc,
                                  (uintptr_t)find_silent };
    const int before = errno;
    dl_iterate_phdr(keep_extent, address);
    errno = before;
    __atomic_store_n(&known, true, __ATOMIC_RELEASE);
}

bool mp_companion_records(const void *code, const void *real)
{
    if (!memprof_record_alloc) return false;
    if (!__atomic_load_n(&known, __ATOMIC_ACQUIRE)) find_silent(real);
    for (int i = 0; i < SILENT; i++) {
        if (inside(&silent[i], (uintptr_t)code)) return false;
    }
    return true;
}
