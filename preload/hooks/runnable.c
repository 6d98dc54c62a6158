#include "hooks/runnable.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"

#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000
#endif

/* Returns true for errors of a path that exec would also return. Others may be caused by a seccomp
 * filter, or be temporary. */
static bool is_final(long error)
{
    switch (-error) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case ELOOP:
    case ENAMETOOLONG:
    case EFAULT:
    case EBADF: return true;
    default: return false;
    }
}

/* Uses faccessat2 only for a file that not everybody may execute: few programs make that call, and
 * a filter may end them for it. */
bool mp_runnable_at(int dir, const char *path, int flags)
{
    struct stat st;
    const int how = flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    if (flags & AT_EXECVE_CHECK) return false;
    const long error = mp_sys6(SYS_newfstatat, dir, (long)path, (long)&st, how, 0, 0);
    if (error) return !is_final(error);
    if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111)) return false;
    if ((st.st_mode & 0111) == 0111) return true;
    return mp_sys6(SYS_faccessat2, dir, (long)path, X_OK, how | AT_EACCESS, 0, 0) != -EACCES;
}

/* ---- PATH */

/* Only one thread at a time uses it. For another thread the result is unknown. */
static struct {
    struct mp_lock lock;
    char path[PATH_MAX + NAME_MAX];
} candidate;

/* Returns the C library's own list and more: an additional folder costs one system call. */
static const char *folders(void)
{
    const char *path = getenv("PATH");
    return path ? path : ":/usr/local/bin:/bin:/usr/bin";
}

/* An empty folder is the current one. */
static bool is_runnable_in(const char *folder, size_t bytes, const char *name)
{
    struct mp_text t = MP_TEXT(candidate.path);
    mp_text_bytes(&t, folder, bytes);
    if (bytes) mp_text_str(&t, "/");
    mp_text_str(&t, name);
    return t.full || mp_runnable_at(AT_FDCWD, candidate.path, 0);
}

static bool is_in_a_folder(const char *name)
{
    bool runnable = false;
    const char *folder = folders(), *end;
    for (;; folder = end + 1) {
        end = folder + strcspn(folder, ":");
        runnable = is_runnable_in(folder, (size_t)(end - folder), name);
        if (runnable || !*end) return runnable;
    }
}

bool mp_runnable_found(const char *name)
{
    uint64_t signals;
    if (!*name) return false;
    if (strchr(name, '/')) return mp_runnable_at(AT_FDCWD, name, 0);
    if (!mp_lock_within(&candidate.lock, 0, &signals)) return true;
    const bool runnable = is_in_a_folder(name);
    mp_unlock(&candidate.lock, signals);
    return runnable;
}
