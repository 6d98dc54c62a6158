/* Digests as folders of CSV, which engines of many files read as they are. */
#ifndef MPR_TABLES_H
#define MPR_TABLES_H

struct mpr_error;
struct mpr_ranks;

/* Writes directory/TABLE/rank=N/data.csv of each rank; where processes have no ranks, N counts
 * them.  The directory is new or empty.  0, or -1 with *error filled. */
int mpr_tables_write(const struct mpr_ranks *ranks, const char *directory, struct mpr_error *error);

#endif
