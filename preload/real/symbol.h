/* Where a function is defined, by the object files' own symbol tables, without the loader: dlsym
 * takes its lock, and where it finds nothing it allocates.
 *
 * Any thread, any context, also under an allocator's lock: nothing here takes a lock, allocates, or
 * calls anything but the resolver of an indirect function.  Searched are the files that the program
 * started with, which never go away. */
#ifndef MP_SYMBOL_H
#define MP_SYMBOL_H

#include <link.h>
#include <stdbool.h>

/* Does the loader look names up here before it does in the C library?  Not in a copy that was
 * dlopen'ed. */
bool mp_symbol_before_libc(void);

/* The next definition of a name behind this object, as dlsym(RTLD_NEXT, name) gives it as long as
 * nothing is dlopen'ed: default versions alone, indirect functions resolved.  NULL: there is none.
 * An object that came later finds the first one. */
void *mp_symbol_next(const char *name);
/* The name of the object that holds that one: its soname, or its file's.  NULL likewise. */
const char *mp_symbol_next_object(const char *name);

/* Is this the C library's own definition of the name?  Other allocators have its __libc_malloc,
 * too.
 */
bool mp_symbol_is_libcs(const char *name, const void *function);

/* The first object before this one that defines the name; NULL: none does. */
const struct link_map *mp_symbol_before(const char *name);

#endif
