#include "fate.h"

#include <stdio.h>
#include <string.h>

static void signal_words(struct mpr_fate_text *t, const struct mpr_summary *s)
{
    const char *name = sigabbrev_np(s->fate_status);
    if (name) snprintf(t->text, sizeof t->text, "SIG%s", name);
    else snprintf(t->text, sizeof t->text, "signal %d", s->fate_status);
}

const char *mpr_fate_words(struct mpr_fate_text *t, const struct mpr_summary *s)
{
    *t->text = 0;
    if (s->oom == MPR_FATE_OOM_KERNEL)
        snprintf(t->text, sizeof t->text, "OOM-killed by the kernel");
    else if (s->oom == MPR_FATE_OOM_CGROUP)
        snprintf(t->text, sizeof t->text, "SIGKILL as its cgroup counted an OOM kill");
    else if (s->fate == MPR_FATE_SIGNAL) signal_words(t, s);
    else if (s->fate == MPR_FATE_EXIT)
        snprintf(t->text, sizeof t->text, "exit status %d", s->fate_status);
    else if (s->fate == MPR_FATE_UNKNOWN)
        snprintf(t->text, sizeof t->text, "killed, or left by exit_group");
    return t->text;
}
