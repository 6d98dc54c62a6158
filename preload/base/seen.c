#include "base/seen.h"

#include "base/sys.h"

void mp_seen_clear(uint64_t *set, size_t slots) { mp_sys_wipe(set, slots * sizeof(uint64_t)); }
