# MEMPROF_SANITIZE=address,undefined or =thread builds everything with that sanitizer, except preloaded libraries: a sanitizer's
# runtime must be the first library of a program, and so must libmemprof.so. For unit tests only.
set(MEMPROF_SANITIZE "" CACHE STRING "Sanitizers for the unit tests")
if(MEMPROF_SANITIZE)
  add_compile_options(-fsanitize=${MEMPROF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MEMPROF_SANITIZE})
  if(MEMPROF_SANITIZE MATCHES fuzzer)      # clang reports NULL + 0, which C2y allows, as an error
    add_compile_options(-fno-sanitize=pointer-overflow)
  endif()
endif()
