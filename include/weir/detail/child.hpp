// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CHILD_HPP
#define WEIR_DETAIL_CHILD_HPP

#include <weir/detail/child_watch.hpp>
#include <weir/detail/work_result.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// Where a child begins.
enum class launch : std::uint8_t {
  here,    ///< inside the call that starts it where the executor allows, as a bare `co_await` does
  posted,  ///< so that work which blocks its thread does not hold up who started it
};

/// Work on a strand of its own, that anybody may cancel and one coroutine watches.
///
/// A cancellation signal is not for several threads, nor is what Asio makes of `||`; here both the
/// work and every emission run on the strand, whatever the watching coroutine runs on.
///
/// Thread safety: safe.
class child_base : public std::enable_shared_from_this<child_base> {
 public:
  child_base(const child_base&) = delete;
  child_base& operator=(const child_base&) = delete;

  /// Whether its frame has ended. What it came to can be read from then on.
  bool ended() const noexcept { return phase_.load(std::memory_order_acquire) == phase::ended; }

  /// Whether it has come to something, though its frame may be about to end only.
  bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  /// Has no effect once it has settled.
  void cancel(boost::asio::cancellation_type type);

  /// Stops watching. \returns false where it has ended; else its end will be told to its hook.
  bool abandon() noexcept;

 protected:
  explicit child_base(std::shared_ptr<child_watch> watch);
  virtual ~child_base() = default;

  /// Runs `body`, which lets nothing out and owns this for as long as it runs.
  void begin(boost::asio::awaitable<void> body, launch how);

  std::atomic<bool> settled_{false};

 private:
  enum class phase : std::uint8_t { running, ended, abandoned };
  class end_of_body;

  virtual void on_late_end() {}

  const std::shared_ptr<child_watch> watch_;
  boost::asio::strand<boost::asio::any_io_executor> strand_;
  boost::asio::cancellation_signal signal_;  ///< touched on the strand
  std::atomic<phase> phase_{phase::running};
};

template <typename T>
class child : public child_base {
 public:
  explicit child(std::shared_ptr<child_watch> watch) : child_base(std::move(watch)) {}

  void start(boost::asio::awaitable<T> work, launch how) {
    begin(run(std::static_pointer_cast<child>(shared_from_this()), std::move(work)), how);
  }

  /// What it came to. Once it has ended, by whoever watches.
  work_result<T>& result() noexcept { return result_; }

 private:
  static boost::asio::awaitable<void> run(std::shared_ptr<child> self,
                                          boost::asio::awaitable<T> work) {
    // It is given what its watcher accepted; whether it listens is its own decision.
    co_await boost::asio::this_coro::reset_cancellation_state(
        boost::asio::enable_total_cancellation());
    try {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(work);
        self->result_.succeed();
      } else {
        self->result_.succeed(co_await std::move(work));
      }
    } catch (...) {
      self->result_.fail(std::current_exception());
    }
    self->settled_.store(true, std::memory_order_release);
  }

  work_result<T> result_;
};

/// One whose end is told to a hook where nobody watches any more.
template <typename T, typename OnEnd>
class abandonable_child final : public child<T> {
 public:
  abandonable_child(std::shared_ptr<child_watch> watch, OnEnd on_end)
      : child<T>(std::move(watch)), on_end_(std::move(on_end)) {}

 private:
  void on_late_end() override {
    work_result<T>& o = this->result();
    if constexpr (std::is_void_v<T>)
      on_end_(o.error());
    else
      on_end_(o.error(), std::move(o.value()));
  }

  OnEnd on_end_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CHILD_HPP
