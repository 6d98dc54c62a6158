/* The formats of export.  Those with a database or PyTorch's state have a file each. */
#ifndef MPR_EXPORT_FORMAT_H
#define MPR_EXPORT_FORMAT_H

#include "cmd.h"

enum { MPR_EXPORT_SPANS = 4096 }; /* limit for one heap over time */

/* Options that some formats do not have. */
enum { MPR_EXPORT_MIN = 1, MPR_EXPORT_HEAP = 2 };

struct mpr_export {
    struct mpr_args common;
    const struct mpr_export_format *format;
    const char *path, *from, *until;
    uint8_t heap; /* or MPF_HEAP_NONE for all */
    uint64_t min_bytes;
    unsigned given; /* the options above that were given */
};

struct mpr_export_format {
    const char *name, *path;            /* path: the file without --output */
    unsigned options;                   /* those of the options above that it has */
    bool streams;                       /* it can go to standard output */
    int (*write)(struct mpr_export *e); /* returns the exit status */
};

extern const struct mpr_export_format mpr_export_sqlite, mpr_export_torch_snapshot;

/* Finds --from and --until in one log, in ns.  Returns 0, or -1 with *error filled. */
int mpr_export_window(const struct mpr_export *e, const char *path,
                      const struct mpr_progress *progress, uint64_t *from_ns, uint64_t *until_ns,
                      struct mpr_error *error);

#endif
