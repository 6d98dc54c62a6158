#include "core/feature.h"

/* The table of unit tests and benchmarks, which have no other. */
__attribute__((weak)) const struct mp_features mp_features = { 0 };
