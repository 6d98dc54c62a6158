/* Settings of PyTorch's caching allocator, as PYTORCH_CUDA_ALLOC_CONF has them. */
#ifndef MPR_CACHING_SETTINGS_H
#define MPR_CACHING_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPR_CACHING_INTERVALS = 16 }; /* of roundup_power2_divisions: 1 MiB, 2 MiB, ... 32 GiB */

struct mpr_caching_settings {
    bool expandable_segments;
    uint64_t max_split_size;         /* bytes; larger blocks are not split; UINT64_MAX: all are */
    uint64_t max_non_split_rounding; /* bytes that such a block may have more than the request */
    double collect_above;   /* garbage_collection_threshold: share of the allowed memory, or 0 if it
                               is off */
    double memory_fraction; /* share of the device that may be reserved; 0: no limit.  PyTorch
                             * collects garbage only if there is a limit. */
    uint32_t power2_divisions[MPR_CACHING_INTERVALS]; /* by the request's size, each 0 or 1 if it is
                                                         off */
};

/* Returns PyTorch's defaults. */
struct mpr_caching_settings mpr_caching_settings_default(void);

/* Changes the settings that the text names: "expandable_segments:True,max_split_size_mb:128".
 * Accepts what PyTorch accepts, except another backend.  Returns 0, or -1 with the reason in
 * @error, as a sentence without a full stop. */
int mpr_caching_settings_parse(struct mpr_caching_settings *settings, const char *text, char *error,
                               size_t room);

#endif
