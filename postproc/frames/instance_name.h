/* Names of instances of a range, as reports print them and users type them.  Private to this layer.
 */
#ifndef MPR_INSTANCE_NAME_H
#define MPR_INSTANCE_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* "step:12" and "step:12 of 30, in forward": the twelfth of range "step", unless a range is called
 * "step:12" itself.  "step 7 (8 of 12)" and "epoch > step 7 (no. 8)": the eighth of "step", or of
 * "epoch > step", if it has that name.  "step 7": the instance with that name.  Each also with
 * ".end". */
struct mpr_instance_name {
    char *literal;   /* its name */
    char *range;     /* without its number */
    uint64_t number; /* from 1, or 0 without a number */
    bool called;     /* only an instance with that name matches */
    bool end;
};

/* Returns false if the text is not such a name.  The caller frees it. */
bool mpr_instance_name_parse(const char *text, struct mpr_instance_name *name);
void mpr_instance_name_free(struct mpr_instance_name *name);

#endif
