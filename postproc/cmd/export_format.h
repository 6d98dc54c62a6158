/* What `export` writes: a file a format. */
#ifndef MPR_EXPORT_FORMAT_H
#define MPR_EXPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "logs.h"

enum { MPR_EXPORT_SPANS = 4096 }; /* of a heap over time */

/* Options that not every format has. */
enum { MPR_EXPORT_MIN = 1, MPR_EXPORT_HEAP = 2 };

struct mpr_export {
    struct mpr_logs logs;
    struct mpr_telling *telling;
    const char *output, *from, *until;
    uint8_t heap; /* MPF_HEAP_NONE for all */
    uint64_t min_bytes;
    unsigned given; /* of those options */
};

struct mpr_export_format {
    const char *name, *output; /* output: where it goes unless something else is said */
    unsigned takes;
    bool streams;                       /* it can go to standard output */
    int (*write)(struct mpr_export *e); /* the exit status */
};

extern const struct mpr_export_format mpr_export_sqlite, mpr_export_torch_snapshot,
    mpr_export_pprof, mpr_export_perfetto;

/* --from and --until in one log: 0, or -1 with *error filled. */
int mpr_export_window(const struct mpr_export *e, const char *path,
                      const struct mpr_progress *progress, uint64_t *from_ns, uint64_t *until_ns,
                      struct mpr_error *error);

#endif
