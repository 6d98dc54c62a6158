/* Names of ranges and domains, interned: each text is recorded once (NAME, DOMAIN) and then
 * replaced by its number.
 *
 * Any thread, any context; keeps errno. A thread that cannot record at the moment (a signal handler
 * inside memprof) gets MP_NAME_BUSY for a name that is not in the log yet. At most MP_NAMES_MAX
 * names and domains and MP_NAMES_BYTES bytes are kept. Further ones become MP_NAME_OTHER and are
 * counted as lost (MPF_LOSS_NAMES). A forked child keeps the numbers, because the program keeps
 * handles made of them, but records each name again at its first use, so that its log is complete
 * by itself. */
#ifndef MP_NAMES_H
#define MP_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define MP_NAMES_MAX   65536
#define MP_NAMES_BYTES (8u << 20)
#define MP_NAME_BYTES  1024 /* of one name; a longer name is cut at a UTF-8 boundary */

enum { MP_NAME_NONE = 0, MP_NAME_OTHER = 1, MP_NAME_BUSY = 2, MP_NAME_FIRST = 3 };

/* Returns the number of the text, and records the text if it is new. Takes no lock for a known
 * text. */
uint32_t mp_name_id(const char *text, size_t bytes);
/* The same for a domain. Returns MP_NAME_OTHER instead of MP_NAME_BUSY. */
uint32_t mp_domain_id(const char *text, size_t bytes);

/* Checks a number that the program passed back. Returns it, recorded in this process, or
 * MP_NAME_NONE if it is not a name. */
uint32_t mp_name_check(uint64_t id);
uint32_t mp_domain_check(uint64_t id);
/* Returns the ordinal of a checked domain, from 1 in order of creation, or 0 for MP_NAME_OTHER. */
unsigned mp_domain_ordinal(uint32_t id);

/* Forgets which names are recorded. Called in a forked child, which has one thread. */
void mp_names_reset(void);

#endif
