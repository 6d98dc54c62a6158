/* A stand-in for what memprof needs of libtorch_cpu.so: it keeps one observer and shows it ranges, as RecordFunction does. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct observer {
    void *(*start)(void **context, const void *function);
    void (*end)(const void *function, void *context);
    double probability;
    bool scope[10];
    bool inputs, outputs, ids;
};
static struct observer kept;

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct observer o);
const char *_ZNK2at14RecordFunction4nameEv(const void *function);
void torch_enter(const char *name, int scope);
void torch_leave(const char *name, int scope);

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct observer o)
{
    kept = o;
    return 1;
}

/* The function object is its own name here. */
const char *_ZNK2at14RecordFunction4nameEv(const void *function) { return function; }

static bool observed(int scope) { return kept.start && kept.scope[scope] && kept.probability == 1.0; }

void torch_enter(const char *name, int scope)
{
    void *context = &kept;
    if (observed(scope)) kept.start(&context, name);
}

void torch_leave(const char *name, int scope)
{
    if (observed(scope)) kept.end(name, NULL);
}
