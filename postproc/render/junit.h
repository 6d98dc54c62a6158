/* Limits as tests, in the XML of JUnit that CI reads. */
#ifndef MPR_JUNIT_H
#define MPR_JUNIT_H

#include <stdio.h>

struct mpr_check;
struct mpr_naming;

void mpr_junit_write(FILE *out, const struct mpr_check *check, const struct mpr_naming *naming);

#endif
