/* For a program that contains libdw.a. */
#include "libdw.h"

struct mpr_dw mpr_dw = {
#define X(name) .name = name,
    MPR_DW_FUNCTIONS(X)
#undef X
};

bool mpr_dw_load(void) { return true; }
