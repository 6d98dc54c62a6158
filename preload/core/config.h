/* The MEMPROF_* variables, which are read once, before the first event. docs/man/memprof.1 has the
 * table. */
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
    char journal_dir[PATH_MAX]; /* "" if not set */
    char run[MPF_RUN_ID];       /* the ID of the run, or "" if not set */
    char keep[32];              /* how much of a log is kept, as the user wrote it; "" for all */
    bool folded;                /* a process thins the log */
    char window_text[1280];     /* when blocks are recorded, as the user wrote it; "" for always */
    struct mpf_window window;
    char program[256]; /* glob for the names of programs to record; "" for all */
    uint64_t min_rss;  /* bytes */
    int level;         /* of zstd */
    bool summary;      /* a line on stderr when a process ends */
    enum mp_python_mode {
        MP_PYTHON_OFF,
        MP_PYTHON_ON,
        MP_PYTHON_SMALL
        /* Record Python call stacks. MP_PYTHON_SMALL: also for a sample of small objects. */
    } python;
    uint64_t python_mean; /* MP_PYTHON_SMALL: bytes between samples on average */
    enum mp_stacks {
        MP_STACKS_OFF,
        MP_STACKS_LARGE,
        MP_STACKS_SAMPLE,
        MP_STACKS_ALL
    } stacks;             /* each value includes the ones before it */
    uint64_t stacks_mean; /* MP_STACKS_SAMPLE: bytes between samples on average */
    bool stacks_by_default;
    enum mp_host_mode {
        MP_HOST_ALL,
        MP_HOST_SAMPLE,
        MP_HOST_LARGE,
        MP_HOST_OFF
    } host; /* the recorded blocks of malloc */
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

/* The default number of bytes between samples, on average: 1 % of a gigabyte has about 20 samples.
 */
#define MP_SAMPLE_MEAN (512u << 10)

/* Returns true if PyTorch's small blocks have Python stacks by sampling. */
static inline bool mp_config_samples_python(void)
{
    return mp_config.python &&
           (mp_config.stacks == MP_STACKS_LARGE || mp_config.stacks == MP_STACKS_SAMPLE);
}

/* Returns true if pymalloc's blocks have Python stacks by sampling. */
static inline bool mp_config_samples_small(void)
{
    return mp_config.python == MP_PYTHON_SMALL && mp_config.stacks != MP_STACKS_OFF;
}

/* "off", "large", "sample", "all" */
const char *mp_config_stacks_name(void);
const char *mp_config_host_name(void);
/* From now on mp_config_read reads these settings ("NAME=value", each terminated by 0), not the
 * environment. They must stay valid until it has returned. */
void mp_config_give(const char *variables, size_t bytes);
/* Reads the variables. For an invalid value it prints one line on stderr and uses the default. */
void mp_config_read(void);
/* Returns true if the program's file name, or the name by which it was executed, matches
 * MEMPROF_PROGRAM. */
bool mp_config_wants(const char *program, const char *executed);
/* Expands the template into an absolute path. Returns 0, or -errno and the beginning of the
 * path. */
int mp_config_path(char *out, size_t cap);
/* Returns the rank from a launcher's variables, or "". The other function returns their names,
 * terminated by NULL. */
const char *mp_config_rank(void);
extern const char *const mp_config_rank_names[];
/* Returns the host's name. */
const char *mp_config_host(void);

#endif
