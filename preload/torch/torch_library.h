/* Finds PyTorch's files in this process, with the places and names of wheels, conda packages,
 * distributions and LibTorch's archives. */
#ifndef MP_TORCH_LIBRARY_H
#define MP_TORCH_LIBRARY_H

/* Returns the handle of a loaded library, named as in a wheel ("libc10.so"), or NULL if it is not
 * loaded. It takes no reference, because PyTorch is never unloaded. Reads /proc/self/maps if the
 * loader does not know the name, so it must not be called for every event. May leave an error for
 * dlerror (loader.h). */
void *mp_torch_library(const char *name);

/* Returns major * 100 + minor of the PyTorch whose library contains this function, or 0 if it is
 * unknown. */
unsigned mp_torch_version(const void *function);

#endif
