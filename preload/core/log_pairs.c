#include "core/log_pairs.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/config.h"
#include "core/counted.h"
#include "core/journal.h"
#include "core/state.h"
#include "core/thread.h"
#include "core/window.h"
#include "mpf/frame.h"
#include "real/real.h"

static void add_arguments(struct mpf_pairs *p)
{
    static char line[32 << 10];
    const long n = mp_sys_slurp("/proc/self/cmdline", line, sizeof line);
    for (long at = 0; at < n; at += (long)strlen(line + at) + 1)
        mpf_pairs_add(p, "argv", line + at);
}

static void add_link(struct mpf_pairs *p, const char *key, const char *link)
{
    static char target[PATH_MAX];
    const long n =
        mp_sys6(SYS_readlinkat, AT_FDCWD, (long)link, (long)target, sizeof target - 1, 0, 0);
    target[n > 0 ? n : 0] = 0;
    mpf_pairs_add(p, key, target);
}

static void add_ranks(struct mpf_pairs *p)
{
    mpf_pairs_add(p, "rank", mp_config_rank());
    for (const char *const *name = mp_config_rank_names; *name; name++) {
        char key[64];
        struct mp_text t = MP_TEXT(key);
        mp_text_str(&t, "env.");
        mp_text_str(&t, *name);
        const char *v = secure_getenv(*name);
        if (v) mpf_pairs_add(p, key, v);
    }
}

static void add_versions(struct mpf_pairs *p)
{
    struct utsname kernel;
    mpf_pairs_add_u64(p, "format", MPF_MAJOR);
    mpf_pairs_add(p, "memprof", MEMPROF_VERSION);
    mpf_pairs_add(p, "libc", gnu_get_libc_version());
    if (uname(&kernel) == 0) mpf_pairs_add(p, "kernel", kernel.release);
    mpf_pairs_add(p, "allocator", mp_real_allocator());
    if (!mp_real_has_heap) mpf_pairs_add(p, "heap", "unseen");
    mpf_pairs_add_u64(p, "page_size", (uint64_t)sysconf(_SC_PAGESIZE));
}

static void add_identity(struct mpf_pairs *p)
{
    const struct mpf_identity *identity = &mp_process->identity;
    mpf_pairs_add(p, "host", mp_config_host());
    mpf_pairs_add_u64(p, "pid", (uint64_t)mp_process->pid);
    mpf_pairs_add_u64(p, "ppid", (uint64_t)mp_sys_getppid());
    mpf_pairs_add_hex(p, "boot", identity->boot);
    mpf_pairs_add_u64(p, "pidns", identity->pidns);
    mpf_pairs_add_u64(p, "timens", identity->timens);
    mpf_pairs_add_u64(p, "started", identity->started);
}

static void add_clock(struct mpf_pairs *p)
{
    mpf_pairs_add(p, "clock", mp_clock_no_counter ? "monotonic" : MP_MACHINE_CLOCK);
    mpf_pairs_add_u64(p, "start.ticks", mp_process->start.ticks);
    mpf_pairs_add_u64(p, "start.mono", mp_process->start.mono);
    mpf_pairs_add_u64(p, "start.real", mp_process->start.real);
    mpf_pairs_add_u64(p, "tick_shift", mp_process->tick_shift);
}

static void add_sample(struct mpf_pairs *p)
{
    mpf_pairs_add_u64(p, "host.large", mp_sampled.large);
    mpf_pairs_add_u64(p, "host.mean", mp_sampled.mean);
    mpf_pairs_add(p, "host.sums", "estimated");
}

/* Adds the settings of which blocks have events and which have call stacks. */
static void add_modes(struct mpf_pairs *p)
{
    mpf_pairs_add(p, "stacks", mp_config_stacks_name());
    mpf_pairs_add_u64(p, "stacks.large", MP_LARGE);
    mpf_pairs_add_u64(p, "stacks.mean", mp_config.stacks_mean);
    if (mp_counted.on) mpf_pairs_add(p, "host.blocks", mp_config_host_name());
    if (mp_counted.usable) mpf_pairs_add_u64(p, "host.large", mp_counted.large);
    if (mp_sampled.mean) add_sample(p);
    if (mp_config_samples_python()) mpf_pairs_add(p, "stacks.torch", "sample");
    if (!mp_config_samples_small()) return;
    mpf_pairs_add(p, "stacks.python", "sample");
    if (mp_config.python_mean != mp_config.stacks_mean)
        mpf_pairs_add_u64(p, "stacks.python.mean", mp_config.python_mean);
}

static void add_keep(struct mpf_pairs *p)
{
    if (mp_config.keep[0]) mpf_pairs_add(p, "keep", mp_config.keep);
}

static void add_window(struct mpf_pairs *p)
{
    if (!mp_config.window_text[0]) return;
    mpf_pairs_add(p, "window", mp_config.window_text);
    if (mp_window_is_open()) mpf_pairs_add(p, "window.open", "1");
    if (mp_counted.windowed) mpf_pairs_add(p, "window.blocks", "1");
}

static void add_parent(struct mpf_pairs *p, const struct mp_log_parent *parent)
{
    mpf_pairs_add(p, "root", mp_process->root ? "1" : "0");
    if (mp_process->attached) mpf_pairs_add(p, "attached", "1");
    if (mp_process->attached_bytes)
        mpf_pairs_add_u64(p, "attached.bytes", mp_process->attached_bytes);
    if (!parent->path[0]) return;
    mpf_pairs_add(p, "parent.log", parent->path);
    mpf_pairs_add_u64(p, "parent.pid", (uint64_t)parent->pid);
    mpf_pairs_add_u64(p, "parent.ticks", mp_process->start.ticks);
}

void mp_pairs_header(struct mpf_pairs *p, const uint8_t id[16], const struct mp_log_parent *parent)
{
    add_versions(p);
    mpf_pairs_add_hex(p, "id", id);
    if (mp_config.run[0]) mpf_pairs_add(p, "run", mp_config.run);
    add_identity(p);
    add_link(p, "exe", "/proc/self/exe");
    add_link(p, "cwd", "/proc/self/cwd");
    add_clock(p);
    add_ranks(p);
    mpf_pairs_add(p, "journal", mp_journal_path());
    add_modes(p);
    add_keep(p);
    add_window(p);
    add_parent(p, parent);
    add_arguments(p);
}

static void add_unwritten(struct mpf_pairs *p, const struct mpf_unwritten *u)
{
    mpf_pairs_add_u64(p, "unwritten.errno", u->error);
    mpf_pairs_add_u64(p, "unwritten.from", u->from);
    mpf_pairs_add_u64(p, "unwritten.to", u->to);
    mpf_pairs_add_u64(p, "unwritten.events", u->events);
    mpf_pairs_add_u64(p, "unwritten.bytes", u->bytes);
}

void mp_pairs_end(struct mpf_pairs *p, const char *reason)
{
    mpf_pairs_add(p, "reason", reason);
    mpf_pairs_add_u64(p, "events", mp_process->events);
    mpf_pairs_add_u64(p, "lost", mp_process->lost_total);
    mpf_pairs_add_u64(p, "hwm", mp_sys_hwm());
    if (mp_process->unwritten.events) add_unwritten(p, &mp_process->unwritten);
    mpf_pairs_add(p, "journal_removed", "1");
}
