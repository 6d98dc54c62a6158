/* Finds the definition of a function in the object files' symbol tables, without the loader: dlsym
 * takes its lock, and allocates if it finds nothing.
 *
 * Any thread, any context, also under an allocator's lock: nothing here takes a lock, allocates, or
 * calls anything except the resolver of an indirect function. It searches the files that the
 * program started with, which are never unloaded. */
#ifndef MP_SYMBOL_H
#define MP_SYMBOL_H

#include <link.h>
#include <stdbool.h>

/* Does the loader look names up here before it does in the C library?  Not in a copy that was
 * dlopen'ed. */
bool mp_symbol_before_libc(void);

/* Returns the next definition of a name after this object, as dlsym(RTLD_NEXT, name) would before
 * any dlopen: default versions only, indirect functions resolved; or NULL. If this object was
 * loaded later, it returns the first definition. */
void *mp_symbol_next(const char *name);
/* Returns the name of the object that has that definition, its soname or file name, or NULL. */
const char *mp_symbol_next_object(const char *name);

/* Returns true if this is the C library's own definition of the name. Other allocators also define
 * __libc_malloc. */
bool mp_symbol_is_libcs(const char *name, const void *function);

/* The first object before this one that defines the name; NULL: none does. */
const struct link_map *mp_symbol_before(const char *name);

#endif
