#include "comms.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "mpf/slot.h"

void mpr_comms_free(struct mpr_comms *c)
{
    free(c->comm);
    free(c->schema);
    mpr_index_free(&c->number);
    mpr_index_free(&c->newest);
}

/* The payload's types that are used here: 4 bytes for int and unsigned, 8 for u64 (NVTX's numbers
 * 5, 6 and 18). */
static void take_entry(struct mpr_schema *schema, const char *name, uint64_t offset)
{
    if (!strcmp(name, "NCCL communicator ID")) schema->comm = (int)offset;
    else if (!strcmp(name, "No. of ranks")) schema->ranks = (int)offset;
    else if (!strcmp(name, "Rank")) schema->rank = (int)offset;
}

void mpr_comms_schema(struct mpr_comms *c, const struct mpf_event *e)
{
    struct mpr_schema schema = { e->addr, -1, -1, -1 };
    const uint8_t *p = e->data, *end = e->data + e->size;
    uint64_t place[2];
    while ((size_t)(end - p) > sizeof place) {
        memcpy(place, p, sizeof place);
        p += sizeof place;
        const uint8_t *zero = memchr(p, 0, (size_t)(end - p));
        if (!zero) break;
        if (place[1] < MPF_DATA_MAX) take_entry(&schema, (const char *)p, place[1]);
        p = zero + 1;
    }
    if (schema.comm < 0) return;
    MPR_GROW(c->schema, c->schemas, c->schema_cap);
    c->schema[c->schemas++] = schema;
    mpr_index_set(&c->newest, schema.id, c->schemas);
}

static const struct mpr_schema *find_schema(const struct mpr_comms *c, uint64_t id)
{
    const uint32_t number = mpr_index_get(&c->newest, id);
    return number ? &c->schema[number - 1] : NULL;
}

/* The number of the communicator, made when new. */
static uint32_t number_of(struct mpr_comms *c, uint64_t id, uint64_t time)
{
    const uint32_t known = mpr_index_get(&c->number, id);
    if (known) return known;
    MPR_GROW(c->comm, c->count, c->cap);
    c->comm[c->count] =
        (struct mpr_comm){ .id = id, .ranks = UINT64_MAX, .rank = UINT64_MAX, .time = time };
    mpr_index_set(&c->number, id, ++c->count);
    return c->count;
}

static uint64_t field(const struct mpf_event *e, int offset, size_t bytes)
{
    uint64_t v = 0;
    if (offset < 0 || (size_t)offset + bytes > e->size) return UINT64_MAX;
    memcpy(&v, e->data + offset, bytes);
    return v;
}

uint32_t mpr_comms_payload(struct mpr_comms *c, const struct mpf_event *e, uint32_t name)
{
    const struct mpr_schema *s = find_schema(c, e->addr);
    const uint64_t id = s ? field(e, s->comm, sizeof id) : UINT64_MAX;
    const uint32_t number = id != UINT64_MAX ? number_of(c, id, e->time) : 0;
    if (!number) return 0;
    struct mpr_comm *comm = &c->comm[number - 1];
    if (s->ranks >= 0) {
        comm->ranks = field(e, s->ranks, 4);
        comm->rank = field(e, s->rank, 4);
    } else if (!comm->first_use) comm->first_use = name;
    return number;
}
