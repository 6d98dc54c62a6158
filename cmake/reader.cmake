# libmemprof-reader.a: format, input and replay for other programs (mpr/stream.h), as one object that exports only the
# names in its headers and contains libzstd. It is linked from the objects of the layers. If these are for link-time
# optimisation, it is compiled here, because its users may have another compiler.
if(MEMPROF_SANITIZE OR MEMPROF_COVERAGE OR NOT CMAKE_C_COMPILER_ID STREQUAL GNU)
  return()
endif()
set(optimised "")
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  set(optimised -O2 -flto=auto -flinker-output=nolto-rel)
endif()
set(reader ${CMAKE_BINARY_DIR}/libmemprof-reader.a)
set(object ${CMAKE_BINARY_DIR}/libmemprof-reader.o)
set(layers mpr_input mpr_replay mpr_base mpf_format)
list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
add_custom_command(OUTPUT ${reader} DEPENDS mpr_stream ${layers} VERBATIM COMMENT "Linking libmemprof-reader.a"
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -fPIC ${optimised} -o ${object} -Wl,--whole-archive $<TARGET_FILE:mpr_stream> -Wl,--no-whole-archive
    -Wl,--start-group ${archives} -Wl,--end-group ${ZSTD_STATIC_LIBRARY}
  COMMAND ${CMAKE_OBJCOPY} --strip-debug --wildcard --keep-global-symbol=mpr_stream_* --keep-global-symbol=mpf_op_* --keep-global-symbol=mpf_heap_name*
    --keep-global-symbol=mpf_loss_text --keep-global-symbol=mpf_cut_text ${object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${reader}
  COMMAND ${CMAKE_AR} qcs ${reader} ${object})
add_custom_target(reader ALL DEPENDS ${reader})

install(FILES ${reader} DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/memprof)
install(FILES postproc/stream/include/mpr/stream.h DESTINATION ${headers}/mpr)
install(FILES format/include/mpf/event.h format/include/mpf/events.def format/include/mpf/gpu.h format/include/mpf/sample.h DESTINATION ${headers}/mpf)

# Both files find the library relative to their own path, so that the installed tree may be moved.
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/memprof-config.cmake.in ${CMAKE_BINARY_DIR}/memprof-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/memprof PATH_VARS CMAKE_INSTALL_LIBDIR headers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/memprof-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/memprof-config.cmake ${CMAKE_BINARY_DIR}/memprof-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/memprof)
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR}/memprof)
configure_file(cmake/memprof-reader.pc.in ${CMAKE_BINARY_DIR}/memprof-reader.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/memprof-reader.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
