/* Payloads of NVTX events, recorded after the event that they belong to. */
#ifndef MP_NVTX_PAYLOAD_H
#define MP_NVTX_PAYLOAD_H

#include "nvtx/nvtx_abi.h"

/* Records the payloads of the thread's last push, start or mark. */
void mp_nvtx_payloads(nvtx_payload_t list, size_t count);
static inline void mp_nvtx_event_payloads(nvtx_event_t e)
{
    if (e && e->bytes >= sizeof *e && e->payload_type == NVTX_PAYLOADS && e->payloads > 0)
        mp_nvtx_payloads(e->payload.list, (size_t)e->payloads);
}

/* Replaces the extension's slots. Those of a chained library are stored in next. */
void mp_nvtx_payload_install(const struct nvtx_segment *segment);

#endif
