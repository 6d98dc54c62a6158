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

/* A log: a process, or the time in which the process ran one program.  The other processes are
 * indices of the list, or MPR_NO_PROCESS. */
struct mpr_process {
    struct mpr_summary summary;
    const char *title;             /* see mpr_process_title */
    struct mpr_process_heap *heap; /* by code: those of the host first */
    size_t heaps;
    uint64_t peak_bytes;               /* the largest heap's */
    bool is_approximate;               /* that is approximate */
    struct mpr_process_heap host, gpu; /* host/heap; the largest gpuN/device, or 0 bytes */
    const char **uuid;                 /* UUIDs of the GPUs on which it has contexts or memory */
    size_t uuids;
    uint64_t rss_high; /* high-water RSS; MPF_UNKNOWN */
    size_t parent;     /* the process that started it; it precedes this one */
    size_t above;      /* the same; if that left no log, the process that the user started */
    size_t executed;   /* the next program of the same process; it follows this one */
    size_t image_of;   /* the previous program of the same process */
};

/* Processes of a run without a log, as the launcher saw them. */
struct mpr_without_log {
    uint64_t processes, unseen;  /* unseen: ran without memprof */
    uint64_t rss_bytes, largest; /* resident bytes that were seen at most: the sum, and the largest
                                  */
};

/* A run: the processes whose logs have its id, or no id. */
struct mpr_process_run {
    const char *id;              /* "" for no id */
    struct mpr_without_log rest; /* zero unless the logs are those of a whole directory */
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
/* Adds a log that was read already.  The summary must outlive the processes. */
void mpr_processes_add_read(struct mpr_processes *all, const struct mpr_summary *summary,
                            const struct mpr_process_heap *heap, size_t heaps);
/* Reads all these logs, and finishes.  Logs that cannot be read are left out. */
void mpr_processes_read(struct mpr_processes *all, const char *const *path, size_t paths,
                        const struct mpr_progress *progress);
/* Call it after the last log: sorts, finds parents and runs. */
void mpr_processes_finish(struct mpr_processes *all);
/* Returns only the processes of one run, in @arena; they live as long as @all. */
struct mpr_processes mpr_processes_of_run(const struct mpr_processes *all, struct mpr_arena *arena,
                                          const struct mpr_process_run *run);
/* Returns true if the process is one of the run. */
bool mpr_process_is_in(const struct mpr_process *process, const struct mpr_process_run *run);
/* Returns the run of a log, or NULL if it belongs to no process. */
const struct mpr_process_run *mpr_processes_run_of(const struct mpr_processes *all,
                                                   const char *path);
void mpr_processes_free(struct mpr_processes *all);

/* ---- the processes of a run as a tree for people: similar processes are one line
 *
 * A process that executed other programs is one entry, with its last program.  Children of the same
 * parents are similar if their command lines differ only in numbers and they ended in the same way.
 * MPR_FAMILY_MIN or more of them are one line, and their children are compared together.  Two are
 * two lines, because they differ in rank, number and end.  A process whose peak exceeds those of
 * similar ones (outliers.h), for example a worker that leaks, is a separate line. */

enum { MPR_FAMILY_MIN = 3 };

/* One process, or several similar ones. */
struct mpr_family_line {
    const char *title; /* "worker --rank={0..7}" */
    size_t depth;      /* generations above it */
    size_t processes;
    const struct mpr_process *largest, *last;  /* the one with the largest peak; its last program */
    uint64_t host_bytes, gpu_bytes, end_bytes; /* sums of their peaks, and of host/heap at the end
                                                */
    uint64_t rss_bytes;                        /* sum; MPF_UNKNOWN */
    uint64_t lived_ns;                         /* the longest */
    bool host_is_approximate;                  /* a part of host_bytes is approximate */
    bool apart;                                /* the process of the log that was to be separate */
};

/* Returns the lines in the arena, parents before their children, largest first.  @unfold: a line
 * for each log.  @apart: the log of a process that gets a separate line, or NULL. */
struct mpr_family_line *mpr_family(struct mpr_arena *arena, const struct mpr_processes *all,
                                   bool unfold, const char *apart, size_t *lines);

#endif
