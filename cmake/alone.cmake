# memprof-report is linked twice: with the machine's shared libraries, and with static ones, so that the archive runs on
# any machine. A program's property MP_ALONE selects the variant of the libraries below.
option(MEMPROF_PACKAGES "What the packages need besides is built with everything else" OFF)
set(alone $<BOOL:$<TARGET_PROPERTY:MP_ALONE>>)

# mp_either(NAME SHARED library... STATIC file...): defines a library with both variants. Sets MEMPROF_ALONE to OFF if a
# file is missing.
set(MEMPROF_ALONE ON)
function(mp_either name)
  cmake_parse_arguments(arg "" "" "SHARED;STATIC" ${ARGN})
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE "$<$<NOT:${alone}>:${arg_SHARED}>")
  foreach(file ${arg_STATIC})
    find_library(${file}_LIBRARY ${file})
    mark_as_advanced(${file}_LIBRARY)
    if(${file}_LIBRARY)
      target_link_libraries(${name} INTERFACE "$<${alone}:${${file}_LIBRARY}>")
    else()
      if(MEMPROF_PACKAGES)
        message(STATUS "memprof: no archive without ${file}: install what scripts/deps.sh package installs")
      endif()
      set(MEMPROF_ALONE OFF PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

mp_either(mp_zlib SHARED ZLIB::ZLIB STATIC libz.a)
if(MEMPROF_SQLITE)
  mp_either(mp_sqlite SHARED SQLite::SQLite3 STATIC libsqlite3.a)
endif()
# libdw is loaded on demand, so that memprof-report starts without it. libdw.a is followed by the libraries that it
# uses.
if(MEMPROF_LIBDW)
  mp_either(mp_dw_archives SHARED STATIC libdw.a libelf.a libz.a libbz2.a liblzma.a libzstd.a)
  add_library(mp_dw INTERFACE)
  if(MEMPROF_SANITIZE)      # LeakSanitizer of clang 14 crashes at the end of a program that has loaded libdw itself
    find_library(MEMPROF_LIBDW_LIBRARY dw REQUIRED)
    find_library(MEMPROF_LIBELF_LIBRARY elf REQUIRED)
    mark_as_advanced(MEMPROF_LIBDW_LIBRARY MEMPROF_LIBELF_LIBRARY)
    target_link_libraries(mp_dw INTERFACE mpr_libdw_inside ${MEMPROF_LIBDW_LIBRARY} ${MEMPROF_LIBELF_LIBRARY})
  else()
    target_link_libraries(mp_dw INTERFACE "$<IF:${alone},mpr_libdw_inside,mpr_libdw_loaded>")
  endif()
endif()
