#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define FIRST_SLOTS 1024u

/* ---- texts */

static struct mpr_text *find_text(const struct mpr_texts *texts, uint32_t id)
{
    size_t at = mpr_hash(id) & texts->mask;
    while (texts->text[at].at && texts->text[at].id != id) at = (at + 1) & texts->mask;
    return &texts->text[at];
}

static int grow_texts(struct mpr_texts *texts)
{
    const struct mpr_texts old = *texts;
    const size_t places = old.text ? (old.mask + 1) * 2 : FIRST_SLOTS;
    texts->text = calloc(places, sizeof *texts->text);
    if (!texts->text) {
        *texts = old;
        return -1;
    }
    texts->mask = places - 1;
    for (size_t i = 0; old.text && i <= old.mask; i++) {
        if (old.text[i].at) *find_text(texts, old.text[i].id) = old.text[i];
    }
    free(old.text);
    return 0;
}

void mpr_texts_set(struct mpr_texts *texts, uint32_t id, const uint8_t *data, size_t bytes)
{
    if (texts->bytes + bytes > MPR_TEXTS_BYTES) return;
    if ((!texts->text || texts->count > texts->mask / 2) && grow_texts(texts) != 0) return;
    struct mpr_text *text = find_text(texts, id);
    if (text->at) return;
    char *copy = malloc(bytes + 1);
    if (!copy) return;
    if (bytes) memcpy(copy, data, bytes);
    copy[bytes] = 0;
    *text = (struct mpr_text){ copy, id, (uint32_t)bytes };
    texts->count++;
    texts->bytes += bytes + sizeof *text;
}

const char *mpr_texts_get(const struct mpr_texts *texts, uint32_t id, size_t *bytes)
{
    if (!texts->text) return NULL;
    const struct mpr_text *text = find_text(texts, id);
    *bytes = text->bytes;
    return text->at;
}

static void free_texts(struct mpr_texts *texts)
{
    for (size_t i = 0; texts->text && i <= texts->mask; i++) free((char *)texts->text[i].at);
    free(texts->text);
}

const char *mpr_ranges_domain(const struct mpr_ranges *r, uint32_t domain)
{
    size_t bytes;
    const char *name = domain ? mpr_texts_get(&r->domains, domain, &bytes) : NULL;
    return name ? name : "";
}

/* ---- the tree */

static uint32_t *find(const struct mpr_ranges *r, uint32_t parent, uint32_t name, uint32_t domain)
{
    const uint64_t key = mpr_hash((uint64_t)name << 32 | parent) + domain;
    uint32_t at = (uint32_t)mpr_hash(key) & (r->slots - 1);
    while (r->slot[at]) {
        const struct mpr_node *node = &r->node[r->slot[at]];
        if (node->parent == parent && node->name == name && node->domain == domain) break;
        at = (at + 1) & (r->slots - 1);
    }
    return &r->slot[at];
}

static int grow_slots(struct mpr_ranges *r)
{
    uint32_t *slot = calloc((size_t)r->slots * 2, sizeof *slot);
    if (!slot) return -1;
    free(r->slot);
    r->slot = slot;
    r->slots *= 2;
    for (uint32_t i = 1; i < r->nodes; i++) *find(r, r->node[i].parent, r->node[i].name, r->node[i].domain) = i;
    return 0;
}

static int make_room(struct mpr_ranges *r)
{
    if (r->nodes < r->node_cap) return 0;
    struct mpr_node *node = realloc(r->node, (size_t)r->node_cap * 2 * sizeof *node);
    if (!node) return -1;
    r->node = node;
    r->node_cap *= 2;
    return r->nodes < r->slots / 2 ? 0 : grow_slots(r);
}

int mpr_ranges_init(struct mpr_ranges *r)
{
    *r = (struct mpr_ranges){ .slots = FIRST_SLOTS, .node_cap = FIRST_SLOTS / 4, .nodes = 1 };
    r->slot = calloc(r->slots, sizeof *r->slot);
    r->node = calloc(r->node_cap, sizeof *r->node);
    return r->slot && r->node ? 0 : -1;
}

void mpr_ranges_free(struct mpr_ranges *r)
{
    free_texts(&r->names);
    free_texts(&r->domains);
    free(r->slot);
    free(r->node);
}

uint32_t mpr_ranges_child(struct mpr_ranges *r, uint32_t parent, uint32_t name, uint32_t domain)
{
    const uint32_t known = *find(r, parent, name, domain);
    if (known) return known;
    if (r->node[parent].depth == MPR_PATH_MAX || make_room(r) != 0) return parent;
    r->node[r->nodes] = (struct mpr_node){ parent, name, domain, r->node[parent].depth + 1 };
    *find(r, parent, name, domain) = r->nodes;
    return r->nodes++;
}
