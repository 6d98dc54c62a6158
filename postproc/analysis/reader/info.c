#include "info.h"

#include "labels.h"
#include "reader.h"

static void fill_header(const struct mpr_header *h, struct mpr_info *info)
{
    info->header = mpr_arena_alloc(&info->arena, h->pairs * sizeof *info->header);
    for (size_t i = 0; i < h->pairs; i++) {
        info->header[info->headers++] =
            (struct mpr_info_pair){ mpr_arena_text(&info->arena, h->pair[i].key),
                                    mpr_arena_text(&info->arena, h->pair[i].value) };
    }
}

static void fill_counts(const struct mpr_replay *r, struct mpr_info *info)
{
    info->count = mpr_arena_alloc(&info->arena, 256 * sizeof *info->count);
    for (unsigned op = 0; op < 256; op++) {
        if (!r->count[op]) continue;
        const char *name = mpf_op_name(op), *text = mpf_op_text(op);
        info->count[info->counts++] =
            (struct mpr_info_count){ name ? name
                                          : mpr_arena_format(&info->arena, "operation %u", op),
                                     text ? text : "of a newer memprof; not used", r->count[op] };
    }
}

static void fill_threads(const struct mpr_replay *r, struct mpr_info *info)
{
    info->thread = mpr_arena_alloc(&info->arena, r->threads.count * sizeof *info->thread);
    for (uint32_t i = 0; i < r->threads.count; i++) {
        const struct mpr_thread *t = r->threads.at[i];
        if (!t) continue;
        info->thread[info->threads++] =
            (struct mpr_info_thread){ i, mpr_label_thread(&info->arena, r, i), t->first_ns,
                                      t->ended };
    }
}

int mpr_info_read(struct mpr_info *info, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error)
{
    struct mpr_reader reader;
    *info = (struct mpr_info){ 0 };
    if (mpr_reader_run(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    const struct mpr_replay *r = &reader.replay;
    mpr_reader_summary(&reader, path, &info->arena, &info->summary);
    fill_header(mpr_log_header(reader.log), info);
    fill_counts(r, info);
    fill_threads(r, info);
    info->heap = mpr_nvtx_heaps(&info->arena, r, &info->heaps);
    info->region = mpr_nvtx_regions(&info->arena, r, &info->regions);
    info->names = r->ranges.names.count;
    info->domains = r->ranges.domains.count;
    info->paths = r->ranges.nodes - 1;
    info->own_memory = r->samples.source[MPR_SOURCE_RSS].largest.value[MPF_RSS_MEMPROF];
    mpr_reader_close(&reader);
    return 0;
}

void mpr_info_free(struct mpr_info *info) { mpr_arena_free(&info->arena); }
