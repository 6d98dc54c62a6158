/* CUDA graphs: the bursts of captures, the batch sizes of each, then all graphs, for people
 * largest first. */
#include <inttypes.h>

#include "amount.h"
#include "graphs.h"
#include "naming.h"
#include "report_rows.h"
#include "reports.h"

/* ---- bursts */

struct burst {
    struct mpr_graph_burst b;
    const char *note;
    const struct mpr_line *line; /* the line with most of its captures, or NULL if it has none */
};

#define OF_BURST(member) MPR_FIELD(burst, b.member)

MPR_VALUE(burst_name, burst, k,
          k->line ? mpr_value_shortened(k->line->row.path, k->line->caller)
                  : mpr_value_text("(built without a capture)"))

// clang-format off
static const struct mpr_column burst_columns[] = {
    { .key = "burst", .type = MPR_COUNT, OF_BURST(number) },
    { .key = "path", .title = "path", MPR_PATH_FIELD(burst, b.path),
      MPR_SHOWN(MPR_PATH, burst_name), .width = 41 },
    { .key = "from_ns", .type = MPR_TIME, OF_BURST(from) },
    { .key = "to_ns", .type = MPR_TIME, OF_BURST(to) },
    { .key = "captures", .title = "count", .type = MPR_COUNT, OF_BURST(captures), .width = 5 },
    { .key = "executables", .title = "execs", .type = MPR_COUNT, OF_BURST(executables), .width = 7,
      .spare = 2 },
    { .key = "alive_at_end", .type = MPR_COUNT, OF_BURST(alive) },
    { .key = "nodes", .title = "nodes", .type = MPR_COUNT, OF_BURST(nodes), .spare = 1 },
    { .key = "segment_bytes", .title = "segments", .type = MPR_BYTES, OF_BURST(bytes.segments) },
    { .key = "block_bytes", .type = MPR_BYTES, OF_BURST(block_bytes) },
    { .key = "executable_bytes", .title = "executable", .type = MPR_SIGNED,
      OF_BURST(bytes.executable), .spare = 4 },
    { .key = "first_launch_bytes", .title = "1st launch", .type = MPR_SIGNED,
      OF_BURST(bytes.launch), .spare = 3 },
    { .key = "bytes", .title = "all", .type = MPR_SIGNED, OF_BURST(bytes.all) },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(burst, note), .below = true },
};
// clang-format on

/* A burst has the name of the line with most of its graphs, for example "capture bs={1..96}". */
static void bursts(struct mpr_document *doc, const struct mpr_graphs *graphs)
{
    struct burst *row = mpr_arena_alloc(&doc->arena, graphs->bursts * sizeof *row);
    for (size_t i = 0; i < graphs->bursts; i++) {
        const struct mpr_graph_burst *b = &graphs->burst[i];
        const struct mpr_line *line = NULL;
        const char *names = "", *blocks = "", *from = mpr_doc_time(doc, b->from);
        if (b->number) {
            struct mpr_row *graph = mpr_arena_alloc(&doc->arena, b->rows * sizeof *graph);
            size_t lines, live;
            for (size_t k = 0; k < b->rows; k++)
                graph[k] = (struct mpr_row){ .path = b->row[k]->path, .bytes = 1 };
            line = mpr_naming_lines(&doc->arena, mpr_report_naming(doc), MPR_GROUP_RANGE, graph,
                                    b->rows, &lines, &live);
            if (lines > 1)
                names =
                    mpr_arena_format(&doc->arena, "and %s; ",
                                     mpr_doc_counted(doc, lines - 1, "other name", "other names"));
        }
        if (b->block_bytes)
            blocks = mpr_arena_format(&doc->arena, ", %s allocated by PyTorch",
                                      mpr_doc_size(doc, b->block_bytes));
        row[i] = (struct burst){ *b, NULL, line };
        row[i].note = mpr_arena_format(&doc->arena, "%s%s to %s, %" PRIu64 " alive at the end%s",
                                       names, from, mpr_doc_time(doc, b->to), b->alive, blocks);
    }
    mpr_doc_rows(doc, burst_columns, row, graphs->bursts, .key = "bursts",
                 .title = "bursts of captures", .all = MPR_IN_JSON | MPR_IN_TEXT);
}

/* ---- batch sizes */

#define OF_SIZE(member) MPR_FIELD(mpr_graph_size, member)

MPR_VALUE(size_name, mpr_graph_size, s,
          mpr_value_text(s->size == MPR_GRAPH_NO_SIZE
                             ? "(other names)"
                             : mpr_arena_format(&doc->arena, "%" PRIu64, s->size)))

// clang-format off
static const struct mpr_column size_columns[] = {
    { .key = "burst", .type = MPR_COUNT, OF_SIZE(burst) },
    { .key = "size", .title = "size", .type = MPR_COUNT, OF_SIZE(size),
      .unless = MPR_UNKNOWN_AT_MAX, MPR_SHOWN(MPR_TEXT, size_name), .width = 20 },
    { .key = "graphs", .title = "count", .type = MPR_COUNT, OF_SIZE(graphs), .width = 5 },
    { .key = "segment_bytes", .title = "segments", .type = MPR_BYTES, OF_SIZE(bytes.segments),
      .spare = 3 },
    { .key = "executable_bytes", .title = "executable", .type = MPR_SIGNED,
      OF_SIZE(bytes.executable), .spare = 2 },
    { .key = "first_launch_bytes", .title = "1st launch", .type = MPR_SIGNED, OF_SIZE(bytes.launch),
      .spare = 1 },
    { .key = "bytes", .title = "all", .type = MPR_SIGNED, OF_SIZE(bytes.all) },
    { .key = "cumulative_bytes", .title = "sum", .type = MPR_SIGNED, OF_SIZE(cumulative) },
};
// clang-format on

/* People see a table for each burst. JSON has one list. */
static void sizes(struct mpr_document *doc, const struct mpr_graphs *graphs)
{
    struct mpr_graph_size *row = mpr_arena_alloc(&doc->arena, graphs->rows * sizeof *row);
    size_t rows = 0;
    for (size_t i = 0; i < graphs->bursts; i++)
        for (size_t k = 0; k < graphs->burst[i].sizes; k++) row[rows++] = graphs->burst[i].size[k];
    mpr_doc_objects(doc, "sizes", size_columns, row, rows);
    for (size_t i = 0; i < graphs->bursts; i++) {
        const struct mpr_graph_burst *b = &graphs->burst[i];
        if (!b->sizes) continue;
        mpr_doc_rows(doc, size_columns, b->size, b->sizes,
                     .title = mpr_arena_format(&doc->arena, "captures by %s", b->counted),
                     .only = MPR_FOR_PEOPLE);
    }
}

/* ---- graphs */

#define OF_GRAPH(member) MPR_FIELD(mpr_graph_row, member)

MPR_VALUE(pool, mpr_graph_row, r,
          r->pool[0] || r->pool[1] ? mpr_value_numbers(r->pool, 2) : mpr_value_unknown)
MPR_VALUE(nodes, mpr_graph_row, r,
          r->instantiated ? mpr_value_number(MPR_COUNT, r->nodes) : mpr_value_unknown)

MPR_VALUE(gone, mpr_graph_row, r, mpr_value_text(r->alive || !r->instantiated ? "" : "freed"))

// clang-format off
static const struct mpr_column graph_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "time_ns", .title = "at", .type = MPR_TIME, OF_GRAPH(time), .after = "path",
      .width = 12, .spare = 4 },
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_graph_row, path), .width = 28 },
    { .key = "thread", .type = MPR_TEXT, OF_GRAPH(thread) },
    { .key = "burst", .type = MPR_COUNT, OF_GRAPH(burst), .unless = MPR_UNKNOWN_AT_0,
      .only = MPR_IN_JSON },
    { .key = "capture", .type = MPR_COUNT, OF_GRAPH(capture), .unless = MPR_UNKNOWN_AT_0,
      .only = MPR_IN_JSON },
    { .key = "burst", .type = MPR_COUNT, OF_GRAPH(burst), .only = MPR_IN_CSV },
    { .key = "capture", .type = MPR_COUNT, OF_GRAPH(capture), .only = MPR_IN_CSV },
    { .key = "device", .type = MPR_COUNT, OF_GRAPH(device), .only = MPR_IN_CSV },
    { .key = "nodes", .type = MPR_COUNT, OF_GRAPH(nodes), .only = MPR_IN_CSV },
    { .key = "pool", .type = MPR_NUMBERS, .get = pool, .only = MPR_IN_JSON },
    { .key = "segment_bytes", .title = "segments", .type = MPR_BYTES, OF_GRAPH(bytes.segments) },
    { .key = "block_bytes", .type = MPR_BYTES, OF_GRAPH(block_bytes) },
    { .key = "instantiated", .type = MPR_FLAG, OF_GRAPH(instantiated), .only = MPR_IN_JSON },
    { .key = "device", .type = MPR_COUNT, OF_GRAPH(device), .only = MPR_IN_JSON },
    { .key = "nodes", .title = "nodes", .type = MPR_COUNT, OF_GRAPH(nodes),
      MPR_SHOWN(MPR_COUNT, nodes), .only = MPR_IN_JSON | MPR_FOR_PEOPLE, .after = "time_ns",
      .spare = 1 },
    { .key = "executable_bytes", .title = "executable", .type = MPR_SIGNED,
      OF_GRAPH(bytes.executable), .spare = 3 },
    { .key = "first_launch_bytes", .title = "1st launch", .type = MPR_SIGNED,
      OF_GRAPH(bytes.launch), .spare = 2 },
    { .key = "bytes", .title = "all", .type = MPR_SIGNED, OF_GRAPH(bytes.all),
      .only = MPR_IN_JSON | MPR_FOR_PEOPLE },
    { .key = "alive_at_end", .title = "", .type = MPR_FLAG, OF_GRAPH(alive),
      MPR_SHOWN(MPR_TEXT, gone), .beside = true },
};
// clang-format on

MPR_COMPARE(by_total, struct mpr_graph_row, mpr_compare_signed(b->bytes.all, a->bytes.all))

void mpr_report_graphs(struct mpr_document *doc, const struct mpr_graphs *graphs)
{
    mpr_report_schema(doc, "memprof.graphs/1");
    mpr_report_log(doc, &graphs->summary);
    bursts(doc, graphs);
    sizes(doc, graphs);
    mpr_doc_rows(doc, graph_columns, graphs->row, graphs->rows, .key = "graphs",
                 .title = "graphs, largest first", .lines = { .compare = by_total },
                 .only = MPR_EVERYWHERE, .folded = { "CUDA graphs", NULL, "bytes" });
    mpr_doc_csv(doc, graph_columns);
    if (graphs->rows) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "no CUDA graph was captured or instantiated");
}
