/* torch.nn.Module: the module of a frame, its class, and the path of attributes to it.
 *
 * Frames keep a module alive, but another thread may change its attributes or its class at any
 * time. All memory of a module is read through the kernel (process_vm_readv), which returns an
 * error if the memory is not mapped. If that call is refused, modules have no names. A read during
 * a change may at worst give a wrong name. */
#ifndef MP_PYTHON_MODULES_H
#define MP_PYTHON_MODULES_H

#include "python/python_frames.h"

/* Returns true if objects of this type, which must be that of a live object, are modules. About 5
 * ns for a known type. */
bool mp_python_module_type(const struct mp_python *py, const void *type);

/* Writes the class of the module of place[at], with a zero byte. Returns the bytes without the
 * zero, or 0 if it cannot be read. */
size_t mp_python_class(const struct mp_python *py, const struct mp_python_place *place, char *out,
                       size_t cap);

/* Writes the path to the module of place[at] from the outermost module around it, such as
 * "transformer.h.3". Modules that call each other may be several levels apart. The path is "" for
 * the outermost module, and shorter if a part is not found. Takes at most about 0.3 ms. */
size_t mp_python_path(const struct mp_python *py, const struct mp_python_place *place, unsigned at,
                      unsigned places, char *out, size_t cap);

#endif
