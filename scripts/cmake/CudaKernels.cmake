# src/kernels/cuda: kernels for NVIDIA GPUs, compiled by nvcc where LibTorch has CUDA and the toolkit is found. Elsewhere a GPU runs the
# plain operations of LibTorch.
option(WEFT_CUDA_KERNELS "Compile the CUDA kernels if LibTorch has CUDA and nvcc is found" ON)
if(NOT LIBTORCH_HAS_CUDA OR NOT WEFT_CUDA_KERNELS)
  return()
endif()
find_program(WEFT_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)
if(NOT WEFT_NVCC)
  message(STATUS "CUDA kernels: not built, nvcc was not found")
  return()
endif()
set(CMAKE_CUDA_COMPILER "${WEFT_NVCC}")
set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual CACHE STRING "GPUs that the CUDA kernels are compiled for")
enable_language(CUDA)
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # which CMake 3.25 does not know
message(STATUS "CUDA kernels: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/cuda/*.cu)
add_library(weft_cuda STATIC ${cuda_sources})
set_target_properties(weft_cuda PROPERTIES UNITY_BUILD OFF)
target_compile_options(weft_cuda PRIVATE --expt-relaxed-constexpr)  # LibTorch calls std::bit_cast in device code
target_include_directories(weft_cuda PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
# The CUDA runtime is linked by path: the compiler of our programs does not search its directory.
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
find_library(WEFT_CUDART cudart_static REQUIRED
  HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} "${CMAKE_CUDA_COMPILER}/../../lib64" /usr/local/cuda/lib64)
target_link_libraries(weft_cuda PUBLIC weft::libtorch "${WEFT_CUDART}" rt dl)
set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_cuda)
target_link_libraries(weft_kernels PUBLIC weft_cuda)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/kernels/cuda/kernel_table.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON COMPILE_DEFINITIONS WEFT_CUDA_KERNELS)
