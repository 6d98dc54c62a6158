/* NCCL's communicators, from the payloads of its NVTX ranges (domain "NCCL"). */
#ifndef MPR_COMMS_H
#define MPR_COMMS_H

#include <stdint.h>

#include "index.h"
#include "mpf/event.h"

struct mpr_comm {
    uint64_t id;          /* hash, as NCCL gives it */
    uint64_t ranks, rank; /* UINT64_MAX: not known */
    uint32_t first_use;   /* name of the first range after its init; 0: none */
    uint64_t time;        /* ns, first seen */
};

struct mpr_comms {
    struct mpr_comm *comm; /* by number - 1 */
    uint32_t count, cap;
    struct mpr_index number, newest; /* of communicators, by id; of schemas, by id: index + 1 */
    /* Offsets; -1: not in it */
    struct mpr_schema {
        uint64_t id;
        int comm, ranks, rank;
    } * schema;
    uint32_t schemas, schema_cap;
};

void mpr_comms_free(struct mpr_comms *c);
/* SCHEMA. */
void mpr_comms_schema(struct mpr_comms *c, const struct mpf_event *e);
/* RANGE_DATA of a range named `name`: the number of the communicator that it names, from 1; 0:
 * none. */
uint32_t mpr_comms_payload(struct mpr_comms *c, const struct mpf_event *e, uint32_t name);

#endif
