# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# Runs an example and checks that it exits with 0 and that its output has, in order, a line for
# each `// expect: <regex>` comment of its source.
#
# cmake -D PROGRAM= -D SOURCE= -P

cmake_minimum_required(VERSION 3.23)

execute_process(
  COMMAND ${PROGRAM}
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE errors)
message("${output}${errors}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()

# Both texts are cut line by line: a CMake list would split and join lines that hold brackets.
file(READ ${SOURCE} source)
if(NOT source MATCHES "(^|\n)// expect: ")
  message(FATAL_ERROR "${SOURCE} does not say what to expect")
endif()
string(APPEND output "\n")
while(source MATCHES "(^|\n)// expect: ([^\n]*)\n(.*)$")
  set(expected "${CMAKE_MATCH_2}")
  set(source "\n${CMAKE_MATCH_3}")
  set(found FALSE)
  while(NOT found AND output MATCHES "^([^\n]*)\n(.*)$")
    set(line "${CMAKE_MATCH_1}")
    set(output "${CMAKE_MATCH_2}")
    if(line MATCHES "${expected}")
      set(found TRUE)
    endif()
  endwhile()
  if(NOT found)
    message(FATAL_ERROR "no line of the output matches, in its place: ${expected}")
  endif()
endwhile()
