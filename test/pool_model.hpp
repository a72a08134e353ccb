// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_POOL_MODEL_HPP
#define WEIR_TEST_POOL_MODEL_HPP

#include <weir/cancel_cause.hpp>
#include <weir/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir_test {

/// What a task of the model does.
enum class conduct {
  returns,   ///< at once
  throws,    ///< at once
  sleeps,    ///< for its length, or until it is cancelled, by which it ends with an error
  stubborn,  ///< sleeps likewise, but returns normally when it is cancelled
  deaf,      ///< sleeps for its length whatever happens
};

/// How a task of the model came to its end, or that it has not.
enum class fate {
  none,
  closed,        ///< refused
  tenant_limit,  ///< refused
  user_limit,    ///< refused
  full,          ///< refused
  user_queue,    ///< refused
  lane_limit,    ///< refused
  given_up,      ///< cancelled while it waited for room
  completed,
  failed,
  timed_out,
  cancelled,
  shed,
};

/// What a worker pool promises, as a plain state machine without threads, coroutines or locks.
/// Times are handed in.
class pool_model {
 public:
  struct limits {
    std::size_t workers = 1;
    std::size_t queue = 1;
    std::size_t cap = 0;     ///< 0: none
    std::size_t share = 0;   ///< 0: none
    std::size_t tenant = 0;  ///< 0: none
    std::size_t lane = 0;    ///< 0: none
    weir::duration max_wait = weir::duration::max();
    weir::duration grace{};
    std::size_t stand_ins = 0;
    weir::duration answer_after{};
  };

  /// How a task is handed over.
  enum class door { submit, async_submit, co_spawn };

  struct job {
    std::string user;
    std::string lane;
    conduct how = conduct::returns;
    weir::duration length{};
    weir::duration timeout{};  ///< zero: none
    door by = door::submit;
    fate end = fate::none;
    weir::cancel_cause cause = weir::cancel_cause::none;
    weir::time_point ends = weir::time_point::max();
    weir::time_point due = weir::time_point::max();
    weir::time_point answer = weir::time_point::max();
    weir::time_point stuck_at = weir::time_point::max();
    bool stuck = false;
    std::size_t serial = 0;                               ///< of its acceptance
    weir::time_point too_late = weir::time_point::max();  ///< to start
    bool answered = false;  ///< its caller has been told, ahead of its end
    enum class place { outside, waiting, queued, running } where = place::outside;
  };

  explicit pool_model(limits l) : limits_(l) {}

  std::size_t hand_over(job j, weir::time_point now) {
    const std::size_t number = jobs_.size();
    jobs_.push_back(std::move(j));
    job& made = jobs_.back();
    if (closed_) {
      made.end = fate::closed;
    } else if (limits_.tenant != 0 &&
               held([&](const job& o) { return tenant(o) == tenant(made); }) >= limits_.tenant) {
      made.end = fate::tenant_limit;
    } else if (limits_.cap != 0 &&
               held([&](const job& o) { return o.user == made.user; }) >= limits_.cap) {
      made.end = fate::user_limit;
    } else {
      const bool room = waiting_.empty() && queued() < limits_.queue;
      if (!room && made.by != door::async_submit) {
        made.end = fate::full;
      } else if (limits_.share != 0 && held([&](const job& o) {
                                         return o.user == made.user &&
                                                o.where != job::place::running;
                                       }) >= limits_.share) {
        made.end = fate::user_queue;
      } else if (limits_.lane != 0 && !made.lane.empty() &&
                 held([&](const job& o) { return o.lane == made.lane; }) >= limits_.lane) {
        made.end = fate::lane_limit;
      } else if (room) {
        accept(number, now);
        fill(now);
      } else {
        made.where = job::place::waiting;
        waiting_.push_back(number);
      }
    }
    return number;
  }

  /// Whoever handed it over gives up.
  void give_up(std::size_t number, weir::time_point now) {
    job& j = jobs_[number];
    if (j.where == job::place::waiting) {
      std::erase(waiting_, number);
      finish(j, fate::given_up);
    } else if (j.by != door::co_spawn) {
      return;  // accepted: not affected
    } else if (j.where == job::place::queued) {
      j.cause = weir::cancel_cause::caller;
      leave_queue(number, fate::cancelled, now);
    } else if (j.where == job::place::running) {
      cancel(j, weir::cancel_cause::caller, now);
    }
    fill(now);
    settle_shutdown(now);
  }

  void shut_down(weir::duration deadline, bool abandon, weir::time_point now) {
    if (closed_) return;
    closed_ = true;
    deadline_ = now + deadline;
    completed_before_ = count(fate::completed);
    for (const std::size_t n : std::exchange(waiting_, {})) finish(jobs_[n], fate::closed);
    if (abandon) abandon_queue();
    settle_shutdown(now);
  }

  /// So many workers from now on; what runs beyond them goes on.
  void resize(std::size_t workers, weir::time_point now) {
    limits_.workers = workers;
    fill(now);
    settle_shutdown(now);
  }

  /// Lets time pass, one event after the other.
  void advance_to(weir::time_point end) {
    for (;;) {
      weir::time_point next = std::min(deadline_, limit_);
      job* of = nullptr;
      for (job& j : jobs_) {
        if (j.where == job::place::queued && j.too_late < next) {
          next = j.too_late;
          of = &j;
        }
        if (j.where != job::place::running) continue;
        const auto mine = std::min({j.ends, j.due, j.answer, j.stuck_at});
        if (mine < next) {
          next = mine;
          of = &j;
        }
      }
      if (next > end) return;
      if (!of) {
        if (next == deadline_) {
          cut_short(next);
        } else {
          report(next);
        }
      } else if (of->where == job::place::queued) {
        leave_queue(static_cast<std::size_t>(of - jobs_.data()), fate::shed, next);
      } else if (of->answer == next) {
        of->answer = weir::time_point::max();
        of->answered = true;
      } else if (of->stuck_at == next) {
        of->stuck_at = weir::time_point::max();
        of->stuck = true;
      } else if (of->due == next) {
        cancel(*of, weir::cancel_cause::timeout, next);
      } else {
        finish(*of, of->cause == weir::cancel_cause::timeout ? fate::timed_out : fate::completed);
      }
      fill(next);
      settle_shutdown(next);
    }
  }

  std::size_t count(fate f) const {
    return static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [f](const job& j) { return j.end == f; }));
  }
  std::size_t workers() const { return limits_.workers; }
  std::size_t active() const { return at(job::place::running); }
  std::size_t stuck() const {
    return static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [](const job& j) { return j.stuck; }));
  }
  std::size_t stand_ins() const { return std::min(stuck(), limits_.stand_ins); }
  std::size_t queued() const { return at(job::place::queued); }
  std::size_t waiting() const { return waiting_.size(); }

  /// Whether it is queued behind another of its lane.
  bool follows(std::size_t number) const {
    return jobs_[number].where == job::place::queued &&
           std::find(queued_.begin(), queued_.end(), number) == queued_.end();
  }
  std::size_t submitted() const { return submitted_; }
  std::size_t users() const {
    std::set<std::string> held;
    for (const job& j : jobs_)
      if (j.where != job::place::outside) held.insert(j.user);
    return limits_.cap == 0 && limits_.share == 0 ? 0 : held.size();
  }
  std::size_t tenants() const {
    std::set<std::string> held;
    for (const job& j : jobs_)
      if (j.where != job::place::outside) held.insert(tenant(j));
    return limits_.tenant == 0 ? 0 : held.size();
  }
  const std::vector<job>& jobs() const { return jobs_; }

  struct ending {
    bool drained = true;
    std::size_t completed = 0;
    std::vector<std::size_t> abandoned;
    std::vector<std::size_t> stuck;
  };
  const std::optional<ending>& ended() const { return ended_; }

 private:
  static std::string tenant(const job& j) { return j.user.substr(0, j.user.find('/')); }

  /// Slots of those for which `of` holds.
  template <typename F>
  std::size_t held(F&& of) const {
    return static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const job& j) {
      return j.where != job::place::outside && of(j);
    }));
  }

  std::size_t at(job::place where) const {
    return static_cast<std::size_t>(std::count_if(
        jobs_.begin(), jobs_.end(), [where](const job& j) { return j.where == where; }));
  }

  /// Whether one of the lane runs, or stands in the queue for that.
  bool lane_held(const std::string& lane) const {
    const auto has = [&](std::size_t n) { return jobs_[n].lane == lane; };
    return std::any_of(queued_.begin(), queued_.end(), has) ||
           std::any_of(jobs_.begin(), jobs_.end(), [&](const job& j) {
             return j.lane == lane && j.where == job::place::running;
           });
  }

  /// Of those queued for which `of` holds.
  template <typename F>
  const job* first_accepted(F&& of) const {
    const job* first = nullptr;
    for (const job& j : jobs_)
      if (j.where == job::place::queued && of(j) && (!first || j.serial < first->serial))
        first = &j;
    return first;
  }

  void accept(std::size_t number, weir::time_point now) {
    job& j = jobs_[number];
    const bool follows = !j.lane.empty() && lane_held(j.lane);
    j.where = job::place::queued;
    j.serial = ++submitted_;
    if (limits_.max_wait != weir::duration::max()) j.too_late = now + limits_.max_wait;
    if (!follows) queued_.push_back(number);
  }

  void leave_queue(std::size_t number, fate f, weir::time_point now) {
    std::erase(queued_, number);
    finish(jobs_[number], f);
    admit_waiting(now);
  }

  void fill(weir::time_point now) {
    while (active() < limits_.workers + stand_ins() && !queued_.empty()) {
      job& j = jobs_[queued_.front()];
      queued_.pop_front();
      j.where = job::place::running;
      admit_waiting(now);
      if (j.how == conduct::returns) {
        finish(j, fate::completed);
      } else if (j.how == conduct::throws) {
        finish(j, fate::failed);
      } else {
        j.ends = now + j.length;
        if (j.timeout > weir::duration::zero()) j.due = now + j.timeout;
      }
    }
  }

  void admit_waiting(weir::time_point now) {
    if (waiting_.empty()) return;
    accept(waiting_.front(), now);
    waiting_.pop_front();
  }

  void cancel(job& j, weir::cancel_cause cause, weir::time_point now) {
    if (j.cause != weir::cancel_cause::none) return;
    j.cause = cause;
    j.due = weir::time_point::max();
    if (j.how == conduct::sleeps)
      finish(j, cause == weir::cancel_cause::timeout ? fate::timed_out : fate::cancelled);
    else if (j.how == conduct::stubborn)
      finish(j, cause == weir::cancel_cause::timeout ? fate::timed_out : fate::completed);
    else {
      j.stuck_at = now + limits_.grace;
      if (j.by == door::co_spawn) j.answer = now + limits_.answer_after;
    }
  }

  void finish(job& j, fate f) {
    j.end = f;
    j.where = job::place::outside;
    j.stuck = false;
    if (j.lane.empty() || lane_held(j.lane)) return;
    const job* const next = first_accepted([&](const job& other) { return other.lane == j.lane; });
    if (next) queued_.push_back(static_cast<std::size_t>(next - jobs_.data()));
  }

  void abandon_queue() {
    for (;;) {
      std::size_t n = 0;
      if (!queued_.empty()) {
        n = queued_.front();
        queued_.pop_front();
      } else if (const job* next = first_accepted([](const job&) { return true; })) {
        n = static_cast<std::size_t>(next - jobs_.data());  // follows one that runs
      } else {
        break;
      }
      finish(jobs_[n], fate::cancelled);
      jobs_[n].cause = weir::cancel_cause::shutdown;
      ending_.abandoned.push_back(n);
      ending_.drained = false;
    }
  }

  void cut_short(weir::time_point now) {
    deadline_ = weir::time_point::max();
    limit_ = now + limits_.grace;
    abandon_queue();
    for (job& j : jobs_)
      if (j.where == job::place::running) {
        ending_.drained = false;
        cancel(j, weir::cancel_cause::shutdown, now);
      }
  }

  void settle_shutdown(weir::time_point now) {
    if (!closed_ || ended_) return;
    if (deadline_ <= now) cut_short(now);
    if ((active() == 0 && queued_.empty()) || limit_ <= now) report(now);
  }

  void report(weir::time_point) {
    deadline_ = limit_ = weir::time_point::max();
    ending_.completed = count(fate::completed) - completed_before_;
    for (std::size_t n = 0; n < jobs_.size(); ++n)
      if (jobs_[n].where == job::place::running) ending_.stuck.push_back(n);
    ended_ = ending_;
  }

  limits limits_;
  std::vector<job> jobs_;
  std::deque<std::size_t> queued_;
  std::deque<std::size_t> waiting_;
  std::size_t submitted_ = 0;
  std::size_t completed_before_ = 0;
  bool closed_ = false;
  weir::time_point deadline_ = weir::time_point::max();
  weir::time_point limit_ = weir::time_point::max();
  ending ending_;
  std::optional<ending> ended_;
};

}  // namespace weir_test

#endif  // WEIR_TEST_POOL_MODEL_HPP
