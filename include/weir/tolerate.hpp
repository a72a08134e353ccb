// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TOLERATE_HPP
#define WEIR_TOLERATE_HPP

namespace weir {

/// So many errors that are let pass; see `tolerate`.
struct tolerated {
  int errors;
};

/// Up to `n` errors are let pass, the next is one too many. Both a `task_group` and a stage of a
/// pipeline take this for their `error_policy` and `error_rule`, which say what follows. Below zero
/// is `invalid_argument` there.
constexpr tolerated tolerate(int n) noexcept { return {n}; }

}  // namespace weir

#endif  // WEIR_TOLERATE_HPP
