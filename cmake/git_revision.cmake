# Run at every build (cmake -P): writes OUTPUT, a header with the git revision of SOURCE_DIR, where it changed.
cmake_minimum_required(VERSION 3.22)

set(revision "unknown")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(revision ${described})
  endif()
endif()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"// The revision this binary was built from; written at every build.
#pragma once

namespace quire::bench {

inline constexpr const char* kGitRevision = \"@revision@\";

}  // namespace quire::bench
")
