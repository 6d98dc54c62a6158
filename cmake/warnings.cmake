# One place for warnings: every target links mp_warnings.
add_library(mp_warnings INTERFACE)
target_compile_options(mp_warnings INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wwrite-strings -Wconversion -Wvla -Wundef -Wno-missing-field-initializers)
# noclone is gcc's alone: clang makes no clones.  Enumerators are the tree's constants, of amounts, too.
target_compile_options(mp_warnings INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-unknown-attributes -Wno-enum-float-conversion>)
option(MEMPROF_WERROR "Warnings are errors" OFF)
if(MEMPROF_WERROR)
  target_compile_options(mp_warnings INTERFACE -Werror)
endif()
