#include "devices.h"

#include "composition.h"
#include "gpu_peaks.h"

static void fill(struct mpr_arena *arena, const struct mpr_reader *reader, unsigned index,
                 struct mpr_device *out)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_gpu_device *d = &r->gpu.device[index];
    *out = (struct mpr_device){
        .index = index,
        .name = mpr_arena_text(arena, d->name),
        .uuid = mpr_arena_text(arena, d->uuid),
        .off = mpr_arena_text(arena, d->off),
        .used_off = mpr_arena_text(arena, d->used_off),
        .by_name = mpr_arena_text(arena, d->by_name),
        .shared = d->shared,
        .torch_reserved_peak = d->torch_reserved_peak,
        .context_blocks = r->gpu.context_blocks,
    };
    mpr_composition(&out->peak, arena, reader, &d->peak);
}

struct mpr_device *mpr_devices_fill(struct mpr_arena *arena, const struct mpr_reader *reader,
                                    size_t *devices)
{
    struct mpr_device *device = mpr_arena_alloc(arena, MPF_GPUS * sizeof *device);
    *devices = 0;
    for (unsigned i = 0; i < MPF_GPUS; i++)
        if (mpr_gpu_is_there(&reader->replay, i)) fill(arena, reader, i, &device[(*devices)++]);
    return device;
}
