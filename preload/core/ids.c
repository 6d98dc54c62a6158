#include "core/ids.h"

#include <stdint.h>
#include <string.h>

#include "base/sys.h"

enum { REAL, EFFECTIVE, SAVED, KINDS, GROUPS = 256 };

struct ids {
    uint32_t user[KINDS], group[KINDS];
    uint32_t groups, list[GROUPS];
};

/* Written by the first encoder alone; `version` is odd while it writes. */
static struct {
    uint32_t version;
    struct ids ids;
} first;

/* The version that the calling thread has. */
static __thread uint32_t mine __attribute__((tls_model("initial-exec")));

/* Numbers of the line that begins with the key, at most `max`; how many there are. */
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

static bool read_ids(struct ids *ids)
{
    static char text[8192];
    memset(ids, 0, sizeof *ids);
    if (mp_sys_slurp("/proc/self/status", text, sizeof text) <= 0) return false;
    ids->groups = read_line(text, "\nGroups:", ids->list, GROUPS);
    return read_line(text, "\nUid:", ids->user, KINDS) == KINDS &&
           read_line(text, "\nGid:", ids->group, KINDS) == KINDS;
}

void mp_ids_reset(void) { memset(&first, 0, sizeof first); }

bool mp_ids_read(void)
{
    static struct ids now;
    if (!read_ids(&now) || memcmp(&now, &first.ids, sizeof now) == 0) return false;
    const uint32_t version = first.version;
    __atomic_store_n(&first.version, version + 1, __ATOMIC_SEQ_CST);
    first.ids = now;
    __atomic_store_n(&first.version, version + 2, __ATOMIC_SEQ_CST);
    return version != 0;
}

/* Groups first: changing them is a right of root's. */
static void take(const struct ids *ids)
{
    uint32_t is[2][KINDS];
    mp_sys3(SYS_getresuid, (long)&is[0][REAL], (long)&is[0][EFFECTIVE], (long)&is[0][SAVED]);
    mp_sys3(SYS_getresgid, (long)&is[1][REAL], (long)&is[1][EFFECTIVE], (long)&is[1][SAVED]);
    if (memcmp(is[0], ids->user, sizeof is[0]) == 0 && memcmp(is[1], ids->group, sizeof is[1]) == 0)
        return;
    mp_sys3(SYS_setgroups, ids->groups, (long)ids->list, 0);
    mp_sys3(SYS_setresgid, ids->group[REAL], ids->group[EFFECTIVE], ids->group[SAVED]);
    mp_sys3(SYS_setresuid, ids->user[REAL], ids->user[EFFECTIVE], ids->user[SAVED]);
}

void mp_ids_follow(void)
{
    const uint32_t version = __atomic_load_n(&first.version, __ATOMIC_SEQ_CST);
    if (version == mine || version & 1) return;
    const struct ids ids = first.ids;
    if (__atomic_load_n(&first.version, __ATOMIC_SEQ_CST) != version) return;
    take(&ids);
    mine = version;
}
