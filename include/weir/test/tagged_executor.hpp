// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_TAGGED_EXECUTOR_HPP
#define WEIR_TEST_TAGGED_EXECUTOR_HPP

#include <weir/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace weir::test {

/// What a report says of a coroutine that was spawned through the kit.
struct coroutine_tag {
  std::uint64_t number = 0;
  std::string name;
  std::source_location where;
  time_point last_run{};
  bool started = false;

  /// `#3 client (client.cpp:40)`.
  std::string text() const;
};

using tag_pointer = std::shared_ptr<coroutine_tag>;

namespace tags {

/// The coroutine that runs, and the one for which something is being handed to an executor.
/// Null where that is none of the kit's.
inline thread_local const tag_pointer* running_tag = nullptr;
inline thread_local const tag_pointer* handed_tag = nullptr;

/// Sets one of the two for as long as it lives.
class tag_scope {
 public:
  tag_scope(const tag_pointer*& place, const tag_pointer* tag) noexcept
      : place_(place), before_(std::exchange(place, tag)) {}
  tag_scope(const tag_scope&) = delete;
  tag_scope& operator=(const tag_scope&) = delete;
  ~tag_scope() { place_ = before_; }

 private:
  const tag_pointer*& place_;
  const tag_pointer* before_;
};

template <typename P>
concept executor_property = std::same_as<P, boost::asio::execution::blocking_t::never_t> ||
    std::same_as<P, boost::asio::execution::blocking_t::possibly_t> ||
    std::same_as<P, boost::asio::execution::outstanding_work_t::tracked_t> ||
    std::same_as<P, boost::asio::execution::outstanding_work_t::untracked_t> ||
    std::same_as<P, boost::asio::execution::relationship_t::fork_t> ||
    std::same_as<P, boost::asio::execution::relationship_t::continuation_t>;

}  // namespace tags

/// An executor that knows which coroutine runs on it; otherwise it does as the one inside.
///
/// A coroutine that `spawn` starts runs on one, and whatever it starts on its own executor
/// inherits it: that is how a report can name who waits.
class tagged_executor {
 public:
  // A template, so that a copy does not make the compiler ask whether this type converts to an
  // `any_io_executor`, which depends on whether it can be copied.
  template <std::same_as<boost::asio::any_io_executor> Executor>
  tagged_executor(Executor inner, tag_pointer tag) noexcept
      : inner_(std::move(inner)), tag_(std::move(tag)) {}

  const tag_pointer& tag() const noexcept { return tag_; }

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return boost::asio::query(inner_, boost::asio::execution::context);
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return boost::asio::query(inner_, boost::asio::execution::blocking);
  }
  template <tags::executor_property P>
  tagged_executor require(P property) const {
    return {boost::asio::prefer(inner_, property), tag_};
  }

  template <typename F>
  void execute(F&& f) const {
    const tags::tag_scope handed(tags::handed_tag, &tag_);
    inner_.execute([tag = tag_, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
      const tags::tag_scope running(tags::running_tag, &tag);
      tag->last_run = steady_clock::now();
      tag->started = true;
      std::move(f)();
    });
  }

  friend bool operator==(const tagged_executor& a, const tagged_executor& b) noexcept {
    return a.tag_ == b.tag_ && a.inner_ == b.inner_;
  }

 private:
  boost::asio::any_io_executor inner_;
  tag_pointer tag_;
};

}  // namespace weir::test

#endif  // WEIR_TEST_TAGGED_EXECUTOR_HPP
