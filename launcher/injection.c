#include "injection.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attachable.h"
#include "tracer.h"

#define SAFE_NS   UINT64_C(3000000000)  /* until a thread is at a safe place */
#define ANSWER_NS UINT64_C(20000000000) /* until the call has returned */
#define LOOK_NS   1000000

__attribute__((format(printf, 2, 3))) static bool fail(struct mpl_injection *i, const char *format,
                                                       ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(i->reason, sizeof i->reason, format, args);
    va_end(args);
    return false;
}

/* A process that is being started, or that opens or closes a library, has no complete list of
 * objects for a short time. */
static bool read_objects(struct mpl_injection *i)
{
    enum { LOOKS = 500 };
    const struct timespec look = { 0, LOOK_NS };
    for (int n = 0; n < LOOKS; n++) {
        if (mpl_remote_read_objects(&i->process)) return true;
        nanosleep(&look, NULL);
    }
    return false;
}

static bool find_process(struct mpl_injection *i)
{
    if (!read_objects(i))
        return fail(i, "is not a started program of glibc: its C library or loader was not found");
    if (i->process.allocator == i->process.program)
        return fail(i, "defines malloc itself, so its blocks cannot be recorded");
    if (!mpl_safety_find(&i->safety, &i->process))
        return fail(i, "has a C library that memprof attach does not know: %s",
                    i->process.libc->path);
    return true;
}

static uintptr_t status_at(const struct mpl_injection *i)
{
    return mpl_remote_symbol(&i->process, i->process.memprof, "memprof_attach_status");
}

bool mpl_injection_read(struct mpl_injection *i)
{
    const uintptr_t at = i->process.memprof ? status_at(i) : 0;
    if (!at || !mpl_remote_get(&i->process, at, &i->status, sizeof i->status))
        return fail(i, "has ended, or executed another program");
    i->status.log[sizeof i->status.log - 1] = 0;
    i->status.message[sizeof i->status.message - 1] = 0;
    return true;
}

static bool check_version(struct mpl_injection *i)
{
    if (!mpl_injection_read(i)) return false;
    if (i->status.version == MPF_ATTACH_VERSION) return true;
    return fail(i, "has a libmemprof.so of another version: %s", i->process.memprof->path);
}

bool mpl_injection_open(struct mpl_injection *i, pid_t pid)
{
    memset(i, 0, sizeof *i);
    if (!mpl_remote_open(&i->process, pid)) {
        mpl_attachable_refused(pid, errno, i->reason, sizeof i->reason);
        return false;
    }
    return find_process(i) && (!i->process.memprof || check_version(i));
}

void mpl_injection_close(struct mpl_injection *i) { mpl_remote_close(&i->process); }

/* ---- calls */

static bool call(struct mpl_injection *i, const struct mpl_call *c)
{
    const enum mpl_traced how = mpl_trace_call(&i->safety, c, SAFE_NS);
    const int error = errno;
    const unsigned long us = mpl_traced_longest() / 1000;
    if (us > i->longest_us) i->longest_us = us;
    switch (how) {
    case MPL_TRACED_STARTED: return true;
    case MPL_TRACED_REFUSED:
        mpl_attachable_refused(i->process.pid, error, i->reason, sizeof i->reason);
        return false;
    case MPL_TRACED_STOPPED: return fail(i, "is stopped; continue it first");
    case MPL_TRACED_GONE: return fail(i, "has ended, or executed another program");
    default:
        return fail(i,
                    "no thread was at a place where the call is safe within %d s (not in the C "
                    "library, the loader or the allocator); try again",
                    (int)(SAFE_NS / 1000000000));
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until is_done(). Returns false if the process ended before that, or after ANSWER_NS. */
static bool await(struct mpl_injection *i, bool (*is_done)(struct mpl_injection *, uint32_t),
                  uint32_t before)
{
    const struct timespec look = { 0, LOOK_NS };
    const uint64_t from = now_ns();
    while (!is_done(i, before)) {
        if (now_ns() - from > ANSWER_NS) return false;
        nanosleep(&look, NULL);
    }
    return true;
}

/* The constructor has run; the loader may still be about to return. */
static bool is_loaded(struct mpl_injection *i, uint32_t before)
{
    (void)before;
    return mpl_remote_read_objects(&i->process) && i->process.memprof && mpl_injection_read(i) &&
           i->status.loaded;
}

static bool has_answered(struct mpl_injection *i, uint32_t before)
{
    return !mpl_injection_read(i) || i->status.answers != before;
}

/* It is in the C library, or before glibc 2.34 in an object that not every program has. */
static uintptr_t find_dlopen(const struct mpl_remote *r)
{
    uintptr_t found = mpl_remote_symbol(r, r->libc, "dlopen");
    for (size_t i = 0; !found && i < r->count; i++)
        found = mpl_remote_symbol(r, &r->object[i], "dlopen");
    return found;
}

bool mpl_injection_load(struct mpl_injection *i, const char *library)
{
    if (i->process.memprof) return true;
    const uintptr_t function = find_dlopen(&i->process);
    if (!function) return fail(i, "has no dlopen, by which libmemprof.so would be loaded");
    const struct mpl_call c = { function, library, strlen(library) + 1, RTLD_NOW };
    if (!call(i, &c)) return false;
    if (!await(i, is_loaded, 0))
        return fail(i,
                    "its loader did not load %s (perhaps no room is left in the static "
                    "thread-local storage)",
                    library);
    return check_version(i) && (mpl_safety_find(&i->safety, &i->process) ||
                                fail(i, "has changed while it was attached to"));
}

/* Calls one of the library's functions and waits for its return. */
static bool call_library(struct mpl_injection *i, const char *name, const void *data, size_t bytes)
{
    const uint32_t before = i->status.answers;
    const struct mpl_call c = { mpl_remote_symbol(&i->process, i->process.memprof, name), data,
                                bytes, 0 };
    if (!c.function) return fail(i, "its libmemprof.so has no %s", name);
    if (!call(i, &c)) return false;
    if (!await(i, has_answered, before))
        return fail(i, "the thread that was chosen did not answer within %d s; it may still do",
                    (int)(ANSWER_NS / 1000000000));
    return mpl_injection_read(i);
}

bool mpl_injection_attach(struct mpl_injection *i, const char *settings, size_t bytes,
                          bool children)
{
    struct mpf_attach_request *r = calloc(1, sizeof *r + bytes);
    if (!r) return fail(i, "%s", strerror(ENOMEM));
    *r = (struct mpf_attach_request){ .version = MPF_ATTACH_VERSION,
                                      .children = children,
                                      .loader_lock = i->safety.lock[0],
                                      .variables_bytes = (uint32_t)bytes };
    memcpy(r->variables, settings, bytes);
    const bool ok = call_library(i, "memprof_attach", r, sizeof *r + bytes);
    free(r);
    if (!ok || i->status.state == MPF_ATTACH_ON) return ok;
    return fail(i, "%s", *i->status.message ? i->status.message : "the recording did not start");
}

bool mpl_injection_detach(struct mpl_injection *i)
{
    return call_library(i, "memprof_detach", NULL, 0);
}
