#include "sites.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"

enum { FRAMES_MAX = 512 };

void mpr_sites_free(struct mpr_sites *s)
{
    for (uint32_t i = 0; i < s->libraries; i++) free(s->library[i]);
    for (uint32_t i = 0; i < s->modules; i++) free(s->module[i].path);
    free(s->library);
    free(s->module);
    mpr_index_free(&s->library_number);
    mpr_intervals_free(&s->loaded);
    for (int i = 0; i < MPR_ID_KINDS; i++) mpr_index_free(&s->by_id[i]);
    free(s->site);
    mpr_index_free(&s->site_number);
    free(s->stacks.node);
    mpr_index_free(&s->stacks.number);
}

static void set_id(struct mpr_sites *s, enum mpr_id_kind kind, uint64_t id, uint32_t value)
{
    if (id) mpr_index_set(&s->by_id[kind], id, value);
}

/* Reads the event's data as numbers and returns how many there are. */
static size_t words_of(const struct mpf_event *e, uint64_t *words, size_t max)
{
    const size_t count = e->size / sizeof *words < max ? e->size / sizeof *words : max;
    memcpy(words, e->data, count * sizeof *words);
    return count;
}

/* ---- object files */

/* Returns the number of a library, which is added if it is new. */
static uint32_t library_number(struct mpr_sites *s, const char *path)
{
    const char *name = mpr_basename(path);
    const uint64_t hash = mpr_hash_text(name);
    MPR_INDEX_EACH(number, &s->library_number, hash)
        if (strcmp(s->library[number - 1], name) == 0) return number;
    *MPR_ADD(s->library, s->libraries, s->library_cap) = mpr_text_copy(name);
    mpr_index_add(&s->library_number, hash, s->libraries);
    return s->libraries;
}

/* Returns the number of the module at an address. */
static uint32_t module_at(const struct mpr_sites *s, uint64_t pc)
{
    const struct mpr_interval *span = mpr_intervals_find(&s->loaded, pc);
    return span && span->start <= pc ? span->value : 0;
}

/* Returns true if this module is known.  After a frame of the log was lost, modules are recorded
 * again. */
static bool is_loaded(const struct mpr_sites *s, const struct mpr_module *m)
{
    const uint32_t number = module_at(s, m->from);
    const struct mpr_module *known = number ? &s->module[number - 1] : NULL;
    return known && known->from == m->from && known->to == m->to &&
           known->build_id_bytes == m->build_id_bytes &&
           !memcmp(known->build_id, m->build_id, m->build_id_bytes) &&
           !strcmp(known->path, m->path);
}

static void add_module(struct mpr_sites *s, const struct mpf_event *e)
{
    uint64_t head[2]; /* the end of its addresses; bytes of the build id */
    struct mpr_module m = { .from = e->addr };
    if (e->size < sizeof head) return;
    memcpy(head, e->data, sizeof head);
    if (head[0] <= m.from || head[1] > e->size - sizeof head) return;
    m.to = head[0];
    if (head[1] <= sizeof m.build_id) m.build_id_bytes = (uint32_t)head[1];
    memcpy(m.build_id, e->data + sizeof head, m.build_id_bytes);
    m.path = mpr_text_copy_part((const char *)e->data + sizeof head + head[1],
                                e->size - sizeof head - head[1]);
    if (is_loaded(s, &m)) {
        free(m.path);
        return;
    }
    m.library = library_number(s, m.path);
    *MPR_ADD(s->module, s->modules, s->module_cap) = m;
    mpr_intervals_replace(&s->loaded, &(struct mpr_interval){ m.from, m.to, s->modules, false });
}

/* ---- libraries that no allocation is attributed to, by the beginning of their names */

static const char *const cuda_or_memprof[] = { "libcuda.so", "libcudart.so", "libcupti.so",
                                               "libmemprof", "libnvidia-",   "ld-linux",
                                               NULL };
/* Libraries that intercept driver calls. */
static const char *const interceptors[] = { "libcupti.so", "libmemprof-cuda.so", NULL };
/* Runtimes of languages and allocators, which allocate for their callers. */
static const char *const runtimes[] = { "libc.so",     "libstdc++.so", "libc++", "libjemalloc",
                                        "libtcmalloc", "libmimalloc",  NULL };

static bool is_one_of(const char *name, const char *const *prefix)
{
    for (; *prefix; prefix++)
        if (!strncmp(name, *prefix, strlen(*prefix))) return true;
    return false;
}

/* ---- native stacks */

/* Returns the node with this parent, pc and module, which is added if it is new. */
static uint32_t stack_child(struct mpr_sites *s, const struct mpr_stack_node *node)
{
    const uint64_t hash = mpr_hash(node->pc) + ((uint64_t)node->module << 32 | node->parent);
    MPR_INDEX_EACH(number, &s->stacks.number, hash) {
        const struct mpr_stack_node *n = &s->stacks.node[number];
        if (n->pc == node->pc && n->parent == node->parent && n->module == node->module)
            return number;
    }
    if (!s->stacks.nodes) /* node 0 */
        *MPR_ADD(s->stacks.node, s->stacks.nodes, s->stacks.node_cap) =
            (struct mpr_stack_node){ 0 };
    *MPR_ADD(s->stacks.node, s->stacks.nodes, s->stacks.node_cap) = *node;
    mpr_index_add(&s->stacks.number, hash, s->stacks.nodes - 1);
    return s->stacks.nodes - 1;
}

static uint32_t owner_of(const struct mpr_sites *s, uint32_t parent, uint32_t module)
{
    const uint32_t library = module ? s->module[module - 1].library : 0,
                   callers = parent ? s->stacks.node[parent].owner : 0;
    if (!library || is_one_of(s->library[library - 1], cuda_or_memprof)) return callers;
    return callers && is_one_of(s->library[library - 1], runtimes) ? callers : library;
}

/* The caching allocator is in libc10_cuda.  Code that it calls is a plug-in that calls the driver
 * in its place.  NCCL may be such a plug-in, but also has memory of its own, so it does not count.
 */
static bool is_for_torch(const struct mpr_sites *s, uint32_t parent, uint32_t module)
{
    const char *name = module ? s->library[s->module[module - 1].library - 1] : "";
    if (!strncmp(name, "libc10_cuda", 11)) return true;
    return parent && s->stacks.node[parent].for_torch && strncmp(name, "libnccl", 7) != 0;
}

static void add_stack(struct mpr_sites *s, const struct mpf_event *e)
{
    uint64_t pc[FRAMES_MAX];
    const uint32_t cut = mpr_index_get(&s->by_id[MPR_ID_CUT], e->addr);
    /* the reason for a cut is shown instead of the missing callers */
    uint32_t node = cut ? stack_child(s, &(struct mpr_stack_node){ .pc = cut }) : 0;
    const size_t count = words_of(e, pc, FRAMES_MAX);
    size_t first = 0;
    /* Omits the innermost frames if they only intercept a driver call: those of CUPTI or
     * libmemprof-cuda.so, and CUDA's frames that called these. */
    for (; first < count; first++) {
        const uint32_t module = module_at(s, pc[first]);
        const char *name = module ? s->library[s->module[module - 1].library - 1] : NULL;
        if (!name || !is_one_of(name, first ? cuda_or_memprof : interceptors)) break;
    }
    if (first == count) first = 0;
    for (size_t i = count; i-- > first;) {
        const uint32_t module = module_at(s, pc[i]);
        node =
            stack_child(s, &(struct mpr_stack_node){ pc[i], node, module, owner_of(s, node, module),
                                                     is_for_torch(s, node, module) });
    }
    set_id(s, MPR_ID_STACK, e->addr, node);
}

uint32_t mpr_sites_library(const struct mpr_sites *s, uint32_t stack)
{
    return stack && stack < s->stacks.nodes ? s->stacks.node[stack].owner : 0;
}

bool mpr_sites_for_torch(const struct mpr_sites *s, uint32_t stack)
{
    return stack && stack < s->stacks.nodes && s->stacks.node[stack].for_torch;
}

const char *mpr_sites_library_name(const struct mpr_sites *s, uint32_t library)
{
    return library && library <= s->libraries ? s->library[library - 1] : "";
}

/* ---- Python stacks */

/* Returns the number of the frame's name in the ranges.  Frames that look the same in reports
 * share one.  The highest bit of the hash is set, because the table also has ids of the log, which
 * have 48 bits. */
static uint32_t frame_name(struct mpr_sites *s, struct mpr_ranges *ranges,
                           const struct mpr_python_frame *frame)
{
    const uint64_t place = mpr_hash_text(mpr_python_file(frame->file)) + frame->line,
                   hash = mpr_hash(mpr_hash_text(frame->function) ^ mpr_hash(place)),
                   id = hash | UINT64_C(1) << 63;
    uint32_t name = mpr_index_get(&s->by_id[MPR_ID_NAME], id);
    if (name) return name;
    name = mpr_ranges_add_frame(ranges, frame);
    set_id(s, MPR_ID_NAME, id, name);
    return name;
}

static void add_frame(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    struct mpr_python_frame frame;
    if (e->size < sizeof frame.line + 2 || e->data[e->size - 1] != 0) return;
    memcpy(&frame.line, e->data, sizeof frame.line);
    frame.function = (const char *)e->data + sizeof frame.line;
    frame.file = frame.function + strlen(frame.function) + 1;
    if (frame.file >= (const char *)e->data + e->size) return;
    set_id(s, MPR_ID_FRAME, e->addr, frame_name(s, ranges, &frame));
}

uint32_t mpr_sites_named(struct mpr_sites *s, struct mpr_ranges *ranges, const char *name)
{
    const struct mpr_python_frame frame = { name, "", 0 };
    return mpr_ranges_child(ranges, 0, frame_name(s, ranges, &frame), 0);
}

static void add_python(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    uint64_t frame[FRAMES_MAX];
    uint32_t node = 0;
    for (size_t i = words_of(e, frame, FRAMES_MAX); i-- > 0;)
        node = mpr_ranges_child(ranges, node, mpr_index_get(&s->by_id[MPR_ID_FRAME], frame[i]), 0);
    set_id(s, MPR_ID_PYTHON, e->addr, node);
}

/* ---- sites */

uint32_t mpr_sites_site(struct mpr_sites *s, struct mpr_site pair)
{
    if (!pair.stack && !pair.python) return 0;
    const uint64_t key = (uint64_t)pair.python << 32 | pair.stack;
    const uint32_t known = mpr_index_get(&s->site_number, key);
    if (known) return known;
    *MPR_ADD(s->site, s->sites, s->site_cap) = pair;
    mpr_index_set(&s->site_number, key, s->sites);
    return s->sites;
}

struct mpr_site mpr_sites_of(const struct mpr_sites *s, uint32_t site)
{
    return site && site <= s->sites ? s->site[site - 1] : (struct mpr_site){ 0, 0 };
}

void mpr_sites_event(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    uint64_t cut;
    switch (e->op) {
    case MPF_OP_MODULE: add_module(s, e); break;
    case MPF_OP_STACK_CUT:
        if (words_of(e, &cut, 1) == 0 || !cut) break;
        if (cut >= MPR_STACK_CUTS) cut = MPR_STACK_CUTS - 1;
        set_id(s, MPR_ID_CUT, e->addr, (uint32_t)cut);
        break;
    case MPF_OP_STACK: add_stack(s, e); break;
    case MPF_OP_FRAME: add_frame(s, ranges, e); break;
    case MPF_OP_PYTHON: add_python(s, ranges, e); break;
    default: break;
    }
}
