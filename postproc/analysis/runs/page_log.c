#include "page_log.h"

#include "reader.h"

int mpr_page_log_read(struct mpr_timeline *timeline, struct mpr_insights *insights,
                      struct mpr_insights_reading **reading, const char *path,
                      const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    mpr_timeline_init(timeline, options);
    if (mpr_reader_open(&reader, path, options->by, MPR_INSTANT_PEAK, error) != 0) return -1;
    struct mpr_timeline_reading *series = mpr_timeline_watch(timeline, &reader);
    *reading = mpr_insights_watch(insights, &reader, path, true);
    const int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        mpr_timeline_take(timeline, series, &reader, path);
        mpr_insights_take(*reading, &reader);
        mpr_reader_close(&reader);
    } else mpr_insights_end(*reading);
    mpr_timeline_end(series);
    return status;
}
