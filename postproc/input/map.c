#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"

static struct mpr_map *maps;
static bool kept;               /* SIGBUS stays taken, for who maps files by other means */
static struct sigaction before; /* what a SIGBUS did while it was not */

static _Thread_local volatile sig_atomic_t guarded, gone;

static bool read_as_zeros(const uint8_t *at, size_t bytes, int protection)
{
    return mmap((void *)at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
}

/* Pages behind the end of a file that was truncated become zeros: of a log all of them, of what a
 * library mapped, which may write to its copy, the one. */
static bool is_mended(const siginfo_t *info)
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
        gone = 1;
        return read_as_zeros(at - (uintptr_t)at % page, page, PROT_READ | PROT_WRITE);
    }
    return false;
}

/* The program's handler is called, and this one stays.  Where there is none the fault comes again,
 * to the kernel; what somebody sent does not. */
static void hand_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction to = before;
    const bool sent = info->si_code <= 0;
    if (to.sa_handler == SIG_IGN && sent) return;
    if (to.sa_handler == SIG_DFL || to.sa_handler == SIG_IGN) {
        sigaction(number, &to, NULL);
        if (sent) raise(number);
        return;
    }
    if (to.sa_flags & (int)SA_RESETHAND) before = (struct sigaction){ .sa_handler = SIG_DFL };
    if (to.sa_flags & SA_SIGINFO) to.sa_sigaction(number, info, context);
    else to.sa_handler(number);
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    if (info->si_code <= 0 || !is_mended(info)) hand_on(number, info, context);
}

/* The handler of before runs as it would: on its stack, with its mask. */
static void take_signal(void)
{
    if (maps || kept) return;
    sigaction(SIGBUS, NULL, &before);
    struct sigaction action = before;
    action.sa_sigaction = on_sigbus;
    action.sa_flags = SA_SIGINFO | (before.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
    sigaction(SIGBUS, &action, NULL);
}

static void return_signal(void)
{
    if (!maps && !kept) sigaction(SIGBUS, &before, NULL);
}

void mpr_map_guard(void)
{
    take_signal();
    kept = true;
    gone = 0;
    guarded = 1;
}

bool mpr_map_unguard(void)
{
    guarded = 0;
    return !gone;
}

static void enlist(struct mpr_map *map)
{
    take_signal();
    map->next = maps;
    maps = map;
}

static void delist(struct mpr_map *map)
{
    struct mpr_map **at = &maps;
    while (*at && *at != map) at = &(*at)->next;
    if (!*at) return;
    *at = map->next;
    return_signal();
}

#define DROP_STEP ((size_t)4 << 20)

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
    enlist(map);
    return 0;
}

int mpr_map_open(struct mpr_map *map, const char *path, struct mpr_error *error)
{
    struct stat st;
    *map = (struct mpr_map){ .fd = -1 };
    const int fd = mpr_file_open(AT_FDCWD, path, O_RDONLY, &st);
    if (fd < 0 && errno == EINVAL)
        return mpr_fail(error, "%s: %s; give a log of memprof, a file", path,
                        S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
    if (fd < 0) return mpr_fail_errno(error, path, "open");
    mpr_file_share(fd);
    const int result = mpr_map_file(map, fd, &st, path, error);
    if (result != 0) close(fd);
    return result;
}

void mpr_map_close(struct mpr_map *map)
{
    delist(map);
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
