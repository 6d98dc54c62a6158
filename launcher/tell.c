#include "tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "units.h"
#include "utf8.h"

enum { FEW = 4 }; /* number of logs up to which each has a line */

void mpl_say(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) return;
    fputs("memprof: ", stderr);
    mpr_utf8_write_escaped(stderr, text);
    fputc('\n', stderr);
    free(text);
}

void mpl_tell_end(const char *command, int status)
{
    if (WIFSIGNALED(status))
        mpl_say("%s was ended by SIG%s (%s)%s", command, sigabbrev_np(WTERMSIG(status)),
                sigdescr_np(WTERMSIG(status)), WCOREDUMP(status) ? ", with a core file" : "");
    else mpl_say("%s ended with exit status %d", command, WEXITSTATUS(status));
}

void mpl_tell_oom(const struct mpl_tree *tree, long kills)
{
    char names[512];
    if (kills <= 0) return;
    mpl_tree_killed(tree, names, sizeof names);
    mpl_say("OOM KILL: the kernel killed %ld process%s of the command's memory cgroup%s%s", kills,
            kills == 1 ? "" : "es", *names ? ": " : "", names);
}

void mpl_tell_unseen(const struct mpl_tree *tree)
{
    char names[1024];
    const size_t count = mpl_tree_unseen(tree, names, sizeof names);
    if (count)
        mpl_say("%zu process%s of the command ran without memprof: %s", count,
                count == 1 ? "" : "es", names);
}

/* ---- logs */

/* Prints the line that the process would have printed at its end without the launcher, unless it
 * was killed before. */
static void tell_log(const struct mpl_log *log, const char *shown)
{
    struct mpr_number events, rss, lost, size;
    char peak[64] = "";
    if (!log->ending.events) return;
    if (log->ending.hwm)
        snprintf(peak, sizeof peak, "peak RSS %s, ", mpr_units_size(&rss, log->ending.hwm));
    mpl_say("%s/%s: %s events, %s%s lost, %s", shown, log->name,
            mpr_units_count(&events, log->ending.events), peak,
            mpr_units_count(&lost, log->ending.lost), mpr_units_size(&size, log->bytes));
}

static const struct mpl_log *largest(const struct mpl_logs *logs)
{
    const struct mpl_log *found = logs->log;
    for (size_t i = 1; i < logs->count; i++)
        if (logs->log[i].bytes > found->bytes) found = &logs->log[i];
    return found;
}

/* Returns the log with the highest peak RSS. Returns NULL if the value of one is unknown, as for a
 * killed process, because that may be the highest. */
static const struct mpl_log *highest(const struct mpl_logs *logs)
{
    const struct mpl_log *found = logs->log;
    for (size_t i = 0; i < logs->count; i++) {
        if (!logs->log[i].ending.hwm) return NULL;
        if (logs->log[i].ending.hwm > found->ending.hwm) found = &logs->log[i];
    }
    return found;
}

/* Prints one line for all logs. */
static void tell_all(const struct mpl_logs *logs, const char *shown)
{
    const struct mpl_log *big = largest(logs), *high = highest(logs);
    struct mpr_number size, rss;
    char running[64] = "", recovered[96] = "", peak[NAME_MAX + 64] = "";
    if (logs->running)
        snprintf(running, sizeof running, ", %u more of processes that still run", logs->running);
    if (logs->recovered)
        snprintf(recovered, sizeof recovered,
                 ", %u completed from the journal (killed, or ended by exit_group)",
                 logs->recovered);
    if (logs->count > FEW && high)
        snprintf(peak, sizeof peak, "; the highest peak RSS is %s (%s)",
                 mpr_units_size(&rss, high->ending.hwm), high->name);
    mpl_say("%zu log%s in %s%s%s; the largest is %s (%s)%s", logs->count,
            logs->count == 1 ? "" : "s", shown, running, recovered, big->name,
            mpr_units_size(&size, big->bytes), peak);
}

/* Prints a line that can be copied into a shell. */
static void tell_next(const char *shown)
{
    struct mpr_arena arena = { 0 };
    mpl_say("next: memprof-report %s", mpr_shell_word(&arena, shown));
    mpr_arena_free(&arena);
}

/* Reports read a log and its journal together, so nothing more is lost. */
static void tell_unmerged(const struct mpl_logs *logs, const char *shown)
{
    struct mpr_arena arena = { 0 };
    char others[64] = "";
    if (logs->unmerged > 1) snprintf(others, sizeof others, " (and %u more)", logs->unmerged - 1);
    mpl_say(
        "a log and its journal could not be merged, and were kept: %s%s; remove the cause, then run "
        "memprof-report log recover %s",
        logs->failure.text, others, mpr_shell_word(&arena, shown));
    mpr_arena_free(&arena);
}

void mpl_tell_logs(const struct mpl_logs *logs, const char *shown, bool each)
{
    if (!logs->count) {
        if (logs->running)
            mpl_say("no log is complete; %u in %s of processes that still run", logs->running,
                    shown);
        else mpl_say("no process left a log");
        return;
    }
    for (size_t i = 0; each && i < logs->count && logs->count <= FEW; i++)
        tell_log(&logs->log[i], shown);
    tell_all(logs, shown);
    if (logs->lossy)
        mpl_say(
            "INCOMPLETE: %llu events are missing in %u log%s; memprof-report log verify shows when "
            "and why",
            logs->lost, logs->lossy, logs->lossy == 1 ? "" : "s");
    if (logs->cut)
        mpl_say(
            "INCOMPLETE: %u log%s no end, and no journal was found: the newest events are missing",
            logs->cut, logs->cut == 1 ? " has" : "s have");
    if (logs->unmerged) tell_unmerged(logs, shown);
    tell_next(shown);
}
