/* What people call an instance of a range, as reports print it and as they type it.  Private to
 * this layer. */
#ifndef MPR_INSTANCE_NAME_H
#define MPR_INSTANCE_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* "step:12" and "step:12 of 30, in forward": the twelfth of range "step", unless a range is called
 * "step:12" itself.  "step 7 (8 of 12)" and "epoch > step 7 (no. 8)": the eighth of "step", or of
 * "epoch > step", which is called so.  "step 7": the one that is called so.  Each also with ".end".
 */
struct mpr_instance_name {
    char *literal;   /* what it is called */
    char *range;     /* without its number */
    uint64_t number; /* from 1; 0: none is told */
    bool called;     /* that one is called so, and no other is meant */
    bool end;
};

/* False: it is no such name.  The caller frees it. */
bool mpr_instance_name_parse(const char *text, struct mpr_instance_name *name);
void mpr_instance_name_free(struct mpr_instance_name *name);

#endif
