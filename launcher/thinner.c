#include "thinner.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "mpf/run_id.h"
#include "report.h"

/* Leaves the launcher's process group, so that ^C in the terminal reaches only the command. */
static void leave_group(void) { setpgid(0, 0); }

pid_t mpl_thinner_start(const char *directory, const char *run)
{
    char option[MPF_RUN_ID + 8], follow[64];
    const char *argument[] = { NULL, "log", "compact", option, follow, directory, NULL };
    snprintf(option, sizeof option, "--run=%s", run);
    snprintf(follow, sizeof follow, "--follow=%ld", (long)getpid());
    return mpl_report_start(argument, leave_group, "the logs grow beyond --keep");
}

void mpl_thinner_end(pid_t thinner)
{
    if (thinner <= 0) return;
    kill(thinner, SIGTERM);
    mpl_report_wait(thinner);
}
