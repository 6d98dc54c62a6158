#include "process_end.h"

#include <stdio.h>
#include <string.h>

#include "reports.h"

/* Returns "SIGTERM", or "signal 64" for a signal without a name. */
static const char *signal_name(struct mpr_fate_text *t, int signal)
{
    const char *name = sigabbrev_np(signal);
    if (name) snprintf(t->text, sizeof t->text, "SIG%s", name);
    else snprintf(t->text, sizeof t->text, "signal %d", signal);
    return t->text;
}

const char *mpr_fate_text_of(struct mpr_fate_text *t, const struct mpr_summary *s)
{
    if (s->oom == MPR_FATE_OOM_KERNEL) return "OOM-killed by the kernel";
    if (s->oom == MPR_FATE_OOM_CGROUP) return "SIGKILL as its cgroup counted an OOM kill";
    if (s->fate == MPR_FATE_SIGNAL) return signal_name(t, s->fate_status);
    if (s->fate == MPR_FATE_UNKNOWN) return "killed, or left by exit_group";
    if (s->fate != MPR_FATE_EXIT) return "";
    snprintf(t->text, sizeof t->text, "exit status %d", s->fate_status);
    return t->text;
}

const char *mpr_report_ending(struct mpr_arena *arena, const struct mpr_summary *s)
{
    struct mpr_fate_text signal;
    if (s->life == MPR_RUNS) return "runs";
    if (s->oom != MPR_FATE_NO_OOM) return "OOM-killed";
    if (s->fate == MPR_FATE_SIGNAL)
        return mpr_arena_text(arena, signal_name(&signal, s->fate_status));
    if (s->fate == MPR_FATE_UNKNOWN) return "not told";
    if (s->fate == MPR_FATE_EXIT || (s->exit_status_known && s->fate_status))
        return mpr_arena_format(arena, "exit %d", s->fate_status);
    return s->end ? mpf_end_name[s->end] : "not told";
}
