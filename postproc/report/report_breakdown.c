/* PyTorch's memory by role: a line a role with its rule, then the largest parts of each. */
#include <inttypes.h>

#include "breakdown.h"
#include "naming.h"
#include "report_rows.h"
#include "reports.h"

enum { NAME = 22, PARTS = 4 }; /* columns of text; lines of a role unless --top says otherwise */

static const char *const phase_words[MPR_PHASES] = { "setup", "forward", "backward", "optimizer",
                                                     "between" };

/* ---- roles */

struct role {
    const struct mpr_role_share *share;
    uint64_t bytes, blocks;
    const char *name, *rule;
};

#define OF_ROLE(member) MPR_FIELD(role, member)

static const struct mpr_column role_columns[] = {
    { .title = "role", .type = MPR_TEXT, OF_ROLE(name), .width = NAME },
    { .title = "bytes", .type = MPR_BYTES, OF_ROLE(bytes) },
    { .title = "share", .type = MPR_SHARE, OF_ROLE(bytes) },
    { .title = "blocks", .type = MPR_COUNT, OF_ROLE(blocks) },
    { .title = "", .type = MPR_TEXT, OF_ROLE(rule), .below = true },
};

/* For people those that there are, largest first; unexplained last, and always. */
static size_t list_roles(const struct mpr_breakdown_heap *h, struct role *out)
{
    size_t count = 0;
    for (int i = 0; i < MPR_ROLES; i++) {
        const struct mpr_role_share *s = &h->role[i];
        if (!s->bytes && !s->blocks && i != MPR_ROLE_UNEXPLAINED) continue;
        const struct role role = { s, s->bytes, s->blocks, mpr_role_name(s->role),
                                   mpr_role_rule(s->role) };
        size_t at = count++;
        for (; i != MPR_ROLE_UNEXPLAINED && at && out[at - 1].bytes < role.bytes; at--)
            out[at] = out[at - 1];
        out[at] = role;
    }
    return count;
}

const char *mpr_report_pass(struct mpr_document *doc, const struct mpr_breakdown *b,
                            const struct mpr_breakdown_heap *h)
{
    static const char *const in[MPR_PHASES] = { "before the first forward pass", "in forward",
                                                "in backward", "in the optimizer",
                                                "between passes" };
    if (!b->ran) return "no forward or backward pass and no optimizer's step was seen";
    if (!b->steps) return in[h->phase];
    return mpr_arena_format(&doc->arena, "%s, %s of %s steps done", in[h->phase],
                            mpr_doc_count(doc, h->steps), mpr_doc_count(doc, b->steps));
}

/* ---- parts */

/* What columns need beside the row. */
struct around {
    struct mpr_site_context site;
    const char *log;
    uint8_t heap;
    const char *role;
};

#define OF_ROW(member) MPR_FIELD(mpr_row, member)

static const struct mpr_column part_columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(around, log), .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_TEXT, MPR_CONTEXT(around, heap), .only = MPR_IN_CSV },
    { .key = "role", .type = MPR_TEXT, MPR_CONTEXT(around, role), .only = MPR_IN_CSV },
    { .key = "path", MPR_PATH_FIELD(mpr_row, path) },
    MPR_SITE_COLUMNS,
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(bytes), .sums = true },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(blocks) },
};

#define OF_SHARE(member) MPR_FIELD(mpr_role_share, member)

static const struct mpr_column share_columns[] = {
    { .key = "bytes", .type = MPR_BYTES, OF_SHARE(bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF_SHARE(blocks) },
    { .key = "oldest_ns", .type = MPR_TIME, OF_SHARE(oldest) },
    { .key = "newest_ns", .type = MPR_TIME, OF_SHARE(newest) },
};

static void role_fields(struct mpr_document *doc, const struct mpr_breakdown *b,
                        const struct mpr_breakdown_heap *h, const struct mpr_role_share *s)
{
    struct around *around = mpr_arena_alloc(&doc->arena, sizeof *around);
    *around =
        (struct around){ { doc, MPR_GROUP_AUTO }, b->summary.path, h->heap, mpr_role_key(s->role) };
    mpr_doc_open(doc, NULL);
    mpr_doc_fact(doc, "role", mpr_value_text(around->role));
    mpr_doc_fact(doc, "rule", mpr_value_text(mpr_role_rule(s->role)));
    mpr_doc_facts(doc, share_columns, s);
    mpr_doc_table(doc,
                  &(struct mpr_table){ .key = "parts",
                                       .only = MPR_IN_JSON | MPR_IN_CSV,
                                       MPR_COLUMNS(part_columns),
                                       MPR_ROWS(s->row, s->rows),
                                       .context = around,
                                       .omitted = "parts_omitted_bytes",
                                       .folded = { mpr_heap_name(h->heap), "role", "bytes" } });
    mpr_doc_close(doc);
}

static void role_lines(struct mpr_document *doc, const struct mpr_breakdown_heap *h,
                       const struct mpr_role_share *s)
{
    mpr_report_rows(doc, &(struct mpr_rows){ .row = s->row,
                                             .rows = s->rows,
                                             .by = MPR_GROUP_AUTO,
                                             .heading = mpr_role_name(s->role),
                                             .bytes = "bytes",
                                             .whole = h->bytes,
                                             .top = PARTS });
}

/* ---- heaps */

#define OF(member) MPR_FIELD(mpr_breakdown_heap, member)

static const struct mpr_column heap_fields[] = {
    { .key = "heap", .type = MPR_TEXT, OF(heap) },
    { .key = "device", .type = MPR_COUNT, OF(device) },
    { .key = "time_ns", .type = MPR_TIME, OF(time) },
    { .key = "bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF(blocks) },
    { .key = "phase", .type = MPR_WORD, OF(phase), .words = phase_words },
    { .key = "optimizer_steps_before", .type = MPR_COUNT, OF(steps) },
    { .key = "backward_passes_before", .type = MPR_COUNT, OF(passes) },
    { .key = "asleep_bytes", .type = MPR_BYTES, OF(asleep), .unless = MPR_ABSENT_AT_0 },
};

static void heap(struct mpr_document *doc, const struct mpr_breakdown *b,
                 const struct mpr_breakdown_heap *h)
{
    struct role *role = mpr_arena_alloc(&doc->arena, MPR_ROLES * sizeof *role);
    const size_t roles = list_roles(h, role);
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    mpr_doc_list(doc, "roles");
    for (int i = 0; i < MPR_ROLES; i++) role_fields(doc, b, h, &h->role[i]);
    mpr_doc_close(doc);
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_heap_name(h->heap));
    mpr_doc_line(doc, "  %s %s, %s: %s", mpr_doc_size(doc, h->bytes),
                 mpr_instant_is_peak(b->at) ? "at its peak" : "then", mpr_doc_time(doc, h->time),
                 mpr_report_pass(doc, b, h));
    if (h->asleep && !h->role[MPR_ROLE_ASLEEP].bytes)
        mpr_doc_line(doc, "  %s of it asleep at %s, without memory behind it",
                     mpr_doc_size(doc, h->asleep), mpr_doc_time(doc, h->asleep_time));
    mpr_doc_table(doc, &(struct mpr_table){ .title = "role",
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(role_columns),
                                            MPR_ROWS(role, roles),
                                            .all = MPR_FOR_PEOPLE,
                                            .whole = h->bytes });
    if (b->passes == 1 && h->role[MPR_ROLE_UNEXPLAINED].bytes)
        mpr_doc_line(doc,
                     "  one backward pass alone does not tell what it leaves behind (a gradient, "
                     "an output, a workspace)");
    for (size_t i = 0; i < roles; i++)
        if (role[i].bytes) role_lines(doc, h, role[i].share);
    mpr_doc_close(doc);
}

void mpr_report_breakdown(struct mpr_document *doc, const struct mpr_breakdown *breakdown)
{
    mpr_report_schema(doc, "memprof.breakdown/1");
    mpr_report_log(doc, &breakdown->summary);
    mpr_report_too_late(doc, &breakdown->summary, breakdown->at);
    mpr_doc_fact(doc, "at", mpr_value_text(mpr_instant_is_peak(breakdown->at) ? "peak" : "time"));
    mpr_doc_fact(doc, "optimizer_steps", mpr_value_number(MPR_COUNT, breakdown->steps));
    mpr_doc_fact(doc, "has_passes", mpr_value_flag(breakdown->ran));
    mpr_doc_fact(doc, "backward_passes", mpr_value_number(MPR_COUNT, breakdown->passes));
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < breakdown->heaps; i++) heap(doc, breakdown, &breakdown->heap[i]);
    mpr_doc_close(doc);
    mpr_doc_csv(doc, part_columns);
    if (breakdown->heaps && (breakdown->passes || breakdown->steps)) return;
    mpr_doc_gap(doc);
    mpr_doc_line(
        doc,
        !breakdown->heaps ? "PyTorch's caching allocator held no device memory"
        : !breakdown->ran
            ? "roles are told by passes: without any, by call stacks alone (a module's, a cache's)"
            : "no backward pass and no optimizer's step was recorded (PyTorch's own ranges tell them)");
}
