/* The memory and the object files of another process. Everything that is read there may be hostile:
 * a length is checked before it is used, and a wrong answer refuses the attach or harms only that
 * process. */
#ifndef MPL_REMOTE_H
#define MPL_REMOTE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An object file that is mapped as code. */
struct mpl_remote_object {
    char path[PATH_MAX]; /* as the process sees it */
    uint64_t inode;
    uintptr_t from, to;           /* its mappings */
    uintptr_t code_from, code_to; /* those that are executable */
    uintptr_t bias;               /* what the loader added to the addresses in the file */
    uintptr_t symbols, names, gnu_hash, hash; /* tables of the dynamic section; 0 if missing */
    /* .eh_frame_hdr and the segment that contains it, and its place in the file */
    uintptr_t frames, segment_from, segment_bytes, segment_offset;
    const uint8_t *segment; /* a copy of it, mapped at first use */
    bool segment_failed;
};

struct mpl_range {
    uintptr_t from, to;
};

struct mpl_remote {
    pid_t pid;
    int memory; /* /proc/PID/mem; stays that of the program even after an exec */
    struct mpl_remote_object *object;
    size_t count;
    struct mpl_range vdso;
    struct mpl_range *stack;   /* mappings that may be stacks of threads */
    size_t stacks, main_stack; /* main_stack: its number + 1, or 0 */
    const struct mpl_remote_object *program, *libc, *loader, *allocator;
    const struct mpl_remote_object *memprof; /* libmemprof.so, or NULL */
};

/* Opens the process's memory. Returns false with errno. */
bool mpl_remote_open(struct mpl_remote *r, pid_t pid);
/* Finds the objects again. Returns false if the process is not that of a started program of glibc.
 */
bool mpl_remote_read_objects(struct mpl_remote *r);
void mpl_remote_close(struct mpl_remote *r);

bool mpl_remote_get(const struct mpl_remote *r, uintptr_t at, void *out, size_t bytes);
bool mpl_remote_put(const struct mpl_remote *r, uintptr_t at, const void *bytes, size_t count);

/* Returns the address of a symbol that the object defines, or 0. */
uintptr_t mpl_remote_symbol(const struct mpl_remote *r, const struct mpl_remote_object *o,
                            const char *name);
/* Calls f for each version of the symbol. */
void mpl_remote_each_symbol(const struct mpl_remote *r, const struct mpl_remote_object *o,
                            const char *name, void (*f)(void *arg, struct mpl_range range),
                            void *arg);

/* Returns the object with this address in its code, or NULL. */
struct mpl_remote_object *mpl_remote_object_at(const struct mpl_remote *r, uintptr_t at);
/* Maps a copy of the segment with the object's call frame information. Returns false without one.
 */
bool mpl_remote_map_frames(const struct mpl_remote *r, struct mpl_remote_object *o);
/* Returns the bytes below the stack pointer in its mapping, which was there when the objects were
 * read, or 0. The main thread's stack grows. */
size_t mpl_remote_stack_room(const struct mpl_remote *r, uintptr_t sp);

#endif
