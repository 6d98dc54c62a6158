#include "hooks/shm.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/worker.h"

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 4u
#endif

static dev_t memfds, huge_memfds; /* their devices */

/* Mounted devices that were looked up: number << 3 | kind << 1 | 1. A device that was replaced by
 * another one is looked up again. */
enum { DEVICES = 64 };
static uint64_t device[DEVICES];

static dev_t device_of_memfd(unsigned flags)
{
    struct stat st = { 0 };
    const int fd = (int)mp_sys3(SYS_memfd_create, (long)"memprof", flags | MFD_CLOEXEC, 0);
    if (fd < 0) return 0;
    mp_sys_fstat(fd, &st);
    mp_sys_close(fd);
    return st.st_dev;
}

void mp_shm_init(void)
{
    memfds = device_of_memfd(0);
    huge_memfds = device_of_memfd(MFD_HUGETLB);
}

/* Parses "36 35 0:25 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw", a device without a disk. */
static enum mp_shm_kind kind_in(const char *line, const char *number)
{
    static const struct {
        const char *name;
        enum mp_shm_kind kind;
    } types[] = { { "tmpfs ", MP_SHM_PAGES },
                  { "devtmpfs ", MP_SHM_PAGES },
                  { "hugetlbfs ", MP_SHM_HUGE } };
    const char *type = strstr(line, number) ? strstr(line, " - ") : NULL;
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (!strncmp(type + 3, types[i].name, strlen(types[i].name))) return types[i].kind;
    return MP_SHM_NONE;
}

struct search {
    const char *number;
    enum mp_shm_kind kind;
};

static void look_at(void *arg, const char *line)
{
    struct search *s = arg;
    if (s->kind == MP_SHM_NONE) s->kind = kind_in(line, s->number);
}

static enum mp_shm_kind look_up(dev_t number)
{
    char text[32];
    struct mp_text t = MP_TEXT(text);
    mp_text_str(&t, " 0:");
    mp_text_u64(&t, minor(number));
    mp_text_str(&t, " ");
    struct search s = { .number = text };
    mp_worker_lines("/proc/self/mountinfo", look_at, &s);
    return s.kind;
}

/* Not inlined, because few mappings need its space on the stack. */
__attribute__((noinline)) enum mp_shm_kind mp_shm_kind(int fd)
{
    struct stat st;
    if (mp_sys_fstat(fd, &st) != 0 || major(st.st_dev) != 0) return MP_SHM_NONE;
    if (st.st_dev == memfds) return MP_SHM_PAGES;
    if (st.st_dev == huge_memfds) return MP_SHM_HUGE;
    uint64_t *const place = &device[minor(st.st_dev) % DEVICES],
                    known = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (known >> 3 == st.st_dev && known & 1) return (enum mp_shm_kind)(known >> 1 & 3);
    const enum mp_shm_kind kind = look_up(st.st_dev);
    __atomic_store_n(place, (uint64_t)st.st_dev << 3 | (uint64_t)kind << 1 | 1, __ATOMIC_RELAXED);
    return kind;
}
