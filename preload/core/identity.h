/* Identifies this process even if its ID is reused. */
#ifndef MP_IDENTITY_H
#define MP_IDENTITY_H

#include "mpf/slot.h"

/* Fills the identity from /proc; values that are missing there are zero. Any context. */
void mp_identity_read(struct mpf_identity *out);

#endif
