# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# weir_warnings: linked privately by the targets of this tree.
add_library(weir_warnings INTERFACE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(
    weir_warnings
    INTERFACE -Wall
              -Wextra
              -Wpedantic
              -Wconversion
              -Wshadow)
  # g++ 12 sees overflows in its own std::string where it inlines operator+ (PR105329, PR105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(weir_warnings INTERFACE -Wno-array-bounds -Wno-restrict
                                                   -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  # What a source has to itself looks like a header's where sources are compiled together.
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(weir_warnings INTERFACE -Wno-subobject-linkage)
  endif()
endif()
# Not where a sanitizer is on: its checks are code too, and g++ 12 warns of paths that only they make.
if(WEIR_WERROR AND NOT WEIR_SANITIZE)
  target_compile_options(weir_warnings INTERFACE -Werror)
endif()

# weir_sanitizer: linked publicly by the libraries, so that whatever uses them in the same build
# is instrumented too; a program that is instrumented in part reports races that are none.
add_library(weir_sanitizer INTERFACE)
if(WEIR_SANITIZE STREQUAL "address")
  set(flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(WEIR_SANITIZE STREQUAL "thread")
  set(flags -fsanitize=thread -fno-omit-frame-pointer)
  # Asio's fences, of which g++ says that it cannot instrument them, are harmless here:
  # test/tsan.supp names the false reports that follow from them.
  target_compile_options(weir_sanitizer INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
elseif(WEIR_SANITIZE)
  message(FATAL_ERROR "WEIR_SANITIZE is \"${WEIR_SANITIZE}\"; it may be address, thread or empty")
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_sanitizer INTERFACE ${flags})
  target_link_options(weir_sanitizer INTERFACE ${flags})
  # Asio keeps dead coroutine frames for reuse, where no sanitizer sees that they are dead.
  target_compile_definitions(weir_sanitizer
                             INTERFACE BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
endif()
