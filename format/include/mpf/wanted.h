/* Descriptions of valid values of settings, for error messages of the launcher and the library. */
#ifndef MPF_WANTED_H
#define MPF_WANTED_H

/* The largest SIZE of small:SIZE, in bytes: distances between samples are 32 bits wide. */
#define MPF_PYTHON_MEAN_MAX (64u << 20)

#define MPF_WANTED_HOST   "all, sample, sample:SIZE, large, large:SIZE or off is wanted"
#define MPF_WANTED_STACKS "off, large, sample or all is wanted"
#define MPF_WANTED_PYTHON "on, small, small:SIZE (up to 64M) or off is wanted"
#define MPF_WANTED_TORCH  "on, ops or off is wanted"
#define MPF_WANTED_CUDA   "cupti, interpose or off is wanted"
#define MPF_WANTED_SIZE   "bytes are wanted, or KiB, MiB, GiB or TiB with K, M, G or T"
#define MPF_WANTED_LEVEL  "a number from 1 to 9, or from -1 to -9, is wanted"

#endif
