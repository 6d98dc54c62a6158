/* What an ELF file says about itself.  Trusts nothing in it. */
#ifndef MP_OBJECT_H
#define MP_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mp_object_kind {
    MP_OBJECT_UNREADABLE,       /* the file may be executed but not read: nothing is known */
    MP_OBJECT_OTHER,            /* no ELF file that a kernel would load */
    MP_OBJECT_FOREIGN,          /* ELF, but not 64-bit x86 */
    MP_OBJECT_STATIC,           /* no dynamic loader, so nothing can be preloaded */
    MP_OBJECT_DYNAMIC,
};

/* A file mapped for reading. */
struct mp_object { const uint8_t *at; size_t bytes; enum mp_object_kind kind; };

void mp_object_open(struct mp_object *o, const char *path);
void mp_object_close(struct mp_object *o);

/* Does a DYNAMIC object need (DT_NEEDED) a library whose name begins so? */
bool mp_object_needs(const struct mp_object *o, const char *prefix);

#endif
