# Installs the library, its headers and a CMake package: find_package(quire) gives quire::quire.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quire)

install(TARGETS quire EXPORT quire_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/quire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT quire_targets FILE quire-targets.cmake NAMESPACE quire:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/quire-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/quire-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/quire-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/quire-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/quire-config-version.cmake
        DESTINATION ${package_dir})
if(TARGET quire_tool)
  set_target_properties(quire_tool PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  install(TARGETS quire_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
