/* Finds libcupti. */
#ifndef MP_FIND_CUPTI_H
#define MP_FIND_CUPTI_H

/* Returns the loaded library and its path, which is never freed, or NULL and the reason.
 *
 * A program that loads its own later (PyTorch's wheel contains one) would get a second copy under
 * the same name. So this takes the loaded copy if there is one, then MEMPROF_CUPTI, then that of
 * the loaded CUDA libraries, then CONDA_PREFIX, CUDA_HOME, CUDA_PATH, /usr/local/cuda, and the
 * loader's search path. */
void *mp_find_cupti(const char **path, const char **why);
/* Returns the one that the process has loaded, or NULL. */
void *mp_loaded_cupti(void);

#endif
