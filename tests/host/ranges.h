/* NVTX ranges for the victims, without NVIDIA's headers.
 *
 * Nothing happens where no injection library is named (a bare run).  Any thread, any context after
 * ranges_init. */
#ifndef RANGES_H
#define RANGES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the injection library as NVTX's own header does: once, before the others are called. */
void ranges_init(void);
void range_push(const char *name);
void range_pop(void);

#ifdef __cplusplus
}
#endif

#endif
