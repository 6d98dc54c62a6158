/* What every report says of a log: whose it is, and whether anything is missing. */
#ifndef MPR_SUMMARY_H
#define MPR_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "basename.h"
#include "mpf/end.h"
#include "recorded.h"

#define MPR_NOWHERE UINT64_MAX

struct mpr_process_info {
    const char *host, *rank, *parent_log; /* "" : not known */
    const char *run;                      /* the id of the run; "" or NULL: it has none */
    const char *const *argv;
    size_t argc;
    uint64_t pid, ppid; /* 0: not known */
    uint64_t start_ns;  /* CLOCK_REALTIME; 0: not known */
};

/* What was to be recorded. */
struct mpr_recording {
    enum mpr_recorded stacks;    /* which host blocks have call stacks */
    uint64_t stacks_large;       /* bytes from which every block has one */
    bool small_objects;          /* a sample of Python's, in host/python */
    enum mpr_recorded blocks;    /* which blocks of malloc are recorded */
    uint64_t blocks_large;       /* SAMPLE, LARGE: usable bytes from which each block is recorded */
    uint64_t blocks_mean;        /* SAMPLE: bytes from one smaller block to the next, on average */
    bool root;                   /* the user started the process, as argv says */
    struct {                     /* MEMPROF_WINDOW */
        const char *text;        /* "": none, all is recorded always */
        bool blocks;             /* a window records each block, not only more call stacks */
        uint64_t count;          /* how often a window was open, */
        uint64_t from_ns, to_ns; /* from the first opening to the last closing, or the log's end, */
        uint64_t ns;             /* and together */
    } window;
};

/* How a process ended whose log does not say it: nobody knows (SIGKILL and a bare exit_group look
 * alike), or the run's record does. */
enum mpr_fate {
    MPR_FATE_OWN,
    MPR_FATE_UNKNOWN,
    MPR_FATE_EXIT,
    MPR_FATE_SIGNAL
}; /* OWN: the log says it, or the process may run */
enum mpr_fate_oom {
    MPR_FATE_NO_OOM,
    MPR_FATE_OOM_CGROUP,
    MPR_FATE_OOM_KERNEL
}; /* its cgroup counted a kill then; the kernel named it */

/* Why events are missing: "the disk was full: 12". */
struct mpr_loss_row {
    const char *reason;
    uint64_t events;
};

/* When nothing could be written, and why (errno). */
struct mpr_unwritten_row {
    unsigned error;
    uint64_t from_ns, to_ns, events;
};

/* What became of the log's beginning, where it is not whole any more. */
struct mpr_summary_fold {
    enum mpr_fold_state {
        MPR_FOLD_NONE,
        MPR_FOLD_GOOD,
        MPR_FOLD_MISSING, /* from here on: what is wrong with LOG.fold */
        MPR_FOLD_OLDER,
        MPR_FOLD_FOREIGN,
        MPR_FOLD_DAMAGED
    } state;
    uint64_t until_ns, grain_ns; /* thinned up to this time; finer nothing is told of before */
    uint64_t events;             /* that were taken away */
    uint64_t bytes;              /* of LOG.fold; 0: it is in the log */
};

struct mpr_summary {
    const char *path;
    struct mpr_process_info process;
    struct mpr_recording recording;
    const char *allocator;     /* file that serves malloc; "": not known */
    const char *unseen_malloc; /* file that serves malloc in front of memprof: no host/heap; "":
                                  none */
    enum mpf_end end;          /* the reason in END; MPF_END_NONE without END */
    enum mpr_fate fate;
    enum mpr_fate_oom oom;
    int fate_status;    /* that it exited with, or the signal */
    bool status_told;   /* of an end that the log itself says, exit: the run's record has the status
                         */
    uint64_t hwm;       /* resident bytes at most, where samples say nothing; 0: not known */
    uint64_t anonymous; /* resident bytes at most; 0: not known */
    uint64_t alone;     /* the same of what the process shared with no other one (Private_Dirty),
                           less memprof's own */
    bool complete;      /* the log has its end, and nothing is damaged */
    bool incomplete;    /* events are missing (exit code 3) */
    bool journal, journal_only, cut, has_header;
    bool copied; /* a copy, and its process may have recorded more after it was made */
    struct mpr_summary_fold fold;
    enum mpr_summary_life {
        MPR_ENDED,
        MPR_RUNS,
        MPR_NOT_TOLD
    } life;                          /* of the process, where the log has no end */
    const char *life_reason;         /* a clause; "" where the log has its end */
    uint64_t cut_offset, bad_offset; /* bytes; MPR_NOWHERE: none */
    uint64_t damaged, missing_frames;
    uint64_t good_ns; /* whole up to here */
    uint64_t frames, bytes, events, journal_events, journal_bytes, torn, duration_ns;
    uint64_t lost_events, order_repairs, unmatched_frees, missed_frees, inherited_frees;
    struct mpr_loss_row loss[16];
    size_t losses;
    struct mpr_unwritten_row unwritten[9];
    size_t unwrittens;
    unsigned major, minor;
};

static inline const char *mpr_summary_run(const struct mpr_summary *log)
{
    return log->process.run ? log->process.run : "";
}

/* Logs without an id are one run. */
static inline bool mpr_summary_same_run(const struct mpr_summary *a, const struct mpr_summary *b)
{
    return strcmp(mpr_summary_run(a), mpr_summary_run(b)) == 0;
}

/* The file's name, as native calls tell it; "": not known. */
static inline const char *mpr_summary_program(const struct mpr_summary *log)
{
    const struct mpr_process_info *process = &log->process;
    return process->argc ? mpr_basename(process->argv[0]) : "";
}

#endif
