#include "verify.h"

#include <stdlib.h>

#include "alloc.h"
#include "reader.h"

static uint64_t good_bytes(const struct mpr_summary *s)
{
    if (s->bad_offset != MPR_NOWHERE) return s->bad_offset;
    return s->cut ? s->cut_offset : s->bytes;
}

int mpr_verify_add(struct mpr_verify *verify, const char *path, const struct mpr_progress *progress,
                   struct mpr_error *error)
{
    struct mpr_reader reader;
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    MPR_GROW(verify->log, verify->logs, verify->cap);
    struct mpr_verified *log = &verify->log[verify->logs++];
    *log = (struct mpr_verified){ .good_bytes = 0 };
    mpr_reader_summary(&reader, path, &verify->arena, &log->summary);
    mpr_reader_close(&reader);
    log->good_bytes = good_bytes(&log->summary);
    verify->incomplete += log->summary.incomplete;
    return 0;
}

void mpr_verify_free(struct mpr_verify *verify)
{
    free(verify->log);
    mpr_arena_free(&verify->arena);
}
