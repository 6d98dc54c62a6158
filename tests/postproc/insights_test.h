/* What the tests of insights share: rules are looked at near their borders, and on what no log of a
 * test holds. */
#ifndef INSIGHTS_TEST_H
#define INSIGHTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evidence.h"
#include "reports.h"

enum { MIB = 1 << 20 };

struct fixture {
    struct mpr_insights out; /* what the rules found */
    struct mpr_device device;
    struct mpr_log_peaks log;
    struct mpr_device_state state[MPF_GPUS];
};

/* Returns the sentences of a finding, which live until the end of the test. */
struct mpr_finding_text text(struct fixture *f, size_t finding);

/* Of each test: one log, with one device. */
int begin(void **state);
int end(void **state);

#endif
