#include "verify.h"

#include "reader.h"

static uint64_t good_bytes(const struct mpr_summary *s)
{
    if (s->bad_offset != MPR_NOWHERE) return s->bad_offset;
    return s->cut ? s->cut_offset : s->bytes;
}

int mpr_verify_read(struct mpr_verify *verify, const char *path,
                    const struct mpr_progress *progress, struct mpr_error *error)
{
    struct mpr_reader reader;
    *verify = (struct mpr_verify){ 0 };
    if (mpr_reader_run(&reader, path, MPR_GROUP_HEAP, MPR_INSTANT_PEAK, progress, error) != 0)
        return -1;
    mpr_reader_summary(&reader, path, &verify->arena, &verify->summary);
    mpr_reader_close(&reader);
    verify->good_bytes = good_bytes(&verify->summary);
    return 0;
}

void mpr_verify_free(struct mpr_verify *verify) { mpr_arena_free(&verify->arena); }
