# Optional parts of memprof. mp_summary() prints which of them are built, what each provides, and how to get the others.
# MEMPROF_WITHOUT="cuda;jemalloc" leaves some out on purpose. CI builds without each.
set(MEMPROF_WITHOUT "" CACHE STRING "Optional parts to do without: cuda, jemalloc, libdw, node, nvtx-memory, sqlite")

find_path(NVTX3_INCLUDE_DIR nvtx3/nvToolsExtPayload.h PATHS /usr/local/cuda/include ENV CUDA_HOME PATH_SUFFIXES include)
find_path(CUPTI_INCLUDE_DIR generated_cuda_meta.h PATHS /usr/local/cuda ENV CUDA_HOME PATH_SUFFIXES include extras/CUPTI/include)
find_path(JEMALLOC_INCLUDE_DIR jemalloc/jemalloc.h)
find_path(LIBDW_INCLUDE_DIR elfutils/libdwfl.h)

# mp_optional(PART VARIABLE FOUND BRINGS HOW): sets VARIABLE to ON if FOUND is true and MEMPROF_WITHOUT does not name PART. BRINGS is the
# feature that the part adds, HOW is the way to install the part.
set_property(GLOBAL PROPERTY mp_built_in "")
set_property(GLOBAL PROPERTY mp_missing "")
function(mp_optional part variable found brings how)
  string(LENGTH "${part}" length)
  math(EXPR blanks "12 - ${length}")
  string(REPEAT " " ${blanks} blanks)
  set(line "${part}${blanks}${brings}")
  if(part IN_LIST MEMPROF_WITHOUT)
    set_property(GLOBAL APPEND_STRING PROPERTY mp_missing "--   ${line} (MEMPROF_WITHOUT excludes it)\n")
  elseif(NOT ${found})
    set_property(GLOBAL APPEND_STRING PROPERTY mp_missing "--   ${line} (${how})\n")
  else()
    set_property(GLOBAL APPEND_STRING PROPERTY mp_built_in "--   ${line}\n")
    set(${variable} ON PARENT_SCOPE)
    return()
  endif()
  set(${variable} OFF PARENT_SCOPE)
endfunction()

# Prints the optional parts. Must be called at the end of the configuration, so that the summary is the last output.
function(mp_summary)
  get_property(built_in GLOBAL PROPERTY mp_built_in)
  get_property(missing GLOBAL PROPERTY mp_missing)
  set(text "memprof ${PROJECT_VERSION}, optional parts that are built in:\n${built_in}")
  if(NOT built_in)
    string(APPEND text "--   none\n")
  endif()
  if(missing)
    string(APPEND text "-- memprof: missing, and what each would bring:\n${missing}")
  endif()
  if(MEMPROF_TESTS)
    string(APPEND text "-- memprof: the tests are built: ctest --test-dir ${CMAKE_BINARY_DIR}")
  else()
    string(APPEND text "-- memprof: the tests are not built (-DMEMPROF_TESTS=ON, or tests/run.sh)")
  endif()
  message(STATUS "${text}")
endfunction()

# CUDA_VERSION of cuda.h is 13000 for 13.0. The calls that preload/cuda/calls.def lists exist since 12.8.
set(cuda_headers ON)
find_path(CUDA_INCLUDE_DIR cuda.h HINTS ${CUPTI_INCLUDE_DIR} PATHS /usr/local/cuda ENV CUDA_HOME PATH_SUFFIXES include NO_CMAKE_SYSTEM_PATH)
if(NOT NVTX3_INCLUDE_DIR OR NOT CUPTI_INCLUDE_DIR OR NOT CUDA_INCLUDE_DIR)
  set(cuda_headers OFF)
else()
  file(STRINGS ${CUDA_INCLUDE_DIR}/cuda.h cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" cuda_version "${cuda_version}")
  if(cuda_version LESS 12080)
    set(cuda_headers OFF)
  endif()
endif()
mp_optional(cuda MEMPROF_CUDA cuda_headers "recording of device memory; PyTorch's blocks and ranges are recorded without it"
  "install the headers of CUDA 12.8 or later, NVTX and CUPTI")
set(nvtx_memory OFF)
if(MEMPROF_CUDA AND EXISTS ${NVTX3_INCLUDE_DIR}/nvtx3/nvToolsExtMem.h)
  set(nvtx_memory ON)
endif()
mp_optional(nvtx-memory MEMPROF_NVTX_MEMORY nvtx_memory "only a test of NVTX's memory extension"
  "install an NVTX with nvToolsExtMem.h")
mp_optional(jemalloc MEMPROF_JEMALLOC JEMALLOC_INCLUDE_DIR "only a test of jemalloc's own functions (mallocx, ...)"
  "install libjemalloc-dev")

mp_optional(libdw MEMPROF_LIBDW LIBDW_INCLUDE_DIR "function names and lines in call stacks; object file and offset are shown without it"
  "install libdw-dev")

find_package(SQLite3 QUIET)
mp_optional(sqlite MEMPROF_SQLITE SQLite3_FOUND "memprof-report export --to sqlite, and digest"
  "install libsqlite3-dev")

include(${CMAKE_CURRENT_LIST_DIR}/node.cmake)
mp_optional(node MEMPROF_PAGE node_packages "memprof-report html: the page for a browser"
  "install Node 18 or later and npm; the first build downloads packages")
