/* Thins a log and compares both, for the tests of thinning. */
#ifndef THIN_TEST_H
#define THIN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "thin.h"

extern char whole_log[], thinned_log[]; /* paths */

void make_files(void);
void remove_files(void);
/* Does the same as `compact` and `recover` together: thins `from` up to the share-th part of its
 * frames of events (1: all), and copies the rest. */
struct mpr_thinned thin(const char *from, const char *to, unsigned share, uint64_t budget);
/* Checks that two logs have the same heaps with the same owners, at peaks and at the end. */
void assert_same(const char *a, const char *b);
/* Returns the number of events with that operation, or of all if it is -1. */
uint64_t count_events(const char *path, int op);

#endif
