/* The loader's list of objects begins with those that the program started with, in look-up order:
 * the program, preloaded objects, and their dependencies. They are never unloaded, so that part of
 * the list is stable. Objects of dlopen follow and may be unloaded at any time. Nothing marks the
 * border between the two. The C library is before it, because this object depends on it. So is
 * every object after the C library that an earlier one needs by name, because objects of dlopen
 * follow the object that needs them, and no earlier object needs the first of these. The border is
 * found once, at the first call, usually before any dlopen.
 *
 * The loader has made the addresses of the tables absolute if they are writable. Table entries
 * refer to the object itself, names are read within its string table, and chains end after more
 * steps than any object has. */
#include "real/symbol.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/machine.h"

enum { CHAIN_MAX = 1 << 20, OBJECTS_MAX = 1 << 16 };

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
extern const char own_start __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* ---- one object's tables */

struct tables {
    const ElfW(Sym) * symbol;
    const char *text;
    size_t text_bytes;
    const uint32_t *gnu_hash, *hash;
    const ElfW(Half) * version;
};

static const void *address(const struct link_map *l, ElfW(Addr) value)
{
    return (const void *)(value < l->l_addr ? value + l->l_addr : value);
}

static struct tables tables_of(const struct link_map *l)
{
    struct tables t = { 0 };
    for (const ElfW(Dyn) *d = l->l_ld; d->d_tag != DT_NULL; d++) switch (d->d_tag) {
        case DT_SYMTAB: t.symbol = address(l, d->d_un.d_ptr); break;
        case DT_STRTAB: t.text = address(l, d->d_un.d_ptr); break;
        case DT_STRSZ: t.text_bytes = d->d_un.d_val; break;
        case DT_GNU_HASH: t.gnu_hash = address(l, d->d_un.d_ptr); break;
        case DT_HASH: t.hash = address(l, d->d_un.d_ptr); break;
        case DT_VERSYM: t.version = address(l, d->d_un.d_ptr); break;
        }
    return t;
}

static bool is_text(const struct tables *t, size_t at, const char *text, size_t length)
{
    return t->text && at < t->text_bytes && length < t->text_bytes - at &&
           memcmp(t->text + at, text, length + 1) == 0;
}

/* Versions 0 and 1 are "local" and "none". Of the others the default one is not hidden. */
static bool is_default(const struct tables *t, uint32_t i)
{
    enum { HIDDEN = 0x8000, FIRST = 2 };
    return !t->version || !(t->version[i] & HIDDEN) || (t->version[i] & (HIDDEN - 1)) < FIRST;
}

static bool defines(const struct tables *t, uint32_t i, const char *name, size_t length)
{
    const ElfW(Sym) *s = &t->symbol[i];
    const unsigned type = ELF64_ST_TYPE(s->st_info), visibility = ELF64_ST_VISIBILITY(s->st_other);
    if (s->st_shndx == SHN_UNDEF || !s->st_value || ELF64_ST_BIND(s->st_info) == STB_LOCAL)
        return false;
    if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_GNU_IFUNC)
        return false;
    return visibility != STV_HIDDEN && visibility != STV_INTERNAL &&
           is_text(t, s->st_name, name, length) && is_default(t, i);
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++) h = h * 33 + (uint8_t)*name;
    return h;
}

/* Buckets lead to the first symbol of a chain. A chain has the hashes of its symbols; that of the
 * last one is odd. */
static const ElfW(Sym) * find_by_gnu_hash(const struct tables *t, const char *name, size_t length)
{
    const struct {
        uint32_t buckets, first, words, shift;
    } *head = (const void *)t->gnu_hash;
    const uint32_t hash = gnu_hash(name);
    const ElfW(Addr) *const bloom = (const void *)(head + 1);
    const uint32_t *const bucket = (const void *)(bloom + head->words), *const chain =
                                                                            bucket + head->buckets;
    enum { BITS = 8 * sizeof *bloom };
    if (!head->buckets || !head->words) return NULL;
    const ElfW(Addr) word = bloom[hash / BITS % head->words];
    if (!(word >> hash % BITS & word >> (hash >> head->shift) % BITS & 1)) return NULL;
    const uint32_t first = bucket[hash % head->buckets];
    if (first < head->first) return NULL;
    for (uint32_t i = first; i - first < CHAIN_MAX; i++) {
        const uint32_t symbol_hash = chain[i - head->first];
        if ((symbol_hash | 1) == (hash | 1) && defines(t, i, name, length)) return &t->symbol[i];
        if (symbol_hash & 1) break;
    }
    return NULL;
}

static uint32_t old_hash(const char *name)
{
    uint32_t h = 0;
    for (; *name; name++) {
        h = (h << 4) + (uint8_t)*name;
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
    }
    return h;
}

static const ElfW(Sym) * find_by_hash(const struct tables *t, const char *name, size_t length)
{
    const struct {
        uint32_t buckets, symbols;
    } *head = (const void *)t->hash;
    const uint32_t *const bucket = (const void *)(head + 1), *const next = bucket + head->buckets;
    if (!head->buckets) return NULL;
    uint32_t i = bucket[old_hash(name) % head->buckets];
    for (uint32_t steps = 0; i && i < head->symbols && steps < CHAIN_MAX; steps++, i = next[i])
        if (defines(t, i, name, length)) return &t->symbol[i];
    return NULL;
}

static const ElfW(Sym) * find(const struct link_map *l, const char *name)
{
    const struct tables t = tables_of(l);
    if (!t.symbol) return NULL;
    if (t.gnu_hash) return find_by_gnu_hash(&t, name, strlen(name));
    return t.hash ? find_by_hash(&t, name, strlen(name)) : NULL;
}

/* The resolver of an indirect function examines the processor. All objects are relocated before a
 * hook is called. */
static void *value_of(const struct link_map *l, const ElfW(Sym) * s)
{
    void *at = (void *)((s->st_shndx == SHN_ABS ? 0 : l->l_addr) + s->st_value);
    return ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC ? mp_machine_resolve(at) : at;
}

/* ---- the objects that existed at the start */

static const struct link_map *first(void) { return _r_debug.r_map; }

/* Returns a string of a dynamic section, or "". */
static const char *text_of(const struct link_map *l, const ElfW(Dyn) * d)
{
    const struct tables t = tables_of(l);
    return t.text && d->d_un.d_val < t.text_bytes ? t.text + d->d_un.d_val : "";
}

static const char *name_of(const struct link_map *l)
{
    for (const ElfW(Dyn) *d = l->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SONAME) return text_of(l, d);
    const char *slash = strrchr(l->l_name, '/');
    return slash ? slash + 1 : l->l_name;
}

static bool needs(const struct link_map *l, const char *name)
{
    for (const ElfW(Dyn) *d = l->l_ld; d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_NEEDED) {
            const char *needed = text_of(l, d), *slash = strrchr(needed, '/');
            if (!strcmp(slash ? slash + 1 : needed, name)) return true;
        }
    return false;
}

static bool is_needed_before(const struct link_map *l)
{
    const char *name = name_of(l);
    for (const struct link_map *before = first(); before != l; before = before->l_next)
        if (needs(before, name)) return true;
    return false;
}

static struct {
    /* this object, or NULL if it was loaded later or into another namespace */
    const struct link_map *self;
    const struct link_map *libc, *last;
    bool before_libc, known;
} start;

/* All threads find the same values, so concurrent calls do no harm. */
static void know_start(void)
{
    if (__atomic_load_n(&start.known, __ATOMIC_ACQUIRE)) return;
    const struct link_map *l = first(), *self = NULL, *libc = NULL, *last = l;
    bool before = false;
    for (unsigned i = 0; l && i < OBJECTS_MAX && (!libc || is_needed_before(l));
         i++, last = l, l = l->l_next) {
        if (l->l_ld == _DYNAMIC) self = l;
        if (libc || !find(l, "gnu_get_libc_version")) continue;
        libc = l;
        before = self != NULL;
    }
    start.self = self;
    start.libc = libc;
    start.last = last;
    start.before_libc = before;
    __atomic_store_n(&start.known, true, __ATOMIC_RELEASE);
}

/* The kernel's own object is in the list, but names are not looked up there. */
static const struct link_map *next(const struct link_map *l)
{
    do {
        if (l == start.last) return NULL;
        l = l->l_next;
    } while (l->l_addr == getauxval(AT_SYSINFO_EHDR));
    return l;
}

bool mp_symbol_before_libc(void)
{
    know_start();
    return start.before_libc;
}

struct definition {
    const struct link_map *object;
    const ElfW(Sym) * symbol; /* or NULL */
};

static struct definition next_definition(const char *name)
{
    know_start();
    for (const struct link_map *l = start.self ? next(start.self) : first(); l; l = next(l)) {
        const ElfW(Sym) *s = find(l, name);
        if (s) return (struct definition){ l, s };
    }
    return (struct definition){ 0 };
}

void *mp_symbol_next(const char *name)
{
    const struct definition d = next_definition(name);
    return d.symbol ? value_of(d.object, d.symbol) : NULL;
}

const char *mp_symbol_next_object(const char *name)
{
    const struct definition d = next_definition(name);
    return d.symbol ? name_of(d.object) : NULL;
}

void *mp_symbol_own(const char *name)
{
    const struct link_map self = { .l_addr = (ElfW(Addr)) & own_start, .l_ld = _DYNAMIC };
    const ElfW(Sym) *s = find(&self, name);
    return s ? value_of(&self, s) : NULL;
}

bool mp_symbol_is_in(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char *name)
{
    const struct link_map object = { .l_addr = base, .l_ld = (ElfW(Dyn) *)(uintptr_t)dynamic };
    return find(&object, name) != NULL;
}

bool mp_symbol_is_libcs(const char *name, const void *function)
{
    know_start();
    const ElfW(Sym) *s = start.libc ? find(start.libc, name) : NULL;
    return s && value_of(start.libc, s) == function;
}

const struct link_map *mp_symbol_before(const char *name)
{
    know_start();
    for (const struct link_map *l = first(); l && l != start.self; l = next(l))
        if (find(l, name)) return l;
    return NULL;
}
