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

const char *mpf_heap_name(unsigned heap)
{
    static const char *const names[] = {
#define X(code, name, text) [code] = text,
        MPF_HEAPS(X)
#undef X
    };
    return heap < sizeof names / sizeof *names ? names[heap] : NULL;
}
