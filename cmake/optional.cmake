# What memprof can do without.  Each one that is missing is named here, in one line, with what is lost.
# MEMPROF_WITHOUT="cuda;jemalloc" leaves some out on purpose: CI builds without each.
set(MEMPROF_WITHOUT "" CACHE STRING "Optional parts to do without: cuda, jemalloc, libdw, node, nvtx-memory, sqlite")

find_path(NVTX3_INCLUDE_DIR nvtx3/nvToolsExtPayload.h PATHS /usr/local/cuda/include ENV CUDA_HOME PATH_SUFFIXES include)
find_path(CUPTI_INCLUDE_DIR generated_cuda_meta.h PATHS /usr/local/cuda ENV CUDA_HOME PATH_SUFFIXES include extras/CUPTI/include)
find_path(JEMALLOC_INCLUDE_DIR jemalloc/jemalloc.h)
find_path(LIBDW_INCLUDE_DIR elfutils/libdwfl.h)

function(mp_optional part variable found lost)
  if(part IN_LIST MEMPROF_WITHOUT OR NOT ${found})
    set(${variable} OFF PARENT_SCOPE)
    message(STATUS "memprof: without ${part}: ${lost}")
  else()
    set(${variable} ON PARENT_SCOPE)
  endif()
endfunction()

# CUDA_VERSION of cuda.h, 13000 for 13.0: the calls that preload/cuda/calls.def lists are known from 12.8 on.
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
mp_optional(cuda MEMPROF_CUDA cuda_headers "no device memory is recorded, but PyTorch's blocks and ranges are; install the headers of CUDA 12.8 or later and CUPTI's")
set(nvtx_memory OFF)
if(MEMPROF_CUDA AND EXISTS ${NVTX3_INCLUDE_DIR}/nvtx3/nvToolsExtMem.h)
  set(nvtx_memory ON)
endif()
mp_optional(nvtx-memory MEMPROF_NVTX_MEMORY nvtx_memory "the test of NVTX's memory extension (nvToolsExtMem.h) against its headers is left out")
mp_optional(jemalloc MEMPROF_JEMALLOC JEMALLOC_INCLUDE_DIR "the test of jemalloc's own interface (mallocx, ...) is left out")

mp_optional(libdw MEMPROF_LIBDW LIBDW_INCLUDE_DIR "call stacks are shown by object file and offset, without names; install libdw-dev")

find_package(SQLite3 QUIET)
mp_optional(sqlite MEMPROF_SQLITE SQLite3_FOUND "memprof-report has no export to SQLite; install libsqlite3-dev")

include(${CMAKE_CURRENT_LIST_DIR}/node.cmake)
mp_optional(node MEMPROF_PAGE node_packages "memprof-report has no html command; install Node 18 or later and npm")
