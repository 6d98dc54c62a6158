/* Names of C++ and Rust as their authors wrote them, without the list of parameters.  Private to
 * this folder. */
#ifndef MPR_DEMANGLE_H
#define MPR_DEMANGLE_H

/* The caller frees it.  What is not mangled, or in a way that is not known, is copied. */
char *mpr_demangle(const char *name);
/* The same of a name that begins with "_R"; NULL also where it is none of Rust's. */
char *mpr_demangle_rust(const char *name);

#endif
