# One library for each allocator with an API of its own: libmemprof-jemalloc.so, libmemprof-mimalloc.so and
# libmemprof-tcmalloc.so, preloaded behind libmemprof.so, whose memprof_record_* they call.  None needs its
# allocator's headers.
mp_door(companions)
add_library(mp_companions INTERFACE)
target_include_directories(mp_companions INTERFACE ${door})

foreach(allocator jemalloc mimalloc tcmalloc)
  add_library(memprof-${allocator} MODULE companions/companion_hook.c companions/companion_${allocator}.c real/symbol.c)
  target_compile_definitions(memprof-${allocator} PRIVATE _GNU_SOURCE)
  target_compile_options(memprof-${allocator} PRIVATE -fno-builtin -fno-optimize-sibling-calls)
  target_link_options(memprof-${allocator} PRIVATE -Wl,-z,noexecstack -Wl,--as-needed)
  target_include_directories(memprof-${allocator} PRIVATE $<TARGET_PROPERTY:mp_real,INCLUDE_DIRECTORIES>)
  target_link_libraries(memprof-${allocator} PRIVATE mp_companions mp_warnings)
endforeach()
