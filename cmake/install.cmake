# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# Installs one package with components: the library, always there, `test`, the test kit, and one for
# each adapter that was built.

set(weir_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

install(TARGETS weir EXPORT weir_targets)
install(TARGETS weir_test EXPORT weir_test_targets)
install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(
  EXPORT weir_targets
  NAMESPACE weir::
  FILE weirTargets.cmake
  DESTINATION ${weir_config_dir})
install(
  EXPORT weir_test_targets
  NAMESPACE weir::
  FILE weirTestTargets.cmake
  DESTINATION ${weir_config_dir})

foreach(adapter IN LISTS weir_adapters)
  install(TARGETS weir_${adapter} EXPORT weir_${adapter}_targets)
  install(
    EXPORT weir_${adapter}_targets
    NAMESPACE weir::
    FILE weir-${adapter}-targets.cmake
    DESTINATION ${weir_config_dir})
endforeach()

configure_package_config_file(
  cmake/weirConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
  INSTALL_DESTINATION ${weir_config_dir}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what the one before it promised.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake DESTINATION ${weir_config_dir})
