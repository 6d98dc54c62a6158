/* CSV of PyTorch's segments: one record a segment. */
#include <inttypes.h>

#include "csv.h"
#include "gpu_reports.h"
#include "segments.h"

void mpr_segments_csv(FILE *out, const struct mpr_segments *segments, const struct mpr_style *style)
{
    static const char *const state[] = { "split", "releasable", "graph" };
    fputs("log,device,time_ns,address,state,capture,expandable,made_ns,bytes,live_bytes,free_bytes,largest_hole_bytes,blocks,"
          "oldest_path\n", out);
    for (size_t i = 0; i < segments->devices; i++) {
        const struct mpr_segments_device *d = &segments->device[i];
        for (size_t k = 0; k < d->segments && (!style->top || k < style->top); k++) {
            const struct mpr_segment *s = &d->segment[k];
            mpr_csv_field(out, segments->summary.path);
            fprintf(out, ",%u,%" PRIu64 ",%" PRIu64 ",%s,%" PRIu32 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",%" PRIu64 ",", d->index, d->time, s->addr, state[s->state], s->capture, s->expandable, s->time, s->bytes,
                    s->live, s->free, s->largest_hole, s->blocks);
            if (s->oldest) mpr_csv_path(out, s->oldest, s->oldest_depth);
            fputc('\n', out);
        }
    }
}
