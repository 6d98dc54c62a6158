# The static libzstd. libmemprof.so hides it inside, so that it does not replace a libzstd.so.1 of the program.
find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_STATIC_LIBRARY NAMES libzstd.a)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_STATIC_LIBRARY)
  message(FATAL_ERROR "zstd.h and libzstd.a are needed: apt-get install libzstd-dev")
endif()
add_library(mp_zstd STATIC IMPORTED)
set_target_properties(mp_zstd PROPERTIES IMPORTED_LOCATION "${ZSTD_STATIC_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${ZSTD_INCLUDE_DIR}")
