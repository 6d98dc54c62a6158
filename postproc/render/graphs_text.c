/* CUDA graphs for a terminal: the bursts of captures, then the graphs that took most. */
#include <inttypes.h>
#include <stdlib.h>

#include "device_text.h"
#include "gpu_reports.h"
#include "graphs.h"
#include "text.h"
#include "units.h"

enum { SIGNED = 48, PATH = 28 };

static void bytes_columns(FILE *out, uint64_t segments, int64_t executable, int64_t launch, int64_t total)
{
    struct mpr_number n;
    char text[3][SIGNED];
    mpr_device_signed(text[0], SIGNED, executable);
    mpr_device_signed(text[1], SIGNED, launch);
    mpr_device_signed(text[2], SIGNED, total);
    fprintf(out, "%12s%12s%12s%12s", mpr_units_size(&n, segments), text[0], text[1], text[2]);
}

static void heading(FILE *out, const char *what, const char *counts, const struct mpr_style *style)
{
    mpr_text_tone(out, style, MPR_FAINT);
    fprintf(out, "\n%-*s%s%12s%12s%12s%12s\n", PATH + 2, what, counts, "segments", "executable", "1st launch", "all");
    mpr_text_tone(out, style, MPR_PLAIN);
}

static void burst_line(FILE *out, const struct mpr_graph_burst *b)
{
    static const char *const by_hand[] = { "(built without a capture)" };
    struct mpr_number time, nodes;
    fputs("  ", out);
    mpr_text_path(out, b->number ? b->path : by_hand, b->number ? b->depth : 1, PATH);
    fprintf(out, "%5" PRIu64 "%7" PRIu64 "%10s", b->captures, b->executables, mpr_units_count(&nodes, b->nodes));
    bytes_columns(out, b->segment_bytes, b->executable_bytes, b->launch_bytes, mpr_burst_total(b));
    fprintf(out, "\n    %s", mpr_units_time(&time, b->from));
    fprintf(out, " to %s, %" PRIu64 " alive at the end", mpr_units_time(&time, b->to), b->alive);
    if (b->block_bytes) fprintf(out, ", %s handed out by PyTorch while they were captured", mpr_units_size(&nodes, b->block_bytes));
    fputc('\n', out);
}

static int by_total(const void *left, const void *right)
{
    const struct mpr_graph_row *a = *(const struct mpr_graph_row *const *)left, *b = *(const struct mpr_graph_row *const *)right;
    const int64_t x = mpr_graph_total(a), y = mpr_graph_total(b);
    if (x != y) return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void row_line(FILE *out, const struct mpr_graph_row *row)
{
    struct mpr_number time, nodes;
    fputs("  ", out);
    mpr_text_path(out, row->path, row->depth, PATH);
    fprintf(out, "%12s%10s", mpr_units_time(&time, row->time), row->instantiated ? mpr_units_count(&nodes, row->nodes) : "-");
    bytes_columns(out, row->segment_bytes, row->executable_bytes, row->launch_bytes, mpr_graph_total(row));
    fputs(row->alive || !row->instantiated ? "\n" : "  gone\n", out);
}

static void largest(FILE *out, const struct mpr_graphs *graphs, const struct mpr_style *style)
{
    const size_t top = style->top ? style->top : MPR_TEXT_TOP;
    const struct mpr_graph_row **row = malloc(graphs->rows * sizeof *row);
    if (!row) return;
    for (size_t i = 0; i < graphs->rows; i++) row[i] = &graphs->row[i];
    qsort(row, graphs->rows, sizeof *row, by_total);
    heading(out, "graphs, largest first", "          at     nodes", style);
    for (size_t i = 0; i < graphs->rows && i < top; i++) row_line(out, row[i]);
    if (top < graphs->rows) fprintf(out, "  (%zu more)\n", graphs->rows - top);
    free(row);
}

void mpr_graphs_text(FILE *out, const struct mpr_graphs *graphs, const struct mpr_style *style)
{
    mpr_text_summary(out, &graphs->summary, style);
    if (!graphs->rows) {
        fputs("\nno CUDA graph was captured or instantiated\n", out);
        return;
    }
    heading(out, "bursts of captures", "count  execs     nodes", style);
    for (size_t i = 0; i < graphs->bursts; i++) burst_line(out, &graphs->burst[i]);
    largest(out, graphs, style);
}
