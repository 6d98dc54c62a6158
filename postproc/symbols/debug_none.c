/* For a memprof-report without libdw. */
#include "debug.h"

struct mpr_debug *mpr_debug_open(const struct mpr_binary *object, enum mpr_symbols_state *state)
{
    (void)object;
    *state = MPR_SYMBOLS_NOT_BUILT;
    return NULL;
}

const char *mpr_symbols_not_fetched(void) { return NULL; }

void mpr_debug_close(struct mpr_debug *d) { (void)d; }

bool mpr_debug_look(struct mpr_debug *d, uint64_t pc, mpr_debug_each *each, void *arg)
{
    (void)d, (void)pc, (void)each, (void)arg;
    return true;
}
