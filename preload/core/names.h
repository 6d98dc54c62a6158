/* Names of ranges and domains, interned: each text is recorded once (NAME, DOMAIN) and then
 * replaced by its number.
 *
 * Any thread, any context; keeps errno. A thread that cannot record at the moment (a signal handler
 * inside memprof) gets MP_NAME_BUSY for a name that is not in the log yet. At most MP_NAMES_MAX
 * names and domains and MP_NAMES_BYTES bytes are kept; further ones are MP_NAME_OTHER and counted
 * as lost (MPF_LOSS_NAMES). A forked child keeps the numbers, because the program keeps handles
 * made of them, but records each name again at its first use, because its log must be
 * self-contained. */
#ifndef MP_NAMES_H
#define MP_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define MP_NAMES_MAX   65536
#define MP_NAMES_BYTES (8u << 20)
#define MP_NAME_BYTES  1024 /* of one name; a longer one is cut at a UTF-8 boundary */

enum { MP_NAME_NONE = 0, MP_NAME_OTHER = 1, MP_NAME_BUSY = 2, MP_NAME_FIRST = 3 };

/* Number of the text, recording it if it is new.  Lock-free when it is known already. */
uint32_t mp_name_id(const char *text, size_t bytes);
/* The same for a domain.  Never MP_NAME_BUSY: then it is MP_NAME_OTHER. */
uint32_t mp_domain_id(const char *text, size_t bytes);

/* A number that the program gave back: itself, recorded in this process, or MP_NAME_NONE when it
 * names nothing. */
uint32_t mp_name_check(uint64_t id);
uint32_t mp_domain_check(uint64_t id);
/* Ordinal of a checked domain, from 1 in order of creation; 0 for MP_NAME_OTHER. */
unsigned mp_domain_ordinal(uint32_t id);

/* Forgets what is recorded: in a forked child, single-threaded. */
void mp_names_reset(void);

#endif
