/* Records ranges and marks that an instrumentation interface (NVTX) reports.
 *
 * Any thread, any context; no lock, errno kept. `domain` is 0 for the default domain, or a number
 * from mp_domain_id or mp_domain_check. `name` is a number from mp_name_id or mp_name_check. */
#ifndef MP_RANGES_H
#define MP_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define MP_RANGE_UNTRACKED (-2) /* the range is recorded, but its level is not kept */
#define MP_RANGE_ERROR     (-1)

/* Return the level of the range, 0 for the thread's outermost one in its domain, or
 * MP_RANGE_UNTRACKED for a domain created after the first 31. A pop without a range returns
 * MP_RANGE_ERROR and is not recorded. */
int mp_range_push(uint32_t domain, uint32_t name);
int mp_range_pop(uint32_t domain);

/* A process range has an ID that is unique in the process and never 0. */
uint64_t mp_range_new_id(void);
void mp_range_start(uint32_t domain, uint32_t name, uint64_t id);
void mp_range_end(uint64_t id);

void mp_range_mark(uint32_t domain, uint32_t name);
/* Records the payload of the thread's last push, start or mark. */
void mp_range_data(uint64_t schema, const void *data, size_t bytes);

#endif
