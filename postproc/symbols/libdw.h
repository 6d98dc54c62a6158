/* A table of the functions of libdw and libelf, so that memprof-report starts without the library.
 *
 * It is filled when the first object file is opened (libdw_loaded.c), or by the linker in a program
 * that contains libdw (libdw_inside.c).  Private to this folder. */
#ifndef MPR_LIBDW_H
#define MPR_LIBDW_H

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>

// clang-format off
#define MPR_DW_FUNCTIONS(X)          \
    X(dwarf_attr)                    \
    X(dwarf_attr_integrate)          \
    X(dwarf_child)                   \
    X(dwarf_diename)                 \
    X(dwarf_dieoffset)               \
    X(dwarf_filesrc)                 \
    X(dwarf_formstring)              \
    X(dwarf_formudata)               \
    X(dwarf_getsrc_die)              \
    X(dwarf_getsrcfiles)             \
    X(dwarf_haspc)                   \
    X(dwarf_lineno)                  \
    X(dwarf_linesrc)                 \
    X(dwarf_offdie)                  \
    X(dwarf_ranges)                  \
    X(dwarf_siblingof)               \
    X(dwarf_tag)                     \
    X(dwelf_dwarf_gnu_debugaltlink)  \
    X(dwelf_elf_gnu_build_id)        \
    X(dwfl_begin)                    \
    X(dwfl_build_id_find_elf)        \
    X(dwfl_end)                      \
    X(dwfl_module_addrdie)           \
    X(dwfl_module_getdwarf)          \
    X(dwfl_module_getsym_info)       \
    X(dwfl_module_getsymtab)         \
    X(dwfl_module_info)              \
    X(dwfl_module_nextcu)            \
    X(dwfl_report_elf)               \
    X(dwfl_report_end)               \
    X(dwfl_standard_find_debuginfo)  \
    X(elf_begin)                     \
    X(elf_end)                       \
    X(elf_getphdrnum)                \
    X(elf_kind)                      \
    X(elf_nextscn)                   \
    X(elf_version)                   \
    X(gelf_getchdr)                  \
    X(gelf_getphdr)                  \
    X(gelf_getshdr)
// clang-format on

struct mpr_dw {
#define X(name) __typeof__(name) *name;
    MPR_DW_FUNCTIONS(X)
#undef X
};
extern struct mpr_dw mpr_dw;

/* Loads the library, if that was not tried yet.  Returns true if the functions can be called. */
bool mpr_dw_load(void);

#endif
