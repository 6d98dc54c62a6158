# MEMPROF_COVERAGE counts the lines that tests reach (scripts/coverage.py sums them up). It needs clang, whose counters can be in a file
# that all processes of a program map: a process that is killed, calls _exit or executes another program is also counted. gcc writes its
# counters at the end of main. Targets that are counted link mp_coverage. Test programs are not counted, because the runtime allocates
# before main.
option(MEMPROF_COVERAGE "Lines that tests reach are counted" OFF)
add_library(mp_coverage INTERFACE)
if(MEMPROF_COVERAGE)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "MEMPROF_COVERAGE needs clang: configure with -DCMAKE_C_COMPILER=clang")
  endif()
  set(profile -fprofile-instr-generate=${CMAKE_BINARY_DIR}/profiles/%m%c.profraw)
  target_compile_options(mp_coverage INTERFACE $<$<COMPILE_LANGUAGE:C>:${profile}> $<$<COMPILE_LANGUAGE:C>:-fcoverage-mapping>
    "$<$<COMPILE_LANGUAGE:C>:SHELL:-mllvm -runtime-counter-relocation>")
  target_link_options(mp_coverage INTERFACE ${profile})
endif()
