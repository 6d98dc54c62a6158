/* Converts mangled names of C++ and Rust to source names without parameters.  Private to this
 * folder. */
#ifndef MPR_DEMANGLE_H
#define MPR_DEMANGLE_H

/* Returns the source name, or a copy of a name that is not mangled or cannot be demangled.  The
 * caller frees it. */
char *mpr_demangle(const char *name);
/* Returns the source name of a name that begins with "_R", or NULL if it is not valid. */
char *mpr_demangle_rust(const char *name);

#endif
