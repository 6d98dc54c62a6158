/* Reads and replays a log. Private to this layer.
 *
 * Several analyses share one replay: each attaches its observers between mpr_reader_open and
 * mpr_reader_replay, and takes its result before mpr_reader_close. */
#ifndef MPR_READER_H
#define MPR_READER_H

#include "arena.h"
#include "error.h"
#include "instant.h"
#include "log.h"
#include "progress.h"
#include "replay.h"
#include "row.h"
#include "summary.h"

struct mpr_reader {
    struct mpr_log *log;
    struct mpr_replay replay;
    struct mpr_names *names;     /* names of frames and stacks (labels.h) */
    struct mpr_repeats *repeats; /* set by the caller before the replay, or NULL; freed by
                                    mpr_reader_close */
    void (*look_ahead)(struct mpr_reader *reader, const struct mpf_event *events,
                       size_t count); /* gets the first events before they are replayed; or NULL */
    bool (*enough)(const struct mpr_replay *replay); /* reading stops if it returns true, and
                                                        mpr_reader_replay returns 1; or NULL */
    unsigned until_heap; /* reading also stops after the first allocation in this heap;
                            MPF_HEAP_NONE: it does not */
    bool ends_early;     /* mpr_reader_end_early has been called */
};

/* Opens a log, to replay it by a grouping. @at: the instant that replaces each heap's peak.
 * Returns 0, or -1 with *error filled and nothing to close. */
int mpr_reader_open(struct mpr_reader *reader, const char *path, enum mpr_group by,
                    struct mpr_instant at, struct mpr_error *error);
/* Reads and replays the whole log.  Returns 0, 1 if it stopped early, or -1 with *error filled and
 * the reader closed. */
int mpr_reader_replay(struct mpr_reader *reader, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error);
/* mpr_reader_open, then mpr_reader_replay. */
int mpr_reader_run(struct mpr_reader *reader, const char *path, enum mpr_group by,
                   struct mpr_instant at, const struct mpr_progress *progress,
                   struct mpr_error *error);
/* Lets the replay end soon after the selected instants, as if the log ended there, unless later
 * events can change the state at them. Then mpr_reader_replay returns 0. Call it before
 * mpr_reader_replay. */
void mpr_reader_end_early(struct mpr_reader *reader);
/* Opens a log that may still grow (mpr_log_follow). mpr_reader_read replays the events that it
 * has now, and may be called again. Both return 0, or -1 with *error filled; mpr_reader_read
 * leaves the reader open. */
int mpr_reader_follow(struct mpr_reader *reader, const char *path, enum mpr_group by,
                      struct mpr_error *error);
int mpr_reader_read(struct mpr_reader *reader, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error);
void mpr_reader_close(struct mpr_reader *reader);
/* Fills the summary of a log that was read. Its strings live in the arena. */
void mpr_reader_summary(const struct mpr_reader *reader, const char *path, struct mpr_arena *arena,
                        struct mpr_summary *out);

/* Returns the grouping for AUTO in a log that was replayed. If the log has ranges of the
 * application or of PyTorch, or Python stacks, each block has its best name: its range,
 * otherwise its Python stack, otherwise its library. If it has none of these, the grouping is by
 * native stacks or by libraries. Without any names it is by ranges, with the source "none
 * recorded". */
struct mpr_choice mpr_choose(const struct mpr_reader *reader);
/* Returns true if the log has had names other than native call stacks so far, so that mpr_choose
 * will not choose these. */
bool mpr_choose_has_better_names(const struct mpr_replay *replay);
#endif
