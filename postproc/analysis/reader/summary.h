/* The facts about a log that every report prints: its process, and missing data. Commands use
 * them to choose one of several logs. */
#ifndef MPR_SUMMARY_H
#define MPR_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "basename.h"
#include "mpf/end.h"
#include "recorded.h"

struct mpr_arena;
struct mpr_error;
struct mpr_progress;

#define MPR_NOWHERE UINT64_MAX

struct mpr_process_info {
    const char *host, *rank, *parent_log; /* "" if unknown */
    const char *run;                      /* id of the run; "" or NULL if it has none */
    const char *const *argv;
    size_t argc;
    uint64_t pid, ppid; /* 0 if unknown */
    uint64_t start_ns;  /* CLOCK_REALTIME, or 0 if unknown */
};

/* The recording options. */
struct mpr_recording {
    enum mpr_recorded stacks;    /* which host blocks have call stacks */
    uint64_t stacks_large;       /* all blocks of at least these bytes have one */
    bool small_objects;          /* Python objects are sampled, in host/python */
    enum mpr_recorded blocks;    /* which blocks of malloc are recorded */
    uint64_t blocks_large;       /* SAMPLE, LARGE: blocks from this size on are all recorded */
    uint64_t blocks_mean;        /* SAMPLE: mean bytes between sampled smaller blocks */
    bool sums_estimated;         /* SAMPLE: other blocks were not even counted */
    bool root;                   /* the user started the process, not another recorded process */
    struct {                     /* MEMPROF_WINDOW */
        const char *text;        /* "" for no window: everything is recorded */
        bool blocks;             /* a window records all allocations, not only call stacks */
        uint64_t count;          /* number of windows */
        uint64_t from_ns, to_ns; /* from the first opening to the last closing, or the log's end */
        uint64_t ns;             /* total time of all windows */
    } window;
};

/* How a process ended if its log has no end: unknown, because SIGKILL and a direct exit_group
 * look the same, or known from the record of the run. */
enum mpr_fate {
    MPR_FATE_OWN,
    MPR_FATE_UNKNOWN,
    MPR_FATE_EXIT,
    MPR_FATE_SIGNAL
}; /* OWN: the log has the end, or the process may still run */
enum mpr_fate_oom {
    MPR_FATE_NO_OOM,
    MPR_FATE_OOM_CGROUP,
    MPR_FATE_OOM_KERNEL
}; /* CGROUP: the cgroup counted an OOM kill at that time; KERNEL: the kernel named the process */

/* A reason for missing events: "the disk was full: 12". */
struct mpr_loss_row {
    const char *reason;
    uint64_t events;
};

/* An interval in which nothing could be written, and the errno. */
struct mpr_unwritten_row {
    unsigned error;
    uint64_t from_ns, to_ns, events;
};

/* The beginning of a log that was thinned. */
struct mpr_summary_fold {
    enum mpr_fold_state {
        MPR_FOLD_NONE,
        MPR_FOLD_GOOD,
        MPR_FOLD_MISSING, /* this and the following: defects of LOG.fold */
        MPR_FOLD_OLDER,
        MPR_FOLD_FOREIGN,
        MPR_FOLD_DAMAGED
    } state;
    uint64_t until_ns, grain_ns; /* thinned until this time; earlier times have this resolution */
    uint64_t events;             /* events that thinning removed */
    uint64_t bytes;              /* size of LOG.fold, or 0 if it is in the log */
};

struct mpr_summary {
    const char *path;
    struct mpr_process_info process;
    struct mpr_recording recording;
    const char *allocator;     /* file that provides malloc, or "" if unknown */
    const char *unseen_malloc; /* file whose malloc the program calls instead of memprof's, so that
                                  the log has no host/heap; or "" */
    enum mpf_end end;          /* the reason in END; MPF_END_NONE without END */
    enum mpr_fate fate;
    enum mpr_fate_oom oom;
    int fate_status;        /* exit status or signal */
    bool exit_status_known; /* the log has the exit, and the run's record has its status */
    uint64_t hwm;           /* high-water mark of resident bytes at the end, or 0 if unknown */
    uint64_t anonymous;     /* maximum of anonymous bytes in samples, or 0 if unknown */
    uint64_t alone;         /* the same for Private_Dirty, without memprof's own */
    bool complete;          /* the log has an end and no damage */
    bool incomplete;        /* events are missing (exit code 3) */
    bool journal, journal_only, cut, has_header;
    bool attached;       /* memprof was attached to the process */
    bool copied;         /* a copy, whose process may have recorded more later */
    bool torch_snapshot; /* not a log of memprof, but a memory snapshot of PyTorch */
    struct mpr_summary_fold fold;
    enum mpr_summary_life {
        MPR_ENDED,
        MPR_RUNS,
        MPR_LIFE_NOT_KNOWN
    } life;                          /* end of the process, if the log has no end */
    const char *life_reason;         /* the reason, as a clause; "" if the log has an end */
    uint64_t cut_offset, bad_offset; /* in the file, or MPR_NOWHERE */
    uint64_t damaged, missing_frames;
    uint64_t good_ns; /* the log is complete until this time */
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

/* Returns true if both logs have the same id. Logs without an id are one run. */
static inline bool mpr_summary_same_run(const struct mpr_summary *a, const struct mpr_summary *b)
{
    return strcmp(mpr_summary_run(a), mpr_summary_run(b)) == 0;
}

/* Returns the program's file name without its folder, or "". */
static inline const char *mpr_summary_program(const struct mpr_summary *log)
{
    const struct mpr_process_info *process = &log->process;
    return process->argc ? mpr_basename(process->argv[0]) : "";
}

/* ---- reading facts of a log
 *
 * The functions return 0, or -1 with *error filled. Strings are allocated in the arena. */

/* Reads the whole log. */
int mpr_summary_read(struct mpr_summary *log, struct mpr_arena *arena, const char *path,
                     const struct mpr_progress *progress, struct mpr_error *error);
/* Reads the process from the log's header. */
int mpr_log_identity_read(struct mpr_process_info *process, struct mpr_arena *arena,
                          const char *path, struct mpr_error *error);

#define MPR_NEVER UINT64_MAX
enum { MPR_LOG_HEAPS = 256 };

/* Facts about a process that require a replay of its whole log. */
struct mpr_log_outcome {
    uint64_t peak;   /* bytes, of the largest heap */
    bool lacks;      /* the log does not have the requested heap */
    uint64_t failed; /* CLOCK_REALTIME, ns: the first fatal out-of-memory event (device memory was
                        refused, or the process was killed for host memory), or MPR_NEVER */
};
/* Reads the whole log.  @heap: the requested heap, or MPF_HEAP_NONE. */
int mpr_log_outcome_read(struct mpr_log_outcome *end, const char *path, uint8_t heap,
                         const struct mpr_progress *progress, struct mpr_error *error);
/* Returns true if the left log should be reported instead of the right one: first come
 * logs with the requested heap, then those that failed earlier, then those with larger peaks. */
bool mpr_log_outcome_precedes(const struct mpr_log_outcome *left,
                              const struct mpr_log_outcome *right);

/* The heaps that logs have, by number (mpf/event.h). */
struct mpr_log_heaps {
    bool there[MPR_LOG_HEAPS];
};
/* Reads a log until the first block of the heap. Returns 1 if it has the heap. Returns 0 if it
 * does not, and adds its heaps to *heaps. */
int mpr_log_has_heap(const char *path, uint8_t heap, struct mpr_log_heaps *heaps,
                     const struct mpr_progress *progress, struct mpr_error *error);

#endif
