#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "utf8.h"

enum { VARINT = 0, LENGTH = 2 }; /* wire types */

void mpr_protobuf_number(struct mpr_blob *message, unsigned field, uint64_t number)
{
    mpr_blob_number(message, field << 3 | VARINT);
    mpr_blob_number(message, number);
}

static void add_bytes(struct mpr_blob *message, unsigned field, const void *bytes, size_t count)
{
    mpr_blob_number(message, field << 3 | LENGTH);
    mpr_blob_number(message, count);
    mpr_blob_bytes(message, bytes, count);
}

void mpr_protobuf_text(struct mpr_blob *message, unsigned field, const char *text)
{
    size_t bytes;
    char *mended = mpr_utf8_mend(text, &bytes);
    add_bytes(message, field, mended ? mended : text, bytes);
    free(mended);
}

void mpr_protobuf_message(struct mpr_blob *message, unsigned field, struct mpr_blob *inside)
{
    add_bytes(message, field, inside->at, inside->bytes);
    inside->bytes = 0;
}
