/* Messages of Protocol Buffers: fields by the numbers of their .proto, put one behind the other
 * into a blob; a message inside of one is made first, and then put as its field. */
#ifndef MPR_PROTOBUF_H
#define MPR_PROTOBUF_H

#include "blob.h"

/* Also of enums, flags, and what is signed and not negative. */
void mpr_protobuf_number(struct mpr_blob *message, unsigned field, uint64_t number);
/* Any text; what is no UTF-8 in it is mended. */
void mpr_protobuf_text(struct mpr_blob *message, unsigned field, const char *text);
/* Leaves the one inside empty, to be used again. */
void mpr_protobuf_message(struct mpr_blob *message, unsigned field, struct mpr_blob *inside);

#endif
