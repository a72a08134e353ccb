# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# Compiles a source once as it is, and once for each `// error CASE: <regex>` in it with CASE
# defined: the former has to compile, the latter must not, and a line of what the compiler says has
# to match.
#
# cmake -D SOURCE= -D INCLUDE= -D CXX_COMPILER= -P

cmake_minimum_required(VERSION 3.23)

# In the words, and the quotation marks, of no language.
set(compile ${CMAKE_COMMAND} -E env LC_ALL=C ${CXX_COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE})

execute_process(COMMAND ${compile} ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)

file(READ ${SOURCE} source)
if(NOT source MATCHES "\n// error ")
  message(FATAL_ERROR "${SOURCE} does not say what to expect")
endif()
while(source MATCHES "\n// error ([A-Z_]+): ([^\n]*)(\n.*)$")
  set(case ${CMAKE_MATCH_1})
  set(expected "${CMAKE_MATCH_2}")
  set(source "${CMAKE_MATCH_3}")
  execute_process(COMMAND ${compile} -D${case} ${SOURCE} RESULT_VARIABLE result
                  ERROR_VARIABLE errors)
  if(result EQUAL 0)
    message(FATAL_ERROR "${case}: compiles")
  endif()
  set(found "")
  string(APPEND errors "\n")
  while(NOT found AND errors MATCHES "^([^\n]*)\n(.*)$")
    set(line "${CMAKE_MATCH_1}")
    set(errors "${CMAKE_MATCH_2}")
    if(line MATCHES "${expected}")
      set(found "${line}")
    endif()
  endwhile()
  if(NOT found)
    message(FATAL_ERROR "${case}: no line of what the compiler says matches ${expected}")
  endif()
  message("${case}: ${found}")
endwhile()
