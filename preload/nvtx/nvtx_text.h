/* Converts the arguments of NVTX callers to memprof's numbers. Any thread, any context; errno kept.
 */
#ifndef MP_NVTX_TEXT_H
#define MP_NVTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "nvtx/nvtx_abi.h"

/* Writes the wide text as UTF-8, at most cap bytes and without a partial character. Invalid
 * characters become U+FFFD. Returns the bytes written. */
size_t mp_nvtx_utf8(const wchar_t *wide, char *out, size_t cap);

/* Return IDs of names, or MP_NAME_NONE without a text. */
uint32_t mp_nvtx_name_a(const char *text);
uint32_t mp_nvtx_name_w(const wchar_t *text);
uint32_t mp_nvtx_name(uint32_t type, union nvtx_text text); /* @type: of enum nvtx_message */
uint32_t mp_nvtx_name_event(nvtx_event_t event);

/* Finds the domain of a handle. 0 is the default domain. Returns false for an unknown handle. */
bool mp_nvtx_domain(const void *handle, uint32_t *domain);

#endif
