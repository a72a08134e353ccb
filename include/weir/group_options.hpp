// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_GROUP_OPTIONS_HPP
#define WEIR_GROUP_OPTIONS_HPP

#include <weir/tolerate.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

/// What the errors of its members mean to a group: `first_error_cancels`, `collect_all`,
/// `quorum(k)`, below, or `tolerate(n)`.
///
/// A pure policy: it judges numbers, and neither counts nor acts.
class error_policy {
 public:
  enum class kind : std::uint8_t { first_error_cancels, collect_all, quorum, tolerate };
  enum class verdict : std::uint8_t { go_on, succeed, fail };

  /// What a group has come to so far.
  struct standing {
    std::size_t succeeded = 0;
    std::size_t failed = 0;
    std::size_t to_come = 0;  ///< members that have not ended
    bool complete = false;    ///< nobody can join any more
  };

  constexpr error_policy(kind k, int n) noexcept : kind_(k), n_(n) {}

  /// So many errors are let pass; the next cancels the group, and the wait throws the first.
  constexpr error_policy(tolerated t) noexcept  // NOLINT(google-explicit-constructor): of one kind
      : error_policy(kind::tolerate, t.errors) {}

  constexpr kind is() const noexcept { return kind_; }

  /// The number that `quorum` and `tolerate` were given.
  constexpr int number() const noexcept { return n_; }

  /// Whether it can ever be met: a quorum is 1 or more, and nobody tolerates less than no error.
  constexpr bool valid() const noexcept { return n_ >= (kind_ == kind::quorum ? 1 : 0); }

  /// Whether the group has reached its end, though members may still run.
  constexpr verdict judge(const standing& s) const noexcept {
    const auto n = static_cast<std::size_t>(n_);
    switch (kind_) {
      case kind::collect_all:
        return verdict::go_on;
      case kind::first_error_cancels:
      case kind::tolerate:
        return s.failed > n ? verdict::fail : verdict::go_on;
      case kind::quorum:
        break;
    }
    if (s.succeeded >= n) return verdict::succeed;
    // Until nobody can join any more, those who would make it a quorum may still come.
    return s.complete && s.succeeded + s.to_come < n ? verdict::fail : verdict::go_on;
  }

 private:
  kind kind_;
  int n_;
};

/// The first error cancels the other members, and is what the wait throws.
inline constexpr error_policy first_error_cancels{error_policy::kind::first_error_cancels, 0};

/// No error cancels anything; the wait yields one outcome for each member.
inline constexpr error_policy collect_all{error_policy::kind::collect_all, 0};

/// Success at `k` successes, which cancel the rest. Failure, with the first error, once the wait
/// has begun and too few are left.
constexpr error_policy quorum(int k) noexcept { return {error_policy::kind::quorum, k}; }

/// What happens when a group that has had members is destroyed and nobody has waited for it. In
/// each case stderr is told, and the members are cancelled.
enum class unwaited_policy : std::uint8_t { terminate, log };

/// How a group is set up.
struct group_options {
  int limit = 0;  ///< members at once, for the group's life; to be given: 0 is `invalid_argument`
  error_policy on_error = first_error_cancels;
#ifdef NDEBUG
  unwaited_policy unwaited = unwaited_policy::log;  ///< as `assert` has it
#else
  unwaited_policy unwaited = unwaited_policy::terminate;  ///< as `assert` has it
#endif
  std::string_view name = {};  ///< what reports call it; copied
};

static_assert(std::is_trivially_destructible_v<group_options>);  // see `run_options`

/// How a member ended: with a value, with an error, or because the group cancelled it. The last
/// two are never mixed up: a member that was cancelled and still returned has a value, and one that
/// ends with `operation_aborted` though nobody has cancelled the group has an error.
template <typename T = void>
class member_outcome {
  struct nothing {};
  using stored = std::conditional_t<std::is_void_v<T>, nothing, T>;

 public:
  /// Cancelled.
  member_outcome() noexcept = default;

  /// Failed, with an error that is not null.
  explicit member_outcome(std::exception_ptr error) noexcept : error_(std::move(error)) {}

  /// Succeeded.
  template <typename... Args>
  explicit member_outcome(std::in_place_t, Args&&... args)
      : value_(std::in_place, std::forward<Args>(args)...) {}

  bool has_value() const noexcept { return value_.has_value(); }
  bool cancelled() const noexcept { return !value_ && !error_; }

  /// Null unless it failed.
  const std::exception_ptr& error() const noexcept { return error_; }

  /// The value; only where there is one.
  template <typename U = T>
  requires(!std::is_void_v<U>) U& value() noexcept { return *value_; }
  template <typename U = T>
  requires(!std::is_void_v<U>) const U& value() const noexcept { return *value_; }

 private:
  std::optional<stored> value_;
  std::exception_ptr error_;
};

/// What a group has come to.
template <typename T = void>
struct group_result {
  std::size_t succeeded = 0;
  std::size_t failed = 0;
  std::size_t cancelled = 0;

  /// The first error in time, also where it was tolerated; null where there was none.
  std::exception_ptr first_error = nullptr;

  /// One for each member, in the order in which they were spawned. Empty for a group of `void`
  /// under `first_error_cancels`, which has nothing more to tell and so does not grow with the
  /// number of its members.
  std::vector<member_outcome<T>> outcomes = {};

  /// The values of those who succeeded, in the order in which they were spawned.
  template <typename U = T>
  requires(!std::is_void_v<U>) std::vector<U> values() && {
    std::vector<U> all;
    all.reserve(succeeded);
    for (auto& o : outcomes)
      if (o.has_value()) all.push_back(std::move(o.value()));
    return all;
  }
};

}  // namespace weir

#endif  // WEIR_GROUP_OPTIONS_HPP
