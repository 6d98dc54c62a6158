/* The fixture of the tests of findings, which check rules near their limits and on evidence that no
 * test log has. */
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
    struct mpr_insights out; /* findings of the rules */
    struct mpr_device device;
    struct mpr_log_peaks log;
    struct mpr_device_state state[MPF_GPUS];
};

/* Returns the sentences of a finding, which live until the end of the test. */
struct mpr_finding_text text(struct fixture *f, size_t finding);

/* Set-up and tear-down of each test: one log with one device. */
int begin(void **state);
int end(void **state);

#endif
