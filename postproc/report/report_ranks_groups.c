/* Ranks by node, by communicator, and over time. */
#include <string.h>

#include "report_ranks.h"

/* ---- nodes */

static struct mpr_value most_rank(const void *row, const void *context)
{
    const struct mpr_ranks_node *n = row;
    const struct mpr_ranks *r = context;
    return mpr_value_text(r->rank[n->most_rank].name);
}

#define OF_NODE(member) MPR_FIELD(mpr_ranks_node, member)

// clang-format off
static const struct mpr_column node_columns[] = {
    { .key = "host", .title = "", .type = MPR_TEXT, OF_NODE(host), .width = 20 },
    { .key = "ranks", .title = "ranks", .type = MPR_COUNT, OF_NODE(ranks), .width = 7 },
    { .key = "median_bytes", .title = "median", .type = MPR_BYTES, OF_NODE(median),
      .estimate = true },
    { .key = "most_bytes", .title = "most", .type = MPR_BYTES, OF_NODE(most), .estimate = true },
    { .key = "most_rank", .title = "of", .type = MPR_TEXT, .get = most_rank, .width = 9,
      .spare = 2 },
    { .key = "rss_sum_bytes", .title = "sum of RSS", .type = MPR_BYTES, OF_NODE(rss_sum),
      .unless = MPR_UNKNOWN_AT_MAX, .spare = 1 },
    { .key = "failed", .title = "failed", .type = MPR_COUNT, OF_NODE(failed), .width = 8 },
};
// clang-format on

static bool always(const void *row)
{
    (void)row;
    return true;
}

static void nodes(struct mpr_document *doc, const struct mpr_ranks *r)
{
    mpr_doc_table(
        doc, &(struct mpr_table){
                 .key = "nodes",
                 .title = mpr_arena_format(&doc->arena, "%s by node", r->measure[r->shown].name),
                 .only = r->nodes > 1 ? 0 : MPR_IN_JSON,
                 .all = MPR_IN_JSON,
                 MPR_COLUMNS(node_columns),
                 MPR_ROWS(r->node, r->nodes),
                 .context = r,
                 .estimated = r->measure[r->shown].estimated ? always : NULL });
}

/* ---- communicators */

#define OF_GROUP(member) MPR_FIELD(mpr_ranks_group, member)

// clang-format off
static const struct mpr_column group_columns[] = {
    { .key = "communicator", .type = MPR_TEXT, OF_GROUP(name) },
    { .key = "ranks", .type = MPR_COUNT, OF_GROUP(size), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "present", .type = MPR_COUNT, OF_GROUP(present) },
    { .key = "members", .type = MPR_TEXT, OF_GROUP(members) },
    { .key = "first_use", .type = MPR_TEXT, OF_GROUP(first_use), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "median_bytes", .type = MPR_BYTES, OF_GROUP(median) },
    { .key = "most_bytes", .type = MPR_BYTES, OF_GROUP(most) },
    { .key = "communicator_bytes", .type = MPR_BYTES, OF_GROUP(bytes) },
};
// clang-format on

/* Communicators of one size and first use. */
struct kind {
    const char *what;
    uint64_t groups, median, bytes;
};

#define OF_KIND(member) MPR_FIELD(kind, member)

// clang-format off
static const struct mpr_column kind_columns[] = {
    { .title = "", .type = MPR_TEXT, OF_KIND(what), .width = 32 },
    { .title = "groups", .type = MPR_COUNT, OF_KIND(groups), .width = 8 },
    { .title = "takes", .type = MPR_BYTES, OF_KIND(bytes), .spare = 2 },
    { .title = "median", .type = MPR_BYTES, OF_KIND(median) },
};
// clang-format on

/* Says which groups are outliers of their kind, such as a stage of a pipeline that holds more. */
static void outliers(struct mpr_document *doc, const struct mpr_ranks *r,
                     const struct mpr_ranks_kind *k)
{
    enum { SHOWN = 3 };
    if (!k->aparts) return;
    mpr_doc_add_plain(doc, "    %s of %s groups differ from the others by their median: ",
                      mpr_doc_count(doc, k->aparts), mpr_doc_count(doc, k->groups));
    for (size_t i = 0; i < k->aparts && i < SHOWN; i++) {
        const struct mpr_ranks_group *g = &r->group[k->apart[i]];
        mpr_doc_add_plain(doc, "%s%s %s", i ? ", " : "", g->members, mpr_doc_size(doc, g->median));
    }
    if (k->aparts > SHOWN) mpr_doc_add_plain(doc, ", ...");
    mpr_doc_end_wrapped(doc, 4);
}

static struct kind kind_of(struct mpr_document *doc, const struct mpr_ranks_kind *k)
{
    const char *size = k->size == UINT64_MAX
                           ? "ranks not known"
                           : mpr_arena_format(&doc->arena, "%s ranks", mpr_doc_count(doc, k->size));
    const char *what =
        *k->first_use ? mpr_arena_format(&doc->arena, "%s, first %s", size, k->first_use) : size;
    return (struct kind){ what, k->groups, k->median, k->bytes };
}

static void groups(struct mpr_document *doc, const struct mpr_ranks *r)
{
    struct kind *kind = mpr_arena_alloc(&doc->arena, r->kinds * sizeof *kind);
    for (size_t i = 0; i < r->kinds; i++) kind[i] = kind_of(doc, &r->kind[i]);
    mpr_doc_objects(doc, "communicators", group_columns, r->group, r->groups);
    if (!r->kinds) return;
    mpr_doc_table(doc,
                  &(struct mpr_table){ .title = mpr_arena_format(&doc->arena, "%s by communicator",
                                                                 r->measure[r->shown].name),
                                       .only = MPR_FOR_PEOPLE,
                                       MPR_COLUMNS(kind_columns),
                                       MPR_ROWS(kind, r->kinds) });
    for (size_t i = 0; i < r->kinds; i++) outliers(doc, r, &r->kind[i]);
}

void mpr_report_ranks_groups(struct mpr_document *doc, const struct mpr_ranks *r)
{
    if (!r->measures) return;
    nodes(doc, r);
    groups(doc, r);
}

/* ---- over time */

enum { ROWS = 32, LABEL = 9 };

static struct mpr_value heat_rank(const void *row, const void *context)
{
    const struct mpr_ranks *r = context;
    return mpr_value_text(r->rank[*(const size_t *)row].name);
}

static struct mpr_value heat_bytes(const void *row, const void *context)
{
    const struct mpr_ranks *r = context;
    return mpr_value_numbers(r->heat + *(const size_t *)row * MPR_RANKS_COLUMNS, MPR_RANKS_COLUMNS);
}

static const struct mpr_column heat_columns[] = {
    { .key = "name", .type = MPR_TEXT, .get = heat_rank },
    { .key = "bytes", .type = MPR_NUMBERS, .get = heat_bytes },
};

static void heat_fields(struct mpr_document *doc, const struct mpr_ranks *r)
{
    size_t *place = mpr_arena_alloc(&doc->arena, r->ranks * sizeof *place);
    for (size_t i = 0; i < r->ranks; i++) place[i] = i;
    mpr_doc_open(doc, "heat");
    mpr_doc_fact(doc, "heap", mpr_value_text(r->measure[r->shown].name));
    mpr_doc_fact(doc, "from_realtime_ns", mpr_value_number(MPR_COUNT, r->heat_from));
    mpr_doc_fact(doc, "width_ns", mpr_value_number(MPR_SPAN, r->heat_width));
    mpr_doc_table(doc, &(struct mpr_table){ .key = "ranks",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(heat_columns),
                                            MPR_ROWS(place, r->ranks),
                                            .context = r });
    mpr_doc_close(doc);
}

static const char *shade(uint64_t bytes, uint64_t max)
{
    static const char *const eighth[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    if (!bytes || !max) return eighth[0];
    const double filled = (double)bytes / (double)max * 8;
    return eighth[filled < 1 ? 1 : filled > 8 ? 8 : (int)filled];
}

/* Returns the largest value of consecutive ranks. */
static uint64_t most_of(const struct mpr_ranks *r, size_t from, size_t to, size_t column)
{
    uint64_t max = 0;
    for (size_t i = from; i < to; i++)
        if (r->heat[i * MPR_RANKS_COLUMNS + column] > max)
            max = r->heat[i * MPR_RANKS_COLUMNS + column];
    return max;
}

/* "rank 3", "32-63"; without the first word if it is too long for the column. */
static const char *label(struct mpr_document *doc, const struct mpr_ranks *r, size_t from,
                         size_t to)
{
    const char *first = r->rank[from].name, *last = r->rank[to - 1].name;
    const char *number = first + strcspn(first, " "), *end = last + strcspn(last, " ");
    if (to - from > 1) return mpr_arena_format(&doc->arena, "%s-%s", number + 1, end + 1);
    return strlen(first) > LABEL ? number + 1 : first;
}

static void heat_row(struct mpr_document *doc, const struct mpr_ranks *r, size_t from, size_t to)
{
    size_t columns = MPR_RANKS_COLUMNS;
    while (columns && !most_of(r, from, to, columns - 1)) columns--;
    mpr_doc_add_plain(doc, "  %-*.*s ", LABEL, LABEL, label(doc, r, from, to));
    for (size_t i = 0; i < columns; i++)
        mpr_doc_add_plain(doc, "%s", shade(most_of(r, from, to, i), r->heat_most));
    mpr_doc_end(doc);
}

void mpr_report_ranks_heat(struct mpr_document *doc, const struct mpr_ranks *r)
{
    if (!r->heat_width) return;
    const size_t each = (r->ranks + ROWS - 1) / ROWS;
    heat_fields(doc, r);
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "%s over %s from the first start on, full at %s%s",
                      r->measure[r->shown].name,
                      mpr_doc_duration(doc, r->heat_width * MPR_RANKS_COLUMNS),
                      r->measure[r->shown].estimated ? "~" : "", mpr_doc_size(doc, r->heat_most));
    if (each > 1) mpr_doc_add_plain(doc, "; a row is the most of %zu ranks", each);
    mpr_doc_end_wrapped(doc, 2);
    for (size_t i = 0; i < r->ranks; i += each)
        heat_row(doc, r, i, i + each < r->ranks ? i + each : r->ranks);
}
