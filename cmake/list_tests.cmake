# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# Writes a CTest file with one test for each case of a Boost.Test program.
#
# cmake -D PROGRAM= -D OUTPUT= -D PREFIX= -D LABEL= -D TIMEOUT= -D PROCESSORS= -D ENVIRONMENT= -P

cmake_minimum_required(VERSION 3.23)

# Nothing runs here but the registration of the cases: what it leaves to the end of the process is
# no leak to report in a build log.
set(ENV{ASAN_OPTIONS} detect_leaks=0)
execute_process(
  COMMAND ${PROGRAM} --list_content=HRF --color_output=no
  RESULT_VARIABLE result
  OUTPUT_VARIABLE listing
  ERROR_VARIABLE listing)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --list_content ended with ${result}:\n${listing}")
endif()

set(content "")
set(count 0)
set(path "")
set(previous_depth -1)
set(previous_path "")
set(previous_enabled TRUE)

# A unit is a case, and not a suite, when the line after it is not deeper.
macro(flush depth)
  if(NOT previous_path STREQUAL "" AND NOT ${depth} GREATER previous_depth)
    string(REPLACE "/" "." name "${previous_path}")
    string(FIND "${name}" "${PREFIX}" at)
    if(NOT at EQUAL 0)
      set(name "${PREFIX}${name}")
    endif()
    string(APPEND content "add_test([==[${name}]==] [==[${PROGRAM}]==]"
                          " [==[--run_test=${previous_path}]==] --color_output=no)\n"
                          "set_tests_properties([==[${name}]==] PROPERTIES"
                          " LABELS ${LABEL} TIMEOUT ${TIMEOUT} PROCESSORS ${PROCESSORS}")
    if(ENVIRONMENT)
      string(APPEND content " ENVIRONMENT [==[${ENVIRONMENT}]==]")
    endif()
    if(NOT previous_enabled)
      string(APPEND content " DISABLED TRUE")
    endif()
    string(APPEND content ")\n")
    math(EXPR count "${count} + 1")
  endif()
endmacro()

# Lines are cut off one by one: a CMake list would split and join names that hold brackets.
while(listing MATCHES "^([^\n]*)\n")
  set(line "${CMAKE_MATCH_1}")
  string(LENGTH "${CMAKE_MATCH_0}" length)
  string(SUBSTRING "${listing}" ${length} -1 listing)
  if(line MATCHES "^( *)(.*[^ *])([ *]+)(: .*)?$")
    set(unit "${CMAKE_MATCH_2}")
    set(marks "${CMAKE_MATCH_3}")
    string(LENGTH "${CMAKE_MATCH_1}" depth)
    flush(${depth})
    # `path` is that of the unit above; climb from it to the parent of this one.
    while(NOT depth GREATER previous_depth AND previous_depth GREATER_EQUAL 0)
      if(path MATCHES "^(.*)/[^/]*$")
        set(path "${CMAKE_MATCH_1}")
      else()
        set(path "")
      endif()
      math(EXPR previous_depth "${previous_depth} - 4")
    endwhile()
    if(NOT path STREQUAL "")
      string(APPEND path "/")
    endif()
    string(APPEND path "${unit}")
    set(previous_path "${path}")
    set(previous_depth ${depth})
    if(marks MATCHES "[*]")
      set(previous_enabled TRUE)
    else()
      set(previous_enabled FALSE)
    endif()
  endif()
endwhile()
flush(0)

if(count EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} has no test case")
endif()
file(WRITE ${OUTPUT} "${content}")
