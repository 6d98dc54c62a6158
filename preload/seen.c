#include "seen.h"

#include "sys.h"

uint64_t *mp_seen_map(size_t slots) { return mp_sys_map_wiped(slots * sizeof(uint64_t)); }
