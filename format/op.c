#include "mpf/event.h"

#include <stddef.h>
#include <string.h>

static const struct {
    enum mpf_class class;
    const char *name, *text;
} ops[256] = {
#define MPF_OP(code, name, class, text) [code] = { MPF_CLASS_##class, #name, text },
#include "mpf/events.def"
#undef MPF_OP
};

#define MPF_OP(code, name, class, text)                                                            \
    _Static_assert((code) > 0 && (code) < 128, #name ": columns use the highest bit");
#include "mpf/events.def"
#undef MPF_OP

enum mpf_class mpf_op_class(unsigned op) { return op < 256 ? ops[op].class : MPF_CLASS_NONE; }
const char *mpf_op_name(unsigned op) { return op < 256 ? ops[op].name : NULL; }
const char *mpf_op_text(unsigned op) { return op < 256 ? ops[op].text : NULL; }

_Static_assert(MPF_GPUS == 16, "each GPU's heaps have their names");
const char *mpf_heap_name(unsigned heap)
{
    static const char *const names[256] = {
#define X(code, name, text) [code] = text,
        MPF_HEAPS(X)
#undef X
#define X(code, name, text, n) [code | n << 4] = "gpu" #n "/" text,
            MPF_GPU_HEAPS(X, 0) MPF_GPU_HEAPS(X, 1) MPF_GPU_HEAPS(X, 2) MPF_GPU_HEAPS(X, 3)
                MPF_GPU_HEAPS(X, 4) MPF_GPU_HEAPS(X, 5) MPF_GPU_HEAPS(X, 6) MPF_GPU_HEAPS(X, 7)
                    MPF_GPU_HEAPS(X, 8) MPF_GPU_HEAPS(X, 9) MPF_GPU_HEAPS(X, 10)
                        MPF_GPU_HEAPS(X, 11) MPF_GPU_HEAPS(X, 12) MPF_GPU_HEAPS(X, 13)
                            MPF_GPU_HEAPS(X, 14) MPF_GPU_HEAPS(X, 15)
#undef X
    };
    return heap < 256 ? names[heap] : NULL;
}

unsigned mpf_heap_named(const char *name)
{
    for (unsigned heap = MPF_HEAP_NONE + 1; heap < 256; heap++) {
        const char *known = mpf_heap_name(heap);
        if (known && strcmp(known, name) == 0) return heap;
    }
    return MPF_HEAP_NONE;
}

const char *mpf_cut_text(uint64_t cut)
{
    switch (cut) {
#define X(code, name, text)                                                                        \
    case code: return text;
        MPF_CUTS(X)
#undef X
    default: return MPF_CUT_BEGIN ")";
    }
}

const char *mpf_loss_text(unsigned reason)
{
    static const char *const texts[MPF_LOSS_CODES] = {
#define X(code, name, text) [code] = text,
        MPF_LOSSES(X)
#undef X
    };
    return reason < MPF_LOSS_CODES ? texts[reason] : NULL;
}
