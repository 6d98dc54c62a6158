/* NVTX ranges for the test programs, without NVIDIA's headers. Nothing happens if no injection
 * library is named (a run without memprof). After ranges_init any thread may call these in any
 * context. */
#ifndef RANGES_H
#define RANGES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the injection library as NVTX's header does. Must be called once, before the other
 * functions. */
void ranges_init(void);
void range_push(const char *name);
void range_pop(void);

#ifdef __cplusplus
}
#endif

#endif
