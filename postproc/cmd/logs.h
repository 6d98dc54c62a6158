/* The logs that a subcommand is given: files and directories, and --pid, --rank and --run. */
#ifndef MPR_LOGS_H
#define MPR_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "progress.h"

/* Paths of logs.  A file is listed once, under the first of its names. */
struct mpr_paths {
    char **at;
    struct mpr_file *file;
    size_t count, cap;
    bool may_be_missing; /* no messages about files that do not exist yet */
};
/* Adds a file, or the *.zst files of a directory in order of their names; for a journal or a fold,
 * the log that it belongs to.  Returns false after a message on stderr if there was none. */
bool mpr_paths_add(struct mpr_paths *paths, const char *argument);
void mpr_paths_free(struct mpr_paths *paths);
/* Returns true if the text ends with @end and is longer. */
bool mpr_path_ends_with(const char *text, const char *end);

/* All zeros at first. */
struct mpr_logs {
    struct mpr_paths paths;
    struct mpr_paths given;       /* all logs, of which options chose `paths` */
    const char *pid, *rank, *run; /* restrict to this process, rank or run, or NULL for all */
    uint8_t heap;            /* at least one log must have this heap; MPF_HEAP_NONE for any log */
    bool heap_may_be_absent; /* the logs of the other side may have the heap instead */
    bool failed; /* an operand had no log, or a log cannot be read; after a message on stderr */
};

/* The table of --pid, --rank and --run; its members are those of struct mpr_logs. */
extern const struct mpr_option mpr_logs_options[];
/* The same without --run. */
extern const struct mpr_option mpr_logs_process_options[];

/* Removes all logs that --pid, --rank and --run exclude.  Returns false, after a message on stderr,
 * if no log remains or no log has the heap. */
bool mpr_logs_choose(struct mpr_logs *logs);
/* Chooses one log for a command that reads one: of several, the log of the first process that
 * memory ran out for, else the one with the largest peak; a line on stderr names it.  Returns a
 * path that lives as long as the logs, or NULL after a message on stderr. */
const char *mpr_logs_one(struct mpr_logs *logs);

/* Calls @add for each log.  Prints the error of a log for which it returns -1 with *error filled.
 */
typedef int mpr_log_add(void *to, const char *path, const struct mpr_progress *progress,
                        struct mpr_error *error);
void mpr_logs_each(struct mpr_logs *logs, mpr_log_add *add, void *to);

/* Frees all.  Returns the exit status of a command that ended with @status. */
int mpr_logs_close(struct mpr_logs *logs, int status);

#endif
