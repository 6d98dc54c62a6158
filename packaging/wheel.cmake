# Makes a wheel of the archive, if Python is installed.
find_program(MEMPROF_PYTHON python3)
foreach(file ${CPACK_PACKAGE_FILES})
  if(file MATCHES "\\.tar\\.gz$" AND MEMPROF_PYTHON)
    execute_process(COMMAND ${MEMPROF_PYTHON} -B ${CPACK_MEMPROF_PACKAGING}/wheel.py ${file} ${CPACK_PACKAGE_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
