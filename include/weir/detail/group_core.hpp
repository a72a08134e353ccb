// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_GROUP_CORE_HPP
#define WEIR_DETAIL_GROUP_CORE_HPP

#include <weir/clock.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/member_strand.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/wait_list.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/error.hpp>
#include <weir/group_options.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace weir::detail {

class group_core;

/// A member: its callable, and in time its outcome.
class group_member : public queue_hook {
 public:
  group_member() = default;
  group_member(const group_member&) = delete;
  group_member& operator=(const group_member&) = delete;
  virtual ~group_member() = default;

  /// Destroys the callable, after its frame or in place of it.
  virtual void drop() noexcept = 0;

  virtual void fail(std::exception_ptr error) noexcept = 0;
};

/// A coroutine on a strand of its own that runs one member after another: a `co_spawn` for each
/// would cost several times what a small member does.
///
/// Kept alive by its frame, by what is queued on it, and by those who have its executor.
class group_runner final : public member_strand, public queue_hook {
 public:
  /// One that has not begun; it does when it is its turn.
  group_runner(std::shared_ptr<group_core> core, const boost::asio::any_io_executor& inner,
               const boost::asio::any_io_executor& never);

  /// Waits, on the strand, for its next turn.
  auto async_park() {
    return boost::asio::async_initiate<const boost::asio::deferred_t&, void()>(
        [](auto handler, group_runner* self) { self->parked_.emplace(std::move(handler)); },
        boost::asio::deferred, this);
  }

  std::shared_ptr<group_runner> shared() noexcept {
    return std::static_pointer_cast<group_runner>(shared_from_this());
  }

  /// The runner of `group` on whose strand this thread is, or null.
  static group_runner* current(const group_core* group) noexcept;

  boost::asio::cancellation_signal signal;  ///< on the strand

  // Under the group's lock.
  group_member* member = nullptr;  ///< also read on the strand, where alone it ends
  std::uint64_t number = 0;        ///< of that member; 0: none
  std::size_t spawning = 0;        ///< how often that one waits for room in its own group
  group_runner* next_idle = nullptr;
  bool told = false;  ///< that the group stops

 private:
  void on_turn() override;
  void on_turn_lost() noexcept override;

  group_core* const group_;
  std::shared_ptr<group_core> core_;  ///< until it begins; from then on its frame has it
  // Made and unmade in place: move assignment of this type never returns in Boost 1.81.
  std::optional<boost::asio::any_completion_handler<void()>> parked_;
};

/// A spawn that waits for room.
class spawn_waiter : public waiter<> {
 public:
  static constexpr bool revocable = false;  // what has been accepted is

  std::unique_ptr<group_member> member;
  std::shared_ptr<group_runner> by;  ///< the member that waits, where it is one
  std::uint64_t by_member = 0;
};

/// The wait for the end of a group.
class group_waiter {
 public:
  /// Ends the wait, in one way or the other. Called once, with no lock held.
  virtual void complete(std::exception_ptr error) noexcept = 0;  ///< null: success
  virtual void refuse(const error_code& why) noexcept = 0;
  virtual boost::asio::any_io_executor caller() const = 0;

  time_point since{};

 protected:
  ~group_waiter() = default;
};

/// What a group is, but for the type of its results. Shared by the group's handle and by all that
/// runs for it, so that the handle may go while members still end.
///
/// Thread safety: safe.
class group_core : public std::enable_shared_from_this<group_core> {
 public:
  group_core(boost::asio::any_io_executor ex, const group_options& options, bool has_values);
  group_core(const group_core&) = delete;
  group_core& operator=(const group_core&) = delete;
  virtual ~group_core();

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t members() const;
  std::size_t waiters() const;
  void inspect(inspector& to) const;

  // Spawning. A member that was accepted has been moved from.

  error_code try_spawn(std::unique_ptr<group_member>&& m);

  /// \returns whether the answer, `ec`, is known without a wait for room.
  bool spawn_now(std::unique_ptr<group_member>& m, error_code& ec);
  void enter(spawn_waiter& w, std::unique_ptr<group_member>&& m);
  bool leave(spawn_waiter& w);

  // The end.

  void cancel();
  void wait(group_waiter& w);
  void cancel_wait(const group_waiter& w);

  /// The handle is destroyed.
  void abandon();

  // The side of the runners, on their strands.

  enum class next : std::uint8_t { run, park, end };

  /// How a member ended; without a value and an error it was cancelled.
  struct ending {
    bool value = false;
    bool aborted = false;  ///< the error is `operation_aborted`
    std::exception_ptr error = nullptr;
  };

  /// Whether the group has not come to its end, so that a member may begin.
  bool goes_on() const noexcept { return stop_.load(std::memory_order_acquire) == stop::no; }

  /// Takes `how` for what it is now: what came because the group stops is a cancellation.
  void classify(ending& how) const noexcept;

  /// The member's frame has ended, and its callable is gone.
  next finish(group_runner& r, ending how) noexcept;

  /// The member's frame, or what was to start it, was destroyed instead of run to its end.
  void unwound(group_runner& r) noexcept;

  /// Starts the coroutine of a runner; on its strand.
  virtual void launch(std::shared_ptr<group_core> self, std::shared_ptr<group_runner> r) = 0;

 protected:
  const bool keeps_members_;
  intrusive_queue<group_member> kept_;  ///< in the order of their spawning
  std::size_t succeeded_ = 0;
  std::size_t failed_ = 0;
  std::size_t cancelled_ = 0;
  std::exception_ptr first_error_;

 private:
  enum class stop : std::uint8_t { no, error, success, cancel, invalid };

  /// What is left to do once the lock has been given up.
  struct todo {
    group_runner* wake = nullptr;
    std::shared_ptr<group_runner> made;  ///< the same, where it is new
    intrusive_queue<spawn_waiter> served;
    intrusive_queue<spawn_waiter> refused;
    group_runner* dismissed = nullptr;
    bool tell = false;
    group_waiter* joiner = nullptr;
    std::exception_ptr outcome;
    std::optional<boost::asio::any_io_executor> work;
  };
  void perform(todo& t);

  bool closed() const noexcept;
  error_code admit(std::unique_ptr<group_member>& m, todo& t);
  void give(group_runner& r, std::unique_ptr<group_member>&& m) noexcept;
  void take_back(spawn_waiter& w) noexcept;
  void retire_member(group_runner& r, const ending& how,
                     std::unique_ptr<group_member>& gone) noexcept;
  void judge(todo& t) noexcept;
  void halt(stop why, todo& t) noexcept;
  void settle(todo& t) noexcept;
  std::exception_ptr outcome() const noexcept;
  void tell_members();

  const boost::asio::any_io_executor executor_;
  const boost::asio::any_io_executor never_;
  const std::size_t limit_;
  const error_policy policy_;
  const unwaited_policy unwaited_;
  const std::string name_;
  const std::shared_ptr<const std::atomic<bool>> context_ended_;
  const int exceptions_;  ///< that were in flight when it was made

  mutable spin_mutex mutex_;
  std::atomic<stop> stop_{stop::no};
  bool waited_ = false;
  bool wait_cancelled_ = false;
  std::size_t spawned_ = 0;
  std::size_t live_ = 0;
  std::size_t spawning_ = 0;  ///< members that wait for room
  group_runner* idle_ = nullptr;
  intrusive_queue<group_runner> running_;
  intrusive_queue<group_runner> told_;  ///< run, and have been told that the group stops
  wait_list<spawn_waiter> waiting_;
  group_waiter* joiner_ = nullptr;
  std::optional<boost::asio::any_io_executor> work_;  ///< while there are members

  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_GROUP_CORE_HPP
