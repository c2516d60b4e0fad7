# Finds LibTorch and defines the target weft::libtorch. Search order: LIBTORCH given by the user, WEFT_LIBTORCH_BUILT_WITH (of an installed
# Weft), Torch_DIR or CMAKE_PREFIX_PATH given by the user, an importable Python `torch`, the download of scripts/setup.sh in the build
# directory (WEFT_LIBTORCH_OWN). The libraries are imported by path: the CMake package of a CUDA build would require the CUDA toolkit,
# which is not needed without .cu files. Also installed, for find_package(Weft).
set(LIBTORCH "" CACHE PATH "Directory of LibTorch, with include/ and lib/")

# Version X.Y of the LibTorch in `folder`; empty if there is none.
function(weft_libtorch_version folder result)
  set(${result} "" PARENT_SCOPE)
  if(NOT EXISTS "${folder}/include/ATen/ATen.h" OR NOT EXISTS "${folder}/lib/libtorch_cpu.so")
    return()
  endif()
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${folder}/include/${header}")
      file(STRINGS "${folder}/include/${header}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR)")
      if(lines MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+)")
        set(${result} "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Root and version of the first directory with a LibTorch; versions that are too old are skipped with a message.
function(weft_first_libtorch root version)
  set(${root} "" PARENT_SCOPE)
  foreach(folder ${ARGN})
    weft_libtorch_version("${folder}" found)
    if(found AND found VERSION_LESS 2.8)
      message(STATUS "LibTorch ${found} in ${folder} is too old (2.8 or later is required)")
    elseif(found)
      get_filename_component(folder "${folder}" REALPATH)
      set(${root} "${folder}" PARENT_SCOPE)
      set(${version} "${found}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(weft_find_libtorch root version)
  foreach(folder "${LIBTORCH}" "$ENV{LIBTORCH}")  # an explicit LIBTORCH must be usable
    weft_libtorch_version("${folder}" is)
    if(folder AND (NOT is OR is VERSION_LESS 2.8))
      message(FATAL_ERROR "LIBTORCH=${folder}: must be LibTorch 2.8 or later, found version ${is} (empty: no include/ and lib/).")
    endif()
  endforeach()
  set(given "${LIBTORCH}" "$ENV{LIBTORCH}" "${WEFT_LIBTORCH_BUILT_WITH}")
  foreach(folder "${Torch_DIR}" "$ENV{Torch_DIR}")  # .../share/cmake/Torch
    if(folder)
      list(APPEND given "${folder}/../../..")
    endif()
  endforeach()
  string(REPLACE ":" ";" environment_prefixes "$ENV{CMAKE_PREFIX_PATH}")
  foreach(prefix ${CMAKE_PREFIX_PATH} ${environment_prefixes})  # a LibTorch directory, or its share/cmake
    list(APPEND given "${prefix}" "${prefix}/../..")
  endforeach()
  set(found ${LIBTORCH_LAST})
  foreach(python python3 python)
    execute_process(
      COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      list(APPEND found "${folder}")
    endif()
  endforeach()
  weft_first_libtorch(first first_version ${given} ${found} ${WEFT_LIBTORCH_OWN})
  if(NOT first)
    message(FATAL_ERROR
      "LibTorch 2.8 or later was not found. Run scripts/setup.sh, or set -DLIBTORCH=DIRECTORY (with include/ and lib/).")
  endif()
  set(${root} "${first}" PARENT_SCOPE)
  set(${version} "${first_version}" PARENT_SCOPE)
endfunction()

weft_find_libtorch(LIBTORCH_ROOT LIBTORCH_VERSION)
set(LIBTORCH_LAST "${LIBTORCH_ROOT}" CACHE INTERNAL "Lets a build configured with LIBTORCH in the environment be reconfigured without it")
message(STATUS "LibTorch ${LIBTORCH_VERSION}: ${LIBTORCH_ROOT}")
if(CMAKE_SCRIPT_MODE_FILE)  # scripts/setup.sh only checks
  return()
endif()
set(LIBTORCH_HAS_CUDA OFF)
set(LIBTORCH_NCCL_INCLUDES "")
if(EXISTS "${LIBTORCH_ROOT}/lib/libtorch_cuda.so")
  set(LIBTORCH_HAS_CUDA ON)
  # NCCL, for several GPUs, needs headers of CUDA: most are next to the wheel, those of its compiler (crt) in the toolkit or a wheel.
  file(GLOB cuda_wheels "${LIBTORCH_ROOT}/../nvidia/*/include")
  foreach(header crt/host_config.h cublas_v2.h nccl.h)
    string(MAKE_C_IDENTIFIER "LIBTORCH_DIRECTORY_OF_${header}" directory)
    find_path(${directory} ${header} HINTS ${cuda_wheels} PATHS "$ENV{CUDA_HOME}/include" /usr/local/cuda/include)
    list(APPEND LIBTORCH_NCCL_INCLUDES "${${directory}}")
  endforeach()
  if("${LIBTORCH_NCCL_INCLUDES}" MATCHES NOTFOUND)
    message(STATUS "NCCL: not used, its headers and those of CUDA are not complete: ${LIBTORCH_NCCL_INCLUDES}")
    set(LIBTORCH_NCCL_INCLUDES "")
  endif()
endif()

if(NOT TARGET weft::libtorch)
  add_library(weft::libtorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(weft::libtorch SYSTEM INTERFACE
    "${LIBTORCH_ROOT}/include" "${LIBTORCH_ROOT}/include/torch/csrc/api/include")
  target_compile_definitions(weft::libtorch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
  set(libtorch_names torch torch_cpu c10)
  if(LIBTORCH_HAS_CUDA)
    list(APPEND libtorch_names torch_cuda c10_cuda)
  endif()
  # libtorch_cuda must be loaded although no symbol of it is used: it registers the CUDA kernels.
  target_link_options(weft::libtorch INTERFACE "-Wl,--no-as-needed")
  # LibTorch exports parts of its own static libstdc++ (std::filesystem), some of which crash in a program: ours, shared or static, comes
  # before.
  target_link_libraries(weft::libtorch INTERFACE -lstdc++)
  foreach(name ${libtorch_names})
    target_link_libraries(weft::libtorch INTERFACE "${LIBTORCH_ROOT}/lib/lib${name}.so")
  endforeach()
  # The same OpenMP library as LibTorch: with another one the process would have two thread pools.
  file(GLOB libtorch_gomp "${LIBTORCH_ROOT}/lib/libgomp*.so*" "${LIBTORCH_ROOT}/../torch.libs/libgomp*.so*")
  list(APPEND libtorch_gomp gomp)
  list(GET libtorch_gomp 0 libtorch_gomp)
  target_link_libraries(weft::libtorch INTERFACE "${libtorch_gomp}")
endif()
