// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_LANE_TABLE_HPP
#define WEIR_DETAIL_LANE_TABLE_HPP

#include <weir/detail/intrusive_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

class task_record;

/// Which tasks of a pool come one after another: for each lane that has any, which of them has its
/// turn, and which follow.
///
/// A task enters its lane when it is handed over, is accepted at once or when there is room for it,
/// starts when it has its turn and a worker, and leaves whatever it is at. Only `enter` allocates.
///
/// A pure policy: no clock, no lock. State is kept of lanes that have a task, and of no others.
///
/// Thread safety: shared object: unsafe.
class lane_table {
  struct lane;
  struct in_lane : queue_hook {};
  struct by_age : queue_hook {};

 public:
  /// A task's place in its lane.
  class place : private in_lane, private by_age {
   public:
    const std::string& lane_name() const noexcept { return lane_->name; }

    /// Whether it waits for another of its lane to leave.
    bool follows() const noexcept { return stage_ == stage::follows; }

    task_record* task = nullptr;  ///< whose place it is

   private:
    friend class lane_table;
    template <typename>
    friend class intrusive_queue;
    enum class stage : std::uint8_t { entered, follows, has_turn, started };

    lane* lane_ = nullptr;
    stage stage_ = stage::entered;
  };

  /// \param limit places in one lane; zero: no limit
  /// \param lanes that are expected at most; with more it still works, but not as fast
  lane_table(std::size_t limit, std::size_t lanes);
  lane_table(const lane_table&) = delete;
  lane_table& operator=(const lane_table&) = delete;

  static std::size_t hash(std::string_view name) noexcept {
    return std::hash<std::string_view>{}(name);
  }

  /// Takes a place in the lane `name`, which is moved from only if it is needed. Null: the lane has
  /// as many as it may.
  ///
  /// \throws std::bad_alloc; nothing is taken then.
  place* enter(std::string&& name, std::size_t hash);

  /// The task has been accepted. \returns whether it has its turn; if not, it follows.
  bool accept(place& p) noexcept;

  /// A task that has its turn runs from now on.
  void start(place& p) noexcept;

  /// The task is no more, and its place is gone. \returns the one that has its turn by that, if
  /// there is one.
  place* leave(place& p) noexcept;

  /// Who was accepted first of those that have not started; null if there is none.
  place* oldest() noexcept;

  /// Lanes with a task.
  std::size_t size() const noexcept { return size_; }

  /// Tasks that follow.
  std::size_t following() const noexcept { return following_; }

  /// Begins to look at those that have been accepted and not started, one after another; any may
  /// come and go meanwhile. Whoever began before has to begin again: one looks at a time.
  void begin_walk() const noexcept { walk_.start(not_started_); }

  /// The next, who was accepted first coming first; null at the end. Who has been there since the
  /// beginning comes up once, and who comes meanwhile may.
  const place* next_of_walk() const noexcept { return static_cast<const place*>(walk_.next()); }

 private:
  struct lane : queue_hook {
    std::string name;
    std::size_t members = 0;  ///< places, of whatever stage
    bool held = false;        ///< one has its turn, or has started
    intrusive_queue<in_lane> followers;
    lane* chain = nullptr;  ///< next in its bucket
    std::size_t bucket = 0;
  };

  void leave_age(place& p) noexcept;
  void forget(lane& l) noexcept;

  const std::size_t limit_;
  const std::size_t bucket_count_;
  std::size_t size_ = 0;
  std::size_t following_ = 0;
  std::vector<lane*> buckets_;  ///< none until the first lane comes
  intrusive_queue<by_age> not_started_;
  mutable queue_cursor<by_age> walk_;

  // What was allocated, and what of it is to be used again.
  std::forward_list<lane> lanes_;
  std::forward_list<place> places_;
  intrusive_queue<lane> free_lanes_;
  intrusive_queue<in_lane> free_places_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_LANE_TABLE_HPP
