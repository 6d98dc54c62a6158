/* The values of each SAMPLE_* event, of FOLDED and of NVTX_HEAP, u64 each, in this order; a value
 * that is not known is MPF_UNKNOWN.  New values are added at the end only: a reader takes the
 * values that it knows. */
#ifndef MPF_SAMPLE_H
#define MPF_SAMPLE_H

#include <assert.h>
#include <stdint.h>

#define MPF_UNKNOWN UINT64_MAX

enum mpf_sample_rss { /* bytes; /proc/self/status and smaps_rollup */
                      MPF_RSS_ANON,
                      MPF_RSS_FILE,
                      MPF_RSS_SHMEM,
                      MPF_RSS_HWM, /* high-water mark of the whole */
                      MPF_RSS_SWAP,
                      MPF_RSS_PRIVATE_DIRTY,
                      MPF_RSS_PSS, /* taken less often: MPF_UNKNOWN in between */
                      /* Memprof's own resident memory, journal included (an estimate: pages it
                       * has touched). */
                      MPF_RSS_MEMPROF,
                      MPF_RSS_VM_SIZE, /* since 1.2: the address space, */
                      MPF_RSS_LIMIT_AS,
                      /* the process's limits RLIMIT_AS and RLIMIT_DATA; MPF_UNKNOWN if unlimited */
                      MPF_RSS_LIMIT_DATA,
                      MPF_RSS_PAGE_TABLES, /* since 1.12. They are not resident memory. */
                      MPF_RSS_COUNT
};
#if defined __cplusplus || __STDC_VERSION__ >= 201112L /* C99 has none */
static_assert(MPF_RSS_FILE == MPF_RSS_ANON + 1 && MPF_RSS_SHMEM == MPF_RSS_ANON + 2,
              "what is resident is their sum");
#endif
/* Since 1.12: resident bytes by kind of mapping, from /proc/self/smaps. RSS is the sum of BRK to
 * MEMPROF. Read less often than SAMPLE_RSS. */
enum mpf_sample_resident {
    MPF_RESIDENT_BRK,    /* the heap of brk(2) */
    MPF_RESIDENT_ANON,   /* other private memory that no file backs */
    MPF_RESIDENT_STACKS, /* the main thread's, and those of other threads that were found */
    MPF_RESIDENT_DATA,   /* data of the program and its libraries that was written to, and .bss */
    MPF_RESIDENT_CODE,   /* other pages of the program and its libraries */
    MPF_RESIDENT_FILES,  /* other mapped files, without changed pages of private mappings */
    MPF_RESIDENT_SHMEM,  /* shared memory: tmpfs, memfd, System V */
    MPF_RESIDENT_MEMPROF,
    MPF_RESIDENT_HUGE,        /* the part of the above in anonymous huge pages */
    MPF_RESIDENT_STACK_COUNT, /* number of stacks */
    MPF_RESIDENT_COUNT
};
/* Since 1.12: the values of RESIDENT_MAPPING, bytes. */
enum mpf_resident_mapping {
    MPF_MAPPING_BYTES, /* of the mapping */
    MPF_MAPPING_RESIDENT,
    MPF_MAPPING_HUGE, /* the part of these in anonymous huge pages */
    MPF_MAPPING_PART, /* bytes of each part of the mapping */
    MPF_MAPPING_COUNT
};
/* A byte for each part follows: its resident share, in units of a 255th, rounded up. */
enum { MPF_MAPPING_PARTS = 96 };
enum mpf_sample_cgroup {
    MPF_CGROUP_USAGE,
    MPF_CGROUP_LIMIT,
    MPF_CGROUP_PEAK,
    MPF_CGROUP_OOM_KILLS,
    MPF_CGROUP_MEMPROF, /* since 1.10: bytes of the process's own log and journal on tmpfs */
    /* Since 1.12: kinds of the charge, from memory.stat; taken less often */
    MPF_CGROUP_ANON,  /* private memory of processes */
    MPF_CGROUP_CACHE, /* page cache, without SHMEM */
    MPF_CGROUP_SHMEM, /* files on tmpfs, and other shared memory */
    MPF_CGROUP_KERNEL,
    MPF_CGROUP_COUNT
};
enum mpf_sample_jemalloc {
    MPF_JEMALLOC_ALLOCATED,
    MPF_JEMALLOC_ACTIVE,
    MPF_JEMALLOC_METADATA,
    MPF_JEMALLOC_RESIDENT,
    MPF_JEMALLOC_MAPPED,
    MPF_JEMALLOC_RETAINED,
    MPF_JEMALLOC_COUNT
};
enum mpf_sample_allocator {
    MPF_ALLOCATOR_IN_USE, /* in blocks, caches of threads included */
    MPF_ALLOCATOR_HELD,   /* from the system: mapped or committed */
    MPF_ALLOCATOR_COUNT
};
enum mpf_sample_host { /* since 1.4: from the start on, bytes as malloc_usable_size says */
                       MPF_HOST_MADE_BYTES,
                       MPF_HOST_MADE_BLOCKS,
                       MPF_HOST_FREED_BYTES,
                       MPF_HOST_FREED_BLOCKS,
                       MPF_HOST_COUNT
};

/* FOLDED (since 1.6): of the heap's blocks that are not in the log any more */
enum mpf_folded {
    MPF_FOLDED_BYTES, /* live now */
    MPF_FOLDED_BLOCKS,
    MPF_FOLDED_MADE, /* blocks allocated since the previous event */
    MPF_FOLDED_FREED,
    MPF_FOLDED_COUNT
};

enum mpf_nvtx_heap { /* since 1.8 */
                     MPF_NVTX_BYTES,
                     MPF_NVTX_NAME, /* its name id, or 0 */
                     MPF_NVTX_COUNT
};

#endif
