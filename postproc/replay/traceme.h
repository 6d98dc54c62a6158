/* Names of ranges as TSL and XLA write them (TraceMe):
 * "XlaModule:#hlo_module=jit_step,program_id=78765#".
 *
 * The numbers are new with each compilation, so ranges of one purpose would all be different ones.
 */
#ifndef MPR_TRACEME_H
#define MPR_TRACEME_H

#include <stdbool.h>
#include <stddef.h>

bool mpr_traceme_is(const char *name, size_t bytes);
/* Writes what such a name says without its numbers, "XlaModule jit_step", which is shorter, and no
 * zero behind it.  The bytes. */
size_t mpr_traceme_plain(const char *name, size_t bytes, char *out);

#endif
