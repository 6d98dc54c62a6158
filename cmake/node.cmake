# Installs packages from npm into the build folder, once for each lock file.
find_program(NODE_PROGRAM NAMES node nodejs)
find_program(NPM_PROGRAM npm)

# mp_npm(SOURCE INTO VARIABLE [option...]): installs the packages of SOURCE's lock file into INTO, and sets VARIABLE to
# whether they are there.
function(mp_npm source into variable)
  set(${variable} OFF PARENT_SCOPE)
  if(NOT NODE_PROGRAM OR NOT NPM_PROGRAM OR "node" IN_LIST MEMPROF_WITHOUT)
    return()
  endif()
  file(SHA256 ${source}/package-lock.json lock)
  set(stamp ${into}/installed.${lock}${ARGN})
  if(NOT EXISTS ${stamp})
    file(COPY ${source}/package.json ${source}/package-lock.json DESTINATION ${into})
    execute_process(COMMAND ${NPM_PROGRAM} ci ${ARGN} --ignore-scripts --no-audit --no-fund --loglevel=error
      WORKING_DIRECTORY ${into} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
    if(failed)
      message(STATUS "memprof: npm could not install the packages of ${source}: ${why}")
      return()
    endif()
    file(TOUCH ${stamp})
  endif()
  set(${variable} ON PARENT_SCOPE)
endfunction()

# The packages of the page. If Node or the network is missing, the page is not built.
set(MEMPROF_VIEWER_MODULES ${CMAKE_BINARY_DIR}/viewer/npm)
set(without_tests "")
if(NOT MEMPROF_TESTS OR MEMPROF_SANITIZE)
  set(without_tests --omit=dev)
endif()
mp_npm(${CMAKE_CURRENT_SOURCE_DIR}/viewer ${MEMPROF_VIEWER_MODULES} node_packages ${without_tests})
