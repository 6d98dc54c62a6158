/* torch.nn.Module: the module of a frame, its class, and the path of attributes that leads to it.
 *
 * Frames keep a module alive, but another thread may change its attributes or its class at any
 * time. All memory of a module is read through the kernel (process_vm_readv), which returns an
 * error where this library would crash. If that is refused, modules have no names. A read during a
 * change names a module wrongly at worst. */
#ifndef MP_PYTHON_MODULES_H
#define MP_PYTHON_MODULES_H

#include "python/python_frames.h"

/* Whether objects of this type, which is that of a live object, are modules.  Some 5 ns once the
 * type is known. */
bool mp_python_module_type(const struct mp_python *py, const void *type);

/* Writes the class of the module of place[at], with a zero byte. Returns the bytes without the
 * zero, or 0 if it cannot be read. */
size_t mp_python_class(const struct mp_python *py, const struct mp_python_place *place, char *out,
                       size_t cap);

/* The path to the module of place[at] from the outermost module around it, "transformer.h.3";
 * modules that call each other may lie some levels apart.  "" for the outermost, and as far as the
 * way is not found.  Takes at most some 0.3 ms. */
size_t mp_python_path(const struct mp_python *py, const struct mp_python_place *place, unsigned at,
                      unsigned places, char *out, size_t cap);

#endif
