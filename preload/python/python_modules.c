/* Invariant: a uintptr_t is an object that may not exist any more. It is only read by peek, and a
 * reader's peeks are counted. */
#include "python/python_modules.h"

#include "base/seen.h"
#include "base/sys.h"

enum { TYPES = 4096, READS = 1024, LEVELS = 3, BASES = 64, ITEMS = 8, NAME = 64 };
/* PyTypeObject, which is the same in all versions, and the flag of a type whose objects have the
 * pointer to their __dict__ before them, at MANAGED_DICT. */
enum {
    TYPE_NAME = 24,
    TYPE_FLAGS = 168,
    TYPE_DICT = 264,
    TYPE_DICT_OFFSET = 288,
    TYPE_BASES = 344
};
enum { MANAGED_DICT_FLAG = 1 << 4, MANAGED_DICT = -24 };

struct reader {
    const struct mp_python *py;
    int pid;
    unsigned reads_left;
};

static struct reader reader(const struct mp_python *py)
{
    return (struct reader){ py, mp_sys_getpid(), READS };
}

static bool peek(struct reader *r, uintptr_t at, void *out, size_t bytes)
{
    if (!r->reads_left) return false;
    r->reads_left--;
    return mp_sys_peek(r->pid, at, out, bytes);
}

/* Returns the word at an offset, or 0. */
static uintptr_t word(struct reader *r, uintptr_t object, long offset)
{
    uintptr_t value = 0;
    return object && peek(r, object + (uintptr_t)offset, &value, sizeof value) ? value : 0;
}

/* ---- strings */

/* Reads at most cap - 1 bytes, in two pieces if they might extend into a page that is not
 * mapped. */
static size_t c_string(struct reader *r, uintptr_t at, char *out, size_t cap)
{
    const size_t rest = 4096 - at % 4096, first = rest < cap - 1 ? rest : cap - 1;
    memset(out, 0, cap);
    if (!at || !peek(r, at, out, first)) return 0;
    if (!memchr(out, 0, first) && first < cap - 1 &&
        !peek(r, at + first, out + first, cap - 1 - first))
        return 0;
    return strlen(out);
}

/* Reads a compact ASCII string, cut to cap - 1 bytes. Returns 0 if it is not one. */
static size_t text(struct reader *r, uintptr_t string, char *out, size_t cap)
{
    uintptr_t head[MP_PYTHON_TEXT_STATE / sizeof(uintptr_t) + 1];
    if (!string || !peek(r, string, head, sizeof head) ||
        head[MP_PYTHON_TYPE / 8] != (uintptr_t)r->py->text)
        return 0;
    const uintptr_t state = head[MP_PYTHON_TEXT_STATE / 8], length = head[MP_PYTHON_SIZE / 8];
    const size_t n = length < cap ? length : cap - 1;
    if ((state >> 5 & 3) != 3 || !peek(r, string + r->py->layout.ascii, out, n)) return 0;
    out[n] = 0;
    return n;
}

static bool is_text(struct reader *r, uintptr_t string, const char *expected)
{
    char name[NAME];
    return text(r, string, name, sizeof name) && strcmp(name, expected) == 0;
}

/* ---- dicts: a table of entries in insertion order, whose values may be separate (shared keys of a
 * class's objects) */

struct items {
    uintptr_t entries, values;
    size_t next, count, words; /* words of an entry: (hash,) key, value */
    uintptr_t entry[ITEMS * 3], value[ITEMS];
};

static bool open_dict(struct reader *r, uintptr_t dict, struct items *it)
{
    enum { TYPE = 1, KEYS = 4, VALUES = 5 };
    uintptr_t d[6], k[5];
    if (!dict || dict % 8 || !peek(r, dict, d, sizeof d)) return false;
    if (d[TYPE] != (uintptr_t)r->py->dict && d[TYPE] != (uintptr_t)r->py->ordered_dict)
        return false;
    if (!peek(r, d[KEYS], k, sizeof k)) return false;
    it->next = 0;
    it->values = d[VALUES] ? d[VALUES] + r->py->layout.values_head : 0;
    /* Since 3.11: sizes as powers of two, and a kind. */
    if (r->py->layout.lines == MP_PYTHON_LOCATIONS) {
        it->words = k[1] >> 16 & 0xff ? 2 : 3;
        it->count = k[3];
        it->entries = d[KEYS] + 32 + ((uintptr_t)1 << (k[1] >> 8 & 31));
    } else {
        it->words = 3;
        it->count = k[4];
        it->entries = d[KEYS] + 40 + k[1] * (k[1] <= 0xff ? 1 : k[1] <= 0xffff ? 2 : 4);
    }
    return true;
}

static bool next_item(struct reader *r, struct items *it, uintptr_t *key, uintptr_t *value)
{
    if (it->next >= it->count) return false;
    const size_t i = it->next % ITEMS, rest = it->count - it->next, n = rest < ITEMS ? rest : ITEMS;
    const size_t entry = it->words * sizeof(uintptr_t);
    if (i == 0 && !peek(r, it->entries + it->next * entry, it->entry, n * entry)) return false;
    if (i == 0 && it->values &&
        !peek(r, it->values + it->next * sizeof(uintptr_t), it->value, n * sizeof(uintptr_t)))
        return false;
    const uintptr_t *e = it->entry + (i + 1) * it->words;
    *key = e[-2];
    *value = it->values ? it->value[i] : e[-1];
    it->next++;
    return true;
}

/* Returns the value of a key, or 0. Names are interned, so the address of a known one is tried
 * first. */
static uintptr_t find(struct reader *r, uintptr_t dict, const char *name, uintptr_t *known)
{
    struct items it;
    uintptr_t key, value, seen = __atomic_load_n(known, __ATOMIC_RELAXED);
    for (int by_text = !seen; by_text < 2; by_text++) {
        if (!open_dict(r, dict, &it)) return 0;
        while (next_item(r, &it, &key, &value)) {
            if (by_text ? !is_text(r, key, name) : key != seen) continue;
            __atomic_store_n(known, key, __ATOMIC_RELAXED);
            return value;
        }
    }
    return 0;
}

/* ---- classes */

static bool is_module_class(struct reader *r, uintptr_t type)
{
    static uintptr_t known;
    char name[sizeof "Module" + 1];
    return c_string(r, word(r, type, TYPE_NAME), name, sizeof name) &&
           strcmp(name, "Module") == 0 &&
           is_text(r, find(r, word(r, type, TYPE_DICT), "__module__", &known),
                   "torch.nn.modules.module");
}

static bool derives(struct reader *r, uintptr_t type)
{
    const uintptr_t bases = word(r, type, TYPE_BASES);
    if (word(r, bases, MP_PYTHON_TYPE) != (uintptr_t)r->py->tuple) return false;
    const size_t count = word(r, bases, MP_PYTHON_SIZE);
    for (size_t i = 0; i < count && i < BASES; i++)
        if (is_module_class(r, word(r, bases, r->py->layout.items + (long)(i * sizeof(uintptr_t)))))
            return true;
    return false;
}

bool mp_python_module_type(const struct mp_python *py, const void *type)
{
    static uint64_t types_seen[TYPES], modules[TYPES];
    const uint64_t address = (uintptr_t)type, id = mp_seen_id(&address, 1);
    if (!mp_seen(types_seen, TYPES, id)) {
        struct reader r = reader(py);
        if (derives(&r, (uintptr_t)type)) mp_seen_add(modules, TYPES, id);
        mp_seen_add(types_seen, TYPES, id);
    }
    return mp_seen(modules, TYPES, id);
}

size_t mp_python_class(const struct mp_python *py, const struct mp_python_place *place, char *out,
                       size_t cap)
{
    struct reader r = reader(py);
    return c_string(
        &r, word(&r, (uintptr_t)mp_python_pointer(place->module, MP_PYTHON_TYPE), TYPE_NAME), out,
        cap);
}

/* ---- paths */

/* A text that grows at its front. */
struct path {
    char *at, *start;
};

static void put_before(struct path *p, const char *name)
{
    const size_t n = strlen(name), dot = *p->at ? 1 : 0;
    if ((size_t)(p->at - p->start) < n + dot) return;
    if (dot) *--p->at = '.';
    p->at -= n;
    memcpy(p->at, name, n);
}

/* The dict of the modules that a module has as attributes. */
static uintptr_t modules_of(struct reader *r, uintptr_t module)
{
    static uintptr_t known;
    const uintptr_t type = word(r, module, MP_PYTHON_TYPE);
    const bool managed = word(r, type, TYPE_FLAGS) & MANAGED_DICT_FLAG;
    const uintptr_t offset = managed ? 0 : word(r, type, TYPE_DICT_OFFSET);
    if (!managed && (!offset || offset > 4096)) return 0;
    return find(r, word(r, module, managed ? MANAGED_DICT : (long)offset), "_modules", &known);
}

/* Returns true if `module` is this many levels below `parent`, and prepends its path from there to
 * `p`. */
static bool find_below(struct reader *r, uintptr_t parent, uintptr_t module, unsigned levels,
                       struct path *p)
{
    struct items it;
    uintptr_t key, value;
    char name[NAME];
    if (!open_dict(r, modules_of(r, parent), &it)) return false;
    while (next_item(r, &it, &key, &value)) {
        if (levels > 1 ? !find_below(r, value, module, levels - 1, p) : value != module) continue;
        put_before(p, text(r, key, name, sizeof name) ? name : "?");
        return true;
    }
    return false;
}

static bool find_step(const struct mp_python *py, const void *parent, const void *module,
                      struct path *p)
{
    struct reader r = reader(py);
    for (unsigned levels = 1; levels <= LEVELS; levels++)
        if (find_below(&r, (uintptr_t)parent, (uintptr_t)module, levels, p)) return true;
    return false;
}

size_t mp_python_path(const struct mp_python *py, const struct mp_python_place *place, unsigned at,
                      unsigned places, char *out, size_t cap)
{
    struct path p = { out + cap - 1, out };
    const void *module = place[at].module;
    *p.at = 0;
    for (unsigned i = at + 1; i < places; i++) {
        const void *parent = place[i].module;
        if (!parent || parent == module) continue;
        if (!find_step(py, parent, module, &p)) break;
        module = parent;
    }
    const size_t n = (size_t)(out + cap - 1 - p.at);
    memmove(out, p.at, n + 1);
    return n;
}
