/* What `memprof attach` and libmemprof.so in the attached process say to each other. Both are of
 * one build: the launcher refuses another version. */
#ifndef MPF_ATTACH_H
#define MPF_ATTACH_H

#include <stdint.h>

#define MPF_ATTACH_VERSION 1u

/* The argument of memprof_attach, in the memory of the process. */
struct mpf_attach_request {
    uint32_t version;
    uint32_t children;        /* 1: processes that it forks are also recorded */
    uint64_t loader_lock;     /* the address of the loader's lock, a recursive pthread_mutex_t */
    uint32_t variables_bytes; /* of the settings */
    /* "MEMPROF_HOST=large", "MEMPROF_OUT=...", each terminated by 0. The environment of the process
     * is not used. */
    char variables[];
};

enum mpf_attach_state {
    MPF_ATTACH_NONE,
    MPF_ATTACH_PRELOADED, /* recorded since its start */
    MPF_ATTACH_ON,
    MPF_ATTACH_FAILED, /* the last attempt; the message has the reason */
    MPF_ATTACH_LEFT    /* it was recorded, and detached */
};

/* libmemprof.so exports one as memprof_attach_status. */
struct mpf_attach_status {
    uint32_t version;
    uint32_t state;   /* enum mpf_attach_state */
    uint32_t loaded;  /* 1 once the library's constructor has run */
    uint32_t answers; /* calls of memprof_attach and memprof_detach that have returned */
    uint32_t slots;   /* slots of calls that lead to the hooks */
    uint32_t unused;
    char log[4096];     /* the path of the log in the file system of the process */
    char message[1024]; /* of the last call, one line; "" without one */
};

#endif
