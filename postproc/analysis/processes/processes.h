/* The processes of a run, and what each held: the result behind `memprof-report processes`.
 *
 * Everything in it lives until mpr_processes_free.  Times are ns since the process's own start. */
#ifndef MPR_PROCESSES_H
#define MPR_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "heap_names.h"
#include "kin.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_process_heap {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, end_bytes;
    bool is_about; /* its peak may be another (struct mpr_heap_peak) */
};

/* A log: a process, or as much of it as ran one program. */
struct mpr_process {
    struct mpr_summary summary;
    const char *title;             /* its command line, the program without its directory; "": not
                                      known */
    struct mpr_process_heap *heap; /* by code: those of the host first */
    size_t heaps;
    uint64_t peak_bytes;               /* of the largest heap */
    bool is_about;                     /* that may be another */
    struct mpr_process_heap host, gpu; /* host/heap; the largest gpuN/device, 0 bytes: none */
    uint64_t rss_high;                 /* high-water RSS; MPF_UNKNOWN */
    size_t parent;   /* who started it, before this one in the list; MPR_NO_PROCESS: not among these
                      */
    size_t above;    /* the same, or whom the user started, where those between left no log */
    size_t executed; /* the program that took its place, behind this one; MPR_NO_PROCESS: none */
    size_t image_of; /* whose place it took; MPR_NO_PROCESS: nobody's */
};

/* The processes of a run that left no log, as the launcher saw them. */
struct mpr_without_log {
    uint64_t processes, unseen;  /* unseen: that ran without memprof */
    uint64_t rss_bytes, largest; /* the most resident bytes that were seen: their sum, and of one */
};

/* A run of the processes: those whose logs have its id, or none. */
struct mpr_process_run {
    const char *id;              /* "": none */
    struct mpr_without_log rest; /* of a whole directory, else none */
};

struct mpr_processes {
    struct mpr_process_run *run; /* by their first starts */
    size_t runs;
    struct mpr_arena arena;
    struct mpr_process *at; /* by their starts */
    size_t count, cap;
};

/* Its command line, the program without its directory; "": not known. */
const char *mpr_process_title(struct mpr_arena *arena, const struct mpr_process_info *p);
/* Reads one log.  0, or -1 with *error filled (the others stay good). */
int mpr_processes_add(struct mpr_processes *all, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error);
/* One that was read already; the summary and the names outlive the processes. */
void mpr_processes_add_read(struct mpr_processes *all, const struct mpr_summary *summary,
                            const struct mpr_process_heap *heap, size_t heaps);
/* Reads all of these, and finishes; one that cannot be read is left out. */
void mpr_processes_read(struct mpr_processes *all, const char *const *path, size_t paths,
                        const struct mpr_progress *progress);
/* After the last log: sorts, and finds parents. */
void mpr_processes_finish(struct mpr_processes *all);
/* The processes of one of the runs, as if they were all: in the arena, as long as @all. */
struct mpr_processes mpr_processes_of_run(const struct mpr_processes *all, struct mpr_arena *arena,
                                          const struct mpr_process_run *run);
/* The run of a log, which is one of these; NULL: it is not. */
const struct mpr_process_run *mpr_processes_run_of(const struct mpr_processes *all,
                                                   const char *path);
void mpr_processes_free(struct mpr_processes *all);

#endif
