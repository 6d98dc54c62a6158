/* A subcommand that reads one log and prints one report. */
#ifndef MPR_ONE_H
#define MPR_ONE_H

#include "cmd.h"

struct mpr_one {
    const char *doc;
    /* The result, or NULL with *error filled. */
    void *(*read)(const char *path, const struct mpr_progress *progress, bool *incomplete, struct mpr_error *error);
    mpr_render_result *render;
    void (*free)(void *result);
};

/* The subcommand's exit status. */
int mpr_one_run(const struct mpr_one *one, int argc, char **argv);

#endif
