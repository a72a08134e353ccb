# shellcheck shell=bash
# Copyright (c) 2026 The weir authors
# Distributed under the Boost Software License, Version 1.0. (See LICENSE)

# Sourced by the scripts that build. Expects the root of the tree as the working directory.

# Two at once: a file that includes Asio takes about 1 GB to compile.
export JOBS=${JOBS:-2}
export CMAKE_BUILD_PARALLEL_LEVEL=$JOBS
export CTEST_OUTPUT_ON_FAILURE=1

if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  # What ccache asks for before it caches what uses a precompiled header.
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi

# build <preset>: configures and builds.
build() {
  cmake --preset "$1"
  cmake --build --preset "$1" --parallel "$JOBS"
}
