/* Identifies this process across reuses of its number. */
#ifndef MP_IDENTITY_H
#define MP_IDENTITY_H

#include "mpf/slot.h"

/* Fills the identity from /proc; values that are missing there are zero. Any context. */
void mp_identity_read(struct mpf_identity *out);

#endif
