/* Where libcupti is. */
#ifndef MP_FIND_CUPTI_H
#define MP_FIND_CUPTI_H

/* Returns the loaded library and its path, which lives forever, or NULL and the reason.
 *
 * A program that loads its own later (PyTorch's wheel brings one) would get a second copy under the
 * same name. So this takes the loaded copy if there is one, then MEMPROF_CUPTI, then the one of the
 * loaded CUDA libraries, then CONDA_PREFIX, CUDA_HOME, CUDA_PATH, /usr/local/cuda, and the loader's
 * search path. */
void *mp_find_cupti(const char **path, const char **why);
/* One that the process has; NULL: none. */
void *mp_loaded_cupti(void);

#endif
