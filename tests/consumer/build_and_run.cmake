# Configures, builds and runs tests/consumer/project against an installed tree (MODE=find_package), whose tool must
# run too, or against the source tree (MODE=add_subdirectory).

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result COMMAND_ECHO STDOUT)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${result}")
  endif()
endfunction()

set(settings -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${COMPILER}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
if(MODE STREQUAL find_package)
  file(REMOVE_RECURSE ${WORK_DIR})
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --config ${CONFIG} --prefix ${WORK_DIR}/installed)
  if(EXISTS ${WORK_DIR}/installed/bin/quire)
    run(${WORK_DIR}/installed/bin/quire --version)
  endif()
  list(APPEND settings -DCMAKE_PREFIX_PATH=${WORK_DIR}/installed)
else()
  # The kernels are tested elsewhere: the baseline's alone, to be quick.
  list(APPEND settings -DQUIRE_SOURCE_TREE=${SOURCE_DIR} -DQUIRE_WITH_BLAS=${WITH_BLAS} -DQUIRE_SIMD_TARGETS=HWY_SCALAR)
endif()
run(${CMAKE_COMMAND} ${settings} -S ${SOURCE_DIR}/tests/consumer/project -B ${WORK_DIR}/build)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --config ${CONFIG})
run(${WORK_DIR}/build/consumer)
