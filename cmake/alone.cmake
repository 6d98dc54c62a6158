# memprof-report is linked twice: with the machine's libraries, and, for the archive that runs anywhere, with them inside.
# Which of the two a program is says its property MP_ALONE; the libraries below are either.
option(MEMPROF_PACKAGES "What the packages need besides is built with everything else" OFF)
set(alone $<BOOL:$<TARGET_PROPERTY:MP_ALONE>>)

# mp_either(NAME SHARED library... STATIC file...): MEMPROF_ALONE becomes OFF where one of the files is missing.
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
      message(STATUS "memprof: without ${file}: no archive that needs the C library alone (scripts/deps.sh package)")
      set(MEMPROF_ALONE OFF PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

mp_either(mp_zlib SHARED ZLIB::ZLIB STATIC libz.a)
if(MEMPROF_SQLITE)
  mp_either(mp_sqlite SHARED SQLite::SQLite3 STATIC libsqlite3.a)
endif()
# libdw is loaded when it is needed, so that memprof-report starts without it.  libdw.a is followed by the libraries that it uses.
if(MEMPROF_LIBDW)
  mp_either(mp_dw_archives SHARED STATIC libdw.a libelf.a libz.a libbz2.a liblzma.a libzstd.a)
  add_library(mp_dw INTERFACE)
  target_link_libraries(mp_dw INTERFACE "$<IF:${alone},mpr_libdw_inside,mpr_libdw_loaded>")
endif()
