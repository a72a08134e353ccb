// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_OPTIONS_HPP
#define WEIR_PIPELINE_OPTIONS_HPP

#include <weir/clock.hpp>
#include <weir/tolerate.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <vector>

namespace weir {

/// What becomes of an item that is not done by its deadline.
enum class late_item : std::uint8_t {
  skip,  ///< it is left out
  fail,  ///< it has failed with `deadline_exceeded`, as its stage's `error_rule` treats failures
};
using enum late_item;

/// In which order the results of a stage go on.
struct result_order {
  enum class by : std::uint8_t { completion, input, key } rule = by::completion;
  std::ptrdiff_t window = 1;
  duration item_deadline{};
  late_item when_late = fail;
};

/// As they are done.
inline constexpr result_order completion_order{};

/// As the items came in. One that is slow holds back those behind it: never more than `window` are
/// between the input and the output of the stage, under way or waiting, for that is what bounds
/// its memory. The stage's `buffer` is not looked at. An item that fails or is left out lets those
/// behind it go.
///
/// \param item_deadline how long one may take from when the stage took it; zero: for ever. It is
/// then cancelled, and those behind it do not wait for it to end. While it does not end it counts
/// as under way.
constexpr result_order input_order(std::ptrdiff_t window, duration item_deadline = {},
                                   late_item when_late = skip) {
  return {result_order::by::input, window, item_deadline, when_late};
}

/// As the items came in for each lane of the `keyed` above, one of each lane at a time. Between
/// lanes, as they are done. Items that wait for their lane count as results that wait: when there
/// are `concurrency + buffer` in all, those of other lanes wait too.
inline constexpr result_order per_key{result_order::by::key};

/// What a stage does where its function throws for an item.
///
/// Only that: what a source, a predicate or a sink throws ends the pipeline. Whichever the rule,
/// when the pipeline fails what is under way is cancelled and dropped, what the sink has been given
/// stays given, and what a sink would have returned is lost.
class error_rule {
 public:
  /// The first failure ends the pipeline and comes out of it, when all else has ended.
  constexpr error_rule() noexcept = default;

  /// So many failures are left out; the next ends the pipeline and comes out of it.
  constexpr error_rule(tolerated t) noexcept  // NOLINT(google-explicit-constructor): of one kind
      : tolerated_(t.errors) {}

  /// Whether it can be kept: nobody tolerates less than no failure.
  constexpr bool valid() const noexcept { return tolerated_ >= 0; }

  /// Throws what is to end the pipeline; returns where the item is left out instead.
  ///
  /// \param failures how many there were before
  void apply(std::size_t failures, const std::exception_ptr& failure) const;

 private:
  friend error_rule collect_errors(std::vector<std::exception_ptr>& into) noexcept;
  template <std::invocable<std::exception_ptr> F>
  friend error_rule on_error(F& handler) noexcept;

  using function = void(void*, const std::exception_ptr&);

  // By reference, so that options that are written inside a `co_await` need no destructor.
  void* target_ = nullptr;
  function* tell_ = nullptr;
  int tolerated_ = 0;
};

/// See `error_rule`.
inline constexpr error_rule fail_fast{};

/// Failures go to `into` in the order in which they happen, and everything else goes on.
///
/// Lifetime: `into` outlives the pipeline.
error_rule collect_errors(std::vector<std::exception_ptr>& into) noexcept;

/// `handler` is called with each failure, on the pipeline's strand. The item is left out if it
/// returns; what it throws ends the pipeline.
///
/// Lifetime: `handler` outlives the pipeline: give it a name.
template <std::invocable<std::exception_ptr> F>
error_rule on_error(F& handler) noexcept {
  error_rule rule;
  rule.target_ = &handler;
  rule.tell_ = [](void* target, const std::exception_ptr& failure) {
    (*static_cast<F*>(target))(failure);
  };
  return rule;
}

/// How a stage runs its function.
struct map_options {
  std::ptrdiff_t concurrency = 1;  ///< so many items at once
  std::ptrdiff_t buffer = 16;      ///< so many more results wait for the next stage
  result_order order = completion_order;
  error_rule errors = fail_fast;
  duration timeout{};  ///< for one item, which is then cancelled and has failed with
                       ///< `deadline_exceeded`; zero: none
};

static_assert(std::is_trivially_destructible_v<map_options>,
              "g++ 12 destroys twice what is written inside a co_await");

}  // namespace weir

#endif  // WEIR_PIPELINE_OPTIONS_HPP
