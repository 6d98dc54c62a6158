# `cpack` makes two packages of a build: one for Debian and Ubuntu, whose dependencies dpkg-shlibdeps finds, and an
# archive that runs from any folder, with a memprof-report that needs only the C library. packaging/generator.cmake has
# the differences. packaging/wheel.py makes a wheel of the archive.
set(CPACK_PACKAGE_NAME memprof)
set(CPACK_PACKAGE_CONTACT "memprof maintainers <maintainers@memprof.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "memory profiler for out-of-memory deaths on the host and on GPUs")
set(CPACK_PACKAGE_DESCRIPTION "Records every malloc and free of a program and every allocation of CUDA,
with the NVTX ranges, Python and native call stacks that caused them, in a
log that survives SIGKILL. Reports say who held the memory.")
set(CPACK_GENERATOR DEB)
if(TARGET memprof-report-alone)
  list(APPEND CPACK_GENERATOR TGZ)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_ARCHIVE_FILE_NAME memprof-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/packaging/generator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/packaging/debian.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/packaging/wheel.cmake)
set(CPACK_MEMPROF_PACKAGING ${CMAKE_CURRENT_SOURCE_DIR}/packaging)
set(CPACK_BUILD_FOLDER ${CMAKE_BINARY_DIR})

set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3 (>= 3.9), python3-pandas")
if(MEMPROF_LIBDW)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libdw1) # loaded at run time; later releases' libdw1t64 provides it
endif()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The build is complete before it is packed. Otherwise each installation for cpack would run make again.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# The licence notices of the libraries inside the archive's memprof-report, as installed on this machine.
foreach(library libdw-dev libelf-dev liblzma-dev libbz2-dev zlib1g-dev libzstd-dev libsqlite3-dev)
  install(FILES /usr/share/doc/${library}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/inside RENAME ${library} COMPONENT alone
    EXCLUDE_FROM_ALL OPTIONAL)
endforeach()
install(FILES packaging/inside.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/inside RENAME README COMPONENT alone EXCLUDE_FROM_ALL)
include(CPack)
