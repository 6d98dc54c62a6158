# One library for each allocator that has its own API: libmemprof-jemalloc.so, libmemprof-mimalloc.so and
# libmemprof-tcmalloc.so. They are preloaded after libmemprof.so, whose memprof_record_* they call, and need no headers
# of these allocators.
mp_door(companions)
add_library(mp_companions INTERFACE)
target_include_directories(mp_companions INTERFACE ${door})

foreach(allocator jemalloc mimalloc tcmalloc)
  add_library(memprof-${allocator} MODULE companions/companion_hook.c companions/companion_${allocator}.c real/symbol.c)
  target_compile_definitions(memprof-${allocator} PRIVATE _GNU_SOURCE)
  target_compile_options(memprof-${allocator} PRIVATE -fno-builtin -fno-optimize-sibling-calls)
  target_link_options(memprof-${allocator} PRIVATE -Wl,-z,noexecstack -Wl,--as-needed)
  target_include_directories(memprof-${allocator} PRIVATE $<TARGET_PROPERTY:mp_real,INCLUDE_DIRECTORIES>)
  target_link_libraries(memprof-${allocator} PRIVATE mp_companions mp_coverage mp_warnings)
endforeach()

# libmemprof-cuda.so, after all others: the CUDA driver's calls, and the look-ups that find them. The caller of a
# look-up is recognised by the return address: look-ups of the program continue with jumps, look-ups by this library
# must be calls. (With -Bsymbolic the latter would search this library first.)
if(MEMPROF_CUDA)
  include(companions/driver_calls.cmake)
  mp_driver_calls(${CMAKE_CURRENT_BINARY_DIR}/companions/driver_calls.def)
  add_library(memprof-cuda MODULE companions/companion_cuda.c companions/companion_lookup.c real/symbol.c)
  target_compile_definitions(memprof-cuda PRIVATE _GNU_SOURCE)
  set_source_files_properties(companions/companion_lookup.c PROPERTIES COMPILE_OPTIONS -O2)
  set_source_files_properties(companions/companion_cuda.c PROPERTIES COMPILE_OPTIONS -fno-optimize-sibling-calls)
  set_target_properties(memprof-cuda PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_link_options(memprof-cuda PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,nodelete -Wl,--as-needed)
  target_include_directories(memprof-cuda PRIVATE $<TARGET_PROPERTY:mp_real,INCLUDE_DIRECTORIES>
    ${CMAKE_CURRENT_BINARY_DIR}/companions)
  target_include_directories(memprof-cuda SYSTEM PRIVATE ${CUPTI_INCLUDE_DIR} ${CUDA_INCLUDE_DIR})
  target_link_libraries(memprof-cuda PRIVATE mp_companions mp_warnings) # not counted for coverage, because the counters would be between a look-up and its caller
endif()
