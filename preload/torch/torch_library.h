/* The files of PyTorch in this process, as wheels, conda packages, distributions and LibTorch's
 * archives place and name them. */
#ifndef MP_TORCH_LIBRARY_H
#define MP_TORCH_LIBRARY_H

/* The handle of a loaded library, named as in a wheel ("libc10.so"); NULL: it is not loaded.  Kept
 * by no reference: PyTorch is not unloaded.  Reads /proc/self/maps where the loader does not know
 * the name: not for every event. May leave an error for dlerror (loader.h). */
void *mp_torch_library(const char *name);

/* major * 100 + minor of the PyTorch whose library has this function; 0: nothing tells. */
unsigned mp_torch_version(const void *function);

#endif
