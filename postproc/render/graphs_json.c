/* JSON of CUDA graphs: a contract, memprof-report(1) lists the fields. */
#include "gpu_reports.h"
#include "graphs.h"
#include "json_rows.h"
#include "json_summary.h"

static void burst(struct mpr_json *j, const struct mpr_graph_burst *b)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "burst", b->number);
    mpr_json_path(j, "path", b->path, b->depth);
    mpr_json_number(j, "from_ns", b->from);
    mpr_json_number(j, "to_ns", b->to);
    mpr_json_number(j, "captures", b->captures);
    mpr_json_number(j, "executables", b->executables);
    mpr_json_number(j, "alive_at_end", b->alive);
    mpr_json_number(j, "nodes", b->nodes);
    mpr_json_number(j, "segment_bytes", b->segment_bytes);
    mpr_json_number(j, "block_bytes", b->block_bytes);
    mpr_json_signed(j, "executable_bytes", b->executable_bytes);
    mpr_json_signed(j, "first_launch_bytes", b->launch_bytes);
    mpr_json_signed(j, "bytes", mpr_burst_total(b));
    mpr_json_close(j, '}');
}

static void row(struct mpr_json *j, const struct mpr_graph_row *r)
{
    mpr_json_open(j, NULL, '{');
    mpr_json_number(j, "time_ns", r->time);
    mpr_json_path(j, "path", r->path, r->depth);
    mpr_json_text(j, "thread", r->thread);
    mpr_json_known(j, "burst", r->burst, 0);
    mpr_json_known(j, "capture", r->capture, 0);
    if (r->pool[0] || r->pool[1]) mpr_json_numbers(j, "pool", r->pool, 2);
    else mpr_json_null(j, "pool");
    mpr_json_number(j, "segment_bytes", r->segment_bytes);
    mpr_json_number(j, "block_bytes", r->block_bytes);
    mpr_json_flag(j, "instantiated", r->instantiated);
    mpr_json_number(j, "device", r->device);
    mpr_json_number(j, "nodes", r->nodes);
    mpr_json_signed(j, "executable_bytes", r->executable_bytes);
    mpr_json_signed(j, "first_launch_bytes", r->launch_bytes);
    mpr_json_signed(j, "bytes", mpr_graph_total(r));
    mpr_json_flag(j, "alive_at_end", r->alive);
    mpr_json_close(j, '}');
}

void mpr_graphs_json(FILE *out, const struct mpr_graphs *graphs, const struct mpr_style *style)
{
    const size_t shown = style->top && style->top < graphs->rows ? style->top : graphs->rows;
    struct mpr_json j = { .out = out, .first = true };
    mpr_json_open(&j, NULL, '{');
    mpr_json_text(&j, "schema", "memprof.graphs/1");
    mpr_json_summary(&j, &graphs->summary);
    mpr_json_open(&j, "bursts", '[');
    for (size_t i = 0; i < graphs->bursts; i++) burst(&j, &graphs->burst[i]);
    mpr_json_close(&j, ']');
    mpr_json_open(&j, "graphs", '[');
    for (size_t i = 0; i < shown; i++) row(&j, &graphs->row[i]);
    mpr_json_close(&j, ']');
    mpr_json_number(&j, "omitted_graphs", graphs->rows - shown);
    mpr_json_close(&j, '}');
}
