/* What tells this process from every other one that has had, or will have, its number. */
#ifndef MP_IDENTITY_H
#define MP_IDENTITY_H

#include "mpf/slot.h"

/* What /proc does not say stays zero.  Any context. */
void mp_identity_read(struct mpf_identity *out);

#endif
