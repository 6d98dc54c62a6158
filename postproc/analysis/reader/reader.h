/* From a path to a replayed log: what all analyses share.  Private to this layer. */
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
    struct mpr_names *names;     /* of what replay knows by number, for labels.h */
    struct mpr_repeats *repeats; /* for who sets it, between opening and reading (repeats.h); closed
                                    with it */
    bool (*enough)(const struct mpr_replay *replay); /* the reading stops where this is true:
                                                        mpr_reader_replay returns 1 */
    unsigned until_heap; /* so it does where this one has had something; 0: none */
};

/* Opens a log and reads the whole of it, in one step or, for who attaches observers to the replay
 * in between, in two. Each 0, or -1 with *error filled and nothing to close; on success the caller
 * closes. */
int mpr_reader_open(struct mpr_reader *reader, const char *path, enum mpr_group by,
                    struct mpr_instant at, struct mpr_error *error);
int mpr_reader_replay(struct mpr_reader *reader, const char *path,
                      const struct mpr_progress *progress, struct mpr_error *error);
int mpr_reader_run(struct mpr_reader *reader, const char *path, enum mpr_group by,
                   struct mpr_instant at, const struct mpr_progress *progress,
                   struct mpr_error *error);
/* Opens a log that may grow (mpr_log_follow), and replays what there is by now, without an end to
 * it: how often is the caller's.  0, or -1 with *error filled; read leaves the reader open. */
int mpr_reader_follow(struct mpr_reader *reader, const char *path, enum mpr_group by,
                      struct mpr_error *error);
int mpr_reader_read(struct mpr_reader *reader, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error);
void mpr_reader_close(struct mpr_reader *reader);
/* What a header says of its process; the strings live in the arena. */
void mpr_reader_process(const struct mpr_header *header, struct mpr_arena *arena,
                        struct mpr_process_info *out);
/* The summary of a log that was read; its strings live in the arena. */
void mpr_reader_summary(const struct mpr_reader *reader, const char *path, struct mpr_arena *arena,
                        struct mpr_summary *out);

/* What AUTO stands for in a process.  Where it has ranges of the application or of PyTorch, or
 * Python's stacks: the best that each block has, its range, else its Python stack, else its
 * library.  Else native stacks; else libraries. */
/* Of a log that was replayed by AUTO, or by stack.  Without any of them it is the range, from "none
 * recorded". */
struct mpr_choice mpr_choose(const struct mpr_reader *reader);
/* There are other names than native stacks so far: the choice will hardly be those. */
bool mpr_choose_better_names(const struct mpr_replay *replay);

#endif
