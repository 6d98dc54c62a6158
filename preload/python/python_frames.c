#include "python/python_frames.h"

#include "python/python_modules.h"

/* The interpreter's own frames are between those of Python, at most one for each call from C. */
enum { STEPS_PER_FRAME = 4 };
/* Frames with this owner or a larger one belong to the interpreter (FRAME_OWNED_BY_CSTACK, since
 * 3.14 also _INTERPRETER). */
enum { OWNER_PYTHON = 3 };
/* Since 3.14 the lowest bits of a reference in a frame show how it is counted. If all are set, it
 * is a number. */
enum { REFERENCE_BITS = 3 };

static const void *innermost(const struct mp_python_layout *l, const void *state)
{
    const void *frame = mp_python_pointer(state, l->state_frame);
    return l->cframe && frame ? mp_python_pointer(frame, l->cframe_frame) : frame;
}

static bool of_python(const struct mp_python_layout *l, const void *frame)
{
    return !l->frame_owner || *((const uint8_t *)frame + l->frame_owner) < OWNER_PYTHON;
}

static const void *referenced(const void *frame, size_t offset)
{
    const uintptr_t reference = (uintptr_t)mp_python_pointer(frame, offset),
                    bits = reference & REFERENCE_BITS;
    return bits != REFERENCE_BITS ? (const void *)(reference - bits) : NULL;
}

static const void *code_of(const struct mp_python *py, const void *frame)
{
    const void *code = referenced(frame, py->layout.frame_code);
    return mp_python_is(code, py->code) ? code : NULL;
}

static bool is_method(const struct mp_python *py, const void *code)
{
    const void *names = mp_python_pointer(code, py->layout.code_locals);
    uint8_t name[sizeof "self" + 4];
    if (!mp_python_is(names, py->tuple) || !mp_python_size(names)) return false;
    return mp_python_text(py, mp_python_pointer(names, py->layout.items), name, sizeof name) &&
           memcmp(name, "self", sizeof "self") == 0;
}

static const void *module_of(const struct mp_python *py, const void *frame, const void *code)
{
    if (mp_python_int(code, py->layout.code_arguments) < 1) return NULL;
    const void *self = referenced(frame, py->layout.frame_locals);
    if (!self || !mp_python_module_type(py, mp_python_pointer(self, MP_PYTHON_TYPE)) ||
        !is_method(py, code))
        return NULL;
    return self;
}

static uint64_t instruction_of(const struct mp_python_layout *l, const void *frame,
                               const void *code)
{
    const int32_t last = mp_python_int(frame, l->frame_instr);
    if (l->lines == MP_PYTHON_PAIRS) return last > 0 ? (uint64_t)last / 2 : 0;
    if (l->lines == MP_PYTHON_RANGES) return last > 0 ? (uint64_t)last : 0;
    const uintptr_t at = (uintptr_t)mp_python_pointer(frame, l->frame_instr),
                    start = (uintptr_t)code + l->code_start;
    return at >= start ? (at - start) / 2 : 0;
}

unsigned mp_python_walk(const struct mp_python *py, const void *state, struct mp_python_place *out,
                        unsigned max)
{
    const struct mp_python_layout *l = &py->layout;
    const void *f = state ? innermost(l, state) : NULL;
    unsigned n = 0;
    for (unsigned steps = STEPS_PER_FRAME * max; f && n < max && steps;
         steps--, f = mp_python_pointer(f, l->frame_previous)) {
        const void *code = of_python(l, f) ? code_of(py, f) : NULL;
        if (code)
            out[n++] = (struct mp_python_place){ code, instruction_of(l, f, code),
                                                 module_of(py, f, code) };
    }
    return n;
}

/* ---- text */

/* Writes c as UTF-8 at p, which has space for four bytes. */
static size_t put_character(uint8_t *p, uint32_t c)
{
    static const uint8_t head[] = { 0, 0xc0, 0xe0, 0xf0 };
    if (c > 0x10ffff) c = 0xfffd;
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    p[0] = (uint8_t)(head[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++) p[i] = (uint8_t)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* The characters of a compact string follow its head, with 1, 2 or 4 bytes each. */
size_t mp_python_text(const struct mp_python *py, const void *string, uint8_t *out, size_t cap)
{
    size_t n = 0;
    if (mp_python_is(string, py->text)) {
        const uint32_t state = (uint32_t)mp_python_int(string, MP_PYTHON_TEXT_STATE);
        const unsigned kind = state >> 2 & 7;
        const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
        const uint8_t *data =
            (const uint8_t *)string + (ascii ? py->layout.ascii : py->layout.compact);
        const size_t length =
            compact && (kind == 1 || kind == 2 || kind == 4) ? mp_python_size(string) : 0;
        for (size_t i = 0; i < length && n + 4 < cap; i++) {
            uint32_t c = 0;
            memcpy(&c, data + i * kind, kind);
            n += put_character(out + n, c);
        }
    }
    out[n] = 0;
    return n;
}
