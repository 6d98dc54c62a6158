/* A program's side of NVTX, in our own words: what an instrumented DSO does to find its injection
 * library.  Serves where NVIDIA's headers are absent. */
#ifndef NVTX_TEST_EMITTER_H
#define NVTX_TEST_EMITTER_H

#include "nvtx/nvtx_abi.h"

extern struct nvtx_core emit_core;
extern struct nvtx_core2 emit_core2;
extern struct nvtx_payload_extension emit_payload;
extern struct nvtx_memory_extension emit_memory;
extern uint16_t emitter_compatible; /* version of the extensions: the payload's, unless set */

/* Puts no-ops back, then lets the library fill the tables.  Returns what the library answers. */
int emitter_inject(nvtx_init init);
int emitter_inject_extension(nvtx_extension_init init, unsigned module);
/* Entries that NVTX shows to the library from now on: the usual 16, or fewer for an old NVTX; 0: no
 * such module. */
void emitter_entries(unsigned core, unsigned core2);

#endif
