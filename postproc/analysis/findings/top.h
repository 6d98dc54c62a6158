/* Processes that run, side by side: the result behind `memprof-report top`.  One that ends is told
 * once more; those that had ended when they were first seen are counted only, unless one is all
 * there is. */
#ifndef MPR_TOP_H
#define MPR_TOP_H

#include "live.h"

struct mpr_top {
    struct mpr_live_options options;
    struct mpr_top_log {
        char *path;
        struct mpr_live *live; /* NULL: it has ended, or cannot be read on */
        bool kept, seen;       /* kept: once it has ended, too; seen: at an earlier look */
    } * log;
    size_t logs, cap;
    size_t gone;         /* of these, that have ended, and are not told any more */
    const char *in_full; /* the log that is told in full, unless it is gone; NULL: the largest */
    bool next;           /* the one behind it is wanted */
    struct mpr_arena arena;
    const struct mpr_live_look **process; /* of the newest look; largest first: host and devices */
    size_t processes, shown;              /* shown: the one in full */
};

void mpr_top_init(struct mpr_top *top, const struct mpr_live_options *options);
/* Follows a log from now on; one that is known already stays as it is.  even_ended: also where its
 * process has ended.  0, or -1 with *error filled. */
int mpr_top_add(struct mpr_top *top, const char *path, bool even_ended, struct mpr_error *error);
/* Reads on in all of them.  failed: told of each log that cannot be read on, which is left out from
 * then on. */
void mpr_top_look(struct mpr_top *top, const struct mpr_progress *progress,
                  void (*failed)(const struct mpr_error *error));
void mpr_top_free(struct mpr_top *top);

#endif
