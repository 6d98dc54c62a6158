// clang-format off
/* Findings: what was measured, the advice, and the report that shows more.  A table has the sentences
 * of all findings, one row for each kind.
 *
 * A sentence is a template over the finding's values:
 *   {key}             the fact of that key; also {bytes}, {heap} and {time} of the finding
 *   {key?one:many}    the first word if the value is 1, else the second
 *   {key..other}      "1.00 MiB to 2.00 MiB", or one of them if they print alike
 *   {key%other}       the value as a share of the other one: "37 %"
 *   [text]            left out if a value in it is missing
 *   <text|text>       the text with the number of the finding's variant, or else the last one
 * Estimated values get "~". */
// clang-format on
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"
#include "insights.h"
#include "report_rows.h"
#include "reports.h"
#include "units.h"
#include "utf8.h"

// clang-format off
/* Parts of several sentences. */
#define TEMPORARIES_OF(pass)                                                                       \
    "{temporary_bytes} of {heap}'s {heap_bytes} are temporaries of " pass                          \
    ", {place_bytes} of it in one place"
#define TEMPORARIES_OF_A_PLACE                                                                     \
    "{place_bytes} of {heap}'s {heap_bytes} are temporaries of one place, which allocated "        \
    "{times} times[; temporaries of all places are {temporary_bytes}]"
#define FEWER_TEMPORARIES                                                                          \
    "a smaller or chunked batch, an in-place or fused operation, or run it when less memory is "   \
    "live"
#define STEADY_GROWTH                                                                              \
    "{heap} grew steadily, by {grown_bytes}[ (+-{error_bytes%grown_bytes})] in {grown_in_ns}, "    \
    "{a_second_bytes} a second[; {place_bytes} of it in one place][, in blocks of {block_bytes} "  \
    "on average]"
#define GROWTH_BY_CALL                                                                             \
    "{heap} grows with each call: of {times} allocations {grown_bytes} stayed[; the median "        \
    "training step peaks {step_bytes} above the step before it]"
#define LARGEST_USE                                                                                \
    "one of {uses} uses of this place needed {largest_bytes} of {heap}; all others needed at "     \
    "most {second_bytes}"

#define KEPT_SOMEWHERE                                                                             \
    "at {time} about {kept_bytes} of the process's {anonymous_bytes} of anonymous memory was in "   \
    "no live block: malloc kept freed blocks in its arenas, or memprof does not record the "       \
    "owner[; by kind of mapping, it was up to {unowned_bytes}][; most blocks at the heap's peak, " \
    "{freed_bytes}, came from one place]"
#define PINNED_BY                                                                                  \
    "[; {pin_blocks} {pin_blocks?block:blocks} of one place, {pin_bytes}, "                        \
    "{pin_blocks?pins:pin} {place_bytes} of it]"

static const struct {
    const char *what, *change, *report;
} sentences[MPR_FINDING_KINDS] = {
    [MPR_FINDING_ACTIVATIONS] = {
        "<when memory ran out, activations held {activation_bytes} of {heap}'s {heap_bytes}"
        "|when memory ran out, before the first backward pass, activations of forward passes held "
        "{activation_bytes} of {heap}'s {heap_bytes}"
        "|activations of a forward pass without a backward pass hold {activation_bytes} of {heap}'s "
        "{heap_bytes}"
        "|activations of module {module} hold {activation_bytes}; other modules of its kind hold at "
        "most {sibling_bytes}>",
        "<use a smaller batch, shorter sequences or activation checkpointing; use torch.no_grad() if "
        "this is an evaluation"
        "|call backward() after each forward pass instead of adding up losses; use torch.no_grad() if "
        "this is an evaluation; a smaller batch or activation checkpointing"
        "|torch.no_grad() or torch.inference_mode() around this evaluation"
        "|activation checkpointing for this module, if the others have it>",
        "<breakdown --at oom|breakdown --at oom|breakdown|breakdown>" },
    [MPR_FINDING_CACHE] = {
        "PyTorch kept {releasable_bytes} in segments without a live block when <the device was "
        "fullest|memory ran out>",
        "torch.cuda.empty_cache() before the peak, or garbage_collection_threshold:0.8 in "
        "PYTORCH_CUDA_ALLOC_CONF together with torch.cuda.set_per_process_memory_fraction(1.0)",
        "segments --at <peak|oom>" },
    [MPR_FINDING_COPIED_PAGES] = {
        "{workers} forked workers<| at a time> copied memory of their parent by writing to it, "
        "{least_bytes..most_bytes} each, {all_bytes} in all[; the parent holds {parent_bytes}]",
        "keep shared data in arrays or shared memory: reading a Python object writes its reference "
        "count, and copies the page; or use fewer workers",
        "processes" },
    [MPR_FINDING_DOUBLED_COMMUNICATORS] = {
        "{communicators} communicators of {ranks} ranks hold {communicator_bytes} together, the "
        "largest {largest_communicator_bytes}",
        "use one process group for all of them if their ranks are the same, or fewer channels "
        "(NCCL_MAX_CTAS, or max_ctas in its config)",
        "peaks --by comm" },
    [MPR_FINDING_FILE_MAPPINGS] = {
        "<is all of it used? Mapped|mapped> files hold {resident_bytes} of the process's {rss_bytes} "
        "of resident memory[, {largest_bytes} of it in {largest}]; the kernel can take back pages "
        "that were only read",
        "map only the part that is needed; or, for a mapping that is only read, "
        "madvise(MADV_DONTNEED) after use (it discards changes of a private mapping)",
        "peaks" },
    [MPR_FINDING_FOREIGN_GPU] = {
        "{who} {ranks?holds:hold} {bytes} of {gpu}, although {ranks?it works:they work} on "
        "{ranks?another GPU:other GPUs}: "
        "<{block_bytes} of blocks, the largest part from {place}, and {context_bytes} of contexts and modules"
        "|{context_bytes} of contexts and modules>[; likewise on {more_gpus} more {more_gpus?GPU:GPUs}]",
        "torch.cuda.set_device(local_rank) before the first CUDA call, or CUDA_VISIBLE_DEVICES for "
        "each rank<; for a checkpoint torch.load(path, map_location='cpu')|>",
        "ranks" },
    [MPR_FINDING_EMPTY_CACHE] = {
        "PyTorch's segments were released to the driver and allocated again {times} times, "
        "{each_bytes} each time: this takes time, and the peak stays the same",
        "remove torch.cuda.empty_cache() from this loop, or raise garbage_collection_threshold",
        "timeline --heap {heap}" },
    [MPR_FINDING_FAILED_ATTEMPT] = {
        "blocks of <an attempt that ran out of memory at {failed_ns} hold|{attempts} attempts that ran "
        "out of memory, the largest at {failed_ns}, hold> {attempt_bytes} of the {live_bytes} that were "
        "live when it ran out again",
        "leave the except block before the retry: the exception's traceback keeps the frames and "
        "their tensors (del error, or store only its text)",
        "oom" },
    [MPR_FINDING_FRAGMENTATION] = {
        "{split_free_bytes} is free in pieces between live blocks; {pinning_blocks} "
        "{pinning_blocks?block:blocks} ({pinning_bytes}) of one place "
        "{pinning_blocks?keeps:keep} {segments} {segments?segment:segments} with {pinned_bytes} of it",
        "allocate long-lived tensors before temporary ones; "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may help: memprof-report what-if computes how much",
        "segments --at <peak|oom>" },
    [MPR_FINDING_GRADIENT_COPIES] = {
        "<{gradient_bytes} of gradients are live in addition to their copies in the buckets of "
        "DistributedDataParallel, {bucket_bytes}"
        "|are these copies of the gradients? {copy_bytes} of {heap}'s {heap_bytes} are temporaries "
        "between a backward pass and the optimizer's step, {copies} times as large as all gradients "
        "({gradient_bytes}); {place_bytes} of it in one place>",
        "<DistributedDataParallel(..., gradient_as_bucket_view=True)"
        "|accumulate into one buffer instead of a copy for each loss, work on the gradients in place, "
        "or keep copies in half precision or on the CPU>",
        "breakdown" },
    [MPR_FINDING_GRAPH_PER_SHAPE] = {
        "torch.compile captured {captures} CUDA graphs of one function; they hold {graph_bytes}, the "
        "largest {largest_graph_bytes}",
        "pad inputs to a few shapes, or set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs "
        "= True, or compile without CUDA graphs (mode=\"default\")",
        "graphs" },
    [MPR_FINDING_GRAPH_POOLS] = {
        "CUDA graphs hold {pools} memory pools with {pool_bytes}; the largest has "
        "{largest_pool_bytes}[; after the peak {later_pools} pools hold {later_pool_bytes}]",
        "use one pool for graphs that do not run at the same time: torch.cuda.graph(g, "
        "pool=first.pool()), and capture the largest first",
        "graphs" },
    [MPR_FINDING_GRAPH_POOLS_FREE] = {
        "{free_bytes} was free in memory pools of CUDA graphs when memory ran out: only a capture into "
        "the same pool can use it",
        "capture into the existing pool: torch.cuda.graph(g, pool=first.pool()), the largest first; "
        "or capture fewer graphs",
        "graphs" },
    [MPR_FINDING_GROWTH] = {
        "<the median instance of {range} keeps {kept_bytes} of {heap}; half of the {instances} "
        "instances keep {bytes} together[, {place_bytes%sites_bytes} of it in one place]"
        "|{heap} grew by {grown_bytes}[ (+-{error_bytes%grown_bytes})] in {grown_in_ns} of a "
        "short run[; {place_bytes} of it in one place][, in blocks of {block_bytes} on average]"
        "|" STEADY_GROWTH "|" STEADY_GROWTH "|" GROWTH_BY_CALL "|" GROWTH_BY_CALL ">",
        "<find what keeps these blocks: a list of losses with their graphs, or a cache without a bound"
        "|find what keeps these blocks; if the program was still loading, record for longer"
        "|find what keeps these blocks: a list, a queue or a cache without a bound"
        "|record again with call stacks (--stacks=sample, --python=on): the call site is not known"
        "|find what keeps these blocks: a list, a queue or a cache without a bound"
        "|find what keeps these tensors: a list or a cache (.item(), .detach(), .cpu(), a bound), "
        "or the graph of a kept loss (torch.no_grad(), retain_graph, save_for_backward)>",
        "leaks" },
    [MPR_FINDING_HOLDER] = {
        "<when memory ran out, one place held {holder_bytes} of {heap}'s {heap_bytes}"
        "|is it needed on the GPU? One place holds {holder_bytes} of {heap}'s {heap_bytes}, in "
        "{holder_blocks} {holder_blocks?block:blocks}, in addition to the model and its passes"
        "|is it needed at once? One place holds {holder_bytes} of {heap}'s {heap_bytes} at the peak[, of which at most {resident_bytes} was resident]"
        "[; {huge_bytes} of it is in huge pages, which are whole if the program touches a part]"
        "|is it needed on the GPU, in this precision? One place holds {holder_bytes} of {heap}'s "
        "{heap_bytes}, in {holder_blocks} {holder_blocks?block:blocks}, in addition to the modules"
        "|is each of them needed? One place holds {holder_bytes} of {heap}'s {heap_bytes}, in "
        "{holder_blocks} blocks of {each_bytes} on average that constructors of modules made; the "
        "optimizer's state, {state_bytes}, is too small to train them>",
        "<keep it on the CPU and load parts on demand, or free it before this point"
        "|keep it on the CPU (map_location=\"cpu\", .cpu(); an EMA copy too), or del it after its last use"
        "|stream or iterate over it in chunks, bound the cache, reserve less, or free it before the peak"
        "[; madvise(MADV_NOHUGEPAGE) if only parts of the {huge_bytes} are used]"
        "|use a smaller dtype (half precision, quantized), a shard on each GPU, or keep it on the CPU "
        "and load parts on demand"
        "|share one buffer among the modules, make it smaller, or compute it when it is needed "
        "(is_causal=True instead of a mask)>",
        "<peaks --at oom|breakdown|peaks|breakdown|breakdown>" },
    [MPR_FINDING_IDLE_COMMUNICATORS] = {
        "{communicators} {communicators?communicator:communicators} ran no NCCL operation and "
        "{communicators?holds:hold} {communicator_bytes}; the largest is NCCL {largest}",
        "create this process group when it is first used, or not at all",
        "peaks --by comm" },
    [MPR_FINDING_IDLE_GRADIENTS] = {
        "gradients that the optimizer has already used hold {idle_bytes} of {heap}'s {heap_bytes}",
        "optimizer.zero_grad(set_to_none=True) before the forward pass",
        "breakdown" },
    [MPR_FINDING_INSTANCE] = {
        "<{name}, one of {instances} instances, peaks at {peak_bytes} of {heap}, {bytes} above the median"
        "|" LARGEST_USE
        "|is one request much larger than the others? {heap} rose and fell {uses} times, once by "
        "{largest_bytes} and otherwise by at most {second_bytes}; {place_bytes} of the largest use is in "
        "one place"
        "|training step {instance} of {instances} peaks at {peak_bytes} of {heap}, {bytes} above the "
        "median>",
        "<compare {name} with the others (a longer sequence, a larger batch, an evaluation, an expert "
        "with most of the tokens), and bound its size: bucket by length, a capacity per expert"
        "|bound the size of a request: a limit of its length, or smaller chunks"
        "|bound the size of a request: a limit of its length, or smaller chunks"
        "|compare its batch with the others (a longer sequence, a larger batch or graph), and bound its "
        "size: bucket by length, sample, or split it>",
        "<steps|timeline --heap {heap}|timeline --heap {heap}|breakdown>" },
    [MPR_FINDING_LOCAL_MEMORY] = {
        "local memory of kernels (stacks, spills, local arrays) is {local_memory_bytes}",
        "find the kernel with the largest stack frame (nvcc -Xptxas -v), or lower "
        "cudaLimitStackSize: the driver reserves it for every thread that fits on the device",
        "peaks" },
    [MPR_FINDING_OPTIMIZER_STATE] = {
        "the optimizer allocated {state_bytes} of state in its step at {time}, and keeps it for all "
        "later steps",
        "measure from the second step on; train fewer parameters (requires_grad_(False)); use state in "
        "8 bits (bitsandbytes, torchao)<|, or shard it over ranks (ZeroRedundancyOptimizer, FSDP)>",
        "breakdown" },
    [MPR_FINDING_OTHER_POOL] = {
        "<CuPy's|XLA's> pool holds {pool_bytes} of the {used_bytes} in use; other allocators cannot use "
        "the free part of it",
        "<cupy.get_default_memory_pool().free_all_blocks() after use, or one allocator for both "
        "(cupy.cuda.set_allocator)|XLA_PYTHON_CLIENT_PREALLOCATE=false or "
        "XLA_PYTHON_CLIENT_MEM_FRACTION>",
        "peaks --by library" },
    [MPR_FINDING_OTHER_PROCESS] = {
        "<another process, pid {pid} ({program}), held {process_bytes} of {gpu_bytes} when memory ran "
        "out|processes without a log here, and the driver, held {process_bytes} of {gpu_bytes} when "
        "memory ran out>",
        "<another GPU for one of them, or a limit for that process: a server's share of the GPU "
        "(gpu_memory_utilization), torch.cuda.set_per_process_memory_fraction"
        "|nvidia-smi lists these processes: another GPU, or a limit for them; memprof run with the "
        "same directory records them too>",
        "oom" },
    [MPR_FINDING_PAGE_TABLES] = {
        "page tables take {page_table_bytes}, in addition to {rss_bytes} of resident memory",
        "touch memory densely, because each 2 MiB of addresses with a touched page need a page table "
        "of 4 KiB; or use huge pages",
        "peaks" },
    [MPR_FINDING_PINNED] = {
        "{pinned_bytes} of host memory is pinned, in {pinned_blocks} {pinned_blocks?block:blocks}; it "
        "cannot be swapped<, and PyTorch keeps it|>",
        "<pin less: offload without pin_memory=True, or with fewer or reused buffers; PyTorch rounds "
        "each pinned block up to a power of two|pin less, or pin a few buffers once and reuse them>",
        "peaks --heap host/pinned" },
    [MPR_FINDING_POOL_KEPT] = {
        "stream-ordered pools keep {kept_bytes} of freed memory, of {pool_bytes} that they hold: other "
        "allocators cannot use it",
        "torch.cuda.empty_cache() or cudaMemPoolTrimTo() after use, or a lower release threshold "
        "(cudaMemPoolAttrReleaseThreshold), or one allocator for all libraries",
        "timeline --heap {heap}" },
    [MPR_FINDING_RETENTION] = {
        "<" KEPT_SOMEWHERE "|" KEPT_SOMEWHERE "|" KEPT_SOMEWHERE
        "|at {time} malloc kept {kept_bytes} free between its {live_bytes} of live blocks: malloc_trim(0) "
        "returns {releasable_bytes}, and pages of live blocks have {pinned_bytes}[; most blocks at the heap's "
        "peak, {freed_bytes}, came from one place]"
        "|at {time} malloc kept {kept_bytes} free between its {live_bytes} of live blocks: malloc_trim(0) "
        "returns {releasable_bytes}, and pages of live blocks have {pinned_bytes}" PINNED_BY
        "|at {time} jemalloc kept {pinned_bytes} free in slabs of its {live_bytes} of live blocks" PINNED_BY ">",
        "<if malloc kept it: MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0"
        "|if malloc kept it: MALLOC_ARENA_MAX=2, malloc_trim(0) after many frees, or an allocator that "
        "returns memory (jemalloc)"
        "|if malloc kept it: malloc_trim(0) after many frees, or an allocator that returns memory (jemalloc)"
        "|malloc_trim(0) after many frees, or an allocator that returns free pages by itself (jemalloc, mimalloc)"
        "|allocate long-lived small blocks before the burst or from a pool, so that they do not share pages "
        "with short-lived blocks; malloc_trim(0) returns the rest"
        "|allocate long-lived small blocks from a pool or a separate jemalloc arena (mallctl arenas.create); "
        "dirty_decay_ms returns free pages, but not these>",
        "<timeline --heap host/heap|timeline --heap host/heap|timeline --heap host/heap"
        "|segments --heap host/heap|segments --heap host/heap|segments --heap host/heap>" },
    [MPR_FINDING_STATIC_DATA] = {
        "<is all of it used? Static|static> data of the program and its libraries holds "
        "{resident_bytes} of the process's {rss_bytes} of resident memory[, {largest_bytes} of it "
        "in {largest}]",
        "replace large static arrays (.bss, .data) by blocks of the size that is needed; nm "
        "--size-sort lists them",
        "peaks" },
    [MPR_FINDING_TEMPORARIES] = {
        "<" TEMPORARIES_OF("a forward pass") "|" TEMPORARIES_OF("a backward pass")
        "|" TEMPORARIES_OF("an optimizer step") "|" TEMPORARIES_OF("module calls")
        "|" TEMPORARIES_OF_A_PLACE "|" TEMPORARIES_OF_A_PLACE
        "|the gradient of this embedding has a row for each entry and holds {gradient_bytes} of {heap}'s "
        "{heap_bytes}; does a batch use all of them?>",
        "<" FEWER_TEMPORARIES "|" FEWER_TEMPORARIES "|foreach=False or fused=True in the optimizer"
        "|" FEWER_TEMPORARIES
        "|reuse one buffer (out=, in place), smaller chunks, or preallocate instead of torch.cat"
        "|build it once (join, bytearray, reserve), in place or in smaller chunks, instead of a new copy each time"
        "|sparse=True in the embedding (with SparseAdam or SGD), or a smaller table>",
        "<breakdown|breakdown|breakdown|breakdown|peaks|peaks|breakdown>" },
    [MPR_FINDING_THREAD_STACKS] = {
        "the stacks of {stacks} {stacks?thread:threads} hold {resident_bytes} of the process's "
        "{rss_bytes} of resident memory",
        "keep large buffers off the stack, limit the depth of recursion, or run fewer threads: a "
        "thread keeps the stack pages that it touched until it ends",
        "peaks" },
    [MPR_FINDING_UNEVEN_RANKS] = {
        "{rank} peaks at {peak_bytes} of {heap}, {bytes} above {usual}[; {place_bytes} of it in "
        "{place}]",
        "check what only this rank does: longer sequences, a larger batch, more tokens for its "
        "experts, or results that it gathers and keeps; balance the input, limit its length, or "
        "move results to the host (cpu)",
        "ranks" },
    [MPR_FINDING_WORKER] = {
        "one of {workers} forked workers, pid {pid}, peaks at {peak_bytes} of host memory, "
        "{bytes} above the median",
        "compare its log with that of another worker (memprof-report diff): a larger item, or a leak",
        "processes" },
    [MPR_FINDING_WORKERS] = {
        "<||does each of them need it? |does each of them need it? >{workers} forked workers"
        "<| at a time|| at a time> hold about the same memory each, {least_bytes..most_bytes} of the "
        "host, {all_bytes} in all[; their parent holds {parent_bytes}]",
        "fewer workers (num_workers) or a smaller prefetch_factor; load data that all of them need "
        "once, in shared memory",
        "processes" },
    [MPR_FINDING_WORKSPACES] = {
        "{workspaces} blocks of {each_bytes}, the size of a cuBLAS workspace, hold {workspace_bytes} "
        "of {heap}'s {heap_bytes}: PyTorch keeps one for each thread and stream that run a matmul",
        "use fewer threads and streams for matmuls, or smaller workspaces: CUBLAS_WORKSPACE_CONFIG=:4096:2 takes 8 "
        "MiB each, :16:8 128 KiB, which can be slower",
        "peaks" },
};
// clang-format on

/* ---- values */

static const char *words_of(struct mpr_number *n, const struct mpr_fact *fact)
{
    switch (fact->type) {
    case MPR_FACT_BYTES: return mpr_units_size(n, fact->value);
    case MPR_FACT_SPAN: return mpr_units_span(n, fact->value);
    case MPR_FACT_ID: snprintf(n->text, sizeof n->text, "%" PRIu64, fact->value); return n->text;
    case MPR_FACT_TEXT: return fact->text;
    default: return mpr_units_count(n, fact->value);
    }
}

/* Writes the placeholder after the '{', unless @out is NULL.  Returns its end.  Sets *has_all to
 * false if the finding has no such value. */
static const char *write_value(FILE *out, const struct mpr_finding *f, const char *key,
                               bool *has_all)
{
    struct mpr_number n, to;
    const size_t length = strcspn(key, "}?%.");
    const char *rest = key + length, *end = strchr(key, '}');
    const struct mpr_fact builtin[] = {
        { "bytes", MPR_FACT_BYTES, false, f->bytes },
        { "heap", MPR_FACT_TEXT, .text = mpr_heap_name(f->heap) },
        { "time", MPR_FACT_TEXT, .text = mpr_units_time(&n, f->time) },
    };
    const struct mpr_fact *fact = mpr_finding_value(f, key, length), *other = NULL;
    for (size_t i = 0; !fact && i < sizeof builtin / sizeof *builtin; i++)
        if (!strncmp(builtin[i].key, key, length) && !builtin[i].key[length]) fact = &builtin[i];
    if (*rest == '%' || *rest == '.') {
        const char *name = rest + strspn(rest, "%.");
        other = mpr_finding_value(f, name, (size_t)(end - name));
    }
    *has_all &= fact && (other || *rest == '}' || *rest == '?');
    if (!out || !fact) return end;
    if (*rest == '?') {
        const char *many = strchr(rest, ':') + 1, *one = rest + 1;
        if (fact->value == 1) fprintf(out, "%.*s", (int)(many - 1 - one), one);
        else fprintf(out, "%.*s", (int)(end - many), many);
        return end;
    }
    if (fact->estimated) fputc('~', out);
    if (*rest == '%' && other) { /* 0 % only for nothing */
        const double percent = 100 * (double)fact->value / (double)other->value;
        fprintf(out, "%.0f %%", percent > 0 ? fmax(percent, 1) : 0);
    } else if (*rest == '}' || other) {
        fputs(words_of(&n, fact), out);
        if (other && strcmp(n.text, words_of(&to, other)) != 0) fprintf(out, " to %s", to.text);
    }
    return end;
}

/* ---- templates */

static const char *expand(FILE *out, const struct mpr_finding *f, const char *at, bool *has_all);

/* Writes the alternative of the finding's variant, of those after the '<'.  Returns their end. */
static const char *write_alternative(FILE *out, const struct mpr_finding *f, const char *at,
                                     bool *has_all)
{
    for (unsigned i = 0;; i++) {
        bool unused = true;
        const char *end = expand(NULL, f, at, &unused);
        if (i == f->variant || (i < f->variant && *end != '|')) expand(out, f, at, has_all);
        if (*end != '|') return end;
        at = end + 1;
    }
}

/* Writes the template up to its end or the end of its part, which it returns.  Writes nothing if
 * @out is NULL.  Sets *has_all to false if a value is missing. */
static const char *expand(FILE *out, const struct mpr_finding *f, const char *at, bool *has_all)
{
    for (; *at && !strchr("]|>", *at); at++) {
        bool part_has_all = true;
        const char *part = at + 1;
        if (*at == '{') at = write_value(out, f, part, has_all);
        else if (*at == '<') at = write_alternative(out, f, part, has_all);
        else if (*at == '[') {
            at = expand(NULL, f, part, &part_has_all);
            if (part_has_all) expand(out, f, part, has_all);
        } else if (out) fputc(*at, out);
    }
    return at;
}

static const char *sentence(struct mpr_arena *arena, const struct mpr_finding *f,
                            const char *template)
{
    char *text;
    size_t bytes;
    bool has_all = true;
    FILE *out = mpr_text_open(&text, &bytes);
    expand(out, f, template, &has_all);
    mpr_text_close(out);
    const char *copy = mpr_arena_text(arena, text);
    free(text);
    return copy;
}

const char *mpr_report_where(struct mpr_arena *arena, uint8_t heap)
{
    const char *name = mpr_heap_name(heap);
    return mpr_arena_format(arena, "%.*s", (int)strcspn(name, "/"), name);
}

struct mpr_finding_text mpr_finding_text(struct mpr_arena *arena, const struct mpr_finding *f)
{
    return (struct mpr_finding_text){ .where = mpr_report_where(arena, f->heap),
                                      .what = sentence(arena, f, sentences[f->kind].what),
                                      .change = sentence(arena, f, sentences[f->kind].change),
                                      .report = sentence(arena, f, sentences[f->kind].report) };
}

/* ---- fields */

#define SENTENCE(member) mpr_value_text(sentence(&doc->arena, f, sentences[f->kind].member))

MPR_VALUE(where, mpr_finding, f,
          (struct mpr_value){ .type = MPR_WORD, .text = mpr_report_where(&doc->arena, f->heap) })
MPR_VALUE(what, mpr_finding, f, SENTENCE(what))
MPR_VALUE(change, mpr_finding, f, SENTENCE(change))
MPR_VALUE(report, mpr_finding, f, SENTENCE(report))

MPR_VALUE(value, mpr_fact, fact,
          fact->detail ? mpr_value_absent : mpr_value_number(MPR_COUNT, fact->value))

#define OF(member) MPR_FIELD(mpr_finding, member)

// clang-format off
static const struct mpr_column columns[] = {
    MPR_LOG_COLUMN,
    { .key = "finding", .type = MPR_WORD, OF(kind), .words = mpr_finding_keys },
    { .key = "where", .type = MPR_WORD, .get = where },
    { .key = "saves_at_most_bytes", .type = MPR_BYTES, OF(bytes) },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "possible", .type = MPR_FLAG, OF(weak), .unless = MPR_ABSENT_AT_0,
      .only = MPR_IN_JSON },
    { .key = "what", .type = MPR_TEXT, .get = what },
    { .key = "path", MPR_PATH_FIELD(mpr_finding, path), .unless = MPR_ABSENT_AT_0 },
    { .key = "change", .type = MPR_TEXT, .get = change },
    { .key = "report", .type = MPR_TEXT, .get = report },
};

static const struct mpr_column fact_columns[] = {
    { .key = "number", .type = MPR_WORD, MPR_FIELD(mpr_fact, key) },
    { .key = "value", .type = MPR_COUNT, .get = value },
};
// clang-format on

/* Returns the number of findings that --top leaves. */
static size_t shown(const struct mpr_document *doc, const struct mpr_insights *insights)
{
    return doc->top && doc->top < insights->findings ? doc->top : insights->findings;
}

void mpr_report_finding_fields(struct mpr_document *doc, const struct mpr_insights *insights)
{
    const size_t count = shown(doc, insights);
    mpr_doc_list(doc, "findings");
    for (size_t i = 0; i < count; i++) {
        const struct mpr_finding *f = &insights->finding[i];
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, columns, f);
        mpr_doc_rows(doc, fact_columns, f->fact, f->facts, .key = "numbers", .only = MPR_IN_JSON,
                     .all = MPR_IN_JSON, .shape = MPR_MEMBERS);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    if (doc->top)
        mpr_doc_fact(doc, "omitted_findings",
                     mpr_value_number(MPR_COUNT, insights->findings - count));
}

/* ---- lines */

const char *mpr_report_finding_words(struct mpr_document *doc, const struct mpr_finding *f)
{
    const char *what = sentence(&doc->arena, f, sentences[f->kind].what);
    if (!f->path.frame) return what;
    return mpr_arena_format(&doc->arena, "%s: %s", what, mpr_report_path_words(doc, f->path));
}

const char *mpr_report_folder(struct mpr_document *doc, const char *path)
{
    const int folder = (int)(mpr_basename(path) - path);
    if (!folder) return ".";
    return mpr_arena_format(&doc->arena, "%.*s", folder > 1 ? folder - 1 : folder, path);
}

/* The path is the log's, or the folder of its run if the report compares processes. */
const char *mpr_report_finding_command(struct mpr_document *doc,
                                       const struct mpr_insights *insights,
                                       const struct mpr_finding *f)
{
    const char *report = sentence(&doc->arena, f, sentences[f->kind].report),
               *path = insights->peaks.log[0].summary.path;
    const bool of_run = strcmp(report, "processes") == 0 || strcmp(report, "ranks") == 0 ||
                        (f->kind == MPR_FINDING_OTHER_PROCESS && insights->family);
    if (of_run) path = mpr_report_folder(doc, path);
    return mpr_arena_format(&doc->arena, "memprof-report %s %s", report,
                            mpr_doc_log_word(doc, path));
}

void mpr_report_findings(struct mpr_document *doc, const struct mpr_insights *insights, size_t max)
{
    enum { HANG = 20 }; /* columns before the sentence */
    for (size_t i = 0; i < insights->findings && i < max; i++) {
        const struct mpr_finding *f = &insights->finding[i];
        const char *advice = sentence(&doc->arena, f, sentences[f->kind].change);
        mpr_doc_add(doc, MPR_STRONG, "%12s",
                    mpr_arena_format(&doc->arena, "%s%s", f->estimated ? "~" : "",
                                     mpr_doc_size(doc, f->bytes)));
        mpr_doc_add_plain(doc, "  %-4s  %s", mpr_report_where(&doc->arena, f->heap),
                          mpr_report_finding_words(doc, f));
        mpr_doc_end_wrapped(doc, HANG);
        mpr_doc_add_plain(doc, "%*stry: %s", HANG, "", advice);
        mpr_doc_end_wrapped(doc, HANG + 5);
        mpr_doc_command(doc, "%*ssee: %s", HANG, "", mpr_report_finding_command(doc, insights, f));
    }
}

void mpr_report_insights(struct mpr_document *doc, const struct mpr_insights *insights)
{
    const struct mpr_log_peaks *log = &insights->peaks.log[0];
    const size_t count = shown(doc, insights);
    mpr_report_schema(doc, "memprof.insights/1");
    mpr_report_log(doc, &log->summary);
    mpr_report_finding_fields(doc, insights);
    mpr_doc_rows(doc, columns, insights->finding, insights->findings, .only = MPR_IN_CSV,
                 .folded = { NULL, "finding", "saves_at_most_bytes" });
    mpr_doc_csv(doc, columns);
    mpr_doc_gap(doc);
    if (insights->findings) mpr_doc_line(doc, "findings, each with the most that it can save");
    else mpr_doc_line(doc, "no findings");
    mpr_report_findings(doc, insights, count);
    if (count < insights->findings) mpr_doc_line(doc, "  (%zu more)", insights->findings - count);
}
