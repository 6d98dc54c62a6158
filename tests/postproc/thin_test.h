/* What the tests of thinning share: a log and what it is thinned to, and whether both say the same.
 */
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
/* What `compact` and `recover` do, in one: `from` up to the share-th part of its frames of events
 * (1: all), and the rest as it is. */
struct mpr_thinned thin(const char *from, const char *to, unsigned share, uint64_t budget);
/* Two logs say the same of all heaps, and of who has what, at peaks and at the end. */
void assert_same(const char *a, const char *b);
/* Of that operation; of all: -1. */
uint64_t count_events(const char *path, int op);

#endif
