/* libmemprof-jemalloc.so: jemalloc's own API.
 *
 * It must only be preloaded into programs with jemalloc, because programs use a weak symbol of
 * mallocx to find out whether jemalloc is there. */
#include "companions/companion_hook.h"

MP_COMPANION_ALLOC(mallocx, (size_t bytes, int flags), (bytes, flags), bytes)
MP_COMPANION_MOVE(rallocx, (void *p, size_t bytes, int flags), (p, bytes, flags), bytes)
MP_COMPANION_FREE(dallocx, (void *p, int flags), (p, flags))
MP_COMPANION_FREE(sdallocx, (void *p, size_t bytes, int flags), (p, bytes, flags))

/* Resizes in place. The result is the usable size; if it is less than `bytes`, the block is
 * unchanged. The granted part of `extra` counts as requested. */
MP_COMPANION_OPEN(size_t, xallocx, (void *p, size_t bytes, size_t extra, int flags))
const size_t usable = real(p, bytes, extra, flags);
if (!recorded || usable < bytes) return usable;
memprof_record_move_begin(p);
memprof_record_move_end(p, usable < bytes + extra ? usable : bytes + extra);
return usable;
}
