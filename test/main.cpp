// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#define BOOST_TEST_MODULE weir
#include <boost/test/unit_test.hpp>
