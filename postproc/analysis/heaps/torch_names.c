#include "torch_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

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

/* ---- frames: "Class.function [path.of.module] (file.py:12)", of packages with its path there */

static unsigned frame_says(const char *frame)
{
    unsigned says = 0;
    const char *file = strrchr(frame, '(');
    const bool modules = file && begins(file, "(torch/nn/modules/");
    const bool torch = modules && begins(file, "(torch/nn/modules/module.py:"); /* torch.nn.Module's
                                                                                   own */
    if (torch && strstr(frame, "._call_impl")) says |= MPR_SAYS_FORWARD;
    if ((modules && strstr(frame, ".__init__")) || (torch && strstr(frame, "._apply")))
        says |= MPR_SAYS_BUILT;
    if (torch || strstr(frame, " [") || strstr(frame, ".__init__")) says |= MPR_SAYS_MODULE;
    return says;
}

static const char *text_of(const struct mpr_ranges *ranges, uint32_t node)
{
    size_t bytes;
    const char *text = node ? mpr_texts_get(&ranges->names, ranges->node[node].name, &bytes) : NULL;
    return text ? text : "";
}

static bool is_frame(const struct mpr_node *node)
{
    return node->name >= MPR_FRAME_NAME && node->name != MPR_BACKWARD_NAME;
}

/* Returns true if the frame is a function of a key-value cache: "DynamicCache.update",
 * "KVCache.append (model.py:3)".  The word cache alone proves nothing: "torch.cuda.empty_cache",
 * "load_cached", and the name of a file. */
static bool is_of_cache(const char *frame)
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
    const char *file = strrchr(frame, '(');
    if (file && begins(file, "(transformers/cache_utils.py:")) return true;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        const char *found = strcasestr(frame, word[i]);
        if (found && (!file || found < file)) return true;
    }
    return false;
}

unsigned mpr_torch_innermost_says(const struct mpr_ranges *ranges, uint32_t node)
{
    const char *frame = text_of(ranges, node);
    unsigned says = 0;
    if (!node || !is_frame(&ranges->node[node])) return 0;
    if (is_of_cache(frame) || is_of_cache(text_of(ranges, ranges->node[node].parent)))
        says |= MPR_SAYS_CACHE;
    if (begins(frame, "DistributedDataParallel.")) says |= MPR_SAYS_BUCKET;
    return says;
}

static unsigned one_says(const struct mpr_ranges *ranges, uint32_t node)
{
    const struct mpr_node *n = &ranges->node[node];
    if (is_frame(n)) return frame_says(text_of(ranges, node));
    if (strcmp(mpr_ranges_domain(ranges, n->domain), "torch") != 0) return 0;
    return range_says(text_of(ranges, node));
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
