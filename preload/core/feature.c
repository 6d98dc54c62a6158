#include "core/feature.h"

/* Unit tests and benchmarks of the core have no other. */
__attribute__((weak)) const struct mp_features mp_features = { 0 };
