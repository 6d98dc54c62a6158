/* The subcommands of memprof-report and their common code: command lines, logs, output, messages,
 * the progress bar and the memory limit. */
#ifndef MPR_CMD_H
#define MPR_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"
#include "document.h"
#include "error.h"
#include "file.h"
#include "naming.h"
#include "options.h"
#include "progress.h"
#include "ranks.h"
#include "render.h"

struct mpr_processes;

enum mpr_exit {
    MPR_EXIT_FINE = 0,
    MPR_EXIT_FAILURE = 1,
    MPR_EXIT_USAGE = 2,
    MPR_EXIT_INCOMPLETE = 3, /* a log is incomplete; the report is printed */
    MPR_EXIT_BROKEN = 4,     /* check: a limit is exceeded */
    MPR_EXIT_NOT_FOUND = 5   /* check: a limit matches nothing */
};

/* Each runs one subcommand and returns its exit status.  @argv: begins with the command's name. */
typedef int mpr_run_command(int argc, char **argv);
mpr_run_command mpr_cmd_breakdown, mpr_cmd_check, mpr_cmd_diff, mpr_cmd_export, mpr_cmd_graphs,
    mpr_cmd_html, mpr_cmd_leaks, mpr_cmd_oom, mpr_cmd_peaks, mpr_cmd_processes, mpr_cmd_ranks,
    mpr_cmd_segments, mpr_cmd_steps, mpr_cmd_summary, mpr_cmd_temporary, mpr_cmd_timeline,
    mpr_cmd_top, mpr_cmd_what_if;
/* Subcommands of "log". */
mpr_run_command mpr_cmd_compact, mpr_cmd_digest, mpr_cmd_info, mpr_cmd_recover, mpr_cmd_symbolize,
    mpr_cmd_verify;

/* ---- logs: the operands, which are files and directories, and --pid, --rank and --run */

/* Paths of logs.  A file is listed once, under the first of its names. */
struct mpr_paths {
    char **at;
    struct mpr_file *file;
    size_t count, cap;
    bool may_be_missing; /* no messages about files that do not exist yet */
};
/* Adds a log, or the *.zst files of a directory in order of their names.  A journal or a fold
 * stands for its log.  Returns false after a message on stderr if a directory has no log or a path
 * is too long. */
bool mpr_paths_add(struct mpr_paths *paths, const char *argument);
void mpr_paths_free(struct mpr_paths *paths);
/* Returns true if the text ends with @end and is longer. */
bool mpr_path_ends_with(const char *text, const char *end);

/* All zeros at first. */
struct mpr_logs {
    struct mpr_paths paths;
    struct mpr_paths given;       /* all logs, of which options chose `paths` */
    const char *pid, *rank, *run; /* restrict to this process, rank or run, or NULL for all */
    uint8_t heap; /* at least one log must have this heap; MPF_HEAP_NONE: any log will do */
    bool heap_may_be_absent; /* even no log may have the heap: those of the other side may have it
                              */
    bool failed; /* an operand had no log, or a log cannot be read; after a message on stderr */
};

/* The table of --run, --pid and --rank, in this order; its members are those of struct mpr_logs. */
extern const struct mpr_option mpr_logs_options[];

/* Removes all logs that --pid, --rank and --run exclude.  Returns false, after a message on stderr,
 * if no log remains or no log has the heap. */
bool mpr_logs_choose(struct mpr_logs *logs);
/* Chooses one log for a command that reads one.  Of several, that is the log of the first process
 * that ran out of memory, else the one with the largest peak, and a line on stderr names it.
 * Returns a path that lives as long as the logs, or NULL after a message on stderr. */
const char *mpr_logs_one(struct mpr_logs *logs);

/* Calls @add for each log.  Prints the error of a log for which it returns -1 with *error filled.
 */
typedef int mpr_log_add(void *to, const char *path, const struct mpr_progress *progress,
                        struct mpr_error *error);
void mpr_logs_each(struct mpr_logs *logs, mpr_log_add *add, void *to);

/* Frees all.  Returns the exit status of a command that ended with @status. */
int mpr_logs_close(struct mpr_logs *logs, int status);

/* ---- output: the options --output, --format, --top, --width, --color, --clock, --frames, --unfold
 * and --plumbing */

/* The open output of a command: standard output; a file that replaces the old one when it is
 * complete (file.h); or a pipe, a device or an open file, which is written in place.  A process has
 * one at a time. */
struct mpr_destination {
    FILE *file;
    const char *path;              /* NULL for standard output */
    struct mpr_atomic_file atomic; /* fd is -1 if the output is written in place */
};

/* @path: "-" or NULL for standard output.  Returns 0, or -1 after a message on stderr. */
int mpr_destination_open(struct mpr_destination *d, const char *path);
/* Publishes what was written so far; later writes are appended.  Returns 0, or -1. */
int mpr_destination_publish(struct mpr_destination *d);
/* Closes the output.  The old file stays if @publish is false or a write failed.  Returns 0, or -1
 * after a message on stderr. */
int mpr_destination_close(struct mpr_destination *d, bool publish);

enum { MPR_WIDTH_AUTO = -1 };

struct mpr_output {
    const struct mpr_renderer *renderer;
    struct mpr_style style;
    enum mpr_output_color { MPR_COLOR_AUTO, MPR_COLOR_ALWAYS, MPR_COLOR_NEVER } color;
    int width; /* columns as in mpr_style, or MPR_WIDTH_AUTO */
    struct mpr_user_frames *user_frames;
    struct mpr_arena patterns; /* texts of --plumbing */
    struct mpr_naming naming;
    bool for_tools;   /* programs read this text, so it is UTF-8 in every locale */
    bool has_stacks;  /* rows have call stacks or ranges, which --format=folded needs */
    const char *path; /* NULL for standard output */
    struct mpr_destination to;
};

/* The table of options; its members are those of struct mpr_output. */
extern const struct mpr_option mpr_output_options[];
void mpr_output_free(struct mpr_output *output);
/* Sets a path, or NULL for "-". */
mpr_set_option mpr_set_output_path;
/* Returns NULL for "-", which is standard output, else @path. */
const char *mpr_output_path(const char *path);
/* Returns true with --clock=wall: reports print times of day, and options accept them. */
bool mpr_output_clock(void);

/* Opens the output.  Returns 0, or -1 after a message on stderr.  Until it is closed, the old file
 * stays. */
int mpr_output_open(struct mpr_output *output);
int mpr_output_close(struct mpr_output *output);

/* Begins a document that the caller fills next.  It ends with one of the next two functions. */
void mpr_output_begin(const struct mpr_output *output, struct mpr_document *doc);
/* Opens the output, renders the document, closes the output and frees the document.  Returns the
 * command's exit status. */
int mpr_output_document(struct mpr_output *output, struct mpr_document *doc, bool incomplete);
/* Renders the document as text for an output that is open, and frees it.  The caller frees the
 * text. */
char *mpr_output_text(const struct mpr_output *output, struct mpr_document *doc);

/* Opens the output, calls @render to write a result that is not a document, and closes the output.
 * Returns the command's exit status. */
typedef void mpr_render_result(const struct mpr_renderer *renderer, FILE *out, const void *result,
                               const struct mpr_style *style);
int mpr_output_report(struct mpr_output *output, mpr_render_result *render, const void *result,
                      bool incomplete);

/* ---- command lines */

/* Values of the arguments of most commands.  A command with more options has a struct that begins
 * with this one. */
struct mpr_args {
    struct mpr_output output;
    struct mpr_logs logs;
    const char **operand; /* for commands that handle their operands themselves; a NULL ends them */
    size_t operands, cap;
};

#define MPR_NEED_LOG "expected a log or a directory of logs"

struct mpr_cmdline {
    const char *operands; /* as --help shows them, or NULL for LOG|DIR... */
    const char *doc;      /* the help; after \v the text below the options */
    const char *exit;     /* the exit statuses at the end of the help; NULL for the usual ones */
    const struct mpr_option *options; /* members are those of the command's struct; may be NULL */
    enum {
        MPR_TAKES_LOGS,      /* operands are logs; --pid, --rank and --run */
        MPR_TAKES_PATHS,     /* operands are logs, all of which are used */
        MPR_TAKES_PROCESSES, /* --pid and --rank; operands are the command's */
        MPR_TAKES_OPERANDS   /* operands are the command's */
    } takes;
    bool no_output;   /* without the options of struct mpr_output */
    bool has_stacks;  /* rows have call stacks or ranges, which --format=folded needs */
    bool in_order;    /* options and operands are handled in their order */
    const char *need; /* usage error if there is no operand; may be NULL */
    /* Called after the last argument, to check them all; may be NULL. */
    void (*check)(void *args, struct argp_state *state);
};

struct mpr_args mpr_args_default(void);
/* Parses the command line.  A usage error ends the process with MPR_EXIT_USAGE.
 * @args: a struct mpr_args, or the command's struct that begins with one */
void mpr_cmdline_parse(const struct mpr_cmdline *cmdline, int argc, char **argv, void *args);
/* Frees the arguments.  Returns the exit status of a command that ended with @status. */
int mpr_args_close(struct mpr_args *args, int status);

/* ---- reports on one log */

/* A report in progress.  The command reads the log, describes the result in the document that
 * mpr_log_report_begin returns, calls mpr_log_report_end, and frees the result. */
struct mpr_log_report {
    struct mpr_args *args;
    const char *path;
    struct mpr_progress progress;
    struct mpr_error error;
    struct mpr_document doc;
    int status;
};
struct mpr_document *mpr_log_report_begin(struct mpr_log_report *report);
void mpr_log_report_end(struct mpr_log_report *report, bool incomplete);

/* Chooses one of the logs, makes the report, and frees the arguments.  Returns the exit status.
 * @heap: of --heap, or MPF_HEAP_NONE
 * @make: makes the report; returns 0, or -1 with report->error filled */
int mpr_log_report_run(struct mpr_args *args, uint8_t heap,
                       int (*make)(struct mpr_log_report *report));

/* ---- messages */

/* Prints a line on stderr.  Names in it are escaped as in reports. */
void mpr_cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mpr_cmd_error(const struct mpr_error *error);
/* Prints on stderr why this run found no names of native calls: libdw is not installed, or a server
 * of debug files did not answer.  Prints nothing if neither happened. */
void mpr_cmd_say_no_names(void);

/* The message of commands that need SQLite. */
#define MPR_NO_SQLITE                                                                              \
    "built without SQLite: install its header (apt-get install libsqlite3-dev), then configure and build memprof again"

/* A progress bar on stderr if that is a terminal and the work takes over a second. */
struct mpr_progress mpr_bar(void);
void mpr_bar_clear(void);

/* ---- digests of logs */

/* All zeros at first. */
struct mpr_digests {
    struct mpr_digest *at;
    size_t count, cap;
    size_t made; /* from logs that had no digest or an old one */
    bool failed; /* a digest cannot be had; after a message on stderr */
};

/* Adds the digests of the operands, each of which is a digest, a log or a directory.  A digest that
 * is missing, unreadable or older than its log is made from the log, and not stored.
 * @output: decides how paths are shown */
void mpr_digests_add(struct mpr_digests *all, const char *const *operand, size_t operands,
                     const struct mpr_output *output);
/* Prints a note on stderr if more than @max digests were made, because that takes long. */
void mpr_digests_say_made(const struct mpr_digests *all, size_t max);
void mpr_digests_free(struct mpr_digests *all);

/* The job of a rank: all ranks of its run, compared.  All zeros at first. */
struct mpr_job {
    struct mpr_digests digests;
    struct mpr_ranks ranks;
    bool exists;
};

/* Compares the ranks of the log's run.  The job does not exist if the log is not that of one of
 * several ranks.
 * @all: the processes among which the ranks are searched */
void mpr_job_read(struct mpr_job *job, const char *path, const struct mpr_processes *all,
                  const struct mpr_output *output);
void mpr_job_free(struct mpr_job *job);

/* ---- memory */

#define MPR_MEMORY_DEFAULT UINT64_MAX /* half of the machine's or the container's memory */
/* Limits the memory of this process.  Beyond the limit the process ends with a message and
 * MPR_EXIT_FAILURE (alloc.h).  @mib: 0 for no limit */
void mpr_memory_limit(uint64_t mib);

#endif
