#include "report_device.h"

#include <inttypes.h>
#include <stdlib.h>

#include "amount.h"
#include "basename.h"
#include "mpf/sample.h"
#include "peaks.h"
#include "report_rows.h"
#include "reports.h"
#include "summary.h"
#include "utf8.h"

/* ---- the account */

enum { TWENTIETH = 20, HUNDREDTH = 100 };

#define OF_PART(member) MPR_FIELD(mpr_device_part, member)

// clang-format off
static const struct mpr_column part_columns[] = {
    { .key = "part", .title = "part", .type = MPR_TEXT, OF_PART(key),
      MPR_SHOWN_FIELD(MPR_TEXT, mpr_device_part, name), .width = 28 },
    { .key = "bytes", .title = "bytes", .type = MPR_SIGNED, OF_PART(bytes),
      .share = MPR_SHARE_FIRST, .estimate = true },
    { .title = "", .type = MPR_TEXT, OF_PART(note) },
};

static const struct mpr_column asleep_columns[] = {
    { .title = "part", .type = MPR_TEXT, OF_PART(name), .width = 28 },
    { .title = "bytes", .type = MPR_SIGNED, OF_PART(bytes) },
    { .title = "", .type = MPR_TEXT, OF_PART(note) },
};
// clang-format on

/* Adds the blocks that PyTorch counts as live although their memory is unmapped. No sum includes
 * them. */
static void asleep(struct mpr_document *doc, const struct mpr_device_state *s)
{
    struct mpr_device_part *part = mpr_arena_alloc(&doc->arena, sizeof *part);
    if (!s->torch_asleep) return;
    *part = (struct mpr_device_part){ .use = MPR_USES,
                                      .name = "torch live, asleep",
                                      .bytes = mpr_saturating_signed(s->torch_asleep),
                                      .note = "not in use: their memory is unmapped" };
    mpr_doc_rows(doc, asleep_columns, part, 1, .only = MPR_FOR_PEOPLE);
}

/* Returns the sum of all parts. */
static uint64_t whole_of(const struct mpr_device_state *s)
{
    return s->used != MPF_UNKNOWN ? s->used : s->tracked;
}

static bool is_small(const struct mpr_device_part *p, uint64_t whole)
{
    const uint64_t limit = whole / (p->use == MPR_USE_UNKNOWN ? HUNDREDTH : TWENTIETH);
    return (p->bytes < 0 ? mpr_signed_sub(0, p->bytes) : p->bytes) < mpr_saturating_signed(limit);
}

/* Returns true if the unknown part was set to about 0 (mpr_report_device). */
static bool is_rounded(const void *row)
{
    const struct mpr_device_part *p = row;
    return p->use == MPR_USE_UNKNOWN && !p->bytes;
}

static void part_lines(struct mpr_document *doc, const struct mpr_device_part *part, size_t parts,
                       uint64_t whole)
{
    mpr_doc_rows(doc, part_columns, part, parts, .only = MPR_FOR_PEOPLE, .all = MPR_FOR_PEOPLE,
                 .whole = whole, .estimated = is_rounded);
}

/* ---- other recorded processes */

#define OF_SHARE(member)     MPR_FIELD(mpr_device_share, member)
#define SHARE(function, ...) MPR_VALUE(function, mpr_device_share, s, __VA_ARGS__)
SHARE(share_pid, mpr_value_known(MPR_COUNT, s->process->pid, 0))
SHARE(share_rank, mpr_value_known_text(s->process->rank, MPR_ABSENT))

static const struct mpr_column share_columns[] = {
    { .key = "pid", .get = share_pid },
    { .key = "rank", .get = share_rank },
    { .key = "bytes", .type = MPR_BYTES, OF_SHARE(bytes) },
    { .key = "block_bytes", .type = MPR_BYTES, OF_SHARE(blocks) },
    { .key = "torch_bytes", .type = MPR_BYTES, OF_SHARE(torch) },
};

struct mpr_device_part *mpr_report_named_parts(struct mpr_document *doc,
                                               const struct mpr_device_state *s, size_t *count)
{
    enum { NAMED = 4, WORD = 24 };
    struct mpr_arena *arena = &doc->arena;
    struct mpr_device_part *part =
                               mpr_arena_alloc(arena, (s->parts + s->shares + 1) * sizeof *part),
                           *to = part;
    const size_t named = s->shares > NAMED ? NAMED - 1 : s->shares;
    for (size_t i = 0; i < s->parts; i++) {
        if (s->part[i].use != MPR_USE_RECORDED_PROCESSES) {
            if (s->part[i].bytes) *to++ = s->part[i];
            continue;
        }
        uint64_t rest = 0;
        for (size_t k = 0; k < named; k++) {
            const struct mpr_device_share *share = &s->share[k];
            const struct mpr_process_info *p = share->process;
            const char *program = p->argc ? mpr_basename(p->argv[0]) : "unknown program";
            *to++ = (struct mpr_device_part){
                .use = MPR_USE_RECORDED_PROCESSES,
                .name = *p->rank
                            ? mpr_arena_format(arena, "rank %.20s, pid %" PRIu64, p->rank, p->pid)
                            : mpr_arena_format(arena, "pid %" PRIu64 ", %s", p->pid,
                                               mpr_utf8_shortened(arena, program, WORD)),
                .bytes = mpr_saturating_signed(share->bytes),
                .note = mpr_arena_format(arena, "blocks %s, contexts and modules %s",
                                         mpr_doc_size(doc, share->blocks),
                                         mpr_doc_size(doc, share->bytes - share->blocks)),
            };
        }
        for (size_t k = named; k < s->shares; k++) rest += s->share[k].bytes;
        if (named < s->shares)
            *to++ = (struct mpr_device_part){
                .use = MPR_USE_RECORDED_PROCESSES,
                .name = mpr_arena_format(arena, "%zu more processes", s->shares - named),
                .bytes = mpr_saturating_signed(rest),
                .note = "",
            };
    }
    *count = (size_t)(to - part);
    return part;
}

static void part_fields(struct mpr_document *doc, const struct mpr_device_state *s)
{
    mpr_doc_objects(doc, "parts", part_columns, s->part, s->parts);
    if (s->shares) mpr_doc_objects(doc, "processes", share_columns, s->share, s->shares);
}

/* ---- PyTorch's blocks */

#define OF_ROW(member) MPR_FIELD(mpr_row, member)

// clang-format off
static const struct mpr_column torch_columns[] = {
    MPR_ROW_PATH,
    MPR_ROW_BYTES,
    MPR_ROW_BLOCKS,
    { .title = "at end", .type = MPR_BYTES, OF_ROW(end_bytes), .sums = true, .estimate = true,
      .sorted_by = MPR_ORDER_END, .if_sorted = true },
    { .key = "inherited_bytes", .type = MPR_BYTES, OF_ROW(inherited) },
};
// clang-format on

/* @title: NULL if people do not see it. */
static void torch_rows(struct mpr_document *doc, const char *key, const char *title,
                       const struct mpr_row *row, size_t rows, enum mpr_group by, uint64_t whole)
{
    mpr_doc_rows(doc, torch_columns, row, rows, .key = key,
                 .title = title ? mpr_report_heading(doc, title, by) : NULL,
                 .only = title ? 0 : MPR_IN_JSON, .whole = whole, .by = by,
                 .omitted = mpr_arena_format(&doc->arena, "%s_omitted_bytes", key),
                 .lines = { .merged = true, .siblings = true, .inherited = true });
}

/* ---- NCCL */

#define OF_COMM(member) MPR_FIELD(mpr_comm_row, member)

// clang-format off
static const struct mpr_column comm_columns[] = {
    { .key = "id", .title = "communicator", .type = MPR_TEXT, OF_COMM(name), .width = MPR_WIDE },
    { .key = "ranks", .title = "ranks", .type = MPR_COUNT, OF_COMM(ranks),
      .unless = MPR_UNKNOWN_AT_MAX, .width = 8 },
    { .key = "rank", .title = "rank", .type = MPR_COUNT, OF_COMM(rank),
      .unless = MPR_UNKNOWN_AT_MAX, .width = 8 },
    { .key = "first_use", .title = "first use", .type = MPR_TEXT, OF_COMM(first_use) },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_COMM(bytes), .after = "id" },
    { .key = "blocks", .type = MPR_COUNT, OF_COMM(blocks) },
    { .key = "id_by_order", .type = MPR_FLAG, OF_COMM(id_by_order), .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static void comm_lines(struct mpr_document *doc, const struct mpr_device_state *s, bool shown)
{
    bool by_order = false;
    for (size_t i = 0; i < s->comms; i++) by_order |= s->comm[i].id_by_order;
    mpr_doc_rows(doc, comm_columns, s->comm, s->comms, .key = "communicators",
                 .title = "NCCL by communicator", .only = shown ? 0 : MPR_IN_JSON,
                 .all = MPR_EVERYWHERE);
    if (shown && by_order)
        mpr_doc_line(doc, "  NCCL does not name a communicator when ncclCommSplit makes it: the "
                          "first new id after that is taken for its id");
}

/* ---- all */

#define OF_STATE(member) MPR_FIELD(mpr_device_state, member)

static const struct mpr_column before_parts[] = {
    { .key = "time_ns", .type = MPR_TIME, OF_STATE(time) },
    { .key = "used_bytes", .type = MPR_BYTES, OF_STATE(used), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .type = MPR_BYTES, OF_STATE(total), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "tracked_bytes", .type = MPR_BYTES, OF_STATE(tracked) },
};

static const struct mpr_column after_parts[] = {
    { .key = "torch_segment_bytes", .type = MPR_BYTES, OF_STATE(torch_segments) },
    { .key = "torch_asleep_bytes", .type = MPR_BYTES, OF_STATE(torch_asleep) },
    { .key = "largest_hole_bytes", .type = MPR_BYTES, OF_STATE(largest_hole) },
};

void mpr_report_device_heading(struct mpr_document *doc, const struct mpr_device *d,
                               const struct mpr_device_state *s, const char *at)
{
    const bool measured = s->used != MPF_UNKNOWN;
    mpr_doc_add(doc, MPR_STRONG, "gpu%u", d->index);
    mpr_doc_add_plain(doc, " %s %.12s  %s ", d->name, d->uuid, at);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_doc_size(doc, whole_of(s)));
    if (s->total != MPF_UNKNOWN) mpr_doc_add_plain(doc, " of %s", mpr_doc_size(doc, s->total));
    mpr_doc_add_plain(doc, " %s at %s",
                      measured ? "used" : "tracked (used memory was not measured)",
                      mpr_doc_time(doc, s->time));
    mpr_doc_end_wrapped(doc, 2);
    if (d->shared) mpr_doc_line(doc, "  host and device share their memory: used includes both");
    if (*d->off) mpr_doc_line(doc, "  driver allocations are not recorded: %s", d->off);
    if (*d->used_off)
        mpr_doc_line(doc, "  used memory was read at driver calls only, and not sampled: %s",
                     d->used_off);
}

void mpr_report_device(struct mpr_document *doc, const struct mpr_device *d,
                       const struct mpr_device_state *s, const char *at, enum mpr_group by)
{
    mpr_doc_facts(doc, before_parts, s);
    if (at) {
        mpr_doc_gap(doc);
        mpr_report_device_heading(doc, d, s, at);
        size_t count;
        struct mpr_device_part *shown = mpr_report_named_parts(doc, s, &count);
        /* if a little more is tracked than measured, people see that as about 0 unknown bytes */
        for (size_t i = 0; i < count; i++)
            if (shown[i].use == MPR_USE_UNKNOWN && shown[i].bytes < 0 &&
                is_small(&shown[i], whole_of(s)))
                shown[i].bytes = 0;
        part_lines(doc, shown, count, whole_of(s));
        asleep(doc, s);
        if (s->xla_arena)
            mpr_doc_line(
                doc,
                "  XLA's buffers inside its pool are not recorded. To record them, set XLA_PYTHON_CLIENT_PREALLOCATE=false and XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async");
    }
    part_fields(doc, s);
    mpr_doc_facts(doc, after_parts, s);
    torch_rows(doc, "torch_live",
               !at          ? NULL
               : s->asleeps ? "torch live, backed"
                            : "torch live",
               s->row, s->rows, by, s->torch_live);
    torch_rows(doc, "torch_asleep", at ? "torch live, asleep" : NULL, s->asleep, s->asleeps, by,
               s->torch_asleep);
    comm_lines(doc, s, at);
}

/* ---- in short */

/* A part is negative if less was measured than is tracked. */
MPR_COMPARE(by_bytes, struct mpr_device_part, mpr_compare_signed(b->bytes, a->bytes))

struct mpr_device_part *mpr_report_largest_parts(struct mpr_document *doc,
                                                 const struct mpr_device_state *s, size_t *parts)
{
    const uint64_t whole = whole_of(s);
    struct mpr_device_part others = { .use = MPR_USES, .note = "" };
    size_t all, small = 0;
    struct mpr_device_part *part = mpr_report_named_parts(doc, s, &all);
    *parts = 0;
    for (size_t i = 0; i < all; i++) {
        if (!is_small(&part[i], whole)) {
            part[(*parts)++] = part[i];
            continue;
        }
        others.bytes = mpr_signed_add(others.bytes, part[i].bytes);
        small++;
    }
    qsort(part, *parts, sizeof *part, by_bytes);
    others.name = mpr_doc_counted(doc, small, "smaller part", "smaller parts");
    if (small) part[(*parts)++] = others;
    return part;
}

/* @at: NULL if people do not see it. */
static void account(struct mpr_document *doc, const struct mpr_device *d,
                    const struct mpr_device_state *s, const char *at)
{
    if (!s->valid) return;
    mpr_doc_facts(doc, before_parts, s);
    if (at) {
        size_t parts;
        struct mpr_device_part *part = mpr_report_largest_parts(doc, s, &parts);
        mpr_doc_gap(doc);
        mpr_report_device_heading(doc, d, s, at);
        part_lines(doc, part, parts, whole_of(s));
        asleep(doc, s);
    }
    part_fields(doc, s);
    mpr_doc_fact(doc, "torch_asleep_bytes", mpr_value_number(MPR_BYTES, s->torch_asleep));
}

void mpr_report_accounts(struct mpr_document *doc, const struct mpr_device *device, size_t devices,
                         const char *at, const struct mpr_device_state *oom, unsigned oom_device)
{
    size_t allocated = 0, omitted = 0;
    if (!devices) return;
    for (size_t i = 0; i < devices; i++) allocated += device[i].peak.tracked != 0;
    mpr_doc_list(doc, "devices");
    for (size_t i = 0; i < devices; i++) {
        const struct mpr_device *d = &device[i];
        const bool out = oom && d->index == oom_device,
                   shown = out || d->peak.tracked || !allocated || !d->peak.valid;
        mpr_doc_open(doc, NULL);
        mpr_doc_fact(doc, "index", mpr_value_number(MPR_COUNT, d->index));
        mpr_doc_fact(doc, "name", mpr_value_text(d->name));
        account(doc, d, out ? oom : &d->peak, out ? "when memory ran out" : shown ? at : NULL);
        mpr_doc_close(doc);
        omitted += !shown;
    }
    mpr_doc_close(doc);
    if (!omitted) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%s, on which this process allocated nothing: see peaks",
                 mpr_doc_counted(doc, omitted, "more GPU", "more GPUs"));
}
