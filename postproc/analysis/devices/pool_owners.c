#include "pool_owners.h"

#include <string.h>

#include "basename.h"

const char *const mpr_owner_name[MPR_OWNERS] = {
    [MPR_OWNER_NCCL] = "NCCL", [MPR_OWNER_XLA] = "XLA", [MPR_OWNER_CUPY] = "CuPy"
};

/* How its object file's name begins, or which folder it lies in (site-packages or dist-packages):
 * CuPy's that asks the driver is called runtime. */
static const struct {
    uint8_t owner;
    const char *name, *folder;
} rule[] = {
    { MPR_OWNER_NCCL, "libnccl", "" },
    { MPR_OWNER_XLA, "xla_cuda_plugin", "" },
    { MPR_OWNER_XLA, "pjrt_c_api_gpu_plugin", "" },
    { MPR_OWNER_CUPY, "", "-packages/cupy_backends/" },
    { MPR_OWNER_CUPY, "", "-packages/cupy/" },
};

static uint8_t owner_of(const char *path)
{
    const char *name = mpr_basename(path);
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (!strncmp(name, rule[i].name, strlen(rule[i].name)) && strstr(path, rule[i].folder))
            return rule[i].owner;
    return MPR_OWNER_OTHER;
}

const uint8_t *mpr_owners_of(struct mpr_arena *arena, const struct mpr_sites *s)
{
    uint8_t *owner = mpr_arena_alloc(arena, (size_t)s->libraries + 1);
    memset(owner, MPR_OWNER_OTHER, (size_t)s->libraries + 1);
    for (uint32_t i = 0; i < s->modules; i++) {
        const uint8_t its = owner_of(s->module[i].path);
        if (its != MPR_OWNER_OTHER) owner[s->module[i].library] = its;
    }
    return owner;
}
