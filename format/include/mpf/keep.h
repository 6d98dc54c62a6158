/* How much of a log is kept whole: what MEMPROF_KEEP and the header's `keep` say. */
#ifndef MPF_KEEP_H
#define MPF_KEEP_H

#include <stdint.h>

/* One of the two; the other is 0. */
struct mpf_keep {
    uint64_t bytes; /* that the whole log may have */
    uint64_t ns;    /* of the log's end */
};

#define MPF_EXPECTED_KEEP "a size (2G; units K, M, G or T) or a time (30min; units s, min, h or d)"

/* Reads "2G", "512MiB", "30min" or "2d". Returns 1, or 0 for any other text. A small m is not a
 * unit because it could mean minutes or mebibytes. */
int mpf_keep_read(const char *text, struct mpf_keep *keep);

#endif
