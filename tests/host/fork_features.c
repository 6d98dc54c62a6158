/* For a Python script that forks while memprof's features are in use: NVTX ranges, domains and
 * payloads, and blocks allocated by C code. */
#include <dlfcn.h>
#include <stdlib.h>

#include "emitter.h"
#include "ranges.h"

enum { BLOCKS = 100, BYTES = 1000 };

void features_start(void);
void features_push(const char *name);
void features_pop(void);
void features_keep(void);
void features_keep_in_domain(void);
void features_payload(void);

static void *domain, *in_domain;
static void *volatile kept[BLOCKS];

static void keep(void)
{
    for (int i = 0; i < BLOCKS; i++) kept[i] = malloc(BYTES);
}

void features_start(void)
{
    ranges_init();
    void *library = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
    emitter_inject_extension(
        (nvtx_extension_init)dlsym(library, "InitializeInjectionNvtxExtension"),
        NVTX_EXTENSION_PAYLOAD);
    domain = emit_core2.DomainCreateA("library");
    in_domain = emit_core2.DomainRegisterStringA(domain, "step");
    const struct nvtx_schema_entry entry = { .type = 5, .name = "rank" };
    const struct nvtx_schema schema = {
        .fields = NVTX_SCHEMA_HAS_ID, .id = 80, .entries = &entry, .entry_count = 1
    };
    emit_payload.PayloadSchemaRegister(domain, &schema);
}

void features_push(const char *name) { range_push(name); }
void features_pop(void) { range_pop(); }

void features_keep(void)
{
    range_push("range");
    keep();
    range_pop();
}

/* Uses handles that the parent created. */
void features_keep_in_domain(void)
{
    const struct nvtx_event e = { .version = 3,
                                  .bytes = sizeof e,
                                  .message_type = NVTX_MESSAGE_REGISTERED,
                                  .message.registered = in_domain };
    emit_core2.DomainRangePushEx(domain, &e);
    keep();
    emit_core2.DomainRangePop(domain);
}

void features_payload(void)
{
    const struct nvtx_payload payload = { 80, 4, "data" };
    emit_payload.MarkPayload(domain, &payload, 1);
}
