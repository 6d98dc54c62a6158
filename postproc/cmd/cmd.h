/* The subcommands of memprof-report, and what they share: their command lines, messages, the
 * progress bar and the limit on memory. */
#ifndef MPR_CMD_H
#define MPR_CMD_H

#include "error.h"
#include "logs.h"
#include "options.h"
#include "output.h"
#include "progress.h"

enum mpr_exit {
    MPR_EXIT_FINE = 0,
    MPR_EXIT_FAILURE = 1,
    MPR_EXIT_USAGE = 2,
    MPR_EXIT_INCOMPLETE = 3, /* a log is incomplete; the report is printed */
    MPR_EXIT_BROKEN = 4,     /* check: a limit is broken */
    MPR_EXIT_NOT_FOUND = 5   /* check: a limit matches nothing */
};

/* Each runs one subcommand and returns its exit status.  @argv: begins with the command's name. */
typedef int mpr_run_command(int argc, char **argv);
mpr_run_command mpr_cmd_breakdown, mpr_cmd_check, mpr_cmd_diff, mpr_cmd_export, mpr_cmd_graphs,
    mpr_cmd_html, mpr_cmd_leaks, mpr_cmd_oom, mpr_cmd_peaks, mpr_cmd_processes, mpr_cmd_ranks,
    mpr_cmd_segments, mpr_cmd_steps, mpr_cmd_summary, mpr_cmd_temporary, mpr_cmd_timeline,
    mpr_cmd_top;
/* Subcommands of "log". */
mpr_run_command mpr_cmd_compact, mpr_cmd_digest, mpr_cmd_info, mpr_cmd_recover, mpr_cmd_symbolize,
    mpr_cmd_verify;

/* ---- command lines */

/* Values of the arguments that most commands have.  A command with more options has a struct that
 * begins with this one. */
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
    const char *exit;     /* exit statuses, as the end of the help; NULL for the usual ones */
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
    const char *need; /* usage error without an operand of the command's; may be NULL */
    /* Checks the arguments after the last of them; may be NULL. */
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

/* Adds the digests of the operands: a digest, that of a log, or all of a directory.  A digest that
 * is missing, unreadable or older than its log is made from the log, and not stored.
 * @output: how paths are shown */
void mpr_digests_add(struct mpr_digests *all, const char *const *operand, size_t operands,
                     const struct mpr_output *output);
/* Prints a note on stderr if more than @max digests were made, because that takes long. */
void mpr_digests_say_made(const struct mpr_digests *all, size_t max);
void mpr_digests_free(struct mpr_digests *all);

/* ---- memory */

#define MPR_MEMORY_DEFAULT UINT64_MAX /* half of the machine's or the container's memory */
/* Limits the memory of this process.  Beyond the limit the process ends with a message and
 * MPR_EXIT_FAILURE (alloc.h).  @mib: 0 for no limit */
void mpr_memory_limit(uint64_t mib);

#endif
