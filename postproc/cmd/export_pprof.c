#include "cmd.h"
#include "export_format.h"
#include "pprof.h"
#include "profile.h"
#include "selection.h"

struct writing {
    const struct mpr_export *of;
    struct mpr_pprof pprof;
    uint64_t processes;
    bool incomplete;
};

static int read_profile(struct mpr_profile *profile, const struct mpr_export *e, const char *path,
                        const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_profile_options options = { .heap = e->heap };
    if (mpr_export_window(e, path, progress, &options.from_ns, &options.until_ns, error) != 0 ||
        mpr_selection_instant(e->until, MPR_PEAK_TIME, path, e->heap, progress, &options.at,
                              error) != 0)
        return -1;
    return mpr_profile_read(profile, path, &options, progress, error);
}

static int add(void *to, const char *path, const struct mpr_progress *progress,
               struct mpr_error *error)
{
    struct writing *w = to;
    struct mpr_profile profile;
    if (read_profile(&profile, w->of, path, progress, error) != 0) return -1;
    mpr_pprof_add(&w->pprof, &profile);
    w->incomplete |= profile.summary.incomplete;
    w->processes++;
    mpr_profile_free(&profile);
    return 0;
}

static int export_pprof(struct mpr_export *e)
{
    struct writing w = { .of = e };
    struct mpr_destination to;
    mpr_logs_choose(&e->logs);
    mpr_pprof_begin(&w.pprof);
    mpr_logs_each(&e->logs, add, &w);
    int status = w.processes ? MPR_EXIT_FINE : MPR_EXIT_FAILURE;
    if (status == MPR_EXIT_FINE && mpr_destination_open(&to, e->output) != 0)
        status = MPR_EXIT_FAILURE;
    if (status == MPR_EXIT_FINE) {
        mpr_pprof_end(&w.pprof, to.file);
        if (mpr_destination_close(&to, true) != 0) status = MPR_EXIT_FAILURE;
    }
    mpr_pprof_free(&w.pprof);
    return status == MPR_EXIT_FINE && w.incomplete ? MPR_EXIT_INCOMPLETE : status;
}

const struct mpr_export_format mpr_export_pprof = { .name = "pprof",
                                                    .output = "memprof.pb.gz",
                                                    .takes = MPR_EXPORT_HEAP,
                                                    .streams = true,
                                                    .write = export_pprof };
