// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Precompiled for the test programs. Each suite still includes what it uses: the Jamroot builds
// it without this.

#include <weir/shutdown_on_signal.hpp>
#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>
#include <boost/test/unit_test.hpp>
