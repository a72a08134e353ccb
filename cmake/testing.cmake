# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# What the tests and the examples share.

# The environment of everything that a test runs.
set(WEIR_TEST_ENVIRONMENT "")
if(WEIR_SANITIZE STREQUAL "address")
  # All seeds are run by the plain build, which is several times as fast.
  list(APPEND WEIR_TEST_ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1 WEIR_SEEDS_AT_MOST=120)
elseif(WEIR_SANITIZE STREQUAL "thread")
  list(APPEND WEIR_TEST_ENVIRONMENT TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/test/tsan.supp)
endif()

# weir_discover_tests(<target> PREFIX <prefix> LABEL <label> TIMEOUT <seconds> [PROCESSORS <n>])
#
# Makes a test of each Boost.Test case of <target>, named <prefix>suite.case. The cases are asked
# of the program after it was built, so that a new one needs no second mention anywhere.
function(weir_discover_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;LABEL;TIMEOUT;PROCESSORS" "")
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()
  set(tests_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake)
  string(REPLACE ";" "\\;" environment "${WEIR_TEST_ENVIRONMENT}")
  add_custom_command(
    TARGET ${target}
    POST_BUILD
    BYPRODUCTS ${tests_file}
    COMMAND
      ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D OUTPUT=${tests_file} -D
      "PREFIX=${arg_PREFIX}" -D LABEL=${arg_LABEL} -D TIMEOUT=${arg_TIMEOUT} -D
      PROCESSORS=${arg_PROCESSORS} -D "ENVIRONMENT=${environment}" -P
      ${PROJECT_SOURCE_DIR}/cmake/list_tests.cmake
    VERBATIM)
  set(include_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(
    WRITE ${include_file}
    "if(EXISTS \"${tests_file}\")\n"
    "  include(\"${tests_file}\")\n"
    "else()\n"
    "  add_test(${target}_is_not_built ${target}_is_not_built)\n"
    "endif()\n")
  set_property(
    DIRECTORY
    APPEND
    PROPERTY TEST_INCLUDE_FILES ${include_file})
endfunction()
