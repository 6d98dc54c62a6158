/* The processes of a run and their memory: the result of `memprof-report processes`.
 *
 * Everything in it lives until mpr_processes_free.  Times are ns since the process's own start. */
#ifndef MPR_PROCESSES_H
#define MPR_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "heap_names.h"
#include "process_tree.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_process_heap {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, end_bytes;
    bool is_approximate; /* the peak is approximate (struct mpr_heap_peak) */
};

/* A log: a process, or one of the programs that it executed. Other processes are indices in the
 * list, or MPR_NO_PROCESS. */
struct mpr_process {
    struct mpr_summary summary;
    const char *title;             /* see mpr_process_title */
    struct mpr_process_heap *heap; /* by code, those of the host first */
    size_t heaps;
    uint64_t peak_bytes;               /* the largest heap's */
    bool is_approximate;               /* peak_bytes is approximate */
    struct mpr_process_heap host, gpu; /* host/heap, and the largest gpuN/device (0 bytes if it has
                                          none) */
    const char **uuid;                 /* UUIDs of the GPUs on which it has contexts or memory */
    size_t uuids;
    uint64_t rss_high;   /* maximum RSS, or MPF_UNKNOWN */
    size_t parent;       /* the process that started it; it is earlier in the list */
    size_t tree_parent;  /* the same, but if that has no log, the process that the user started */
    size_t next_program; /* the next program of the same process; it is later in the list */
    size_t previous_program; /* the previous program of the same process */
};

/* Processes of a run without a log, as the launcher saw them. */
struct mpr_without_log {
    uint64_t processes, unseen;  /* unseen: they ran without memprof */
    uint64_t rss_bytes, largest; /* their maximum resident bytes: the sum, and the largest */
};

/* A run: the processes whose logs have its id, or have no id. */
struct mpr_process_run {
    const char *id;                     /* "" for no id */
    struct mpr_without_log without_log; /* zeros unless these are all logs of a directory */
};

struct mpr_processes {
    struct mpr_process_run *run; /* by their first starts */
    size_t runs;
    struct mpr_arena arena;
    struct mpr_process *at; /* by their starts */
    size_t count, cap;
};

/* Returns the command line, with the program's name without its directory; "" if unknown. */
const char *mpr_process_title(struct mpr_arena *arena, const struct mpr_process_info *p);
/* Reads one log.  Returns 0, or -1 with *error filled; the other logs stay valid. */
int mpr_processes_add(struct mpr_processes *all, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error);
/* Adds a log that the caller has read. The summary must live as long as the processes. */
void mpr_processes_add_read(struct mpr_processes *all, const struct mpr_summary *summary,
                            const struct mpr_process_heap *heap, size_t heaps);
/* Reads these logs, and calls mpr_processes_finish. Logs that cannot be read are omitted. */
void mpr_processes_read(struct mpr_processes *all, const char *const *path, size_t paths,
                        const struct mpr_progress *progress);
/* Call it after the last log: sorts the processes, and finds their parents and runs. */
void mpr_processes_finish(struct mpr_processes *all);
/* Returns the processes of one run, in @arena. They live as long as @all. */
struct mpr_processes mpr_processes_of_run(const struct mpr_processes *all, struct mpr_arena *arena,
                                          const struct mpr_process_run *run);
/* Returns true if the process belongs to the run. */
bool mpr_process_is_in(const struct mpr_process *process, const struct mpr_process_run *run);
/* Returns the run of a log, or NULL if it has none. */
const struct mpr_process_run *mpr_processes_run_of(const struct mpr_processes *all,
                                                   const char *path);
void mpr_processes_free(struct mpr_processes *all);

/* ---- the processes of a run as a tree for people: similar processes are one line
 *
 * A process that executed other programs is shown once, with its last program.  Children are
 * similar if their command lines differ only in numbers, and they ended in the same way.
 * MPR_FAMILY_MIN or more similar children share a line, and their own children are compared with
 * each other.  If the peak of one is much larger than those of the similar ones (outliers.h), as
 * of a worker that leaks, it has its own line. */

enum { MPR_FAMILY_MIN = 3 };

/* One process, or several similar ones. */
struct mpr_family_line {
    const char *title; /* "worker --rank={0..7}" */
    size_t depth;      /* number of ancestors */
    size_t processes;
    const struct mpr_process *largest, *last;  /* the process with the largest peak; that process's
                                                  last program */
    uint64_t host_bytes, gpu_bytes, end_bytes; /* sums of the processes' peaks; end_bytes: of
                                                  host/heap at the end */
    uint64_t rss_bytes;                        /* sum of their maxima, or MPF_UNKNOWN */
    uint64_t lived_ns;                         /* the longest */
    bool host_is_approximate;                  /* the peak of one of the processes is approximate */
    bool is_separate;                          /* it is the process of @separate */
};

/* Returns the lines in the arena, parents before their children, largest first. @each_log: each
 * log has a line. @separate: a log whose process has its own line, or NULL. */
struct mpr_family_line *mpr_family(struct mpr_arena *arena, const struct mpr_processes *all,
                                   bool each_log, const char *separate, size_t *lines);

#endif
