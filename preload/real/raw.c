#include "real/raw.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/sys.h"

/* Returns the kernel's result in the form of the C library. */
static long result_of(long r)
{
    if (r >= 0 || r <= -4096) return r;
    errno = (int)-r;
    return -1;
}

static int refuse(void) { return (int)result_of(-ENOSYS); }

int mp_raw_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *const p = __libc_memalign(alignment, bytes);
    if (p) *out = p;
    return p ? 0 : ENOMEM;
}

void *mp_raw_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return (void *)result_of(mp_sys6(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset));
}

int mp_raw_munmap(void *at, size_t bytes) { return (int)result_of(mp_sys_munmap(at, bytes)); }

void *mp_raw_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *at = (flags & MREMAP_FIXED) ? va_arg(more, void *) : NULL;
    va_end(more);
    return (void *)result_of(
        mp_sys6(SYS_mremap, (long)old, (long)old_bytes, (long)bytes, flags, (long)at, 0));
}

int mp_raw_mprotect(void *at, size_t bytes, int prot)
{
    return (int)result_of(mp_sys3(SYS_mprotect, (long)at, (long)bytes, prot));
}

/* The kernel returns the break after the call, moved or not. For the C library the call failed if
 * that is too low. */
int mp_raw_brk(void *to)
{
    return (int)result_of(mp_sys3(SYS_brk, (long)to, 0, 0) < (long)to ? -ENOMEM : 0);
}
void *mp_raw_sbrk(intptr_t more)
{
    const long old = mp_sys3(SYS_brk, 0, 0, 0);
    return more && mp_raw_brk((void *)(old + more)) ? (void *)-1 : (void *)old;
}

void *mp_raw_shmat(int id, const void *at, int flags)
{
    return (void *)result_of(mp_sys3(SYS_shmat, id, (long)at, flags));
}
int mp_raw_shmdt(const void *at) { return (int)result_of(mp_sys3(SYS_shmdt, (long)at, 0, 0)); }

int mp_raw_prctl(int option, ...)
{
    long a[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++) a[i] = va_arg(list, long);
    va_end(list);
    return (int)result_of(mp_sys6(SYS_prctl, option, a[0], a[1], a[2], a[3], 0));
}

int mp_raw_execve(const char *path, char *const argv[], char *const envp[])
{
    return mp_raw_execveat(AT_FDCWD, path, argv, envp, 0);
}
int mp_raw_execv(const char *path, char *const argv[])
{
    return mp_raw_execve(path, argv, environ);
}

/* These search PATH. */
int mp_raw_execvp(const char *file, char *const argv[])
{
    (void)file, (void)argv;
    return refuse();
}

int mp_raw_execvpe(const char *file, char *const argv[], char *const envp[])
{
    (void)envp;
    return mp_raw_execvp(file, argv);
}

int mp_raw_fexecve(int fd, char *const argv[], char *const envp[])
{
    return mp_raw_execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

int mp_raw_execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
    return (int)result_of(mp_sys6(SYS_execveat, dir, (long)path, (long)argv, (long)envp, flags, 0));
}

int mp_raw_pthread_setname_np(pthread_t thread, const char *name)
{
    (void)thread, (void)name;
    return ENOSYS;
}

int mp_raw_dlclose(void *handle)
{
    (void)handle;
    return 0;
}

int mp_raw_unshare(int flags) { return (int)result_of(mp_sys3(SYS_unshare, flags, 0, 0)); }

int mp_raw_mlockall(int flags) { return (int)result_of(mp_sys3(SYS_mlockall, flags, 0, 0)); }
int mp_raw_setns(int fd, int type) { return (int)result_of(mp_sys3(SYS_setns, fd, type, 0)); }
