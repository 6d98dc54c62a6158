/* Schemas are kept in the order of their registration, without a lock: two threads may record them
 * twice. If all places are taken, further ones are recorded only once. */
#include "nvtx/schemas.h"

#include <string.h>

#include "base/sys.h"
#include "core/loss.h"
#include "core/record.h"

enum { SCHEMAS = 256 };

struct schema {
    uint64_t id;
    uint32_t bytes; /* 0 until it is stored */
    uint8_t data[MPF_DATA_MAX];
};

static void *list;
static uint32_t count; /* number of places requested; larger than their number when all are taken */
static uint32_t in_log; /* 1 + mp_loss_now() from before all of them were recorded, or 0 */

void mp_schemas_reset(void) { in_log = 0; }

static struct schema *schemas(void)
{
    return mp_sys_map_once(&list, SCHEMAS * sizeof(struct schema), false);
}

void mp_schemas_tell(void)
{
    const uint32_t now = mp_loss_now();
    if (__atomic_load_n(&in_log, __ATOMIC_ACQUIRE) == now + 1 || !mp_record_here()) return;
    const struct schema *s = __atomic_load_n(&list, __ATOMIC_ACQUIRE);
    const uint32_t given = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; s && i < given && i < SCHEMAS; i++) {
        const uint32_t bytes = __atomic_load_n(&s[i].bytes, __ATOMIC_ACQUIRE);
        if (bytes) mp_record_data(MPF_OP_SCHEMA, MPF_HEAP_NONE, s[i].id, s[i].data, bytes);
    }
    __atomic_store_n(&in_log, now + 1, __ATOMIC_RELEASE);
}

static void keep(uint64_t id, const void *data, size_t bytes)
{
    struct schema *s = schemas();
    const uint32_t at = s ? __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) : SCHEMAS;
    if (at >= SCHEMAS) return;
    s[at].id = id;
    memcpy(s[at].data, data, bytes);
    __atomic_store_n(&s[at].bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
}

void mp_schemas_add(uint64_t id, const void *data, size_t bytes)
{
    mp_schemas_tell();
    keep(id, data, bytes);
    mp_record_data(MPF_OP_SCHEMA, MPF_HEAP_NONE, id, data, bytes);
}
