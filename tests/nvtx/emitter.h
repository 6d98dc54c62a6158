/* The program's side of NVTX: what a library with NVTX calls does to find its injection library.
 * Used if NVIDIA's headers are not installed. */
#ifndef NVTX_TEST_EMITTER_H
#define NVTX_TEST_EMITTER_H

#include "nvtx/nvtx_abi.h"

extern struct nvtx_core emit_core;
extern struct nvtx_core2 emit_core2;
extern struct nvtx_payload_extension emit_payload;
extern struct nvtx_memory_extension emit_memory;
/* Version of the extensions: that of the payload extension, unless a test sets it. */
extern uint16_t emitter_compatible;

/* Resets all functions to no-ops, then lets the library fill the tables. Returns the library's
 * result. */
int emitter_inject(nvtx_init init);
int emitter_inject_extension(nvtx_extension_init init, unsigned module);
/* Sets the number of entries that NVTX shows to the library from now on: 16 as usual, fewer as in
 * an old NVTX, or 0 for no such module. */
void emitter_entries(unsigned core, unsigned core2);

#endif
