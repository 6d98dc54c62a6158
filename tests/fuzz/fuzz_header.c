/* Decodes the pairs of a HEADER frame. */
#include <string.h>

#include "fuzz.h"
#include "header.h"

int LLVMFuzzerTestOneInput(const uint8_t *body, size_t bytes)
{
    struct mpr_header h;
    if (mpr_header_read(&h, body, bytes) == 0)
        for (size_t i = 0; i < h.pairs; i++) {
            const char *value = mpr_header_get(&h, h.pair[i].key);
            FUZZ_HOLDS(strlen(h.pair[i].key) < bytes && (!value || strlen(value) < bytes));
        }
    mpr_header_free(&h);
    return 0;
}
