#include "core/journal.h"

#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/own_maps.h"
#include "base/text.h"
#include "core/config.h"
#include "core/say.h"
#include "core/state.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static char path[PATH_MAX];
static struct mpf_file file;

/* The head and the chunks are mapped separately, so each begins with a page. */
static size_t head_bytes(void)
{
    const size_t page = mp_sys_page();
    return page > MPF_JOURNAL_HEAD ? page : MPF_JOURNAL_HEAD;
}
_Static_assert(MP_POOL_STEP *MPF_CHUNK_BYTES % (64 << 10) == 0, "steps are whole pages");

static size_t place_bytes(uint32_t places)
{
    return head_bytes() + (size_t)places * MPF_CHUNK_BYTES;
}

const char *mp_journal_path(void) { return path; }

static bool is_suitable(int fd)
{
    struct statfs fs;
    if (mp_sys3(SYS_fstatfs, fd, (long)&fs, 0) < 0) return false;
    switch ((unsigned long)fs.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: break;
    default: return false;
    }
    return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize / 8 > place_bytes(MP_POOL_STEP);
}

/* Allocates disk space for `places` now, so that no store can fail later. */
static bool allocate(int fd, uint32_t places)
{
    struct rlimit limit;
    if (mp_sys6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 &&
        limit.rlim_cur < place_bytes(places))
        return false;
    return is_suitable(fd) && mp_sys_fallocate(fd, 0, (off_t)place_bytes(places)) == 0;
}

/* Opens a new file for the journal in `dir`, named after the log. Returns its descriptor, or -1. */
static int create_in(const char *dir, size_t dir_bytes, const char *log_path)
{
    const char *slash = strrchr(log_path, '/');
    struct mp_text t = MP_TEXT(path);
    mp_text_bytes(&t, dir, dir_bytes);
    mp_text_str(&t, "/");
    mp_text_str(&t, slash ? slash + 1 : log_path);
    mp_text_str(&t, ".journal");
    if (t.full) return -1;
    const int fd = mp_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0) return -1;
    if (allocate(fd, MP_POOL_STEP)) return fd;
    mp_sys_close(fd);
    mp_sys_unlink(path);
    return -1;
}

static int create(const char *log_path)
{
    const char *slash = strrchr(log_path, '/');
    const struct {
        const char *dir;
        size_t bytes;
    } candidates[] = {
        { mp_config.journal_dir, strlen(mp_config.journal_dir) },
        { log_path, slash ? (size_t)(slash - log_path) : 0 },
        { "/dev/shm", 8 },
        { "/tmp", 4 },
    };
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (!candidates[i].bytes) continue;
        const int fd = create_in(candidates[i].dir, candidates[i].bytes, log_path);
        if (fd >= 0) return fd;
    }
    path[0] = 0;
    return -1;
}

/* Maps bytes [from, upto) from the file, or anonymous memory if fd is -1. @where: MAP_FIXED over
 * memprof's own mapping, or MAP_FIXED_NOREPLACE, which kernels before 4.17 treat as a hint. */
static bool map_bytes(const struct mp_pool *pool, int fd, size_t from, size_t upto, int where)
{
    const int flags = where | (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
    const long at = (long)((uint8_t *)pool->head + from),
               r = mp_sys6(SYS_mmap, at, (long)(upto - from), PROT_READ | PROT_WRITE, flags, fd,
                           (long)from);
    if (r == at) {
        mp_own_maps_add((void *)at, upto - from);
        if (mp_sys_locks_future()) mp_sys_munlock((void *)at, upto - from);
        return true;
    }
    if (r >= 0 || r < -4095) mp_sys_munmap((void *)r, upto - from);
    return false;
}

/* After mlockall(MCL_FUTURE) a new mapping would be locked or refused, but an extended one stays
 * unlocked. The last places must be of the same kind (file or not) as the new ones. */
static bool extend_mapping(const struct mp_pool *pool, int fd, uint32_t upto)
{
    const uint32_t mapped = pool->mapped, last = mapped - MP_POOL_STEP;
    if (!mp_sys_locks_future() || !mapped || (fd >= 0) != (mapped <= pool->head->chunks))
        return false;
    const long at = (long)mp_pool_chunk(pool, last), step = MP_POOL_STEP * MPF_CHUNK_BYTES,
               more = (long)(upto - mapped) * MPF_CHUNK_BYTES;
    if (mp_sys6(SYS_mremap, at, step, step + more, 0, 0, 0) != at) return false;
    mp_own_maps_add((void *)(at + step), (size_t)more);
    return true;
}

/* Maps the places [mapped, upto). */
static bool map(struct mp_pool *pool, int fd, uint32_t upto, int where)
{
    const bool ok = extend_mapping(pool, fd, upto) ||
                    map_bytes(pool, fd, place_bytes(pool->mapped), place_bytes(upto), where);
    if (ok) pool->mapped = upto;
    return ok;
}

/* Opens the journal file again, if it is still the same file. */
static int reopen(void) { return path[0] ? mp_sys_reopen(path, O_RDWR, file) : -1; }

static bool lock(int fd)
{
    struct flock first = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    return mp_sys3(SYS_fcntl, fd, F_OFD_SETLK, (long)&first) == 0;
}

static bool locked(int fd)
{
    struct flock first = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    return mp_sys3(SYS_fcntl, fd, F_OFD_GETLK, (long)&first) == 0 && first.l_type != F_UNLCK;
}

/* The lock belongs to the open file of fd. After fd is closed only the head's mapping holds it,
 * which a forked child does not inherit. A child inherits the chunks, so they are mapped through
 * another open file, `other`. Whether this works is tested, because, for example, a mapping on
 * overlayfs keeps only the lower file open. */
static bool hold_lock(struct mpf_journal *head, int fd, int other)
{
    const bool held =
        other >= 0 && lock(fd) && mp_sys_madvise(head, head_bytes(), MADV_DONTFORK) == 0;
    mp_sys_close(fd);
    return held && locked(other);
}

/* Maps the head and the first places from the file `file`, whose descriptor is closed, or anonymous
 * memory if fd is -1. */
static bool attach(struct mp_pool *pool, int fd, uint32_t places)
{
    struct mpf_journal *head = pool->head;
    const int other = fd >= 0 ? reopen() : -1;
    pool->mapped = 0;
    const bool ok = map_bytes(pool, fd, 0, head_bytes(), MAP_FIXED) &&
                    map(pool, other >= 0 ? other : fd, places, MAP_FIXED) &&
                    mp_sys_madvise(head, head_bytes(), MADV_POPULATE_WRITE) != -EFAULT;
    const bool held = fd >= 0 && hold_lock(head, fd, other);
    if (other >= 0) mp_sys_close(other);
    if (!ok) return false;
    head->flags = held ? MPF_JOURNAL_LOCKED : 0;
    head->self = fd >= 0 ? file : (struct mpf_file){ 0 };
    return true;
}

/* Chunks are aligned to their size (thread.h has the reason), pages to theirs. */
enum { ALIGNED = 64 << 10 };

/* Places the head and, after it, the chunks, at @at or at most ALIGNED bytes later. */
static void set_place(struct mp_pool *pool, uintptr_t at)
{
    const uintptr_t chunks = (at + head_bytes() + ALIGNED - 1) & ~(uintptr_t)(ALIGNED - 1);
    pool->base = (uint8_t *)chunks;
    pool->head = (struct mpf_journal *)(chunks - head_bytes());
}

/* Reserves the addresses of the first places such that there is room after them: up to 16 TiB below
 * the kernel's next mapping, in the middle between it and the heap, or nearer if that range is used
 * (by a sanitizer's shadow). The parent's pool, which a forked child inherits, is elsewhere. */
static bool choose_base(struct mp_pool *pool)
{
    enum { TRIES = 8, SLOTS = 1024 };
    const uint64_t slot = UINT64_C(16) << 30, mix = UINT64_C(0x9e3779b97f4a7c15);
    const size_t first = place_bytes(MP_POOL_STEP), reserved = first + ALIGNED;
    uint64_t random = (mp_clock_ticks() ^ (uint64_t)mp_process->pid << 32) * mix;
    uint8_t *next =
        mp_sys_mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (!next) return false;
    for (int i = 0; i < TRIES; i++, random = (random ^ random >> 29) * mix) {
        set_place(pool, (uintptr_t)next - (1 + (random >> 32) % (SLOTS >> i)) * slot);
        if (!map_bytes(pool, -1, 0, first, MAP_FIXED_NOREPLACE)) continue;
        mp_sys_munmap(next, reserved);
        return true;
    }
    set_place(pool, (uintptr_t)next);
    return true;
}

bool mp_journal_open(const char *log_path, const uint8_t id[16], const struct mpf_clock *start)
{
    struct mp_pool *pool = &mp_process->pool;
    path[0] = 0; /* a forked child must not remove its parent's journal if this fails */
    if (!choose_base(pool)) return false;
    const int fd = create(log_path);
    if (fd >= 0) file = mp_sys_file(fd);
    if (!attach(pool, fd, MP_POOL_STEP)) return false;
    struct mpf_journal *head = pool->head;
    *head = (struct mpf_journal){
        .flags = head->flags,
        .self = head->self,
        .process = mp_process->identity,
        .beat = start->mono,
        .magic = MPF_JOURNAL_MAGIC,
        .major = MPF_MAJOR,
        .minor = MPF_MINOR,
        .head_bytes = (uint32_t)head_bytes(),
        .chunk_bytes = MPF_CHUNK_BYTES,
        .slot_bytes = sizeof(struct mpf_slot),
        .pid = (uint64_t)mp_process->pid,
        .start = *start,
        .last = *start,
        .lost = mp_process->lost_total,
        .chunks = MP_POOL_STEP,
    };
    memcpy(head->id, id, sizeof head->id);
    return true;
}

void mp_journal_tie(struct mpf_file log) { mp_process->pool.head->log = log; }

void mp_journal_beat(uint64_t mono)
{
    if (mono) __atomic_store_n(&mp_process->pool.head->beat, mono, __ATOMIC_RELAXED);
}

/* Prints once that the journal cannot grow. No later place is in the file then. */
static void say_that_it_stays(void)
{
    mp_say("the journal cannot grow: a SIGKILL can lose events that are not in the log yet", NULL,
           NULL, NULL);
}

bool mp_journal_extend(void)
{
    struct mp_pool *pool = &mp_process->pool;
    struct mpf_journal *head = pool->head;
    const uint32_t upto = pool->mapped + MP_POOL_STEP;
    if (upto > MP_POOL_PLACES) return false;
    const bool grows = path[0] && head->chunks == pool->mapped && upto <= MP_POOL_FILE;
    int fd = grows ? reopen() : -1;
    if (fd >= 0 && !allocate(fd, upto)) {
        mp_sys_close(fd);
        fd = -1;
    }
    const bool ok = map(pool, fd, upto, MAP_FIXED_NOREPLACE);
    if (ok && fd >= 0) head->chunks = upto;
    if (ok && grows && fd < 0) say_that_it_stays();
    if (fd >= 0) mp_sys_close(fd);
    return ok;
}

/* Without MADV_POPULATE_WRITE (old kernels, or a filter of the program) the first store loads the
 * pages, from allocated blocks of the file. Anonymous pages are always allocated at the first
 * store, because threads that record little need few. */
bool mp_journal_touch(uint32_t place)
{
    if (place >= mp_process->pool.head->chunks) return true;
    const uintptr_t chunk = (uintptr_t)mp_chunk_at(place),
                    page = chunk & ~(uintptr_t)(mp_sys_page() - 1);
    const long r =
        mp_sys_madvise((void *)page, chunk + MPF_CHUNK_BYTES - page, MADV_POPULATE_WRITE);
    return r != -EFAULT && r != -ENOMEM;
}

/* Threads that are in a hook may still store events, which nobody reads. */
void mp_journal_release(void)
{
    const struct mp_pool *pool = &mp_process->pool;
    map_bytes(pool, -1, 0, place_bytes(pool->mapped), MAP_FIXED);
}

void mp_journal_remove(void)
{
    if (path[0]) mp_sys_unlink(path);
}

/* Copies the places of the old file to a new one, at the same addresses. */
static bool copy_to(int fd)
{
    struct mp_pool *pool = &mp_process->pool;
    const uint32_t mapped = pool->mapped, places = pool->head->chunks;
    const size_t bytes = place_bytes(pool->chunks < places ? pool->chunks : places);
    size_t done;
    if (!allocate(fd, places) || mp_sys_write_all(fd, pool->head, bytes, &done) != 0) {
        mp_sys_close(fd);
        return false;
    }
    file = mp_sys_file(fd);
    const bool ok = attach(pool, fd, places);
    pool->mapped = mapped;
    if (ok) mp_sys_madvise(pool->head, bytes, MADV_POPULATE_WRITE);
    return ok;
}

bool mp_journal_restore(void)
{
    const int fd = path[0] ? mp_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0 && copy_to(fd)) return true;
    if (fd >= 0) mp_sys_unlink(path);
    path[0] = 0;
    return false;
}

uint64_t mp_journal_resident(void)
{
    return place_bytes(__atomic_load_n(&mp_process->pool.chunks, __ATOMIC_RELAXED));
}
