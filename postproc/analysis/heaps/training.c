#include "breakdown.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "gpu.h"
#include "ranges.h"

/* ---- names */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The context of a range of the domain "torch". */
static unsigned range_context(const char *name)
{
    static const char backward[] = "Backward";
    const size_t word = sizeof backward - 1;
    size_t bytes = strlen(name);
    if (begins(name, "Optimizer.step#")) return MPR_IN_OPTIMIZER;
    /* "FSDP::all_gather (layers.3)", "FSDP::pre_backward" */
    if (begins(name, "FSDP::") &&
        (strstr(name, "all_gather") || strstr(name, "pre_forward") || strstr(name, "pre_backward")))
        return MPR_IN_GATHER;
    /* "MmBackward0", "MyFunctionBackward", "torch::autograd::AccumulateGrad" */
    if (begins(name, "torch::autograd::")) return MPR_IN_BACKWARD;
    while (bytes && isdigit((unsigned char)name[bytes - 1])) bytes--;
    return bytes >= word && !memcmp(name + bytes - word, backward, word) ? MPR_IN_BACKWARD : 0;
}

/* The context of one frame, "Class.function [path.of.module]". */
static unsigned frame_context(const struct mpr_python_frame *frame)
{
    static const char modules[] = "torch/nn/modules/";
    const char *function = frame->function, *file = mpr_python_file(frame->file);
    const bool of_modules = begins(file, modules),
               of_module = of_modules && !strcmp(file + strlen(modules), "module.py"),
               constructs = strstr(function, ".__init__");
    unsigned context = 0;
    if (of_module && strstr(function, "._call_impl")) context |= MPR_IN_FORWARD;
    if ((of_modules && constructs) || (of_module && strstr(function, "._apply")))
        context |= MPR_IN_BUILD;
    if (of_module || constructs || strstr(function, " [")) context |= MPR_IN_MODULE;
    return context;
}

static struct mpr_python_frame frame_of(const struct mpr_ranges *ranges, uint32_t node)
{
    return mpr_ranges_frame(ranges, ranges->node[node].name);
}

/* A node's context includes that of its parent. */
unsigned mpr_training_context(struct mpr_training *training, const struct mpr_ranges *ranges,
                              uint32_t node)
{
    uint32_t unknown[MPR_PATH_MAX], depth = 0, at = node;
    if (!node) return 0;
    MPR_REACH(training->context, node, training->nodes);
    for (; at && !training->context[at] && depth < MPR_PATH_MAX; at = ranges->node[at].parent)
        unknown[depth++] = at;
    unsigned context = training->context[at] | MPR_CONTEXT_KNOWN;
    while (depth-- > 0) {
        const struct mpr_node *n = &ranges->node[unknown[depth]];
        const struct mpr_python_frame frame = frame_of(ranges, unknown[depth]);
        size_t bytes;
        const char *name;
        if (frame.function) context |= frame_context(&frame);
        else if (strcmp(mpr_ranges_domain(ranges, n->domain), "torch") == 0 &&
                 (name = mpr_texts_get(&ranges->names, n->name, &bytes)))
            context |= range_context(name);
        training->context[unknown[depth]] = (uint16_t)context;
    }
    return context;
}

/* Returns true if the frame is a function of a key-value cache: "DynamicCache.update",
 * "KVCache.append". The word "cache" alone is not enough: "torch.cuda.empty_cache",
 * "load_cached". */
static bool is_of_cache(const struct mpr_python_frame *frame)
{
    static const char *const word[] = { "kvcache",
                                        "kv_cache",
                                        "past_key_value",
                                        "DynamicCache.",
                                        "StaticCache.",
                                        "HybridCache.",
                                        "SlidingWindowCache.",
                                        "QuantizedCache.",
                                        "OffloadedCache.",
                                        "EncoderDecoderCache." };
    if (!frame->function) return false;
    if (strcmp(mpr_python_file(frame->file), "transformers/cache_utils.py") == 0) return true;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (strcasestr(frame->function, word[i])) return true;
    return false;
}

/* Returns true if the frame is a method of a class with a name like "Cache" or "PagedCache", which
 * is not a module. */
static bool is_of_class_cache(const struct mpr_python_frame *frame)
{
    static const char word[] = "Cache";
    const size_t bytes = sizeof word - 1;
    const char *end = frame->function ? strchr(frame->function, '.') : NULL;
    return end && end - frame->function >= (ptrdiff_t)bytes && !memcmp(end - bytes, word, bytes) &&
           !strstr(frame->function, " [");
}

unsigned mpr_torch_innermost_context(const struct mpr_ranges *ranges, uint32_t node)
{
    const struct mpr_python_frame frame = frame_of(ranges, node),
                                  caller = frame_of(ranges, ranges->node[node].parent);
    if (!frame.function) return 0;
    return (is_of_cache(&frame) || is_of_cache(&caller) ? MPR_IN_CACHE : 0) |
           (is_of_class_cache(&frame) || is_of_class_cache(&caller) ? MPR_IN_CLASS_CACHE : 0) |
           (begins(frame.function, "DistributedDataParallel.") ? MPR_IN_BUCKET : 0);
}

/* ---- phases */

static struct mpr_training_thread *thread_of(struct mpr_training *p, const struct mpr_thread *t)
{
    MPR_REACH(p->thread, t->number, p->threads);
    return &p->thread[t->number];
}

static void enter(struct mpr_training *p, enum mpr_phase phase)
{
    if (phase == p->now.phase) return;
    if (phase == MPR_PHASE_FORWARD || phase == MPR_PHASE_OPTIMIZER) p->has_new_work = true;
    if (phase == MPR_PHASE_BACKWARD && (p->has_new_work || !p->now.passes)) {
        p->now.passes++;
        p->has_new_work = false;
    }
    p->now.phase = phase;
    p->now.serial++;
}

static bool in_backward(struct mpr_training *p, const struct mpr_replay *r,
                        const struct mpr_thread *t)
{
    return thread_of(p, t)->autograds ||
           mpr_training_context(p, &r->ranges, t->node) & MPR_IN_BACKWARD;
}

static enum mpr_phase phase_of(struct mpr_training *p, const struct mpr_replay *r,
                               const struct mpr_thread *t)
{
    const enum mpr_phase now = p->now.phase;
    if (in_backward(p, r, t)) return MPR_PHASE_BACKWARD;
    if (thread_of(p, t)->in_step && !(p->closure && now == MPR_PHASE_FORWARD))
        return MPR_PHASE_OPTIMIZER;
    return now == MPR_PHASE_BACKWARD || now == MPR_PHASE_OPTIMIZER ? MPR_PHASE_BETWEEN : now;
}

static void on_push(struct mpr_training *p, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    struct mpr_training_thread *thread = thread_of(p, t);
    if (!(e->addr >> 32)) return; /* a range of the program */
    const unsigned context = mpr_training_context(p, &r->ranges, t->node);
    if (context & MPR_IN_BACKWARD) {
        thread->autograds |= !thread->seen;
        enter(p, MPR_PHASE_BACKWARD);
    } else if (context & MPR_IN_OPTIMIZER && !thread->in_step) {
        thread->in_step = true;
        p->closure = false;
        enter(p, MPR_PHASE_OPTIMIZER);
    }
    thread->seen = true;
}

static void on_block(struct mpr_training *p, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&r->gpu.torch, e->addr);
    enum mpr_phase phase = phase_of(p, r, t);
    if (b && phase != MPR_PHASE_BACKWARD &&
        mpr_training_context(p, &r->ranges, mpr_gpu_backward_python(r, b)) & MPR_IN_FORWARD) {
        p->closure = thread_of(p, t)->in_step;
        phase = MPR_PHASE_FORWARD;
    }
    thread_of(p, t)->seen = true;
    enter(p, phase);
}

void mpr_training_see(struct mpr_training *p, const struct mpr_replay *r,
                      const struct mpr_thread *t, const struct mpf_event *e)
{
    p->now.time = e->time;
    switch (e->op) {
    case MPF_OP_PUSH: on_push(p, r, t, e); break;
    case MPF_OP_POP:
        if (!thread_of(p, t)->in_step ||
            mpr_training_context(p, &r->ranges, t->node) & MPR_IN_OPTIMIZER)
            break;
        thread_of(p, t)->in_step = false;
        p->now.steps++;
        enter(p, MPR_PHASE_BETWEEN);
        break;
    case MPF_OP_TORCH_NEXT:
        /* The thread has recorded nodes of autograd. That is a forward pass, unless they are not
         * newer than those that a backward pass ran. */
        p->has_nodes |= e->addr > 0;
        if (p->now.phase == MPR_PHASE_SETUP || e->addr <= p->newest_run + 1 || in_backward(p, r, t))
            break;
        p->closure = thread_of(p, t)->in_step;
        enter(p, MPR_PHASE_FORWARD);
        p->recorded = p->now.serial;
        break;
    case MPF_OP_TORCH_NODE:
        if (e->addr > p->newest_run) p->newest_run = e->addr;
        break;
    case MPF_OP_ALLOC:
        if (mpr_gpu_of_torch(e)) on_block(p, r, t, e);
        break;
    default: break;
    }
}

struct mpr_moment mpr_training_moment(struct mpr_training *p, const struct mpr_replay *r,
                                      const struct mpr_thread *t)
{
    struct mpr_moment moment = p->now;
    moment.phase = phase_of(p, r, t);
    if (moment.phase != p->now.phase) moment.serial = UINT32_MAX; /* a later phase than p->now */
    return moment;
}

void mpr_training_free(struct mpr_training *p)
{
    free(p->context);
    free(p->thread);
}
