/* Descriptions of valid values of settings, for error messages of the launcher and the library. */
#ifndef MPF_EXPECTED_H
#define MPF_EXPECTED_H

/* The largest SIZE of small:SIZE, in bytes: distances between samples are 32 bits wide. */
#define MPF_PYTHON_MEAN_MAX (64u << 20)

#define MPF_EXPECTED_HOST   "all, sample, sample:SIZE, large, large:SIZE or off"
#define MPF_EXPECTED_STACKS "off, large, sample, sample:SIZE or all"
#define MPF_EXPECTED_PYTHON "on, small, small:SIZE (up to 64M) or off"
#define MPF_EXPECTED_TORCH  "on, ops or off"
#define MPF_EXPECTED_CUDA   "cupti, interpose or off"
#define MPF_EXPECTED_SIZE   "a number of bytes, or a number with K, M, G or T (powers of 1024)"
#define MPF_EXPECTED_LEVEL  "a number from 1 to 9 or from -1 to -9"

#endif
