/* The MEMPROF_* variables, read once, before the first event.  docs/man/memprof.1 has the table. */
#ifndef MP_CONFIG_H
#define MP_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/run_id.h"
#include "mpf/window.h"

struct mp_config {
    char out[PATH_MAX];         /* template of the log's path */
    char journal_dir[PATH_MAX]; /* "" : not set */
    char run[MPF_RUN_ID];       /* which run this is; "": not set */
    char keep[32];              /* how much of a log is kept, as it was said; "" : all */
    bool folded;                /* a process thins the log */
    char window_text[1280];     /* when all that follows is recorded, as it was said; "": always */
    struct mpf_window window;
    char program[256]; /* glob of the names of programs to record; "" : all */
    uint64_t min_rss;  /* bytes */
    int level;         /* of zstd */
    bool summary;      /* a line on stderr when a process ends */
    enum mp_python_mode {
        MP_PYTHON_OFF,
        MP_PYTHON_ON,
        MP_PYTHON_SMALL
        /* Record Python call stacks; MP_PYTHON_SMALL: also those of a sample of small objects. */
    } python;
    uint64_t python_mean; /* MP_PYTHON_SMALL: bytes between samples on average */
    enum mp_stacks {
        MP_STACKS_OFF,
        MP_STACKS_LARGE,
        MP_STACKS_SAMPLE,
        MP_STACKS_ALL
    } stacks; /* each has those before it */
    enum mp_host_mode {
        MP_HOST_ALL,
        MP_HOST_SAMPLE,
        MP_HOST_LARGE,
        MP_HOST_OFF
    } host; /* which blocks of malloc are recorded */
    /* MP_HOST_LARGE: record blocks of at least this many usable bytes. MP_HOST_SAMPLE: mean
     * bytes between samples */
    uint64_t host_bytes;
    enum mp_torch_ranges {
        MP_TORCH_ON,
        MP_TORCH_OFF,
        MP_TORCH_OPS
    } torch_ranges; /* MP_TORCH_OPS: every operator */
    enum mp_cuda_mode {
        MP_CUDA_CUPTI,
        MP_CUDA_INTERPOSE,
        MP_CUDA_OFF
    } cuda; /* source of the driver's calls */
};
extern struct mp_config mp_config;

/* The default size of MEMPROF_HOST=large. */
#define MP_HOST_LARGE_BYTES 4096u

/* Mean of the bytes from one sample of stacks to the next: as dense as gives 1 % of a gigabyte its
 * name. */
#define MP_STACKS_MEAN (512u << 10)

/* Do PyTorch's small blocks have Python stacks by sampling? */
static inline bool mp_config_samples_python(void)
{
    return mp_config.python &&
           (mp_config.stacks == MP_STACKS_LARGE || mp_config.stacks == MP_STACKS_SAMPLE);
}

/* Have pymalloc's blocks Python stacks by sampling? */
static inline bool mp_config_samples_small(void)
{
    return mp_config.python == MP_PYTHON_SMALL && mp_config.stacks != MP_STACKS_OFF;
}

/* "off", "large", "sample", "all" */
const char *mp_config_stacks_name(void);
const char *mp_config_host_name(void);
/* A wrong value costs one line on stderr, and the default is used. */
void mp_config_read(void);
/* Does a program's file name match MEMPROF_PROGRAM, or the name that it was executed by? */
bool mp_config_wants(const char *program, const char *executed);
/* Expands the template into an absolute path.  0, or -errno; the path is then as much of it as
 * there is. */
int mp_config_path(char *out, size_t cap);
/* Returns the rank from a launcher's variables, or "". The other function returns their names,
 * ended by NULL. */
const char *mp_config_rank(void);
extern const char *const mp_config_rank_names[];
/* The host's name. */
const char *mp_config_host(void);

#endif
