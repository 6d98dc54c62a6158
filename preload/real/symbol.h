/* Finds the definition of a function in the object files' symbol tables, without the loader: dlsym
 * takes its lock, and allocates if it finds nothing.
 *
 * Any thread, any context, also under an allocator's lock: the functions take no lock, do not
 * allocate, and only call the resolver of an indirect function. They search the files that the
 * program started with, which are never unloaded. */
#ifndef MP_SYMBOL_H
#define MP_SYMBOL_H

#include <link.h>
#include <stdbool.h>

/* Returns true if the loader looks up names in this object before the C library, which is false for
 * a copy that was opened with dlopen. */
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

/* Returns this object's own definition of a name, or NULL. */
void *mp_symbol_own(const char *name);
/* Returns true if the object that is loaded at @base, with this dynamic section, defines the name.
 * The object must stay loaded meanwhile. */
bool mp_symbol_is_in(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char *name);

/* Returns the first object before this one that defines the name, or NULL. */
const struct link_map *mp_symbol_before(const char *name);

#endif
