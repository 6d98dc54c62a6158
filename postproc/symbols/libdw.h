/* libdw's functions, through one table: memprof-report starts without the library.
 *
 * The table is filled when the first object file is opened (libdw_loaded.c), or by the linker in
 * the program that has libdw inside (libdw_inside.c).  Private to this folder. */
#ifndef MPR_LIBDW_H
#define MPR_LIBDW_H

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>

struct mpr_dw {
#define FUNCTION(name) __typeof__(name) *name;
#include "libdw.def"
#undef FUNCTION
};
extern struct mpr_dw mpr_dw;

/* Returns true if the functions can be called.  The library is looked for once. */
bool mpr_dw_load(void);

#endif
