# Cross-compiles for aarch64 with Debian's gcc, and runs the result under qemu-user. scripts/aarch64.sh downloads the
# libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
find_program(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)      # without it the tests with C++ programs are left out
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

# CUDA's headers are the same for all processors.
foreach(header NVTX3:nvtx3/nvToolsExtPayload.h CUPTI:generated_cuda_meta.h CUDA:cuda.h)
  string(REPLACE ":" ";" header ${header})
  list(GET header 0 part)
  list(GET header 1 file)
  find_path(${part}_INCLUDE_DIR ${file} PATHS /usr/local/cuda ENV CUDA_HOME PATH_SUFFIXES include extras/CUPTI/include
    NO_CMAKE_SYSTEM_PATH NO_CMAKE_FIND_ROOT_PATH)
endforeach()
