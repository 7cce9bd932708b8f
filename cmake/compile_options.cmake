# How every target is compiled: C++20, warnings as errors, optional sanitizers, fewer SIMD targets on demand.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

option(QUIRE_WARNINGS_AS_ERRORS "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
endif()

# Private to a target: warnings, SIMD targets and sanitizers.
function(quire_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: at -O3, "literal" + std::string is reported as an overlapping copy.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(QUIRE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(QUIRE_SIMD_TARGETS)
    # The baseline stays, since static dispatch needs it. Targets of other architectures have no effect.
    string(REPLACE "," "|" simd_targets "${QUIRE_SIMD_TARGETS}")
    target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(~(${simd_targets}|HWY_BASELINE_TARGETS))")
  endif()
  if(QUIRE_SANITIZE)
    # Under a sanitizer GCC 12 takes members of std::regex for uninitialised.
    target_compile_options(${target} PRIVATE
      -fsanitize=${QUIRE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
    target_link_options(${target} PUBLIC -fsanitize=${QUIRE_SANITIZE})
  endif()
endfunction()
