/* The IDs of the program's thread are compared with the calling thread's IDs as the kernel shows
 * both to the same reader. In a new user namespace both are shown as 65534 until it has a map, and
 * then they change together. The program's IDs are read before and after the calling thread's, so
 * that a map written in between makes no difference.
 *
 * Changing the IDs of any thread also clears the whole process's "dumpable" flag, as the program's
 * own change did. If the program has set it again since, it is restored. */
#include "core/ids.h"

#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/state.h"

enum { REAL, EFFECTIVE, SAVED, KINDS, GROUPS = 1024, TEXT_BYTES = 16 << 10 };

struct ids {
    uint32_t user[KINDS], group[KINDS];
    uint32_t groups, list[GROUPS];
};

static uint32_t version; /* number of changes of the program's IDs seen so far */

/* ---- reading */

/* Reads at most `max` numbers of the line that begins with the key. Returns how many there are. */
static uint32_t read_line(const char *text, const char *key, uint32_t *out, uint32_t max)
{
    const char *p = strstr(text, key);
    uint32_t n = 0;
    for (p = p ? p + strlen(key) : ""; n < max; n++) {
        while (*p == ' ' || *p == '\t') p++;
        if (*p < '0' || *p > '9') break;
        for (out[n] = 0; *p >= '0' && *p <= '9'; p++) out[n] = out[n] * 10 + (uint32_t)(*p - '0');
    }
    return n;
}

/* The buffers for one look. Only one thread at a time uses them. */
static struct {
    struct mp_lock lock;
    char text[TEXT_BYTES];
    struct ids program, own, again, last;
} look;

static bool read_ids(const char *path, struct ids *ids, bool *is_zombie)
{
    memset(ids, 0, sizeof *ids);
    if (mp_sys_slurp(path, look.text, sizeof look.text) <= 0) return false;
    *is_zombie = strstr(look.text, "\nState:\tZ") != NULL;
    ids->groups = read_line(look.text, "\nGroups:", ids->list, GROUPS);
    return read_line(look.text, "\nUid:", ids->user, KINDS) == KINDS &&
           read_line(look.text, "\nGid:", ids->group, KINDS) == KINDS;
}

static bool is_of_memprof(int tid)
{
    bool is_own = (uint32_t)tid == mp_process->worker.thread.tid;
    for (unsigned i = 0; i < MP_WRITERS; i++)
        is_own |= (uint32_t)tid == mp_process->encoder[i].thread.tid;
    return is_own;
}

static bool take_living(void *arg, int tid)
{
    if (tid == mp_process->pid || is_of_memprof(tid)) return true;
    *(int *)arg = tid;
    return false;
}

/* Returns a living thread of the program, or 0 if none is found. */
static int living_thread(void)
{
    int dir, tid = 0;
    mp_sys_numbers("/proc/self/task", &dir, take_living, &tid);
    return tid;
}

/* Reads the ids of the program's first thread or, if that has ended, of another one. */
static bool read_program(struct ids *ids)
{
    char path[64];
    struct mp_text t = MP_TEXT(path);
    bool is_zombie;
    if (!read_ids("/proc/self/status", ids, &is_zombie)) return false;
    if (!is_zombie) return true;
    const int tid = living_thread();
    mp_text_str(&t, "/proc/self/task/");
    mp_text_u64(&t, (uint64_t)tid);
    mp_text_str(&t, "/status");
    return tid && read_ids(path, ids, &is_zombie) && !is_zombie;
}

static bool are_equal(const struct ids *a, const struct ids *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool mp_ids_changed(void)
{
    const uint64_t signals = mp_lock(&look.lock);
    const bool changed = read_program(&look.program) && !are_equal(&look.program, &look.last);
    if (changed) look.last = look.program;
    mp_unlock(&look.lock, signals);
    if (changed) __atomic_add_fetch(&version, 1, __ATOMIC_RELEASE);
    return changed;
}

/* ---- following */

/* Groups are changed first, because only root may change them. */
static void take(const struct ids *ids)
{
    const long dumpable = mp_sys3(SYS_prctl, PR_GET_DUMPABLE, 0, 0);
    mp_sys3(SYS_setgroups, ids->groups, (long)ids->list, 0);
    mp_sys3(SYS_setresgid, ids->group[REAL], ids->group[EFFECTIVE], ids->group[SAVED]);
    mp_sys3(SYS_setresuid, ids->user[REAL], ids->user[EFFECTIVE], ids->user[SAVED]);
    if (dumpable == 1) mp_sys3(SYS_prctl, PR_SET_DUMPABLE, 1, 0);
}

void mp_ids_follow(uint32_t *followed)
{
    enum { LOOKS = 3 };
    bool is_zombie;
    const uint32_t now = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
    if (now == *followed) return;
    const uint64_t signals = mp_lock(&look.lock);
    for (int i = 0; i < LOOKS; i++) {
        if (!read_program(&look.program) ||
            !read_ids("/proc/thread-self/status", &look.own, &is_zombie) ||
            !read_program(&look.again) || !are_equal(&look.program, &look.again))
            continue;
        if (!are_equal(&look.program, &look.own)) take(&look.program);
        break;
    }
    mp_unlock(&look.lock, signals);
    *followed = now;
}

void mp_ids_reset(void)
{
    memset(&look.lock, 0, sizeof look.lock);
    memset(&look.last, 0, sizeof look.last);
}
