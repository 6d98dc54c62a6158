#include "torch_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "python_file.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- ranges of the domain "torch" */

/* "MmBackward0", "MyFunctionBackward", "torch::autograd::AccumulateGrad". */
static bool is_node(const char *name)
{
    size_t bytes = strlen(name);
    const size_t word = strlen("Backward");
    if (begins(name, "torch::autograd::")) return true;
    while (bytes && isdigit((unsigned char)name[bytes - 1])) bytes--;
    return bytes >= word && memcmp(name + bytes - word, "Backward", word) == 0;
}

/* "FSDP::all_gather (layers.3)", "FSDP::pre_backward". */
static bool is_gather(const char *name)
{
    return begins(name, "FSDP::") && (strstr(name, "all_gather") || strstr(name, "pre_forward") ||
                                      strstr(name, "pre_backward"));
}

static unsigned range_says(const char *name)
{
    if (begins(name, "Optimizer.step#")) return MPR_SAYS_OPTIMIZER;
    if (is_gather(name)) return MPR_SAYS_GATHER;
    return is_node(name) ? MPR_SAYS_BACKWARD : 0;
}

/* ---- frames: "Class.function [path.of.module]" */

static const char modules[] = "torch/nn/modules/";

static unsigned frame_says(const struct mpr_python_frame *frame)
{
    unsigned says = 0;
    const char *function = frame->function, *file = mpr_python_file(frame->file);
    const bool of_modules = begins(file, modules), /* torch.nn.Module's own: */
        torch = of_modules && strcmp(file + strlen(modules), "module.py") == 0;
    if (torch && strstr(function, "._call_impl")) says |= MPR_SAYS_FORWARD;
    if ((of_modules && strstr(function, ".__init__")) || (torch && strstr(function, "._apply")))
        says |= MPR_SAYS_BUILT;
    if (torch || strstr(function, " [") || strstr(function, ".__init__")) says |= MPR_SAYS_MODULE;
    return says;
}

/* Returns true if the frame is a function of a key-value cache: "DynamicCache.update",
 * "KVCache.append".  The word cache alone proves nothing: "torch.cuda.empty_cache",
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

static struct mpr_python_frame frame_of(const struct mpr_ranges *ranges, uint32_t node)
{
    return mpr_ranges_frame(ranges, ranges->node[node].name);
}

unsigned mpr_torch_innermost_says(const struct mpr_ranges *ranges, uint32_t node)
{
    const struct mpr_python_frame frame = frame_of(ranges, node),
                                  caller = frame_of(ranges, ranges->node[node].parent);
    unsigned says = 0;
    if (!frame.function) return 0;
    if (is_of_cache(&frame) || is_of_cache(&caller)) says |= MPR_SAYS_CACHE;
    if (begins(frame.function, "DistributedDataParallel.")) says |= MPR_SAYS_BUCKET;
    return says;
}

static unsigned one_says(const struct mpr_ranges *ranges, uint32_t node)
{
    const struct mpr_node *n = &ranges->node[node];
    const struct mpr_python_frame frame = frame_of(ranges, node);
    size_t bytes;
    if (frame.function) return frame_says(&frame);
    if (strcmp(mpr_ranges_domain(ranges, n->domain), "torch") != 0) return 0;
    const char *name = mpr_texts_get(&ranges->names, n->name, &bytes);
    return name ? range_says(name) : 0;
}

/* A node says what its parent does, and its own: from the first that is known. */
unsigned mpr_torch_says(struct mpr_torch_names *names, const struct mpr_ranges *ranges,
                        uint32_t node)
{
    uint32_t unknown[MPR_PATH_MAX], depth = 0, at = node;
    if (!node) return 0;
    MPR_REACH(names->says, node, names->nodes);
    for (; at && !names->says[at] && depth < MPR_PATH_MAX; at = ranges->node[at].parent)
        unknown[depth++] = at;
    unsigned says = names->says[at] | MPR_SAYS_LOOKED;
    while (depth-- > 0)
        names->says[unknown[depth]] = (uint16_t)(says |= one_says(ranges, unknown[depth]));
    return says;
}

void mpr_torch_names_free(struct mpr_torch_names *names) { free(names->says); }
