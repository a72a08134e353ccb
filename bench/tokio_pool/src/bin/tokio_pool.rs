// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

//! The program whose times are measured.

fn main() {
    tokio_pool::run(None);
}
