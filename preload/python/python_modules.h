/* torch.nn.Module: which module a frame belongs to, its class, and the path of attributes that
 * leads to it.
 *
 * Frames keep a module alive, but another thread may change its attributes or its class at any
 * time.  All that lies behind a module is read by the kernel (process_vm_readv), which says so
 * where this library would crash; where it may not, modules have no names.  What was read in the
 * middle of a change names a module wrongly at worst. */
#ifndef MP_PYTHON_MODULES_H
#define MP_PYTHON_MODULES_H

#include "python/python_frames.h"

/* Whether objects of this type, which is that of a live object, are modules.  Some 5 ns once the
 * type is known. */
bool mp_python_module_type(const struct mp_python *py, const void *type);

/* The class of the module of place[at], with a zero byte behind it.  Bytes without the zero; 0: it
 * cannot be read. */
size_t mp_python_class(const struct mp_python *py, const struct mp_python_place *place, char *out,
                       size_t cap);

/* The path to the module of place[at] from the outermost module around it, "transformer.h.3";
 * modules that call each other may lie some levels apart.  "" for the outermost, and as far as the
 * way is not found.  Takes at most some 0.3 ms. */
size_t mp_python_path(const struct mp_python *py, const struct mp_python_place *place, unsigned at,
                      unsigned places, char *out, size_t cap);

#endif
