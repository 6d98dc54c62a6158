#include "sites.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { FIRST_SITES = 1024, FRAMES_MAX = 512 };

void mpr_sites_free(struct mpr_sites *s)
{
    for (uint32_t i = 0; i < s->libraries; i++) free(s->library[i]);
    for (uint32_t i = 0; i < s->modules; i++) free(s->module[i].path);
    free(s->library);
    free(s->module);
    free(s->library_slot);
    mpr_intervals_free(&s->loaded);
    free(s->known);
    free(s->site);
    free(s->site_slot);
    mpr_stacks_free(&s->stacks);
}

/* ---- ids */

static struct mpr_known *place(const struct mpr_sites *s, uint64_t id)
{
    uint32_t i = (uint32_t)mpr_hash(id) & s->known_mask;
    while (s->known[i].id && s->known[i].id != id) i = (i + 1) & s->known_mask;
    return &s->known[i];
}

static int grow_known(struct mpr_sites *s)
{
    const struct mpr_sites old = *s;
    s->known_mask = old.known ? old.known_mask * 2 + 1 : FIRST_SITES - 1;
    s->known = calloc((size_t)s->known_mask + 1, sizeof *s->known);
    if (!s->known) {
        *s = old;
        return -1;
    }
    for (uint32_t i = 0; old.known && i <= old.known_mask; i++)
        if (old.known[i].id) *place(s, old.known[i].id) = old.known[i];
    free(old.known);
    return 0;
}

static int set_known(struct mpr_sites *s, enum mpr_known_kind kind, uint64_t id, uint32_t value)
{
    if (!id) return 0;
    if ((!s->known || s->knowns > s->known_mask / 2) && grow_known(s) != 0) return -1;
    struct mpr_known *at = place(s, id);
    if (!at->id) s->knowns++;
    *at = (struct mpr_known){ id, value, kind };
    return 0;
}

/* 0 also where a damaged log takes the id of one kind for that of another. */
static uint32_t get_known(const struct mpr_sites *s, enum mpr_known_kind kind, uint64_t id)
{
    const struct mpr_known *at = s->known && id ? place(s, id) : NULL;
    return at && at->kind == kind ? at->value : 0;
}

/* ---- object files */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The place of that name in the table of libraries: its number, or 0. */
static uint32_t *find_library(const struct mpr_sites *s, const char *name)
{
    uint64_t hash = 0;
    for (const char *at = name; *at; at++) hash = mpr_hash(hash + (uint8_t)*at);
    uint32_t at = (uint32_t)hash & (s->library_slots - 1);
    while (s->library_slot[at] && strcmp(s->library[s->library_slot[at] - 1], name) != 0) at = (at + 1) & (s->library_slots - 1);
    return &s->library_slot[at];
}

static int grow_libraries(struct mpr_sites *s)
{
    const uint32_t slots = s->library_slots ? s->library_slots * 2 : 128;
    uint32_t *slot = calloc(slots, sizeof *slot);
    char **library = realloc(s->library, slots / 2 * sizeof *library);
    if (library) s->library = library;
    if (!slot || !library) {
        free(slot);
        return -1;
    }
    free(s->library_slot);
    s->library_slot = slot;
    s->library_slots = slots;
    for (uint32_t i = 0; i < s->libraries; i++) *find_library(s, s->library[i]) = i + 1;
    return 0;
}

/* The number of a library, made when new; 0 without memory. */
static uint32_t library_number(struct mpr_sites *s, const char *path)
{
    const char *name = file_name(path);
    if (s->libraries == s->library_slots / 2 && grow_libraries(s) != 0) return 0;
    uint32_t *slot = find_library(s, name);
    if (*slot) return *slot;
    s->library[s->libraries] = strdup(name);
    return s->library[s->libraries] ? *slot = ++s->libraries : 0;
}

/* What was loaded there before is gone. */
static int load(struct mpr_sites *s, uint32_t index)
{
    const struct mpr_module *m = &s->module[index];
    const struct mpr_place place = mpr_intervals_after(&s->loaded, m->from);
    const struct mpr_interval *span;
    size_t gone = 0;
    for (struct mpr_place at = place; (span = mpr_intervals_at(&s->loaded, at)) && span->start < m->to; at = mpr_intervals_next(&s->loaded, at)) gone++;
    mpr_intervals_remove(&s->loaded, place, gone);
    return mpr_intervals_insert(&s->loaded, mpr_intervals_after(&s->loaded, m->from), &(struct mpr_interval){ m->from, m->to, index + 1, false });
}

static int make_room(struct mpr_sites *s)
{
    if (s->modules < s->module_cap) return 0;
    const uint32_t cap = s->module_cap ? s->module_cap * 2 : 64;
    struct mpr_module *module = realloc(s->module, cap * sizeof *module);
    if (!module) return -1;
    s->module = module;
    s->module_cap = cap;
    return 0;
}

/* The number of the module at an address. */
static uint32_t module_at(const struct mpr_sites *s, uint64_t pc)
{
    const struct mpr_interval *span = mpr_intervals_at(&s->loaded, mpr_intervals_after(&s->loaded, pc));
    return span && span->start <= pc ? span->what : 0;
}

/* It is told again after a frame was lost. */
static bool is_loaded(const struct mpr_sites *s, const struct mpr_module *m)
{
    const uint32_t number = module_at(s, m->from);
    const struct mpr_module *before = number ? &s->module[number - 1] : NULL;
    return before && before->from == m->from && before->to == m->to && before->build_id_bytes == m->build_id_bytes &&
           !memcmp(before->build_id, m->build_id, m->build_id_bytes) && !strcmp(before->path, m->path);
}

static int add_module(struct mpr_sites *s, const struct mpf_event *e)
{
    uint64_t head[2];
    struct mpr_module m = { .from = e->addr };
    if (e->size < sizeof head) return 0;
    memcpy(head, e->data, sizeof head);
    if (head[0] <= m.from || head[1] > e->size - sizeof head) return 0;
    m.to = head[0];
    if (head[1] <= sizeof m.build_id) m.build_id_bytes = (uint32_t)head[1];
    memcpy(m.build_id, e->data + sizeof head, m.build_id_bytes);
    if (make_room(s) != 0) return -1;
    m.path = strndup((const char *)e->data + sizeof head + head[1], e->size - sizeof head - head[1]);
    if (!m.path) return -1;
    if (is_loaded(s, &m)) {
        free(m.path);
        return 0;
    }
    m.library = library_number(s, m.path);
    s->module[s->modules] = m;
    return load(s, s->modules++);
}

static bool is_one_of(const char *name, const char *const *prefix)
{
    for (; *prefix; prefix++)
        if (!strncmp(name, *prefix, strlen(*prefix))) return true;
    return false;
}

/* They are nobody's reason to allocate: CUDA's own and ours; and what passes a request on: the languages' runtimes, allocators. */
static bool is_cuda(const char *name)
{
    static const char *const own[] = { "libcuda.so", "libcudart.so", "libcupti.so", "libmemprof", "libnvidia-", "ld-linux", NULL };
    return is_one_of(name, own);
}

static bool is_cupti(const char *name) { return !strncmp(name, "libcupti.so", 11); }

static bool is_runtime(const char *name)
{
    static const char *const runtime[] = { "libc.so", "libstdc++.so", "libc++", "libjemalloc", "libtcmalloc", "libmimalloc", NULL };
    return is_one_of(name, runtime);
}

static size_t words_of(const struct mpf_event *e, uint64_t *words)
{
    const size_t count = e->size / sizeof *words < FRAMES_MAX ? e->size / sizeof *words : FRAMES_MAX;
    memcpy(words, e->data, count * sizeof *words);
    return count;
}

/* ---- stacks */

static uint32_t owner_of(const struct mpr_sites *s, uint32_t parent, uint32_t module)
{
    const uint32_t library = module ? s->module[module - 1].library : 0, callers = parent ? s->stacks.node[parent].owner : 0;
    if (!library || is_cuda(s->library[library - 1])) return callers;
    return callers && is_runtime(s->library[library - 1]) ? callers : library;
}

static bool is_in(const struct mpr_sites *s, uint64_t pc, bool (*one)(const char *name))
{
    const uint32_t module = module_at(s, pc), library = module ? s->module[module - 1].library : 0;
    return library && one(s->library[library - 1]);
}

/* How many of the innermost frames only say that a driver call was listened to: CUPTI's and those of CUDA below it. */
static size_t listening(const struct mpr_sites *s, const uint64_t *pc, size_t count)
{
    size_t n = 0;
    while (n < count && is_in(s, pc[n], n ? is_cuda : is_cupti)) n++;
    return n < count ? n : 0;
}

static int add_stack(struct mpr_sites *s, const struct mpf_event *e)
{
    uint64_t pc[FRAMES_MAX];
    uint32_t node = 0;
    const size_t count = words_of(e, pc), first = listening(s, pc, count);
    for (size_t i = count; i-- > first; ) {
        const uint32_t module = module_at(s, pc[i]);
        node = mpr_stacks_child(&s->stacks, &(struct mpr_stack_node){ pc[i], node, module, owner_of(s, node, module) });
        if (!node) return -1;
    }
    return set_known(s, MPR_KNOWN_STACK, e->addr, node);
}

/* ---- Python */

/* The number of a name, the same for all frames of that name: among the sites, whose own ids have 48 bits. */
static uint32_t frame_number(struct mpr_sites *s, struct mpr_ranges *ranges, const char *text)
{
    const size_t bytes = strlen(text);
    uint64_t id = UINT64_C(1) << 63;
    for (size_t i = 0; i < bytes; i++) id = mpr_hash(id ^ (uint8_t)text[i]) | UINT64_C(1) << 63;
    uint32_t name = get_known(s, MPR_KNOWN_NAME, id);
    if (name) return name;
    name = MPR_FRAME_NAME + s->frames++;
    mpr_texts_set(&ranges->names, name, (const uint8_t *)text, bytes);
    return set_known(s, MPR_KNOWN_NAME, id, name) == 0 ? name : 0;
}

/* "function (file.py:12)" as a name of a range. */
static int add_frame(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    uint64_t line;
    char text[4096 + 64];
    if (e->size < sizeof line + 2 || e->data[e->size - 1] != 0) return 0;
    memcpy(&line, e->data, sizeof line);
    const char *function = (const char *)e->data + sizeof line, *end = (const char *)e->data + e->size;
    const char *file = function + strlen(function) + 1;
    if (file >= end) return 0;
    snprintf(text, sizeof text, "%s (%s:%" PRIu64 ")", function, file_name(file), line);
    const uint32_t name = frame_number(s, ranges, text);
    return name ? set_known(s, MPR_KNOWN_FRAME, e->addr, name) : -1;
}

static int add_python(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    uint64_t frame[FRAMES_MAX];
    uint32_t node = 0;
    for (size_t i = words_of(e, frame); i-- > 0; ) node = mpr_ranges_child(ranges, node, get_known(s, MPR_KNOWN_FRAME, frame[i]), 0);
    return set_known(s, MPR_KNOWN_PYTHON, e->addr, node);
}

/* ---- sites */

static uint32_t *find_site(const struct mpr_sites *s, struct mpr_site wanted)
{
    uint32_t at = (uint32_t)mpr_hash((uint64_t)wanted.python << 32 | wanted.stack) & (s->site_slots - 1);
    while (s->site_slot[at]) {
        const struct mpr_site *site = &s->site[s->site_slot[at] - 1];
        if (site->stack == wanted.stack && site->python == wanted.python) break;
        at = (at + 1) & (s->site_slots - 1);
    }
    return &s->site_slot[at];
}

static int grow_sites(struct mpr_sites *s)
{
    const uint32_t slots = s->site_slots ? s->site_slots * 2 : FIRST_SITES;
    uint32_t *slot = calloc(slots, sizeof *slot);
    struct mpr_site *site = realloc(s->site, slots / 2 * sizeof *site);
    if (site) s->site = site;
    if (!slot || !site) {
        free(slot);
        return -1;
    }
    free(s->site_slot);
    s->site_slot = slot;
    s->site_slots = slots;
    s->site_cap = slots / 2;
    for (uint32_t i = 0; i < s->sites; i++) *find_site(s, s->site[i]) = i + 1;
    return 0;
}

uint32_t mpr_sites_site(struct mpr_sites *s, struct mpr_site wanted)
{
    if (!wanted.stack && !wanted.python) return 0;
    if (s->sites == s->site_cap && grow_sites(s) != 0) return 0;
    uint32_t *slot = find_site(s, wanted);
    if (!*slot) {
        s->site[s->sites] = wanted;
        *slot = ++s->sites;
    }
    return *slot;
}

struct mpr_site mpr_sites_of(const struct mpr_sites *s, uint32_t site)
{
    return site && site <= s->sites ? s->site[site - 1] : (struct mpr_site){ 0, 0 };
}

int mpr_sites_event(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_MODULE: return add_module(s, e);
    case MPF_OP_STACK: return add_stack(s, e);
    case MPF_OP_FRAME: return add_frame(s, ranges, e);
    case MPF_OP_PYTHON: return add_python(s, ranges, e);
    default: return 0;
    }
}

uint32_t mpr_sites_stack(const struct mpr_sites *s, uint64_t id) { return get_known(s, MPR_KNOWN_STACK, id); }
uint32_t mpr_sites_python(const struct mpr_sites *s, uint64_t id) { return get_known(s, MPR_KNOWN_PYTHON, id); }

uint32_t mpr_sites_library(const struct mpr_sites *s, uint32_t stack)
{
    return stack && stack < s->stacks.nodes ? s->stacks.node[stack].owner : 0;
}

const char *mpr_sites_library_name(const struct mpr_sites *s, uint32_t library)
{
    return library && library <= s->libraries ? s->library[library - 1] : "";
}
