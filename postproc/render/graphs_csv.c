/* CSV of CUDA graphs: one record a capture or executable. */
#include <inttypes.h>

#include "csv.h"
#include "gpu_reports.h"
#include "graphs.h"

void mpr_graphs_csv(FILE *out, const struct mpr_graphs *graphs, const struct mpr_style *style)
{
    fputs("log,time_ns,path,thread,burst,capture,device,nodes,segment_bytes,block_bytes,executable_bytes,first_launch_bytes,"
          "alive_at_end\n", out);
    for (size_t i = 0; i < graphs->rows && (!style->top || i < style->top); i++) {
        const struct mpr_graph_row *r = &graphs->row[i];
        mpr_csv_field(out, graphs->summary.path);
        fprintf(out, ",%" PRIu64 ",", r->time);
        mpr_csv_path(out, r->path, r->depth);
        fputc(',', out);
        mpr_csv_field(out, r->thread);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%d\n", r->burst,
                r->capture, r->device, r->nodes, r->segment_bytes, r->block_bytes, r->executable_bytes, r->launch_bytes, r->alive);
    }
}
