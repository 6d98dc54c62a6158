/* Decodes the body of an EVENTS frame and checks that each decoded event is inside it. */
#include <stdlib.h>

#include "fuzz.h"
#include "mpf/columns.h"
#include "mpf/frame.h"

static void check(const struct mpf_event *e, const uint8_t *body, size_t bytes)
{
    if (mpf_op_class(e->op) == MPF_CLASS_DATA) FUZZ_HOLDS(e->data);
    if (e->data) FUZZ_HOLDS(e->data >= body && e->data + e->size <= body + bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *body, size_t bytes)
{
    static struct mpf_columns_reader r;
    struct mpf_event e[32];
    const long events = mpf_columns_events(body, bytes);
    if (events < 0) return 0;
    FUZZ_HOLDS((size_t)events <= bytes);
    struct mpf_block *block = malloc(((size_t)events + 1) * sizeof *block);
    long all = 0;
    if (mpf_columns_open(&r, body, bytes, 0, block, (uint32_t)events) == MPF_OK)
        for (long got; (got = mpf_columns_next(&r, e, 32)) > 0; all += got)
            for (long i = 0; i < got; i++) check(&e[i], body, bytes);
    FUZZ_HOLDS(all <= events);
    free(block);
    return 0;
}
