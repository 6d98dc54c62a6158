#include "remote.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"

enum { SEGMENTS_MAX = 64, NAME_BYTES = 64, CHAIN_MAX = 1 << 20, OBJECTS_MAX = 1 << 16 };

/* ---- memory */

bool mpl_remote_get(const struct mpl_remote *r, uintptr_t at, void *out, size_t bytes)
{
    return pread(r->memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

bool mpl_remote_put(const struct mpl_remote *r, uintptr_t at, const void *bytes, size_t count)
{
    return pwrite(r->memory, bytes, count, (off_t)at) == (ssize_t)count;
}

bool mpl_remote_open(struct mpl_remote *r, pid_t pid)
{
    char path[64];
    *r = (struct mpl_remote){ .pid = pid };
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)pid);
    r->memory = open(path, O_RDWR | O_CLOEXEC);
    return r->memory >= 0;
}

static void forget_objects(struct mpl_remote *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->object[i].segment)
            munmap((void *)(uintptr_t)r->object[i].segment, r->object[i].segment_bytes);
    free(r->object);
    free(r->stack);
    r->object = NULL;
    r->stack = NULL;
    r->count = r->stacks = r->main_stack = 0;
}

void mpl_remote_close(struct mpl_remote *r)
{
    forget_objects(r);
    if (r->memory >= 0) close(r->memory);
    r->memory = -1;
}

static FILE *open_maps(const struct mpl_remote *r)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)r->pid);
    return fopen(path, "re");
}

/* One line of /proc/PID/maps. */
struct mapping {
    uintptr_t from, to, offset;
    char rights[8];
    uint64_t inode;
    char name[PATH_MAX];
};

static bool read_mapping(const char *line, struct mapping *m)
{
    int name = 0;
    if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %n", &m->from, &m->to, m->rights, &m->offset,
               &m->inode, &name) < 5)
        return false;
    snprintf(m->name, sizeof m->name, "%.*s", (int)strcspn(line + name, "\n"), line + name);
    return true;
}

/* ---- stacks */

/* Remembers a writable mapping without a file: it may be a thread's stack. The list of mappings is
 * not read while threads are stopped, because the kernel may have to wait for it. */
static void take_stack(struct mpl_remote *r, const struct mapping *m)
{
    const bool is_main = strcmp(m->name, "[stack]") == 0;
    if (m->rights[1] != 'w' || (m->name[0] && !is_main && m->name[0] != '[')) return;
    struct mpl_range *more = realloc(r->stack, (r->stacks + 1) * sizeof *more);
    if (!more) return;
    r->stack = more;
    more[r->stacks] = (struct mpl_range){ m->from, m->to };
    if (is_main) r->main_stack = r->stacks + 1;
    r->stacks++;
}

/* The kernel keeps the addresses below the main thread's stack free, up to the limit of its size.
 */
static size_t room_of_main(const struct mpl_remote *r, const struct mpl_range *stack, uintptr_t sp)
{
    struct rlimit limit;
    const size_t mapped = sp - stack->from, used = stack->to - sp;
    if (prlimit(r->pid, RLIMIT_STACK, NULL, &limit) != 0 || limit.rlim_cur < used + mapped)
        return mapped;
    return limit.rlim_cur - used;
}

size_t mpl_remote_stack_room(const struct mpl_remote *r, uintptr_t sp)
{
    for (size_t i = 0; i < r->stacks; i++) {
        const struct mpl_range *stack = &r->stack[i];
        if (sp >= stack->from && sp < stack->to)
            return i + 1 == r->main_stack ? room_of_main(r, stack, sp) : sp - stack->from;
    }
    return 0;
}

/* ---- the tables of an object */

static uintptr_t absolute(const struct mpl_remote_object *o, uintptr_t value)
{
    return value < o->bias ? value + o->bias : value;
}

/* The loader made the addresses absolute, except in objects whose dynamic section is not writable.
 */
static void read_dynamic(const struct mpl_remote *r, struct mpl_remote_object *o, uintptr_t at)
{
    enum { ENTRIES_MAX = 1024 };
    Elf64_Dyn d;
    for (int i = 0; i < ENTRIES_MAX && mpl_remote_get(r, at, &d, sizeof d); i++, at += sizeof d) {
        switch (d.d_tag) {
        case DT_NULL: return;
        case DT_SYMTAB: o->symbols = absolute(o, d.d_un.d_ptr); break;
        case DT_STRTAB: o->names = absolute(o, d.d_un.d_ptr); break;
        case DT_GNU_HASH: o->gnu_hash = absolute(o, d.d_un.d_ptr); break;
        case DT_HASH: o->hash = absolute(o, d.d_un.d_ptr); break;
        }
    }
}

static bool contains(const Elf64_Phdr *p, uintptr_t address)
{
    return p->p_type == PT_LOAD && address - p->p_vaddr < p->p_filesz;
}

/* Reads the program headers at the beginning of the object. */
static void read_object(const struct mpl_remote *r, struct mpl_remote_object *o)
{
    Elf64_Ehdr e;
    Elf64_Phdr p[SEGMENTS_MAX];
    if (!mpl_remote_get(r, o->from, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
        e.e_phentsize != sizeof *p || e.e_phnum > SEGMENTS_MAX ||
        !mpl_remote_get(r, o->from + e.e_phoff, p, e.e_phnum * sizeof *p))
        return;
    uintptr_t first = UINTPTR_MAX, dynamic = 0, frames = 0;
    for (int i = 0; i < e.e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && first == UINTPTR_MAX)
            first = p[i].p_vaddr & -(uintptr_t)sysconf(_SC_PAGESIZE);
        if (p[i].p_type == PT_DYNAMIC) dynamic = p[i].p_vaddr;
        if (p[i].p_type == PT_GNU_EH_FRAME) frames = p[i].p_vaddr;
    }
    if (first == UINTPTR_MAX) return;
    o->bias = o->from - first;
    if (dynamic) read_dynamic(r, o, o->bias + dynamic);
    for (int i = 0; frames && i < e.e_phnum; i++) {
        if (!contains(&p[i], frames)) continue;
        o->frames = o->bias + frames;
        o->segment_from = o->bias + p[i].p_vaddr;
        o->segment_bytes = p[i].p_filesz;
        o->segment_offset = p[i].p_offset;
    }
}

/* ---- symbols, as the loader finds them */

static bool has_name(const struct mpl_remote *r, const struct mpl_remote_object *o,
                     const Elf64_Sym *s, const char *name)
{
    char text[NAME_BYTES] = "";
    const size_t bytes = strlen(name) + 1;
    return s->st_shndx != SHN_UNDEF && s->st_value && bytes <= sizeof text &&
           mpl_remote_get(r, o->names + s->st_name, text, bytes) && memcmp(text, name, bytes) == 0;
}

typedef void take_symbol(void *arg, struct mpl_range range);

static void take_if_named(const struct mpl_remote *r, const struct mpl_remote_object *o, uint32_t i,
                          const char *name, take_symbol *f, void *arg)
{
    Elf64_Sym s;
    if (!mpl_remote_get(r, o->symbols + i * sizeof s, &s, sizeof s) || !has_name(r, o, &s, name))
        return;
    const uintptr_t at = o->bias + s.st_value;
    f(arg, (struct mpl_range){ at, at + s.st_size });
}

static void each_by_gnu_hash(const struct mpl_remote *r, const struct mpl_remote_object *o,
                             const char *name, take_symbol *f, void *arg)
{
    struct {
        uint32_t buckets, first, words, shift;
    } head;
    uint32_t hash = 5381, i, in_chain;
    for (const char *c = name; *c; c++) hash = hash * 33 + (uint8_t)*c;
    if (!mpl_remote_get(r, o->gnu_hash, &head, sizeof head) || !head.buckets) return;
    const uintptr_t bucket = o->gnu_hash + sizeof head + head.words * sizeof(uint64_t),
                    chain = bucket + head.buckets * sizeof i;
    if (!mpl_remote_get(r, bucket + hash % head.buckets * sizeof i, &i, sizeof i) || i < head.first)
        return;
    for (uint32_t n = 0; n < CHAIN_MAX; n++, i++) {
        if (!mpl_remote_get(r, chain + (i - head.first) * sizeof i, &in_chain, sizeof in_chain))
            return;
        if ((in_chain | 1) == (hash | 1)) take_if_named(r, o, i, name, f, arg);
        if (in_chain & 1) return;
    }
}

/* An old program has only this table, whose second word is the number of symbols. */
static void each_in_order(const struct mpl_remote *r, const struct mpl_remote_object *o,
                          const char *name, take_symbol *f, void *arg)
{
    uint32_t head[2];
    if (!mpl_remote_get(r, o->hash, head, sizeof head)) return;
    for (uint32_t i = 1; i < head[1] && i < CHAIN_MAX; i++) take_if_named(r, o, i, name, f, arg);
}

void mpl_remote_each_symbol(const struct mpl_remote *r, const struct mpl_remote_object *o,
                            const char *name, take_symbol *f, void *arg)
{
    if (!o || !o->symbols || !o->names) return;
    if (o->gnu_hash) each_by_gnu_hash(r, o, name, f, arg);
    else if (o->hash) each_in_order(r, o, name, f, arg);
}

static void keep_first(void *arg, struct mpl_range range)
{
    if (!*(uintptr_t *)arg) *(uintptr_t *)arg = range.from;
}

uintptr_t mpl_remote_symbol(const struct mpl_remote *r, const struct mpl_remote_object *o,
                            const char *name)
{
    uintptr_t found = 0;
    mpl_remote_each_symbol(r, o, name, keep_first, &found);
    return found;
}

/* ---- the objects of the process */

static struct mpl_remote_object *add_object(struct mpl_remote *r, const struct mapping *m)
{
    struct mpl_remote_object *more = realloc(r->object, (r->count + 1) * sizeof *more);
    if (!more) return NULL;
    r->object = more;
    more += r->count++;
    *more = (struct mpl_remote_object){ .inode = m->inode, .from = m->from };
    snprintf(more->path, sizeof more->path, "%s", m->name);
    return more;
}

/* Consecutive mappings of one file are one object. */
static void take_mapping(struct mpl_remote *r, const struct mapping *m)
{
    struct mpl_remote_object *o = r->count ? &r->object[r->count - 1] : NULL;
    if (strcmp(m->name, "[vdso]") == 0) r->vdso = (struct mpl_range){ m->from, m->to };
    if (m->name[0] != '/' || r->count == OBJECTS_MAX) return;
    if (!o || o->inode != m->inode || strcmp(o->path, m->name) != 0) o = add_object(r, m);
    if (!o) return;
    o->to = m->to;
    if (m->rights[2] != 'x') return;
    if (!o->code_from) o->code_from = m->from;
    o->code_to = m->to;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns true if the name begins so: "libc.so.6", "libc.so.6 (deleted)". */
static bool is_named(const struct mpl_remote_object *o, const char *name)
{
    return strncmp(last_part(o->path), name, strlen(name)) == 0;
}

static const struct mpl_remote_object *object_with_bias(const struct mpl_remote *r, uintptr_t bias,
                                                        uintptr_t dynamic)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->object[i].bias == bias && dynamic >= r->object[i].from && dynamic < r->object[i].to)
            return &r->object[i];
    return NULL;
}

/* Finds the program, which is the first object in the loader's list, and the object whose malloc
 * serves it, the first one that defines it. A program that is still being started has no list, or
 * one that is being changed. */
static void find_allocator(struct mpl_remote *r)
{
    struct r_debug debug;
    struct link_map l;
    const uintptr_t at = mpl_remote_symbol(r, r->loader, "_r_debug");
    r->program = r->allocator = NULL;
    if (!at || !mpl_remote_get(r, at, &debug, sizeof debug) || debug.r_state != RT_CONSISTENT)
        return;
    uintptr_t next = (uintptr_t)debug.r_map;
    for (int i = 0; next && i < OBJECTS_MAX && mpl_remote_get(r, next, &l, sizeof l); i++) {
        const struct mpl_remote_object *o = object_with_bias(r, l.l_addr, (uintptr_t)l.l_ld);
        if (!i) r->program = o;
        if (o && o != r->memprof && o != r->loader && mpl_remote_symbol(r, o, "malloc")) {
            r->allocator = o;
            return;
        }
        next = (uintptr_t)l.l_next;
    }
}

bool mpl_remote_read_objects(struct mpl_remote *r)
{
    FILE *f = open_maps(r);
    char *line = NULL;
    size_t cap = 0;
    struct mapping m;
    forget_objects(r);
    r->libc = r->loader = r->memprof = NULL;
    while (f && getline(&line, &cap, f) > 0)
        if (read_mapping(line, &m)) {
            take_stack(r, &m);
            take_mapping(r, &m);
        }
    free(line);
    if (f) fclose(f);
    for (size_t i = 0; i < r->count; i++) {
        struct mpl_remote_object *o = &r->object[i];
        if (!o->code_to) continue;
        read_object(r, o);
        if (is_named(o, "libc.so.6") || is_named(o, "libc-2.")) r->libc = o;
        else if (is_named(o, "ld-linux") || is_named(o, "ld-2.")) r->loader = o;
        else if (mpl_remote_symbol(r, o, "memprof_attach_status")) r->memprof = o;
    }
    if (r->libc && r->loader) find_allocator(r);
    return r->libc && r->loader && r->program && r->allocator;
}

struct mpl_remote_object *mpl_remote_object_at(const struct mpl_remote *r, uintptr_t at)
{
    for (size_t i = 0; i < r->count; i++)
        if (at >= r->object[i].code_from && at < r->object[i].code_to) return &r->object[i];
    return NULL;
}

/* ---- call frame information */

/* Maps a large segment from the object's file, if the path still leads to that file. */
static const uint8_t *map_from_file(const struct mpl_remote *r, const struct mpl_remote_object *o)
{
    char path[PATH_MAX + 64];
    struct stat st;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), skip = o->segment_offset % page;
    snprintf(path, sizeof path, "/proc/%ld/root%s", (long)r->pid, o->path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    void *at = MAP_FAILED;
    if (!skip && fstat(fd, &st) == 0 && st.st_ino == o->inode && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size >= o->segment_offset + o->segment_bytes)
        at = mmap(NULL, o->segment_bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)o->segment_offset);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

/* Copies a small one from memory. Threads are stopped meanwhile. A process can truncate its files,
 * but not this copy. */
static const uint8_t *copy_from_memory(const struct mpl_remote *r,
                                       const struct mpl_remote_object *o)
{
    enum { SMALL = 4 << 20 };
    if (o->segment_bytes > SMALL) return NULL;
    void *at =
        mmap(NULL, o->segment_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    if (mpl_remote_get(r, o->segment_from, at, o->segment_bytes)) return at;
    munmap(at, o->segment_bytes);
    return NULL;
}

bool mpl_remote_map_frames(const struct mpl_remote *r, struct mpl_remote_object *o)
{
    if (o->segment || o->segment_failed || !o->segment_bytes) return o->segment;
    o->segment = copy_from_memory(r, o);
    if (!o->segment) o->segment = map_from_file(r, o);
    o->segment_failed = !o->segment;
    return o->segment;
}
