/* Lines of the tables of `peaks` as limits: which lines a pattern means, and near misses.  Private
 * to this layer. */
#ifndef MPR_CHECK_LINES_H
#define MPR_CHECK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "naming.h"
#include "nearest.h"
#include "peaks.h"

/* A table: a heap of a log, by what the log's lines are. */
struct mpr_check_table {
    const struct mpr_naming *naming;
    enum mpr_group by;
    const struct mpr_heap_peak *heap;
};

struct mpr_check_lines {
    uint64_t bytes;
    size_t lines;
    bool estimated;
};

/* Sums the lines whose text, with or without " <- caller", matches the pattern (path_pattern.h).
 * Lines that hold nothing are also counted.
 * Lines that differ in a number are matched one by one, and if none matches, as they are printed
 * ("layers.{0..15}"). */
struct mpr_check_lines mpr_check_lines_of(const struct mpr_check_table *table, const char *pattern);
/* Tries the text of each line, in the arena. */
void mpr_check_lines_near(const struct mpr_check_table *table, struct mpr_arena *arena,
                          struct mpr_nearest *nearest);
/* The frame with * for each number that counts similar things ("layers.*"). */
const struct mpr_frame *mpr_check_starred(struct mpr_arena *arena, const struct mpr_frame *frame);
/* The text of such frames, with * also for source lines and addresses, or NULL for a line without a
 * call. */
const char *mpr_check_line_pattern(struct mpr_arena *arena, const struct mpr_line *line);
/* The lines that hold something, in the arena; lines that differ in a number are separate. */
struct mpr_line *mpr_check_live_lines(struct mpr_arena *arena, const struct mpr_check_table *table,
                                      size_t *live);

#endif
