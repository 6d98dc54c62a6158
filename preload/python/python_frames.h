/* Reads the Python frames of a thread.
 *
 * Called by the thread itself while it runs C code. Then its frames do not change, and they keep
 * all objects alive that are read here: code objects and the strings and tables in them. The type
 * of each object is checked before it is used. */
#ifndef MP_PYTHON_FRAMES_H
#define MP_PYTHON_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "python/python_layout.h"

/* An interpreter: its layout, and the addresses of the types by which objects are recognised. */
struct mp_python {
    struct mp_python_layout layout;
    const void *code, *text, *bytes, *tuple, *dict, *ordered_dict;
};

/* A place in a code object. The instruction is counted in code units of two bytes. module: the
 * torch.nn.Module that is the frame's argument `self`, or NULL. */
struct mp_python_place {
    const void *code;
    uint64_t instruction;
    const void *module;
};

/* Finds at most `max` places of the thread with this PyThreadState (which may be NULL), from the
 * innermost on. Returns their number. */
unsigned mp_python_walk(const struct mp_python *py, const void *state, struct mp_python_place *out,
                        unsigned max);

/* Returns the line of a place, or 0 if it has none. */
uint64_t mp_python_line(const struct mp_python *py, const struct mp_python_place *place);

/* Writes a string as UTF-8, cut to `cap` bytes including a zero byte. Returns the bytes without the
 * zero. */
size_t mp_python_text(const struct mp_python *py, const void *string, uint8_t *out, size_t cap);

static inline const void *mp_python_pointer(const void *object, size_t offset)
{
    const void *p;
    memcpy(&p, (const char *)object + offset, sizeof p);
    return p;
}

static inline int32_t mp_python_int(const void *object, size_t offset)
{
    int32_t n;
    memcpy(&n, (const char *)object + offset, sizeof n);
    return n;
}

static inline size_t mp_python_size(const void *object)
{
    return (size_t)mp_python_pointer(object, MP_PYTHON_SIZE);
}
static inline bool mp_python_is(const void *object, const void *type)
{
    return object && mp_python_pointer(object, MP_PYTHON_TYPE) == type;
}

#endif
