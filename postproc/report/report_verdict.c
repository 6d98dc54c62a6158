/* The verdict on two sides: a line about the peaks, then each change with its owner, what to
 * compare, and the reports that show more. */
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#include "report_rows.h"
#include "reports.h"
#include "units.h"
#include "utf8.h"

static const char *const outcome_words[] = {
    [MPR_OUTCOME_SAME] = "same", [MPR_OUTCOME_NOISE] = "noise", [MPR_OUTCOME_CHANGED] = "changed"
};

const char *mpr_report_outcome_words(const struct mpr_verdict *v)
{
    return outcome_words[v->outcome];
}

/* ---- sentences */

/* "1.25 GiB -> 2.55 GiB" */
static const char *sides_words(struct mpr_document *doc, struct mpr_sides bytes, bool estimated)
{
    const char *about = estimated ? "~" : "";
    return mpr_arena_format(&doc->arena, "%s%s -> %s%s", about, mpr_doc_size(doc, bytes.base),
                            about, mpr_doc_size(doc, bytes.now));
}

static const char *growth_words(struct mpr_document *doc, const struct mpr_change *c)
{
    const bool base_grows = c->bytes.base > c->bytes.now;
    const char *more = base_grows ? "the base" : "the new side", *about = c->estimated ? "~" : "",
               *heap = mpr_heap_name(c->heap);
    const uint64_t least = mpr_sides_smaller(c->bytes), most = mpr_sides_larger(c->bytes);
    if (!least)
        return mpr_arena_format(&doc->arena, "%s grows by %s%s in %s only", heap, about,
                                mpr_doc_size(doc, most), more);
    return mpr_arena_format(&doc->arena, "%s grows by %s%s in %s, and by %s%s in the other side",
                            heap, about, mpr_doc_size(doc, most), more, about,
                            mpr_doc_size(doc, least));
}

/* A change of each kind: its name, unless that depends on the change, the advice, and the report
 * that shows more. */
static const struct {
    const char *advice, *report, *name;
} kinds[] = {
    [MPR_CHANGE_BLOCKS] = { "the sizes and the number of blocks of this call site: the bound of a "
                            "cache, a pool, copies, temporary results",
                            "peaks" },
    [MPR_CHANGE_CACHE] = { "streams (each keeps its own free memory), PYTORCH_CUDA_ALLOC_CONF and "
                           "torch.cuda.empty_cache()",
                           "segments", "memory that PyTorch keeps free" },
    [MPR_CHANGE_DEVICE] = { "versions and settings of the libraries that use the device", "peaks" },
    [MPR_CHANGE_ELEMENT_SIZE] = { "element types (dtype): where these tensors are made, or what "
                                  "they are made from",
                                  "breakdown" },
    [MPR_CHANGE_GRAPH_POOLS] = { "which graphs are captured, and whether they share a memory pool: "
                                 "torch.cuda.graph(g, pool=first.pool())",
                                 "graphs", "memory pools of graphs" },
    [MPR_CHANGE_GROWTH] = { "the owners of these blocks: a list, a cache without a bound, a "
                            "missing free or .detach(). They keep more with each call",
                            "leaks" },
    [MPR_CHANGE_KEPT] = { "malloc's settings (MALLOC_ARENA_MAX, mallopt), malloc_trim(0) after many "
                          "frees, and the order of allocations: a block that stays at the top of "
                          "the heap, or between freed blocks, keeps their pages",
                          "timeline --heap host/heap",
                          "anonymous memory in no live block, which malloc may keep" },
    [MPR_CHANGE_RETENTION] = { "malloc's settings (MALLOC_ARENA_MAX, mallopt), malloc_trim(0) and "
                               "the number of threads, because malloc may keep freed blocks; or "
                               "memory that memprof does not record",
                               "timeline --heap host/heap",
                               "anonymous memory that is in no live block" },
    [MPR_CHANGE_ROLE] = { "the call site in both programs", "breakdown" },
};

/* The same for roles whose blocks have a more precise advice. */
static const char *const roles[MPR_ROLES] = {
    [MPR_ROLE_PARAMETERS] =
        "the models, weights that they share (tied), their element types, and copies of them",
    [MPR_ROLE_GRADIENTS] =
        "the trained parameters (requires_grad), and zero_grad(set_to_none=True)",
    [MPR_ROLE_OPTIMIZER] = "the optimizers, the element type of their state, and how many "
                           "parameters they train",
    [MPR_ROLE_ACTIVATIONS] =
        "activation checkpointing, offloading, fused kernels (attention), torch.no_grad(), element "
        "types and the number of layers: the number of blocks differs",
    [MPR_ROLE_OUTPUTS] = "the owners of outputs: a list, a cache, a loss without .detach()",
    [MPR_ROLE_GATHERED] = "which modules are sharded, and reshard_after_forward",
    [MPR_ROLE_CACHE] =
        "the bound and the element type of the cache, the batch and the sequence length",
    [MPR_ROLE_INPUTS] = "the batch, and data that is loaded to the device in advance",
    [MPR_ROLE_GRAPHS] = "which graphs are captured, and whether they share a memory pool",
    [MPR_ROLE_WORKSPACES] = "versions of the libraries, streams, and CUBLAS_WORKSPACE_CONFIG",
    [MPR_ROLE_TEMPORARIES] = "element types (.float()), pieces of the batch, and operations in "
                             "place or fused: the number of blocks differs",
};

/* Returns how many times larger one side is than the other. */
static double factor(double base, double now) { return base > now ? base / now : now / base; }

/* Advice for blocks of a call site: the number of blocks differs most, or their sizes do. */
static const char *blocks_advice(const struct mpr_change *c)
{
    const struct mpr_sides n = c->place_blocks;
    if (c->heap == MPF_HEAP_PINNED)
        return "offloading, pin_memory and prefetching: memory of the host is pinned; PyTorch "
               "rounds each block up to a power of two";
    if (!n.base && !n.now) return kinds[MPR_CHANGE_BLOCKS].advice;
    if (!n.base || !n.now)
        return "code that only one side runs, or a cache that only it keeps: this call site has no "
               "live block in the other one";
    const double numbers = factor((double)n.base, (double)n.now),
                 sizes = factor((double)c->place.base / (double)n.base,
                                (double)c->place.now / (double)n.now);
    if (sizes >= numbers * numbers)
        return "the sizes of this call site's blocks: a larger input, a buffer that grows, a "
               "temporary result";
    if (numbers >= sizes * sizes)
        return "the number of this call site's blocks: the bound of a cache or a pool, copies, and "
               "what keeps them";
    return kinds[MPR_CHANGE_BLOCKS].advice;
}

const char *mpr_report_change_advice(const struct mpr_change *c)
{
    const uint64_t more = mpr_sides_larger(c->blocks), fewer = mpr_sides_smaller(c->blocks);
    const bool same_blocks = fewer && more - fewer <= more / 50;
    if (c->kind == MPR_CHANGE_BLOCKS) return blocks_advice(c);
    if (c->kind == MPR_CHANGE_DEVICE && c->use == MPR_USE_OTHER_PROCESSES)
        return "the other processes that use this GPU";
    if (c->kind == MPR_CHANGE_DEVICE && c->use == MPR_USE_NCCL)
        return "process groups and NCCL's settings";
    if (c->kind == MPR_CHANGE_ELEMENT_SIZE && c->role == MPR_ROLE_PARAMETERS)
        return "element types (dtype): parameters, and what is computed with them, have another "
               "size";
    if (c->kind != MPR_CHANGE_ROLE) return kinds[c->kind].advice;
    if (c->without_backward)
        return "torch.no_grad() or torch.inference_mode() around this pass: autograd keeps its "
               "tensors, and no backward pass needs them";
    if (c->unused)
        return "torch.no_grad() or torch.inference_mode() around a model that is not trained: its "
               "graph outlived a backward pass that does not use it, or something else keeps these "
               "blocks (retain_graph)";
    if (c->role == MPR_ROLE_ACTIVATIONS && same_blocks)
        return "the batch, the sequence length and the element type: the number of blocks is the "
               "same, their sizes differ";
    if (c->role == MPR_ROLE_TEMPORARIES && c->in_optimizer)
        return "foreach and fused of the optimizers";
    if (c->role == MPR_ROLE_TEMPORARIES && same_blocks)
        return "element types (.float()), the batch and the sequence length: the number of blocks "
               "is the same, their sizes differ";
    return roles[c->role] ? roles[c->role] : kinds[MPR_CHANGE_ROLE].advice;
}

/* "1.25 GiB in 8 blocks" */
static const char *in_blocks(struct mpr_document *doc, uint64_t bytes, uint64_t blocks)
{
    const char *size = mpr_doc_size(doc, bytes);
    return blocks ? mpr_arena_format(&doc->arena, "%s in %s", size,
                                     mpr_doc_counted(doc, blocks, "block", "blocks"))
                  : size;
}

static const char *what(struct mpr_document *doc, const struct mpr_change *c)
{
    const char *name = kinds[c->kind].name, *sides = sides_words(doc, c->bytes, c->estimated);
    if (c->kind == MPR_CHANGE_GROWTH) return growth_words(doc, c);
    if (c->kind == MPR_CHANGE_ELEMENT_SIZE)
        return mpr_arena_format(&doc->arena, "element size of %s: the same %s, %s",
                                mpr_role_name(c->role),
                                mpr_doc_counted(doc, c->blocks.base, "block", "blocks"),
                                sides_words(doc, c->resized, false));
    if (c->kind == MPR_CHANGE_DEVICE) name = c->part;
    if (c->kind == MPR_CHANGE_ROLE) name = mpr_role_name(c->role);
    if (c->kind == MPR_CHANGE_BLOCKS)
        name = mpr_arena_format(&doc->arena, "blocks of %s", mpr_heap_name(c->heap));
    if (c->blocks.base || c->blocks.now)
        sides =
            mpr_arena_format(&doc->arena, "%s -> %s", in_blocks(doc, c->bytes.base, c->blocks.base),
                             in_blocks(doc, c->bytes.now, c->blocks.now));
    if (c->unused)
        return mpr_arena_format(&doc->arena,
                                "%s: %s; %s of the %s's outlived the backward pass, probably "
                                "in a graph that it does not use",
                                name, sides, mpr_doc_size(doc, c->unused),
                                c->bytes.now > c->bytes.base ? "new side" : "base");
    return mpr_arena_format(
        &doc->arena, "%s: %s%s", name, sides,
        !c->without_backward ? ""
        : c->bytes.now > c->bytes.base
            ? ", of a forward pass that no backward pass follows"
            : "; the base's are of a forward pass that no backward pass follows");
}

/* ---- the line about the peaks */

static const char *percent(struct mpr_document *doc, struct mpr_sides s)
{
    if (!s.base || s.base == s.now) return "";
    if (s.now / s.base >= 10)
        return mpr_arena_format(&doc->arena, " (x%.1f)", (double)s.now / (double)s.base);
    return mpr_arena_format(&doc->arena, " (%+.1f %%)",
                            100.0 * (double)mpr_sides_change(s) / (double)s.base);
}

/* Says how much runs or steps differ by themselves, if that is known. */
static const char *spread_words(struct mpr_document *doc, const struct mpr_verdict *v)
{
    if (v->has_run_spread)
        return mpr_arena_format(&doc->arena, "; runs of one side differ by up to %s",
                                mpr_doc_size(doc, mpr_sides_larger(v->run_spread)));
    if (v->step_spread.base || v->step_spread.now)
        return mpr_arena_format(
            &doc->arena, "; within a run, the middle half of the training steps spans up to %s",
            mpr_doc_size(doc, mpr_sides_larger(v->step_spread)));
    return "";
}

const char *mpr_report_verdict_words(struct mpr_document *doc, const struct mpr_diff *diff,
                                     const struct mpr_verdict *v)
{
    const int64_t change = mpr_sides_change(v->peak);
    const bool at_peak = mpr_instant_is_peak(diff->peaks.log[0].at);
    const char *sides = sides_words(doc, v->peak, false),
               *apart = mpr_doc_size(doc, (uint64_t)llabs(change)), *share = percent(doc, v->peak);
    if (!v->of) return "no allocations were recorded";
    if (v->outcome == MPR_OUTCOME_NOISE) {
        const uint64_t steps = mpr_sides_smaller(v->step_spread);
        const char *noise = diff->peaks.logs > 2 ? "runs of one side differ"
                            : !steps             ? "samples differ by chance"
                                                 : NULL;
        if (!noise)
            noise = mpr_arena_format(&doc->arena,
                                     "the training steps of each run do (their middle half "
                                     "spans %s or more)",
                                     mpr_doc_size(doc, steps));
        return mpr_arena_format(&doc->arena, "%s differs by %s%s: no more than %s", v->of, apart,
                                share, noise);
    }
    if (v->outcome == MPR_OUTCOME_SAME)
        return mpr_arena_format(&doc->arena, "no difference worth a change: %s, %s%s%s", v->of,
                                sides, share, spread_words(doc, v));
    if (v->change[0].kind == MPR_CHANGE_KEPT)
        return mpr_arena_format(&doc->arena,
                                "after the peak of host/heap, %s %s stays resident without a live "
                                "block: %s%s",
                                apart, change > 0 ? "more" : "less", sides, share);
    if (!change)
        return mpr_arena_format(&doc->arena, "%s %s the same, %s", v->of,
                                at_peak ? "peaks at" : "holds", mpr_doc_size(doc, v->peak.now));
    return mpr_arena_format(&doc->arena, "%s %s %s %s: %s%s%s", v->of, at_peak ? "peaks" : "holds",
                            apart,
                            at_peak      ? change > 0 ? "higher" : "lower"
                            : change > 0 ? "more"
                                         : "less",
                            sides, share, spread_words(doc, v));
}

/* ---- fields */

MPR_VALUE(where, mpr_change, c, mpr_value_text(mpr_report_where(&doc->arena, c->heap)))
MPR_VALUE(more, mpr_change, c, mpr_value_text(c->bytes.now > c->bytes.base ? "new" : "base"))
MPR_VALUE(change_bytes, mpr_change, c, mpr_value_amount(MPR_SIGNED, mpr_sides_change(c->bytes)))
MPR_VALUE(what_changed, mpr_change, c, mpr_value_text(what(doc, c)))
MPR_VALUE(what_to_compare, mpr_change, c, mpr_value_text(mpr_report_change_advice(c)))
MPR_VALUE(report_on, mpr_change, c, mpr_value_text(kinds[c->kind].report))

#define OF(member)     MPR_FIELD(mpr_change, member)
#define OF_OUT(member) MPR_FIELD(mpr_verdict, member)

// clang-format off
static const struct mpr_column columns[] = {
    { .key = "finding", .type = MPR_TEXT, OF(key) },
    { .key = "where", .type = MPR_TEXT, .get = where },
    { .key = "heap", .type = MPR_WORD, OF(heap) },
    { .key = "more", .type = MPR_TEXT, .get = more },
    { .key = "change_bytes", .type = MPR_SIGNED, .get = change_bytes },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0 },
    { .key = "what", .type = MPR_TEXT, .get = what_changed },
    { .key = "path", MPR_PATH_FIELD(mpr_change, path), .unless = MPR_ABSENT_AT_0 },
    { .key = "change", .type = MPR_TEXT, .get = what_to_compare },
    { .key = "report", .type = MPR_TEXT, .get = report_on },
};

static const struct mpr_column number_columns[] = {
    { .key = "base_bytes", .type = MPR_BYTES, OF(bytes.base) },
    { .key = "new_bytes", .type = MPR_BYTES, OF(bytes.now) },
    { .key = "base_blocks", .type = MPR_COUNT, OF(blocks.base), .unless = MPR_ABSENT_AT_0 },
    { .key = "new_blocks", .type = MPR_COUNT, OF(blocks.now), .unless = MPR_ABSENT_AT_0 },
    { .key = "path_base_bytes", .type = MPR_BYTES, OF(place.base) },
    { .key = "path_new_bytes", .type = MPR_BYTES, OF(place.now) },
    { .key = "path_base_blocks", .type = MPR_COUNT, OF(place_blocks.base),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "path_new_blocks", .type = MPR_COUNT, OF(place_blocks.now),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "peak_base_bytes", .type = MPR_BYTES, OF(peak.base) },
    { .key = "peak_new_bytes", .type = MPR_BYTES, OF(peak.now) },
};

static const struct mpr_column verdict_fields[] = {
    { .key = "of", .type = MPR_TEXT, OF_OUT(of), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "base_bytes", .type = MPR_BYTES, OF_OUT(peak.base) },
    { .key = "new_bytes", .type = MPR_BYTES, OF_OUT(peak.now) },
    { .key = "base_steps_apart_bytes", .type = MPR_BYTES, OF_OUT(step_spread.base),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "new_steps_apart_bytes", .type = MPR_BYTES, OF_OUT(step_spread.now),
      .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

/* ---- lines */

/* Returns the sentence of a change with its owner and the owner's bytes on both sides. */
const char *mpr_report_change_words(struct mpr_document *doc, const struct mpr_change *c)
{
    const int64_t whole = mpr_sides_change(c->bytes), place = mpr_sides_change(c->place);
    const bool is_most = whole > 0 ? place >= whole / 2 : place <= whole / 2;
    const char *text = what(doc, c),
               *owner = c->without_backward                  ? "in"
                        : c->kind == MPR_CHANGE_KEPT         ? "most freed blocks came from"
                        : c->kind == MPR_CHANGE_RETENTION    ? "the largest owner of live blocks is"
                        : c->kind == MPR_CHANGE_ELEMENT_SIZE ? "the largest difference is in"
                        : c->kind == MPR_CHANGE_GRAPH_POOLS
                            ? "the largest difference of live blocks is in"
                        : is_most ? "most of it in"
                                  : "the largest part in";
    if (!c->path.depth) return text;
    const char *path =
        c->shortened ? mpr_doc_path(doc, c->path) : mpr_report_path_words(doc, c->path);
    text = mpr_arena_format(&doc->arena, "%s, %s %s", text, owner,
                            mpr_frame_with_caller(&doc->arena, path, c->caller));
    if (!c->place.base && !c->place.now) return text;
    text = mpr_arena_format(&doc->arena, "%s: %s", text, sides_words(doc, c->place, c->estimated));
    if (!c->place_blocks.base && !c->place_blocks.now) return text;
    const char *about = c->estimated ? "~" : "";
    return mpr_arena_format(&doc->arena, "%s, %s%s -> %s%s", text, about,
                            mpr_doc_count(doc, c->place_blocks.base), about,
                            mpr_doc_counted(doc, c->place_blocks.now, "block", "blocks"));
}

void mpr_report_verdict(struct mpr_document *doc, const struct mpr_diff *diff,
                        const struct mpr_verdict *v)
{
    enum { SHOWN = 3, HANG = 21 }; /* HANG: columns before the sentence */
    const char *sentence = mpr_report_verdict_words(doc, diff, v);
    struct mpr_number n;
    mpr_doc_open(doc, "verdict");
    mpr_doc_fact(doc, "outcome", mpr_value_text(mpr_report_outcome_words(v)));
    mpr_doc_fact(doc, "what", mpr_value_text(sentence));
    mpr_doc_facts(doc, verdict_fields, v);
    mpr_doc_close(doc);
    mpr_doc_list(doc, "findings");
    for (size_t i = 0; i < v->changes; i++) {
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, columns, &v->change[i]);
        mpr_doc_object(doc, "numbers", number_columns, &v->change[i]);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    mpr_doc_add(doc, MPR_STRONG, "%s", sentence);
    mpr_doc_end_wrapped(doc, 2);
    for (size_t i = 0; i < v->changes && i < SHOWN; i++) {
        const struct mpr_change *c = &v->change[i];
        const char *bytes = mpr_units_change(&n, mpr_sides_change(c->bytes));
        mpr_doc_add(doc, MPR_STRONG, "%13s",
                    mpr_arena_format(&doc->arena, "%s%s", c->estimated ? "~" : "", bytes));
        mpr_doc_add_plain(doc, "  %-4s  %s", mpr_report_where(&doc->arena, c->heap),
                          mpr_report_change_words(doc, c));
        mpr_doc_end_wrapped(doc, HANG);
        mpr_doc_add_plain(doc, "%*scompare: %s", HANG, "", mpr_report_change_advice(c));
        mpr_doc_end_wrapped(doc, HANG + 9);
    }
    if (!v->changes) return;
    const bool new_has_more = v->change[0].bytes.now > v->change[0].bytes.base;
    const struct mpr_log_peaks *more = &diff->peaks.log[v->run[new_has_more]];
    mpr_doc_command(doc, "%*ssee: memprof-report %s %s", HANG, "", kinds[v->change[0].kind].report,
                    mpr_shell_word(&doc->arena, more->summary.path));
}
