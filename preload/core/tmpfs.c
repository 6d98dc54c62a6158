#include "core/tmpfs.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <sys/vfs.h>

#include "base/sys.h"
#include "base/text.h"
#include "core/journal.h"
#include "core/logfile.h"
#include "core/say.h"
#include "mpf/sample.h"

static bool log_is_there, journal_is_there;

static bool is_on_tmpfs(const char *path)
{
    struct statfs fs;
    if (!*path || mp_sys3(SYS_statfs, (long)path, (long)&fs, 0) < 0) return false;
    return (unsigned long)fs.f_type == TMPFS_MAGIC || (unsigned long)fs.f_type == RAMFS_MAGIC;
}

static void warn(bool log, bool journal, uint64_t limit)
{
    char line[384];
    struct mp_text t = MP_TEXT(line);
    mp_text_str(&t, !log      ? "the journal is"
                    : journal ? "the log and its journal are"
                              : "the log is");
    mp_text_str(&t, " on tmpfs, whose pages count towards the memory cgroup's limit of ");
    mp_text_size(&t, limit);
    mp_text_str(&t, ", so the program may be killed; use a disk (");
    mp_text_str(&t, log ? "MEMPROF_OUT or memprof run --output)"
                        : "MEMPROF_JOURNAL_DIR or memprof run --journal-dir)");
    mp_say(line, NULL, NULL, NULL);
}

void mp_tmpfs_init(uint64_t limit)
{
    const bool log = is_on_tmpfs(mp_logfile_path()), journal = is_on_tmpfs(mp_journal_path());
    __atomic_store_n(&log_is_there, log, __ATOMIC_RELAXED);
    __atomic_store_n(&journal_is_there, journal, __ATOMIC_RELAXED);
    if (limit != MPF_UNKNOWN && (log || journal)) warn(log, journal, limit);
}

/* A log that is thinned has holes. */
static uint64_t bytes_of(const char *path)
{
    struct stat st;
    return *path && mp_sys_lstat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

uint64_t mp_tmpfs_bytes(void)
{
    uint64_t bytes = 0;
    if (__atomic_load_n(&log_is_there, __ATOMIC_RELAXED)) bytes += bytes_of(mp_logfile_path());
    if (__atomic_load_n(&journal_is_there, __ATOMIC_RELAXED)) bytes += bytes_of(mp_journal_path());
    return bytes;
}
