# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# Configures, builds and runs one of the two outside projects beside this file, against the
# sources or against an installation of weir into a prefix of its own.
#
# cmake -D WAY= -D WEIR_SOURCE_DIR= -D WEIR_BINARY_DIR= -D WORK_DIR= -D GENERATOR= -D BUILD_TYPE=
#       -D CXX_COMPILER= -D CXX_COMPILER_LAUNCHER= -P

cmake_minimum_required(VERSION 3.23)

set(project ${CMAKE_CURRENT_LIST_DIR}/${WAY})
set(binary_dir ${WORK_DIR}/${WAY})
set(prefix ${WORK_DIR}/prefix)

if(WAY STREQUAL "find_package")
  # What an earlier run installed must not stand in for what this one forgets.
  file(REMOVE_RECURSE ${prefix} ${binary_dir})
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${WEIR_BINARY_DIR} --prefix ${prefix}
                          COMMAND_ERROR_IS_FATAL ANY)
  set(options -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
  set(programs hello hello_test)
  set(adapters "")
  foreach(adapter IN ITEMS sqlite redis prometheus admin)
    file(GLOB targets ${prefix}/*/cmake/weir/weir-${adapter}-targets.cmake
         ${prefix}/*/*/cmake/weir/weir-${adapter}-targets.cmake)
    if(targets)
      list(APPEND adapters ${adapter})
      list(APPEND programs hello_${adapter})
    endif()
  endforeach()
  # One argument: the separator of a list would end it.
  list(JOIN adapters "," adapters)
  list(APPEND options -D WITH_ADAPTERS=${adapters})
else()
  set(options -D WEIR_SOURCE_DIR=${WEIR_SOURCE_DIR})
  set(programs hello)
endif()

execute_process(
  COMMAND
    ${CMAKE_COMMAND} -S ${project} -B ${binary_dir} -G ${GENERATOR} -D
    CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D
    CMAKE_CXX_COMPILER_LAUNCHER=${CXX_COMPILER_LAUNCHER} -D CMAKE_UNITY_BUILD=ON -D
    CMAKE_UNITY_BUILD_BATCH_SIZE=16 ${options} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${binary_dir} --parallel 2
                        COMMAND_ERROR_IS_FATAL ANY)
foreach(program IN LISTS programs)
  execute_process(COMMAND ${binary_dir}/${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
