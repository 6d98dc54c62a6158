/* Processes that run, side by side: the result behind `memprof-report top`.  Those that had ended
 * when they were first seen are counted only, unless one is all there is. */
#ifndef MPR_TOP_H
#define MPR_TOP_H

#include "live.h"

struct mpr_top {
    struct mpr_live_options options;
    struct mpr_top_log {
        char *path;
        struct mpr_live *live; /* NULL: it had ended, or cannot be read on */
        bool kept;             /* once it has ended, too */
    } * log;
    size_t logs, cap;
    size_t gone;  /* of these, that had ended when they were first seen */
    size_t asked; /* which of those that are told about is told in full: modulo their number */
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
/* Does one of them run? */
bool mpr_top_runs(const struct mpr_top *top);
void mpr_top_free(struct mpr_top *top);

#endif
