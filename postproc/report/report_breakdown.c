/* PyTorch's memory by role: a line for each role with its rule, then the largest parts of each. */
#include "breakdown.h"
#include "report_rows.h"
#include "reports.h"

static const char *const phase_words[MPR_PHASES] = { "setup", "forward", "backward", "optimizer",
                                                     "between" };

/* ---- roles */

MPR_VALUE(key_of, mpr_role_share, r, mpr_value_text(mpr_role_key(r->role)))
MPR_VALUE(name_of, mpr_role_share, r, mpr_value_text(mpr_role_name(r->role)))
MPR_VALUE(rule_of, mpr_role_share, r, mpr_value_text(mpr_role_rule(r->role)))

#define OF_ROLE(member) MPR_FIELD(mpr_role_share, member)

// clang-format off
static const struct mpr_column role_columns[] = {
    { .key = "role", .title = "role", .type = MPR_TEXT, .get = key_of, MPR_SHOWN(MPR_TEXT, name_of),
      .width = 22 },
    { .key = "rule", .title = "", .type = MPR_TEXT, .get = rule_of, .after = "blocks",
      .below = true },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_ROLE(bytes),
      .share = MPR_SHARE_FIRST },
    { .key = "blocks", .title = "blocks", .type = MPR_COUNT, OF_ROLE(blocks) },
    { .key = "oldest_ns", .type = MPR_TIME, OF_ROLE(oldest) },
    { .key = "newest_ns", .type = MPR_TIME, OF_ROLE(newest) },
};
// clang-format on

/* Returns the roles that people see: those with bytes or blocks, largest first, then always the
 * unexplained bytes. */
static const struct mpr_role_share *roles_of(struct mpr_document *doc,
                                             const struct mpr_breakdown_heap *h, size_t *roles)
{
    struct mpr_role_share *out = mpr_arena_alloc(&doc->arena, MPR_ROLES * sizeof *out);
    *roles = 0;
    for (int i = 0; i < MPR_ROLES; i++) {
        const struct mpr_role_share *s = &h->role[i];
        if (!s->bytes && !s->blocks && i != MPR_ROLE_UNEXPLAINED) continue;
        size_t at = (*roles)++;
        for (; i != MPR_ROLE_UNEXPLAINED && at && out[at - 1].bytes < s->bytes; at--)
            out[at] = out[at - 1];
        out[at] = *s;
    }
    return out;
}

const char *mpr_report_pass(struct mpr_document *doc, const struct mpr_breakdown *b,
                            const struct mpr_breakdown_heap *h)
{
    static const char *const in[MPR_PHASES] = { "before the first forward pass", "in forward",
                                                "in backward", "in the optimizer",
                                                "between passes" };
    if (!b->ran) return "no forward pass, backward pass or optimizer step was recorded";
    if (!b->steps) return in[h->phase];
    return mpr_arena_format(&doc->arena, "%s, %s of %s steps done", in[h->phase],
                            mpr_doc_count(doc, h->steps), mpr_doc_count(doc, b->steps));
}

/* ---- parts of a role */

struct part_context {
    uint8_t heap;
    const char *role;
};

static const struct mpr_column part_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "heap", .type = MPR_TEXT, MPR_CONTEXT(part_context, heap), .only = MPR_IN_CSV },
    { .key = "role", .type = MPR_TEXT, MPR_CONTEXT(part_context, role), .only = MPR_IN_CSV },
    MPR_ROW_PATH,
    MPR_SITE_COLUMNS,
    MPR_ROW_BYTES,
    MPR_ROW_BLOCKS,
};

static void parts(struct mpr_document *doc, const struct mpr_breakdown_heap *h,
                  const struct mpr_role_share *s, unsigned only)
{
    struct part_context *context = mpr_arena_alloc(&doc->arena, sizeof *context);
    *context = (struct part_context){ h->heap, mpr_role_key(s->role) };
    mpr_doc_rows(doc, part_columns, s->row, s->rows, .key = "parts",
                 .title = mpr_role_name(s->role), .only = only, .context = context,
                 .whole = h->bytes, .top = 4, .by = MPR_GROUP_AUTO,
                 .omitted = "parts_omitted_bytes", .lines = { .merged = true, .siblings = true },
                 .folded = { mpr_heap_name(h->heap), "role", "bytes" });
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
    size_t roles;
    const struct mpr_role_share *role = roles_of(doc, h, &roles);
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    mpr_doc_list(doc, "roles");
    for (int i = 0; i < MPR_ROLES; i++) {
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, role_columns, &h->role[i]);
        parts(doc, h, &h->role[i], MPR_IN_JSON | MPR_IN_CSV);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_heap_name(h->heap));
    mpr_doc_line(doc, "  %s %s, %s: %s", mpr_doc_size(doc, h->bytes),
                 mpr_instant_is_peak(b->at) ? "at its peak" : "then", mpr_doc_time(doc, h->time),
                 mpr_report_pass(doc, b, h));
    if (h->asleep && !h->role[MPR_ROLE_ASLEEP].bytes)
        mpr_doc_line(doc, "  %s of it was asleep (unmapped) at %s", mpr_doc_size(doc, h->asleep),
                     mpr_doc_time(doc, h->asleep_time));
    mpr_doc_rows(doc, role_columns, role, roles, .title = "role", .only = MPR_FOR_PEOPLE,
                 .all = MPR_FOR_PEOPLE, .whole = h->bytes);
    if (b->passes == 1 && h->role[MPR_ROLE_UNEXPLAINED].bytes)
        mpr_doc_line(
            doc,
            "  a single backward pass does not show which blocks are gradients, outputs or workspaces");
    for (size_t i = 0; i < roles; i++)
        if (role[i].bytes) parts(doc, h, &role[i], MPR_FOR_PEOPLE);
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
            ? "no pass was recorded, so roles come from call stacks only (modules, caches)"
            : "no backward pass or optimizer step was recorded (PyTorch's own ranges show them)");
}
