/* Reads and replays a log, as all analyses do.  Private to this layer.
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
    struct mpr_names *names;     /* of frames and stacks, for labels.h */
    struct mpr_repeats *repeats; /* set by the caller before the replay, or NULL; closed with the
                                    reader */
    void (*look_ahead)(struct mpr_reader *reader, const struct mpf_event *events,
                       size_t count); /* sees the first events before the replay; or NULL */
    bool (*enough)(const struct mpr_replay *replay); /* the reading stops when it returns true, so
                                                        that mpr_reader_replay returns 1; or NULL */
    unsigned until_heap; /* it also stops after this heap's first allocation; 0: none */
    bool ends_early;     /* mpr_reader_end_early has been called */
};

/* Opens a log, to replay it by this grouping.  @at: the instant that replaces each heap's peak.
 * Returns 0, or -1 with *error filled and nothing to close. */
int mpr_reader_open(struct mpr_reader *reader, const char *path, enum mpr_group by,
                    struct mpr_instant at, struct mpr_error *error);
/* Reads and replays the whole log.  Returns 0, 1 if it stopped early, or -1 with *error filled and
 * the reader closed. */
int mpr_reader_replay(struct mpr_reader *reader, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error);
/* Both in one step. */
int mpr_reader_run(struct mpr_reader *reader, const char *path, enum mpr_group by,
                   struct mpr_instant at, const struct mpr_progress *progress,
                   struct mpr_error *error);
/* Between the two: the replay ends soon after the chosen instants, as if the log ended there,
 * unless events after them can change what is known of them.  Then mpr_reader_replay returns 0. */
void mpr_reader_end_early(struct mpr_reader *reader);
/* Opens a log that may still grow (mpr_log_follow).  mpr_reader_read replays its events up to now,
 * and may be called again.  Both return 0, or -1 with *error filled; mpr_reader_read leaves the
 * reader open. */
int mpr_reader_follow(struct mpr_reader *reader, const char *path, enum mpr_group by,
                      struct mpr_error *error);
int mpr_reader_read(struct mpr_reader *reader, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error);
void mpr_reader_close(struct mpr_reader *reader);
/* The summary of a log that was read; its strings live in the arena. */
void mpr_reader_summary(const struct mpr_reader *reader, const char *path, struct mpr_arena *arena,
                        struct mpr_summary *out);

/* Returns the grouping for AUTO in a log that was replayed. If it has ranges of the application or
 * of PyTorch, or Python stacks, each block has its best name: its range, else its Python stack,
 * else its library. Otherwise it is native stacks, or libraries. Without any names it is ranges,
 * with the source "none recorded". */
struct mpr_choice mpr_choose(const struct mpr_reader *reader);
/* Returns true if the log has had other names than native call stacks, so that mpr_choose will
 * hardly choose these. */
bool mpr_choose_has_better_names(const struct mpr_replay *replay);
#endif
