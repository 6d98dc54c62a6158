/* Records the descriptions of payloads of NVTX's extension. */
#ifndef MP_SCHEMAS_H
#define MP_SCHEMAS_H

#include <stddef.h>
#include <stdint.h>

/* Records a new one, at most MPF_DATA_MAX bytes.  Any thread. */
void mp_schemas_add(uint64_t id, const void *data, size_t bytes);
/* Called before a payload is recorded: records all schemas again if the log may not have them. */
void mp_schemas_tell(void);
/* Called in a forked child with one thread, whose log is a new one. */
void mp_schemas_reset(void);

#endif
