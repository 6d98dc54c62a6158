# MEMPROF_SANITIZE=address,undefined or =thread builds everything with that sanitizer, except what is preloaded: a
# sanitizer's runtime has to be the first library of a program, and so has libmemprof.so.  Unit tests only.
set(MEMPROF_SANITIZE "" CACHE STRING "Sanitizers for the unit tests")
if(MEMPROF_SANITIZE)
  add_compile_options(-fsanitize=${MEMPROF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MEMPROF_SANITIZE})
  if(MEMPROF_SANITIZE MATCHES fuzzer)      # clang takes NULL + 0, which C2y allows, for an error of that kind
    add_compile_options(-fno-sanitize=pointer-overflow)
  endif()
endif()
