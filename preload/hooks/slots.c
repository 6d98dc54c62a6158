/* A slot is a word that the loader filled by a relocation with the name of a function:
 * R_X86_64_JUMP_SLOT and GLOB_DAT for calls, R_X86_64_64 for pointers in data.
 *
 * Invariants:
 *  - Only a slot that leads to the function which the hook calls is replaced. It may instead not
 * have been used yet (lazy binding); then it is replaced if only one object of the process defines
 *    malloc, because then the loader would have found that one.
 *  - A slot is written in one instruction, because threads call through it at the same time.
 *  - Slots that the loader made read-only (RELRO) are read-only again afterwards. So no object is
 *    visited that the loader may still be relocating: the loader's lock is held, and no dlopen of
 * this thread is under way.
 *
 * Objects that are opened later are visited at the program's next call of dlsym or dlopen. The
 * hooks of both only jump to the real function, which looks at its return address to know its
 * caller. */
#include "hooks/slots.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/sys.h"
#include "real/real.h"
#include "real/symbol.h"

/* ---- the hooks by name */

enum { NAMES = 256 }; /* a power of two, several times the number of hooks */

struct hook {
    const char *name; /* NULL: a free place */
    uintptr_t hook, real;
};
static struct hook by_name[NAMES];

static unsigned place_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++) h = h * 33 + (uint8_t)*name;
    return (h ^ h >> 8 ^ h >> 16) & (NAMES - 1);
}

/* Returns the hook's place, or the free place for it. */
static struct hook *hook_at(const char *name)
{
    unsigned i = place_of(name);
    while (by_name[i].name && strcmp(by_name[i].name, name) != 0) i = (i + 1) & (NAMES - 1);
    return &by_name[i];
}

/* Of the mangled names only those of operators new and delete can be hooked. Objects have 100,000
 * others, each of which is long. */
static const struct hook *find_hook(const char *name)
{
    if (name[0] == '_' && name[1] == 'Z' && name[2] != 'n' && name[2] != 'd') return NULL;
    const struct hook *h = hook_at(name);
    return h->name ? h : NULL;
}

static void add_hook(const char *name, const void *hook, const void *real)
{
    if (hook && real) *hook_at(name) = (struct hook){ name, (uintptr_t)hook, (uintptr_t)real };
}

/* An operator of a C++ library calls malloc and free through slots. That of an allocator does not.
 */
static void add_operator(const char *name)
{
    const char *object = mp_symbol_next_object(name);
    if (!object || !strncmp(object, "libstdc++.so", 12) || !strncmp(object, "libc++", 6)) return;
    add_hook(name, mp_symbol_own(name), mp_symbol_next(name));
}

/* ---- loading of objects */

#if defined(__x86_64__)
static uint32_t loads; /* 1 if an object may have been loaded since the last visit */

void *mp_slots_dlopen, *mp_slots_dlmopen, *mp_slots_dlsym, *mp_slots_dlvsym;
void mp_hook_dlopen(void), mp_hook_dlmopen(void), mp_hook_dlsym(void), mp_hook_dlvsym(void);
void mp_slots_before_load(void), mp_slots_before_look_up(void);

/* Calls `before` with the arguments of the program's call saved, then jumps to the real function.
 */
#define JUMP(name, before)                                                                         \
    __asm__(".pushsection .text\n.p2align 4\n.hidden mp_hook_" name "\n.globl mp_hook_" name       \
            "\n.type mp_hook_" name ", @function\nmp_hook_" name ":\n.cfi_startproc\nendbr64\n"    \
            "pushq %rdi\n.cfi_adjust_cfa_offset 8\npushq %rsi\n.cfi_adjust_cfa_offset 8\n"         \
            "pushq %rdx\n.cfi_adjust_cfa_offset 8\ncall " before "\n"                              \
            "popq %rdx\n.cfi_adjust_cfa_offset -8\npopq %rsi\n.cfi_adjust_cfa_offset -8\n"         \
            "popq %rdi\n.cfi_adjust_cfa_offset -8\njmpq *mp_slots_" name "(%rip)\n.cfi_endproc\n"  \
            ".size mp_hook_" name ", .-mp_hook_" name "\n.popsection")
JUMP("dlopen", "mp_slots_before_load");
JUMP("dlmopen", "mp_slots_before_load");
JUMP("dlsym", "mp_slots_before_look_up");
JUMP("dlvsym", "mp_slots_before_look_up");

#define ADD_LOADER(name)                                                                           \
    mp_slots_##name = mp_symbol_next(#name);                                                       \
    add_hook(#name, (const void *)mp_hook_##name, mp_slots_##name)
#endif

static void find_hooks(void)
{
    memset(by_name, 0, sizeof by_name);
#define MP_HOOK(name)     add_hook(#name, mp_symbol_own(#name), mp_symbol_next(#name));
#define MP_HOOK_CXX(name) add_operator(#name);
#define MP_HOOK_TORCH(name)
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_CXX
#undef MP_HOOK_TORCH
#if defined(__x86_64__)
    ADD_LOADER(dlopen);
    ADD_LOADER(dlmopen);
    ADD_LOADER(dlsym);
    ADD_LOADER(dlvsym);
#endif
}

/* ---- the slots that were replaced, by address */

struct slot {
    uintptr_t at, before; /* at 0: a free place */
};
static struct {
    struct slot *slot;
    size_t places, used; /* places: a power of two */
} kept;

static struct slot *slot_at(uintptr_t at)
{
    size_t i = at * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (kept.places - 1);
    while (kept.slot[i].at && kept.slot[i].at != at) i = (i + 1) & (kept.places - 1);
    return &kept.slot[i];
}

/* Makes room for one more slot. Returns false without memory. */
static bool has_room(void)
{
    if (kept.slot && kept.used < kept.places / 2) return true;
    const struct slot *const old = kept.slot;
    const size_t old_places = kept.places, places = old ? 2 * old_places : 4096;
    struct slot *const larger = mp_sys_map(places * sizeof *larger);
    if (!larger) return false;
    kept.slot = larger;
    kept.places = places;
    for (size_t i = 0; old && i < old_places; i++)
        if (old[i].at) *slot_at(old[i].at) = old[i];
    if (old) mp_sys_munmap((void *)(uintptr_t)old, old_places * sizeof *old);
    return true;
}

/* ---- the slots of an object */

struct object {
    const struct dl_phdr_info *info;
    uintptr_t from, to, relro_from, relro_to; /* addresses; the last two in whole pages */
    const ElfW(Sym) * symbol;
    const char *text;
    size_t text_bytes;
    const ElfW(Rela) * table[2];
    size_t count[2];
    bool is_open; /* the pages of the RELRO segment are writable now */
};

static const void *address(const struct object *o, ElfW(Addr) value)
{
    return (const void *)(value < o->info->dlpi_addr ? value + o->info->dlpi_addr : value);
}

static void read_dynamic(struct object *o, const ElfW(Dyn) * d)
{
    for (; d->d_tag != DT_NULL; d++) switch (d->d_tag) {
        case DT_SYMTAB: o->symbol = address(o, d->d_un.d_ptr); break;
        case DT_STRTAB: o->text = address(o, d->d_un.d_ptr); break;
        case DT_STRSZ: o->text_bytes = d->d_un.d_val; break;
        case DT_RELA: o->table[0] = address(o, d->d_un.d_ptr); break;
        case DT_RELASZ: o->count[0] = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_JMPREL: o->table[1] = address(o, d->d_un.d_ptr); break;
        case DT_PLTRELSZ: o->count[1] = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        }
}

/* Returns false for an object without slots. The loader uses pages that are completely in the RELRO
 * segment. */
static bool read_object(struct object *o, const struct dl_phdr_info *info)
{
    const uintptr_t page = mp_sys_page(), bias = info->dlpi_addr;
    *o = (struct object){ .info = info, .from = UINTPTR_MAX };
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t from = bias + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type == PT_LOAD && from < o->from) o->from = from;
        if (p->p_type == PT_LOAD && to > o->to) o->to = to;
        if (p->p_type == PT_GNU_RELRO) o->relro_from = from & -page, o->relro_to = to & -page;
        if (p->p_type == PT_DYNAMIC) read_dynamic(o, (const ElfW(Dyn) *)from);
    }
    return o->symbol && o->text && (o->table[0] || o->table[1]);
}

static bool is_in_writable_segment(const struct object *o, uintptr_t at)
{
    for (int i = 0; i < o->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &o->info->dlpi_phdr[i];
        const uintptr_t offset = at - (o->info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && p->p_flags & PF_W && offset + sizeof at <= p->p_memsz)
            return true;
    }
    return false;
}

static bool set_relro(const struct object *o, int prot)
{
    return mp_sys3(SYS_mprotect, (long)o->relro_from, (long)(o->relro_to - o->relro_from), prot) ==
           0;
}

/* Makes the slot writable. Returns false if the kernel refuses it. */
static bool opens(struct object *o, uintptr_t at)
{
    if (at < o->relro_from || at >= o->relro_to || o->is_open) return true;
    return o->is_open = set_relro(o, PROT_READ | PROT_WRITE);
}

static uintptr_t read_slot(uintptr_t at)
{
    return __atomic_load_n((const uintptr_t *)at, __ATOMIC_RELAXED);
}

static bool write_slot(uintptr_t at, uintptr_t before, uintptr_t after)
{
    return __atomic_compare_exchange_n((uintptr_t *)at, &before, after, false, __ATOMIC_RELEASE,
                                       __ATOMIC_RELAXED);
}

static bool sole_malloc; /* only one object defines it */

static bool is_lazy(const struct object *o, const ElfW(Rela) * r, const ElfW(Sym) * s,
                    uintptr_t now)
{
    return sole_malloc && ELF64_R_TYPE(r->r_info) == R_X86_64_JUMP_SLOT &&
           s->st_shndx == SHN_UNDEF && now >= o->from && now < o->to;
}

/* A thread may resolve a lazy slot meanwhile. */
static void take(struct object *o, const ElfW(Rela) * r, const ElfW(Sym) * s, const struct hook *h)
{
    const uintptr_t at = o->info->dlpi_addr + r->r_offset;
    uintptr_t now;
    do {
        now = read_slot(at);
        if ((now != h->real && !is_lazy(o, r, s, now)) || !has_room() || !opens(o, at)) return;
        struct slot *const slot = slot_at(at);
        kept.used += !slot->at;
        *slot = (struct slot){ at, now };
    } while (!write_slot(at, now, h->hook));
}

static void give_back(struct object *o, const ElfW(Rela) * r, const ElfW(Sym) * s,
                      const struct hook *h)
{
    const uintptr_t at = o->info->dlpi_addr + r->r_offset;
    (void)s;
    if (read_slot(at) != h->hook || !opens(o, at)) return;
    const struct slot *const slot = kept.slot ? slot_at(at) : NULL;
    write_slot(at, h->hook, slot && slot->at ? slot->before : h->real);
}

typedef void visit(struct object *o, const ElfW(Rela) * r, const ElfW(Sym) * s,
                   const struct hook *h);

static void visit_slot(struct object *o, const ElfW(Rela) * r, visit *f)
{
    const unsigned long type = ELF64_R_TYPE(r->r_info), symbol = ELF64_R_SYM(r->r_info);
    if (!symbol || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64))
        return;
    const ElfW(Sym) *s = &o->symbol[symbol];
    if (s->st_name >= o->text_bytes) return;
    const struct hook *h = find_hook(o->text + s->st_name);
    if (h && is_in_writable_segment(o, o->info->dlpi_addr + r->r_offset)) f(o, r, s, h);
}

/* The loader itself is left out: it calls malloc by pointers. */
static void visit_object(const struct dl_phdr_info *info, visit *f)
{
    struct object o;
    if (info->dlpi_addr == getauxval(AT_BASE) || !read_object(&o, info)) return;
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; o.table[i] && n < o.count[i]; n++) visit_slot(&o, &o.table[i][n], f);
    if (o.is_open) set_relro(&o, PROT_READ);
}

static int count_malloc(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_DYNAMIC && info->dlpi_addr != getauxval(AT_BASE))
            *(unsigned *)arg += mp_symbol_is_in(
                info->dlpi_addr, (const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr), "malloc");
    }
    return 0;
}

/* ---- all objects */

static pthread_mutex_t *lock;
static bool on; /* calls are led to the hooks; changed under the lock */

/* The loader adds objects at the end of its list, so those that were visited are the first ones,
 * unless an object was unloaded. */
static struct {
    size_t objects;
    unsigned long long unloaded; /* number of objects that were ever unloaded, as the loader counts
                                  */
} visited;

static int take_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    size_t *const index = arg;
    (void)bytes;
    if (!*index && info->dlpi_subs != visited.unloaded) {
        visited.objects = 0;
        visited.unloaded = info->dlpi_subs;
    }
    if ((*index)++ >= visited.objects) visit_object(info, take);
    return 0;
}

static int give_back_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    (void)arg;
    visit_object(info, give_back);
    return 0;
}

/* This object also defines malloc. */
static void take_all(void)
{
    enum { THIS_AND_ANOTHER = 2 };
    unsigned defined = 0;
    size_t objects = 0;
    dl_iterate_phdr(count_malloc, &defined);
    sole_malloc = defined == THIS_AND_ANOTHER;
    dl_iterate_phdr(take_object, &objects);
    visited.objects = objects;
}

uint32_t mp_slots_take(pthread_mutex_t *loader_lock)
{
    lock = loader_lock;
    pthread_mutex_lock(lock);
    find_hooks();
    on = true;
    visited.objects = 0;
    take_all();
    pthread_mutex_unlock(lock);
    return (uint32_t)kept.used;
}

void mp_slots_give_back(void)
{
    pthread_mutex_lock(lock);
    on = false;
    dl_iterate_phdr(give_back_object, NULL);
    if (kept.slot) memset(kept.slot, 0, kept.places * sizeof *kept.slot);
    kept.used = 0;
    pthread_mutex_unlock(lock);
}

#if defined(__x86_64__)
/* Cleared first: an object that is loaded meanwhile is visited the next time. */
__attribute__((used)) void mp_slots_before_look_up(void)
{
    if (!__atomic_load_n(&loads, __ATOMIC_RELAXED)) return;
    const int saved = errno;
    __atomic_store_n(&loads, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(lock);
    if (on) take_all();
    pthread_mutex_unlock(lock);
    errno = saved;
}

__attribute__((used)) void mp_slots_before_load(void)
{
    mp_slots_before_look_up();
    __atomic_store_n(&loads, 1, __ATOMIC_SEQ_CST);
}
#endif
