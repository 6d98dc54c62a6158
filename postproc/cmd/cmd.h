/* Subcommands of memprof-report, and what they share. */
#ifndef MPR_CMD_H
#define MPR_CMD_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "destination.h"
#include "document.h"
#include "error.h"
#include "naming.h"
#include "progress.h"
#include "render.h"

/* The usage error of a command without an operand. */
#define MPR_NEED_LOG "a log is needed"

enum mpr_exit {
    MPR_EXIT_FINE = 0,
    MPR_EXIT_FAILURE = 1,
    MPR_EXIT_USAGE = 2,
    MPR_EXIT_INCOMPLETE = 3,
    MPR_EXIT_BROKEN = 4,   /* check: a limit is */
    MPR_EXIT_NOT_FOUND = 5 /* check: a limit is about nothing that there is */
};

int mpr_cmd_peaks(int argc, char **argv);
int mpr_cmd_oom(int argc, char **argv);
int mpr_cmd_html(int argc, char **argv);
int mpr_cmd_timeline(int argc, char **argv);
int mpr_cmd_top(int argc, char **argv);
int mpr_cmd_check(int argc, char **argv);
int mpr_cmd_compact(int argc, char **argv);
int mpr_cmd_diff(int argc, char **argv);
int mpr_cmd_digest(int argc, char **argv);
int mpr_cmd_export(int argc, char **argv);
int mpr_cmd_graphs(int argc, char **argv);
int mpr_cmd_breakdown(int argc, char **argv);
int mpr_cmd_segments(int argc, char **argv);
int mpr_cmd_stacks(int argc, char **argv);
int mpr_cmd_steps(int argc, char **argv);
int mpr_cmd_leaks(int argc, char **argv);
int mpr_cmd_symbolize(int argc, char **argv);
int mpr_cmd_summary(int argc, char **argv);
int mpr_cmd_temporary(int argc, char **argv);
int mpr_cmd_threads(int argc, char **argv);
int mpr_cmd_processes(int argc, char **argv);
int mpr_cmd_info(int argc, char **argv);
int mpr_cmd_insights(int argc, char **argv);
int mpr_cmd_verify(int argc, char **argv);
int mpr_cmd_ranks(int argc, char **argv);
int mpr_cmd_recover(int argc, char **argv);

/* Options of every report: its format and where it goes, how much of it, and how paths are shown.
 * A child of a subcommand's argp; its input is this. */
enum { MPR_WIDTH_AUTO = -1 };
struct mpr_output {
    const struct mpr_renderer *renderer;
    struct mpr_style style;
    enum { MPR_COLOR_AUTO, MPR_COLOR_ALWAYS, MPR_COLOR_NEVER } color;
    int width;                   /* of a line, as mpr_style has it; AUTO: that of who reads */
    struct mpr_telling *telling; /* as long as the process */
    struct mpr_naming naming;
    bool for_tools;   /* this text is read by programs */
    bool has_stacks;  /* rows have call stacks or paths of ranges: --format=folded */
    const char *path; /* NULL: standard output */
    struct mpr_destination to;
};
extern const struct argp mpr_output_argp;
struct mpr_output mpr_output_default(void);
/* What --output takes: "-" is standard output. */
const char *mpr_output_path(const char *arg);
/* Times are those of the clock, printed and given (--clock=wall). */
bool mpr_output_clock(void);
/* 0, or -1 with the reason on stderr.  The old file stays until the new one is closed. */
int mpr_output_open(struct mpr_output *output);
int mpr_output_close(struct mpr_output *output);
/* Opens, renders, closes.  The subcommand's exit status. */
typedef void mpr_render_result(const struct mpr_renderer *renderer, FILE *out, const void *result,
                               const struct mpr_style *style);
int mpr_output_report(struct mpr_output *output, mpr_render_result *render, const void *result,
                      bool incomplete);

/* Describes a result, renders the document, closes; the same status. */
typedef void mpr_describe_result(struct mpr_document *doc, const void *result);
int mpr_output_document(struct mpr_output *output, mpr_describe_result *describe,
                        const void *result, bool incomplete);

/* Of an output that is open: what would be written, of the caller. */
char *mpr_output_text(const struct mpr_output *output, mpr_describe_result *describe,
                      const void *result);

/* Runs argp for a subcommand; a usage error ends the process with MPR_EXIT_USAGE. */
void mpr_cmd_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same where it matters which options an argument stands behind. */
void mpr_cmd_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);
/* A line on stderr; names in it are escaped as in reports. */
void mpr_cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mpr_cmd_error(const struct mpr_error *error);
/* Says on stderr why names of calls were not found in this run: libdw is not installed, or a server
 * of debug files did not answer.  Says nothing if neither happened. */
void mpr_cmd_say_no_names(void);

/* Lets this process allocate so many MiB; 0: as many as it can.  Where that does not do, it ends
 * with a message and MPR_EXIT_FAILURE (alloc.h). */
#define MPR_MEMORY_DEFAULT UINT64_MAX /* half of what the machine, or the container, has */
void mpr_memory_limit(uint64_t mib);

/* The logs of the arguments: files as they are, of a directory its *.zst files in order of name,
 * for a journal or a fold the log beside it.  A file is there once, under the first of its names.
 */
struct mpr_paths {
    char **at;
    struct mpr_file *file;
    size_t count, cap;
    bool waited_for; /* nothing is said of what is not there yet */
};
/* False when an argument gave none (said on stderr); the others are there. */
bool mpr_paths_add(struct mpr_paths *paths, const char *argument);
/* Those that are so marked; the others go. */
void mpr_paths_keep(struct mpr_paths *paths, const bool *kept);
void mpr_paths_free(struct mpr_paths *paths);
/* Is that the end of the text, and not all of it? */
bool mpr_path_ends_with(const char *text, const char *end);

/* A bar on stderr when that is a terminal and the work takes over a second. */
struct mpr_progress mpr_bar(void);
void mpr_bar_clear(void);

struct mpr_option; /* options.h */

/* A subcommand that reads one log and prints one report. */
struct mpr_one {
    const char *doc;
    /* The result, or NULL with *error filled.  chosen: the values of the options. */
    void *(*read)(void *chosen, const char *path, const struct mpr_progress *progress,
                  bool *incomplete, struct mpr_error *error);
    /* Before it, where it is one of several logs; NULL: they do not matter. */
    void (*beside)(const struct mpr_paths *paths, const struct mpr_progress *progress);
    mpr_describe_result *describe;
    void (*free)(void *result);
    bool has_stacks;                  /* see struct mpr_output */
    const struct mpr_option *options; /* in addition to those of every report; may be NULL */
    void *chosen;
    const uint8_t *heap; /* points into `chosen`, or is NULL without the option --heap */
};

/* A subcommand that reads each of its logs and prints one report of them. */
struct mpr_all {
    const char *doc;
    /* 0, or -1 with *error filled: the log is left out. */
    int (*add)(void *result, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error);
    /* After the last one.  False: no log could be read. */
    bool (*finish)(void *result, bool *incomplete);
    mpr_describe_result *describe;
    void (*free)(void *result);
    void *result;
};

/* The subcommand's exit status. */
int mpr_one_run(const struct mpr_one *one, int argc, char **argv);
int mpr_all_run(const struct mpr_all *all, int argc, char **argv);

#endif
