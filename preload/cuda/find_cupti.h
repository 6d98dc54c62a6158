/* Where libcupti is. */
#ifndef MP_FIND_CUPTI_H
#define MP_FIND_CUPTI_H

/* The library, loaded, and its path (lives forever); or NULL and why.
 *
 * A second copy under the same name would be taken by a program that loads its own later (PyTorch's
 * wheel brings one), so this takes the copy that is loaded already; else MEMPROF_CUPTI; else the
 * one that belongs to the CUDA libraries that are loaded; else CONDA_PREFIX, CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda, and where the loader looks. */
void *mp_find_cupti(const char **path, const char **why);
/* One that the process has; NULL: none. */
void *mp_loaded_cupti(void);

#endif
