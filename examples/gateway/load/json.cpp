// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Boost.JSON compiled into the program, so that its headers are all that has to be installed.
#include <boost/json/src.hpp>
