# weft_library(NAME [TORCH] [DEPENDS lower...] [LIBRARIES targets...] [SHARED_LIBRARIES targets...]): the static library weft_NAME from
# src/NAME/**/*.cpp. LIBRARIES are private; SHARED_LIBRARIES (included by its headers) and DEPENDS are public.
function(weft_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${WEFT_WARNINGS_AS_ERRORS}>:-Werror>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)  # unity builds include sources
endfunction()

function(weft_library name)
  cmake_parse_arguments(PARSE_ARGV 1 LIBRARY "TORCH" "" "DEPENDS;LIBRARIES;SHARED_LIBRARIES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "src/(cli/main|kernels/cpu/level).cpp$")  # built as the program, and for each instruction set level
  add_library(weft_${name} STATIC ${sources})
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/weft>)
  foreach(dependency ${LIBRARY_DEPENDS})
    target_link_libraries(weft_${name} PUBLIC weft_${dependency})
  endforeach()
  target_link_libraries(weft_${name} PUBLIC ${LIBRARY_SHARED_LIBRARIES} PRIVATE ${LIBRARY_LIBRARIES})
  if(LIBRARY_TORCH)
    target_link_libraries(weft_${name} PUBLIC weft::libtorch)
    weft_precompile(weft_${name})
  endif()
  weft_compile_options(weft_${name})
  set_property(GLOBAL APPEND PROPERTY WEFT_LIBRARIES weft_${name})
endfunction()

# Headers take as much time as code: one precompiled header, of those that most sources include, for all libraries that use LibTorch
# (weft_kernels owns it), and one for their tests.
function(weft_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 PRECOMPILE "" "FROM" "")
  if(NOT PRECOMPILE_FROM)
    set(PRECOMPILE_FROM weft_kernels)
  endif()
  if(target STREQUAL PRECOMPILE_FROM)
    target_precompile_headers(${target} PRIVATE <ATen/ATen.h> <torch/nn/module.h> <torch/csrc/autograd/custom_function.h>
      <nlohmann/json.hpp> <filesystem> <functional> <map> <any>)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${PRECOMPILE_FROM})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    # An executable would be compiled with -fPIE, which does not match the precompiled header of a library.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()
