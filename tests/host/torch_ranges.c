/* A stand-in for the functions of libtorch_cpu.so that memprof calls. It keeps observers and calls
 * them for ranges, as RecordFunction does. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ranges.h"

struct observer {
    void *(*start)(void **context, const void *function);
    void (*end)(const void *function, void *context);
    double probability;
    bool scope[10];
    bool inputs, outputs, ids;
};
static struct observer kept[4];
static unsigned observers;

/* An at::RecordFunction. Bytes that are not set may have any value. The test sets the place of the
 * name. */
struct function {
    uint8_t byte[344];
    const char *name;
};
static _Thread_local struct function running[16];
static _Thread_local unsigned depth;
static _Thread_local uint64_t next;

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct observer o);
const char *_ZNK2at14RecordFunction4nameEv(const void *function);
uint64_t _ZN2at14RecordFunction15currentThreadIdEv(void);
uint64_t _ZN2at15sequence_number4peekEv(void);
void torch_enter(const char *name, int scope, int64_t number, uint64_t thread, const char *layout);
void torch_leave(int scope);
void torch_next(uint64_t number);
void torch_push(const char *name);
void torch_pop(void);

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct observer o)
{
    kept[observers++] = o;
    return observers;
}

const char *_ZNK2at14RecordFunction4nameEv(const void *function)
{
    return ((const struct function *)function)->name;
}

uint64_t _ZN2at14RecordFunction15currentThreadIdEv(void)
{
    static uint64_t last;
    static _Thread_local uint64_t id;
    if (!id) id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return id;
}

uint64_t _ZN2at15sequence_number4peekEv(void) { return next; }
void torch_next(uint64_t number) { next = number; }

/* as torch.cuda.nvtx does */
void torch_push(const char *name)
{
    ranges_init();
    range_push(name);
}

void torch_pop(void) { range_pop(); }

static uint8_t *put(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

/* @layout: words. "new" or "old" is the kind of std::string, "map" means that there are named
 * inputs, "strange" means that the name is at an unknown place. */
static void fill(struct function *f, const char *name, int64_t number, uint64_t thread,
                 const char *layout)
{
    uint8_t *at = f->byte + 160;
    const bool old = strstr(layout, "old");
    memset(f->byte, 0xa5, sizeof f->byte);
    f->name = name;
    put(put(at, strstr(layout, "strange") ? 0 : (uintptr_t)name), strlen(name));
    at += old ? 8 : 32;
    *at = 0;                                                 /* the variant contains a string */
    at = put(put(put(at + 8, (uint64_t)number), 0xa5a5), 1); /* one input */
    if (strstr(layout, "map")) {
        put(put(at, (uintptr_t)at + 48), 1);
        at += 56;
    }
    put(put(put(put(at, 0), 0), 0), thread);
}

void torch_enter(const char *name, int scope, int64_t number, uint64_t thread, const char *layout)
{
    struct function *f = &running[depth++];
    fill(f, name, number, thread, layout);
    for (unsigned i = 0; i < observers; i++) {
        void *context = kept;
        if (kept[i].scope[scope] && kept[i].probability == 1.0) kept[i].start(&context, f);
    }
}

void torch_leave(int scope)
{
    const struct function *f = &running[--depth];
    for (unsigned i = 0; i < observers; i++)
        if (kept[i].scope[scope] && kept[i].probability == 1.0) kept[i].end(f, NULL);
}
