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
    free(s->library);
    free(s->module);
    free(s->site);
}

/* ---- ids */

static struct mpr_site *place(const struct mpr_sites *s, uint64_t id)
{
    uint32_t i = (uint32_t)mpr_hash(id) & s->site_mask;
    while (s->site[i].id && s->site[i].id != id) i = (i + 1) & s->site_mask;
    return &s->site[i];
}

static int grow_sites(struct mpr_sites *s)
{
    const struct mpr_sites old = *s;
    s->site_mask = old.site ? old.site_mask * 2 + 1 : FIRST_SITES - 1;
    s->site = calloc((size_t)s->site_mask + 1, sizeof *s->site);
    if (!s->site) {
        *s = old;
        return -1;
    }
    for (uint32_t i = 0; old.site && i <= old.site_mask; i++)
        if (old.site[i].id) *place(s, old.site[i].id) = old.site[i];
    free(old.site);
    return 0;
}

static int set_site(struct mpr_sites *s, uint64_t id, uint32_t value)
{
    if ((!s->site || s->sites > s->site_mask / 2) && grow_sites(s) != 0) return -1;
    struct mpr_site *at = place(s, id);
    if (!at->id) s->sites++;
    *at = (struct mpr_site){ id, value };
    return 0;
}

static uint32_t get_site(const struct mpr_sites *s, uint64_t id)
{
    return s->site && id ? place(s, id)->value : 0;
}

/* ---- object files */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The number of a library, made when new; 0 without memory. */
static uint32_t library_number(struct mpr_sites *s, const char *path)
{
    const char *name = file_name(path);
    for (uint32_t i = 0; i < s->libraries; i++)
        if (!strcmp(s->library[i], name)) return i + 1;
    if (s->libraries == s->library_cap) {
        const uint32_t cap = s->library_cap ? s->library_cap * 2 : 64;
        char **library = realloc(s->library, cap * sizeof *library);
        if (!library) return 0;
        s->library = library;
        s->library_cap = cap;
    }
    s->library[s->libraries] = strdup(name);
    return s->library[s->libraries] ? ++s->libraries : 0;
}

static int add_module(struct mpr_sites *s, const struct mpf_event *e)
{
    uint64_t head[2];
    char path[4096];
    if (e->size < sizeof head) return 0;
    memcpy(head, e->data, sizeof head);
    if (head[1] > e->size - sizeof head) return 0;
    const size_t bytes = e->size - sizeof head - head[1];
    if (bytes >= sizeof path) return 0;
    memcpy(path, e->data + sizeof head + head[1], bytes);
    path[bytes] = 0;
    if (s->modules == s->module_cap) {
        const uint32_t cap = s->module_cap ? s->module_cap * 2 : 64;
        struct mpr_module *module = realloc(s->module, cap * sizeof *module);
        if (!module) return -1;
        s->module = module;
        s->module_cap = cap;
    }
    s->module[s->modules++] = (struct mpr_module){ e->addr, head[0], library_number(s, path) };
    return 0;
}

/* The newest module at an address: an older one there was unloaded. */
static uint32_t library_at(const struct mpr_sites *s, uint64_t pc)
{
    for (uint32_t i = s->modules; i-- > 0; )
        if (pc >= s->module[i].from && pc < s->module[i].to) return s->module[i].library;
    return 0;
}

static bool is_cuda(const char *name)
{
    static const char *const own[] = { "libcuda.so", "libcudart.so", "libcupti.so", "libmemprof", "libnvidia-", "ld-linux" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strncmp(name, own[i], strlen(own[i]))) return true;
    return false;
}

static uint32_t owner_of(const struct mpr_sites *s, const uint64_t *pc, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        const uint32_t library = library_at(s, pc[i]);
        if (library && !is_cuda(s->library[library - 1])) return library;
    }
    return 0;
}

static size_t words_of(const struct mpf_event *e, uint64_t *words)
{
    const size_t count = e->size / sizeof *words < FRAMES_MAX ? e->size / sizeof *words : FRAMES_MAX;
    memcpy(words, e->data, count * sizeof *words);
    return count;
}

/* ---- Python */

/* The number of a name, the same for all frames of that name: among the sites, whose own ids have 48 bits. */
static uint32_t frame_number(struct mpr_sites *s, struct mpr_ranges *ranges, const char *text)
{
    const size_t bytes = strlen(text);
    uint64_t id = UINT64_C(1) << 63;
    for (size_t i = 0; i < bytes; i++) id = mpr_hash(id ^ (uint8_t)text[i]) | UINT64_C(1) << 63;
    uint32_t name = get_site(s, id);
    if (name) return name;
    name = MPR_FRAME_NAME + s->frames++;
    mpr_texts_set(&ranges->names, name, (const uint8_t *)text, bytes);
    return set_site(s, id, name) == 0 ? name : 0;
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
    return name ? set_site(s, e->addr, name) : -1;
}

static int add_python(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    uint64_t frame[FRAMES_MAX];
    uint32_t node = 0;
    for (size_t i = words_of(e, frame); i-- > 0; ) node = mpr_ranges_child(ranges, node, get_site(s, frame[i]), 0);
    return set_site(s, e->addr, node);
}

int mpr_sites_event(struct mpr_sites *s, struct mpr_ranges *ranges, const struct mpf_event *e)
{
    uint64_t pc[FRAMES_MAX];
    switch (e->op) {
    case MPF_OP_MODULE: return add_module(s, e);
    case MPF_OP_STACK: return set_site(s, e->addr, owner_of(s, pc, words_of(e, pc)));
    case MPF_OP_FRAME: return add_frame(s, ranges, e);
    case MPF_OP_PYTHON: return add_python(s, ranges, e);
    default: return 0;
    }
}

uint32_t mpr_sites_library(const struct mpr_sites *s, uint64_t stack) { return get_site(s, stack); }
uint32_t mpr_sites_python(const struct mpr_sites *s, uint64_t stack) { return get_site(s, stack); }

const char *mpr_sites_library_name(const struct mpr_sites *s, uint32_t library)
{
    return library && library <= s->libraries ? s->library[library - 1] : "";
}
