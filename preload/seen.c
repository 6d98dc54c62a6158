#include "seen.h"

#include "sys.h"

uint64_t *mp_seen_map(size_t slots)
{
    const size_t bytes = slots * sizeof(uint64_t);
    uint64_t *set = mp_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (set) mp_sys_madvise(set, bytes, MADV_WIPEONFORK);
    return set;
}
