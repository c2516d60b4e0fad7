# src/kernels/cpu: one source compiled for each instruction set level, selected at run time. No floating-point contraction: fused operations
# are explicit in the code. Without the precompiled header, which was built for the lowest level.
set(level_flags -O3 -ffp-contract=off)
set(level_flags_avx2 -mavx2 -mfma)
set(level_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mprefer-vector-width=512)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # gcc 12 warns about the undefined operands inside its own intrinsics. The last option is for clang-tidy, which reads these flags.
  list(APPEND level_flags_avx512 -Wno-uninitialized -Wno-maybe-uninitialized -Wno-unknown-warning-option)
endif()
set(level_flags_avx512_vnni ${level_flags_avx512} -mavx512vnni)
set(level_flags_avx512_bf16 ${level_flags_avx512_vnni} -mavx512bf16)
set(levels plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND levels avx2 avx512 avx512_vnni avx512_bf16)
endif()
foreach(level ${levels})
  add_library(weft_level_${level} OBJECT src/kernels/cpu/level.cpp)
  string(TOUPPER WEFT_LEVEL_${level} definition)
  target_compile_definitions(weft_level_${level} PRIVATE ${definition})
  target_compile_options(weft_level_${level} PRIVATE ${level_flags} ${level_flags_${level}})
  weft_compile_options(weft_level_${level})
  target_include_directories(weft_level_${level} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(weft_level_${level} PRIVATE weft::libtorch)
  target_sources(weft_kernels PRIVATE $<TARGET_OBJECTS:weft_level_${level}>)
endforeach()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/kernels/cpu/kernel_table.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# at::parallel_for is a template that needs OpenMP where it is instantiated: only this file does.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/kernels/parallel.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -fopenmp)

# Code that only runs on processors with bf16 instructions.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/kernels/cpu/packing.cpp PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-O3;${level_flags_avx512_bf16}")
endif()
