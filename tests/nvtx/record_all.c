/* With the stand-in for the recorder: an injection library that records from the start. */
#include "double.h"

__attribute__((constructor)) static void begin(void) { double_reset(); }
