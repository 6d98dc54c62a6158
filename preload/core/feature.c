#include "core/feature.h"

/* The table of unit tests and benchmarks, which do not link another one. */
__attribute__((weak)) const struct mp_features mp_features = { 0 };
