/* The ends of a process, the names of its threads, and the ends of its libraries.
 *
 * In a vfork child exec and _exit do nothing for memprof, because the child shares its parent's
 * memory. vfork itself is never wrapped: its child would return through the hook's frame. */
#include <alloca.h>
#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/encoder.h"
#include "core/process.h"
#include "core/record.h"
#include "core/worker.h"
#include "hooks/runnable.h"
#include "real/real.h"
#include "stacks/module.h"

#define HOOK __attribute__((visibility("default")))

extern char **environ;

/* After a failed exec the program continues, and so does the recording. */
static int exec_failed(int result)
{
    const int saved = errno;
    mp_process_resume();
    errno = saved;
    return result;
}

/* An exec that cannot succeed leaves the log unchanged, because ending and continuing the log takes
 * milliseconds. */
#define EXEC(may_succeed, call)                                                                    \
    mp_real_ready();                                                                               \
    if (!mp_process_is_owner() || !(may_succeed)) return mp_real.call;                             \
    mp_process_suspend();                                                                          \
    return exec_failed(mp_real.call)
#define EXEC_PATH(path, call) EXEC(mp_runnable_at(AT_FDCWD, path, 0), call)

HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
    EXEC_PATH(path, execve(path, argv, envp));
}
HOOK int execv(const char *path, char *const argv[]) { EXEC_PATH(path, execv(path, argv)); }
HOOK int execvp(const char *file, char *const argv[])
{
    EXEC(mp_runnable_found(file), execvp(file, argv));
}
HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
    EXEC(mp_runnable_found(file), execvpe(file, argv, envp));
}
HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
    EXEC(mp_runnable_at(fd, "", AT_EMPTY_PATH), fexecve(fd, argv, envp));
}
HOOK int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
    EXEC(mp_runnable_at(dir, path, flags), execveat(dir, path, argv, envp, flags));
}

/* The list forms become the array forms: `list` gets `first` and the following arguments,
 * terminated by NULL, on the caller's stack. */
#define ARRAY_OF(first)                                                                            \
    va_list list;                                                                                  \
    size_t n = 1;                                                                                  \
    va_start(list, first);                                                                         \
    while (va_arg(list, char *)) n++;                                                              \
    va_end(list);                                                                                  \
    char **argv = alloca((n + 1) * sizeof *argv);                                                  \
    argv[0] = (char *)(uintptr_t)first;                                                            \
    va_start(list, first);                                                                         \
    for (size_t i = 1; i <= n; i++) argv[i] = va_arg(list, char *)

HOOK int execl(const char *path, const char *first, ...)
{
    ARRAY_OF(first);
    va_end(list);
    EXEC_PATH(path, execv(path, argv));
}

HOOK int execlp(const char *file, const char *first, ...)
{
    ARRAY_OF(first);
    va_end(list);
    EXEC(mp_runnable_found(file), execvp(file, argv));
}

HOOK int execle(const char *path, const char *first, ...)
{
    ARRAY_OF(first);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    EXEC_PATH(path, execve(path, argv, envp));
}

HOOK void _exit(int status)
{
    mp_process_finish("_exit");
    for (;;) {
        mp_sys3(SYS_exit_group, status, 0, 0);
        mp_sys3(SYS_exit, status, 0, 0); /* as in the C library if a filter refuses the call */
        mp_machine_stop();
    }
}

HOOK void _Exit(int status) { _exit(status); }

HOOK int pthread_setname_np(pthread_t thread, const char *name)
{
    mp_real_ready();
    const int error = mp_real.pthread_setname_np(thread, name);
    if (!error && pthread_equal(thread, pthread_self()))
        mp_record_data(MPF_OP_THREAD_NAME, MPF_HEAP_NONE, (uint64_t)mp_sys_gettid(), name,
                       strlen(name));
    return error;
}

/* Called as a variadic function. A variadic definition would save all registers on a stack that may
 * be small. */
HOOK int mp_hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
                       unsigned long d) __asm__("prctl");
int mp_hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    mp_real_ready();
    const int result = mp_real.prctl(option, a, b, c, d);
    if (option == PR_SET_NAME && result == 0)
        mp_record_data(MPF_OP_THREAD_NAME, MPF_HEAP_NONE, (uint64_t)mp_sys_gettid(),
                       (const char *)a, strnlen((const char *)a, 15));
    return result;
}

/* ---- calls that depend on the number of threads */

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* SINGLE: the kernel refuses the call in a process with several threads. LAST_CHANCE: after the
 * call the process cannot create threads any more. */
enum { SINGLE = 1, LAST_CHANCE = 2 };

/* Ends memprof's threads, or makes sure that they exist. Returns true if they must be started
 * again. */
static bool before_call(int kind)
{
    if (kind & SINGLE) return mp_worker_stop();
    if (kind & LAST_CHANCE && mp_process_ready()) mp_encoder_start_now();
    return false;
}

/* Immediately after the call the log can still be opened by its path. */
static void after_call(bool ran)
{
    const int saved = errno;
    if (ran) mp_encoder_start();
    errno = saved;
}

/* Namespaces of process IDs and of time apply to the children. No threads can be created from then
 * on. */
static int kind_of(int types, int single)
{
    return (types & single ? SINGLE : 0) |
           (types & (CLONE_NEWPID | CLONE_NEWTIME) ? LAST_CHANCE : 0);
}

HOOK int unshare(int flags)
{
    mp_real_ready();
    const int saved = errno;
    const bool ran =
        before_call(kind_of(flags, CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM));
    errno = saved;
    const int result = mp_real.unshare(flags);
    after_call(ran);
    return result;
}

/* A thread that shares its current directory, as memprof's do, may not enter a mount namespace. */
HOOK int setns(int fd, int type)
{
    mp_real_ready();
    const int saved = errno;
    const long types = type ? type : mp_sys3(SYS_ioctl, fd, NS_GET_NSTYPE, 0);
    const bool ran =
        before_call(types < 0 ? SINGLE /* of a process: several types */
                              : kind_of((int)types, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME));
    errno = saved;
    const int result = mp_real.setns(fd, type);
    after_call(ran);
    return result;
}

/* The loader's lock is not held at either call. */
HOOK int dlclose(void *handle)
{
    mp_real_ready();
    const struct mp_module_place place = mp_module_opened(handle);
    const int result = mp_real.dlclose(handle);
    mp_module_closed(place);
    return result;
}
