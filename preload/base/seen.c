#include "base/seen.h"

#include "base/sys.h"

uint64_t *mp_seen_map(size_t slots) { return mp_sys_map_wiped(slots * sizeof(uint64_t)); }

void mp_seen_clear(uint64_t *set, size_t slots) { mp_sys_wipe(set, slots * sizeof(uint64_t)); }
