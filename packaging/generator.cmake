# Read by cpack for each generator, after its configuration.
if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_PACKAGE_FILE_NAME ${CPACK_ARCHIVE_FILE_NAME})
  # the files of every installation, and then those that make it independent
  set(CPACK_INSTALL_CMAKE_PROJECTS "${CPACK_BUILD_FOLDER};memprof;ALL;/;${CPACK_BUILD_FOLDER};memprof;alone;/")
endif()
