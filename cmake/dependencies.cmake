# Third-party code: an installed package where there is one, else its source at a fixed tag. docs/design.md says why
# each is here.
#
# QUIRE_FETCH_DEPENDENCIES=ON skips the installed packages; FETCHCONTENT_SOURCE_DIR_<NAME> points at local sources.

include(FetchContent)
option(QUIRE_FETCH_DEPENDENCIES "Fetch and build dependencies even where they are installed" OFF)

set(quire_fetch_options GIT_SHALLOW ON)
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.25)
  list(APPEND quire_fetch_options SYSTEM)  # their headers raise no warnings
endif()

# quire_dependency(<package> <target> <url> <tag> [VAR=VALUE ...]): makes <target> exist.
macro(quire_dependency package target repository tag)
  if(NOT TARGET ${target} AND NOT QUIRE_FETCH_DEPENDENCIES)
    find_package(${package} QUIET)
  endif()
  if(NOT TARGET ${target})
    foreach(setting ${ARGN})
      string(REGEX MATCH "^([^=]+)=(.*)$" _ ${setting})
      set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2} CACHE INTERNAL "")
    endforeach()
    FetchContent_Declare(${package} GIT_REPOSITORY ${repository} GIT_TAG ${tag} ${quire_fetch_options})
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

quire_dependency(hwy hwy::hwy https://github.com/google/highway.git 1.2.0
  HWY_ENABLE_TESTS=OFF HWY_ENABLE_EXAMPLES=OFF HWY_ENABLE_CONTRIB=OFF BUILD_TESTING=OFF)
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS hwy)
endif()

set(QUIRE_HAS_BLAS OFF)
if(QUIRE_WITH_BLAS)
  # OpenBLAS before whatever else is installed: a reference BLAS would make cpu-gather a straw man.
  set(BLA_VENDOR OpenBLAS)
  find_package(BLAS QUIET)
  if(NOT BLAS_FOUND)
    unset(BLA_VENDOR)
    find_package(BLAS QUIET)
  endif()
  if(BLAS_FOUND)
    set(QUIRE_HAS_BLAS ON)
  else()
    message(STATUS "quire: no BLAS found; cpu-gather will not be built")
  endif()
endif()

if(QUIRE_BUILD_BENCH)
  quire_dependency(fmt fmt::fmt-header-only https://github.com/fmtlib/fmt.git 10.2.1)
  quire_dependency(nlohmann_json nlohmann_json::nlohmann_json https://github.com/nlohmann/json.git v3.11.3)
  quire_dependency(CLI11 CLI11::CLI11 https://github.com/CLIUtils/CLI11.git v2.4.2)
endif()

if(QUIRE_BUILD_TESTS)
  quire_dependency(GTest GTest::gmock https://github.com/google/googletest.git v1.14.0 INSTALL_GTEST=OFF)
endif()
