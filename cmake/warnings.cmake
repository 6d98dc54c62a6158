# The warnings of all targets, which link mp_warnings.
add_library(mp_warnings INTERFACE)
target_compile_options(mp_warnings INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wwrite-strings -Wconversion -Wvla -Wundef -Wno-missing-field-initializers)
# Only gcc knows noclone, and clang makes no clones. Enumerators are also used for constants of amounts.
target_compile_options(mp_warnings INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-unknown-attributes -Wno-enum-float-conversion>)
option(MEMPROF_WERROR "Warnings are errors" OFF)
if(MEMPROF_WERROR)
  target_compile_options(mp_warnings INTERFACE -Werror)
endif()
