# weft_room(NAME [TORCH] [ROOMS lower...] [LIBRARIES targets...] [SHARED_LIBRARIES targets...]): the library weft_NAME from
# src/NAME/*.cpp. LIBRARIES stay private to the room; SHARED_LIBRARIES, which its headers name, and rooms below are passed on.
function(weft_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${WEFT_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()

function(weft_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ROOM "TORCH" "" "ROOMS;LIBRARIES;SHARED_LIBRARIES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "src/cli/main.cpp$")
  add_library(weft_${name} STATIC ${sources})
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/weft>)
  foreach(room ${ROOM_ROOMS})
    target_link_libraries(weft_${name} PUBLIC weft_${room})
  endforeach()
  target_link_libraries(weft_${name} PUBLIC ${ROOM_SHARED_LIBRARIES} PRIVATE ${ROOM_LIBRARIES})
  if(ROOM_TORCH)
    target_link_libraries(weft_${name} PUBLIC weft::libtorch)
    weft_precompile(weft_${name})
  endif()
  weft_compile_options(weft_${name})
  set_property(GLOBAL APPEND PROPERTY WEFT_ROOMS weft_${name})
endfunction()

# LibTorch's headers cost most of a file's compile time: one precompiled header for all rooms that see them (weft_kernels holds
# it), and one for their tests.
function(weft_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 PRECOMPILE "" "FROM" "")
  if(NOT PRECOMPILE_FROM)
    set(PRECOMPILE_FROM weft_kernels)
  endif()
  if(target STREQUAL PRECOMPILE_FROM)
    target_precompile_headers(${target} PRIVATE <ATen/ATen.h>)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${PRECOMPILE_FROM})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    # A program would be compiled with -fPIE, for which the header of a library does not serve.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()
