#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"

#define DROP_STEP ((size_t)4 << 20)

static struct mpr_map *maps;
static bool keep_handler;                 /* also without maps, for those of libraries */
static struct sigaction previous_handler; /* the program's handler of SIGBUS */

static _Thread_local volatile sig_atomic_t guarded, guarded_page_missing;

/* ---- SIGBUS */

static bool read_as_zeros(const uint8_t *at, size_t bytes, int protection)
{
    return mmap((void *)at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
}

/* Replaces pages after the end of a truncated file by zeros: the rest of a map, or one page that a
 * library has mapped and may also write to.  Returns true if the access can be repeated. */
static bool repair_fault(const siginfo_t *info)
{
    const uint8_t *const at = info->si_addr;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (struct mpr_map *map = maps; map; map = map->next) {
        if (at < map->data || at >= map->data + map->mapped) continue;
        const size_t offset = (size_t)(at - map->data) & ~(page - 1);
        map->changed = 1;
        if (read_as_zeros(map->data + offset, map->mapped - offset, PROT_READ)) return true;
    }
    if (guarded && info->si_code == BUS_ADRERR) {
        guarded_page_missing = 1;
        return read_as_zeros(at - (uintptr_t)at % page, page, PROT_READ | PROT_WRITE);
    }
    return false;
}

/* If the fault cannot be repaired, calls the program's handler.  Without one the default action
 * must follow: it does when the fault repeats, and a signal that was sent is raised again. */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
    const struct sigaction to = previous_handler;
    const bool sent = info->si_code <= 0;
    if (!sent && repair_fault(info)) return;
    if (to.sa_handler == SIG_IGN && sent) return;
    if (to.sa_handler == SIG_DFL || to.sa_handler == SIG_IGN) {
        sigaction(number, &to, NULL);
        if (sent) raise(number);
        return;
    }
    if (to.sa_flags & (int)SA_RESETHAND)
        previous_handler = (struct sigaction){ .sa_handler = SIG_DFL };
    if (to.sa_flags & SA_SIGINFO) to.sa_sigaction(number, info, context);
    else to.sa_handler(number);
}

/* The program's handler keeps the stack and the mask that it asked for. */
static void install_handler(void)
{
    if (maps || keep_handler) return;
    sigaction(SIGBUS, NULL, &previous_handler);
    struct sigaction action = previous_handler;
    action.sa_sigaction = on_sigbus;
    action.sa_flags =
        SA_SIGINFO | (previous_handler.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
    sigaction(SIGBUS, &action, NULL);
}

void mpr_map_guard(void)
{
    install_handler();
    keep_handler = true;
    guarded_page_missing = 0;
    guarded = 1;
}

bool mpr_map_unguard(void)
{
    guarded = 0;
    return !guarded_page_missing;
}

/* ---- maps */

int mpr_map_file(struct mpr_map *map, int fd, const struct stat *st, const char *path,
                 struct mpr_error *error)
{
    *map = (struct mpr_map){ .st = *st, .fd = -1 };
    if (st->st_size == 0) {
        map->fd = fd;
        return 0;
    }
    void *data = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return mpr_fail_errno(error, path, "map");
    madvise(data, (size_t)st->st_size, MADV_SEQUENTIAL);
    map->fd = fd;
    map->data = data;
    map->size = map->mapped = (size_t)st->st_size;
    install_handler();
    map->next = maps;
    maps = map;
    return 0;
}

int mpr_map_open(struct mpr_map *map, const char *path, struct mpr_error *error)
{
    struct stat st;
    *map = (struct mpr_map){ .fd = -1 };
    const int fd = mpr_file_open(AT_FDCWD, path, O_RDONLY, &st);
    if (fd < 0 && errno == EINVAL)
        return mpr_fail(error, "%s: %s; give a log file", path,
                        S_ISDIR(st.st_mode) ? "this is a directory" : "this is not a regular file");
    if (fd < 0) return mpr_fail_errno(error, path, "open");
    mpr_file_lock_shared(fd);
    const int result = mpr_map_file(map, fd, &st, path, error);
    if (result != 0) close(fd);
    return result;
}

int mpr_map_open_own(struct mpr_map *map, int directory, const char *name, const char *path,
                     int flags, struct mpr_error *error)
{
    struct stat st;
    const int fd = mpr_file_open(directory, name, flags | O_NOFOLLOW, &st);
    if (fd < 0 && errno == ELOOP)
        return mpr_fail(error, "%s: this is a link; give the log itself", path);
    if (fd < 0 && errno == EINVAL)
        return mpr_fail(error, "%s: this is not a regular file; give a log or a directory of logs",
                        path);
    if (fd < 0) return mpr_fail_errno(error, path, flags == O_RDWR ? "open for writing" : "open");
    mpr_file_lock_shared(fd);
    if (mpr_file_check_owner(&st, path, error) == 0 && mpr_map_file(map, fd, &st, path, error) == 0)
        return 0;
    close(fd);
    return -1;
}

void mpr_map_close(struct mpr_map *map)
{
    struct mpr_map **at = &maps;
    while (*at && *at != map) at = &(*at)->next;
    if (*at) {
        *at = map->next;
        if (!maps && !keep_handler) sigaction(SIGBUS, &previous_handler, NULL);
    }
    if (map->data) munmap((void *)map->data, map->mapped);
    if (map->fd >= 0) close(map->fd);
    *map = (struct mpr_map){ .fd = -1 };
}

int mpr_map_grow(struct mpr_map *map, const char *path, struct mpr_error *error)
{
    const int fd = map->fd;
    struct stat st;
    map->fd = -1;
    mpr_map_close(map);
    if (fstat(fd, &st) != 0) mpr_fail_errno(error, path, "examine");
    else if (mpr_map_file(map, fd, &st, path, error) == 0) return 0;
    close(fd);
    return -1;
}

void mpr_map_drop(struct mpr_map *map, size_t offset)
{
    if (offset < map->dropped + DROP_STEP) return;
    const size_t end = offset & ~(DROP_STEP - 1);
    madvise((void *)(map->data + map->dropped), end - map->dropped, MADV_DONTNEED);
    map->dropped = end;
}
