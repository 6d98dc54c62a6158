#include "mpf/event.h"

#include <stddef.h>

static const struct { enum mpf_class class; const char *name, *text; } ops[256] = {
#define MPF_OP(code, name, class, text) [code] = { MPF_CLASS_##class, #name, text },
#include "mpf/events.def"
#undef MPF_OP
};

enum mpf_class mpf_op_class(unsigned op) { return op < 256 ? ops[op].class : MPF_CLASS_NONE; }
const char *mpf_op_name(unsigned op) { return op < 256 ? ops[op].name : NULL; }
const char *mpf_op_text(unsigned op) { return op < 256 ? ops[op].text : NULL; }

#define GPU(n)                                                                                            \
    [8 | n << 4] = "gpu" #n "/device", [9 | n << 4] = "gpu" #n "/pool", [10 | n << 4] = "gpu" #n "/torch", \
    [11 | n << 4] = "gpu" #n "/managed", [12 | n << 4] = "gpu" #n "/used"

const char *mpf_heap_name(unsigned heap)
{
    static const char *const names[256] = {
#define X(code, name, text) [code] = text,
        MPF_HEAPS(X)
#undef X
        GPU(0), GPU(1), GPU(2), GPU(3), GPU(4), GPU(5), GPU(6), GPU(7), GPU(8), GPU(9), GPU(10), GPU(11), GPU(12), GPU(13),
        GPU(14), GPU(15)
    };
    return heap < 256 ? names[heap] : NULL;
}
