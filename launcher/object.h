/* Reads the headers of an ELF file, which may be hostile. */
#ifndef MPL_OBJECT_H
#define MPL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mpl_object_kind {
    MPL_OBJECT_UNREADABLE, /* the file may be executed but not read, so nothing is known */
    MPL_OBJECT_OTHER,      /* not an ELF file that a kernel would load */
    MPL_OBJECT_FOREIGN,    /* an ELF file for another processor */
    MPL_OBJECT_STATIC,     /* no dynamic loader, so nothing can be preloaded */
    MPL_OBJECT_MUSL, /* its C library is musl, whose loader cannot load libraries that need glibc */
    MPL_OBJECT_DYNAMIC,
};

/* A file mapped for reading. */
struct mpl_object {
    const uint8_t *at;
    size_t bytes;
    enum mpl_object_kind kind;
};

void mpl_object_open(struct mpl_object *o, const char *path);
void mpl_object_close(struct mpl_object *o);

/* Returns true if a DYNAMIC object needs (DT_NEEDED) a library with this prefix. */
bool mpl_object_needs(const struct mpl_object *o, const char *prefix);

#endif
