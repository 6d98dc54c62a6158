/* Which threads held the host memory that ran out. */
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "mpf/event.h"
#include "naming.h"
#include "report_oom.h"
#include "report_rows.h"

enum { TOP = 5, TENTH = 10 };

/* Then: the largest heap of the host. */
static const struct mpr_heap_peak *largest(const struct mpr_log_peaks *log)
{
    const struct mpr_heap_peak *found = NULL;
    for (size_t i = 0; i < log->heaps; i++) {
        const struct mpr_heap_peak *h = &log->heap[i];
        if (h->inside || !mpf_heap_is_host(h->heap)) continue;
        if (!found || h->peak_bytes > found->peak_bytes) found = h;
    }
    return found;
}

/* Do others than the largest hold a tenth of it together, so that it was more than the program? */
static bool is_shared(const struct mpr_heap_peak *h)
{
    uint64_t most = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (h->row[i].bytes > most) most = h->row[i].bytes;
    return h->peak_bytes && mpr_less(h->peak_bytes, most) >= h->peak_bytes / TENTH;
}

/* ---- by name */

static int by_path(const void *left, const void *right)
{
    const struct mpr_row *a = left, *b = right;
    const int order = mpr_row_by_path(a, b);
    return order ? order : (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* "worker-3 (4242)" without the kernel's number. */
static const char *name_of(const struct mpr_row *row)
{
    return row->path.depth ? row->path.frame[0]->name : "";
}

static struct mpr_path path_of(struct mpr_document *doc, const char *name, size_t threads)
{
    if (threads > 1)
        name = mpr_arena_format(&doc->arena, "%s, %s threads", name, mpr_doc_count(doc, threads));
    return mpr_frame_labels(&doc->arena, &name, 1);
}

/* Threads of one name are one row; numbers in names the table folds. */
static struct mpr_row *by_name(struct mpr_document *doc, const struct mpr_heap_peak *h,
                               size_t *rows)
{
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->rows * sizeof *row);
    if (h->rows) memcpy(row, h->row, h->rows * sizeof *row);
    if (h->rows) qsort(row, h->rows, sizeof *row, by_path);
    *rows = 0;
    for (size_t i = 0, to; i < h->rows; i = to) {
        const char *name = name_of(&row[i]);
        struct mpr_row sum = row[i];
        size_t threads = sum.bytes != 0;
        for (to = i + 1; to < h->rows && strcmp(name_of(&row[to]), name) == 0; to++) {
            sum.bytes += row[to].bytes;
            sum.blocks += row[to].blocks;
            sum.estimated |= row[to].estimated;
            threads += row[to].bytes != 0;
        }
        sum.path = path_of(doc, name, threads);
        row[(*rows)++] = sum;
    }
    return row;
}

/* ---- all */

#define OF_ROW(member) MPR_FIELD(mpr_row, member)

static const struct mpr_column columns[] = {
    { .key = "path", MPR_PATH_FIELD(mpr_row, path) },
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(bytes), .sums = true },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(blocks) },
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_ABSENT_AT_0 },
};

void mpr_report_oom_threads(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    const struct mpr_heap_peak *h = ooms->threads.logs ? largest(&ooms->threads.log[0]) : NULL;
    if (!h || !is_shared(h)) return;
    mpr_doc_fact(doc, "threads_of", mpr_value_heap(h->heap));
    mpr_doc_table(doc, &(struct mpr_table){ .key = "threads",
                                            .only = MPR_IN_JSON,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(h->row, h->rows),
                                            .omitted = "threads_omitted_bytes" });
    size_t rows;
    const struct mpr_row *row = by_name(doc, h, &rows);
    mpr_report_rows(doc,
                    &(struct mpr_rows){ .row = row,
                                        .rows = rows,
                                        .by = MPR_GROUP_RANGE,
                                        .heading = mpr_arena_format(&doc->arena, "%s by thread",
                                                                    mpr_heap_name(h->heap)),
                                        .bytes = "held then",
                                        .whole = h->peak_bytes,
                                        .top = TOP });
}
