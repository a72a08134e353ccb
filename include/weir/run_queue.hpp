// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_RUN_QUEUE_HPP
#define WEIR_RUN_QUEUE_HPP

#include <weir/clock.hpp>
#include <weir/detail/intrusive_queue.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

/// Which of those who wait goes first.
enum class discipline {
  fifo,           ///< who came first
  priority,       ///< who has the greater priority, then who came first
  fair,           ///< users take turns, whatever each of them has queued
  fair_priority,  ///< who has the greater priority, and users take turns among equals
};

struct run_queue_options {
  weir::discipline discipline = weir::discipline::fifo;

  /// How long one has to wait to be the equal of one who comes with a priority that is greater by
  /// one: so nobody waits for ever. Zero or less: the greater priority always goes first.
  duration aging = std::chrono::seconds(1);

  /// How many tasks of a user go in its turn; who is not listed has one. Below 1 becomes 1.
  std::map<std::string, int, std::less<>> weights = {};

  /// How many wait at most; there is memory for so many users at once.
  std::size_t capacity = 0;
};

/// Those who wait, and whose turn it is. Each operation takes constant time, and allocates nothing.
///
/// A pure policy: no Asio, no lock, and the time is handed in.
///
/// - Priorities from -8 to 7 differ; what is beyond counts as the last of them.
/// - Turns go round (deficit round robin, where all cost the same): a user who comes waits for at
///   most one turn of each other, however much those have queued. With priorities each has turns of
///   its own.
/// - State is kept of users who wait, and of nobody else; so nobody saves up turns.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Source: Shreedhar, Varghese, "Efficient Fair Queueing using Deficit Round Robin" (1995).
class run_queue {
  struct flow;
  struct in_flow : detail::queue_hook {};
  struct in_band : detail::queue_hook {};

 public:
  /// One who waits; what is to wait derives from it. The queue does not own it, and reads its user
  /// and its priority for as long as it waits.
  class node : private in_flow, private in_band {
   public:
    std::string user;
    int priority = 0;

    /// When it was pushed.
    time_point queued_at() const noexcept { return since_; }

   private:
    friend class run_queue;
    template <typename>
    friend class detail::intrusive_queue;

    time_point since_{};
    flow* flow_ = nullptr;
    std::uint8_t band_ = 0;
  };

  explicit run_queue(const run_queue_options& options);
  run_queue(const run_queue&) = delete;
  run_queue& operator=(const run_queue&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  /// Users who wait; with priorities, for each of those.
  std::size_t turns() const noexcept { return turns_; }

  /// Joins. Not beyond the capacity. Of one priority, who joins first has come first, whatever the
  /// time.
  void push(node& item, time_point now) noexcept;

  /// The one whose turn it is, taken out; null if there is none.
  node* pop() noexcept { return pop(false); }

  /// The same, but of its priority, and in a fair discipline of its user, the one who came last.
  node* pop_newest() noexcept { return pop(true); }

  /// Takes out one that waits here.
  void erase(node& item) noexcept;

  /// Who has waited longest of all; null if nobody waits.
  const node* oldest() const noexcept;
  node* oldest() noexcept { return const_cast<node*>(std::as_const(*this).oldest()); }

  /// Begins to look at all, one after another; any may join and leave meanwhile. Whoever began
  /// before has to begin again: one looks at a time.
  void begin_walk() const noexcept;

  /// The next; null at the end. Who has waited since the beginning comes up once, those of one
  /// priority in order of arrival, and who comes meanwhile may.
  const node* next_of_walk() const noexcept;

 private:
  static constexpr std::size_t bands = 16;

  /// The tasks of a user that wait, all of one priority.
  struct flow : detail::queue_hook {
    detail::intrusive_queue<in_flow> tasks;
    int credit = 0;  ///< tasks still to go in this turn
    int weight = 1;
    flow* chain = nullptr;  ///< next in its bucket, or in the list of those that are free
    std::size_t bucket = 0;
  };

  struct band {
    detail::intrusive_queue<in_band> arrivals;
    detail::intrusive_queue<flow> turns;
  };

  node* pop(bool newest) noexcept;
  band& next_band() noexcept;
  void join_flow(node& item) noexcept;
  void leave_flow(node& item) noexcept;

  const bool by_priority_;
  const bool by_user_;
  const duration aging_;
  const std::map<std::string, int, std::less<>> weights_;
  std::array<band, bands> bands_;
  mutable detail::queue_cursor<in_band> walk_;
  mutable std::size_t walked_band_ = 0;
  std::uint32_t waiting_ = 0;  ///< bit b: somebody waits in that band
  std::size_t size_ = 0;
  std::size_t turns_ = 0;
  std::vector<flow> flows_;
  std::vector<flow*> buckets_;
  flow* free_ = nullptr;
};

}  // namespace weir

#endif  // WEIR_RUN_QUEUE_HPP
