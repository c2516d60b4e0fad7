# `cmake --install build --prefix P`: P/bin/weft, P/lib/libweft_*.a, the public headers
# below P/include/weft, LibTorch in P/lib/weft/libtorch, and the CMake package Weft.
include(CMakePackageConfigHelpers)
include(${CMAKE_CURRENT_LIST_DIR}/PublicHeaders.cmake)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Weft)
# A separate directory: other programs would also load a libc10.so or libgomp.so.1 in /usr/local/lib.
set(bundle_folder ${CMAKE_INSTALL_LIBDIR}/weft/libtorch)

# The libraries of a CUDA build have several gigabytes and need those of its toolkit: they are not copied.
set(bundle_by_default ON)
if(LIBTORCH_HAS_CUDA)
  set(bundle_by_default OFF)
endif()
option(WEFT_BUNDLE_LIBTORCH "Install LibTorch with the program: libraries and headers" ${bundle_by_default})

if(WEFT_BUNDLE_LIBTORCH)
  file(GLOB bundle "${LIBTORCH_ROOT}/lib/*.so" "${LIBTORCH_ROOT}/lib/*.so.*" "${LIBTORCH_ROOT}/../torch.libs/*.so*")
  # LibTorch's Python libraries, and those that only its tests load.
  list(FILTER bundle EXCLUDE REGEX "/lib(torch_python|shm|caffe2_nvrtc|torch_global_deps|aoti_custom_ops|[a-z_]*test|backend_with_compiler)\\.so")
  install(FILES ${bundle} DESTINATION ${bundle_folder}/lib)
  install(DIRECTORY "${LIBTORCH_ROOT}/include" DESTINATION ${bundle_folder})
  file(GLOB torch_license "${LIBTORCH_ROOT}/../torch-*.dist-info/licenses/LICENSE" "${LIBTORCH_ROOT}/../torch-*.dist-info/LICENSE")
  if(torch_license)
    list(GET torch_license 0 torch_license)
    install(FILES "${torch_license}" DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.libtorch)
  endif()
  file(RELATIVE_PATH to_bundle "/${CMAKE_INSTALL_BINDIR}" "/${bundle_folder}/lib")
  set_target_properties(weft PROPERTIES INSTALL_RPATH "$ORIGIN/${to_bundle}")
else()
  set_target_properties(weft PROPERTIES INSTALL_RPATH "${LIBTORCH_ROOT}/lib")
endif()
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# `cli` too: a program with objectives of its own calls weft::run (cli/run.h).
get_property(libraries GLOBAL PROPERTY WEFT_LIBRARIES)
foreach(library ${libraries})
  string(REPLACE "weft_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${library} EXPORT WeftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
public_headers(headers)
foreach(header ${headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${CMAKE_SOURCE_DIR}/src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/${folder})
endforeach()
install(EXPORT WeftTargets NAMESPACE Weft:: DESTINATION ${package_folder})
set(package_libtorch "${LIBTORCH_ROOT}")
if(WEFT_BUNDLE_LIBTORCH)
  set(package_libtorch "${bundle_folder}")
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/WeftConfig.cmake.in ${CMAKE_BINARY_DIR}/WeftConfig.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS package_libtorch)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/WeftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/WeftConfig.cmake ${CMAKE_BINARY_DIR}/WeftConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/LibTorch.cmake ${CMAKE_CURRENT_LIST_DIR}/SystemLibraries.cmake DESTINATION ${package_folder})
