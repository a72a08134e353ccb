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
#include <map>
#include <optional>
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
  closed,      ///< refused
  user_limit,  ///< refused
  full,        ///< refused
  given_up,    ///< cancelled while it waited for room
  completed,
  failed,
  timed_out,
  cancelled,
};

/// What a worker pool promises, as a plain state machine without threads, coroutines or locks.
/// Times are handed in.
class pool_model {
 public:
  struct limits {
    std::size_t workers = 1;
    std::size_t queue = 1;
    std::size_t cap = 0;  ///< 0: none
    weir::duration grace{};
    weir::duration answer_after{};
  };

  /// How a task is handed over.
  enum class door { submit, async_submit, co_spawn };

  struct job {
    std::string user;
    conduct how = conduct::returns;
    weir::duration length{};
    weir::duration timeout{};  ///< zero: none
    door by = door::submit;
    fate end = fate::none;
    weir::cancel_cause cause = weir::cancel_cause::none;
    weir::time_point ends = weir::time_point::max();
    weir::time_point due = weir::time_point::max();
    weir::time_point answer = weir::time_point::max();
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
    } else if (limits_.cap != 0 && slots(made.user) >= limits_.cap) {
      made.end = fate::user_limit;
    } else if (waiting_.empty() && queued_.size() < limits_.queue) {
      ++submitted_;
      made.where = job::place::queued;
      queued_.push_back(number);
      fill(now);
    } else if (made.by == door::async_submit) {
      made.where = job::place::waiting;
      waiting_.push_back(number);
    } else {
      made.end = fate::full;
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
      std::erase(queued_, number);
      j.cause = weir::cancel_cause::caller;
      finish(j, fate::cancelled);
      admit_waiting();
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
        if (j.where != job::place::running) continue;
        const auto mine = std::min({j.ends, j.due, j.answer});
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
      } else if (of->answer == next) {
        of->answer = weir::time_point::max();
        of->answered = true;
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
  std::size_t active() const {
    return static_cast<std::size_t>(std::count_if(
        jobs_.begin(), jobs_.end(), [](const job& j) { return j.where == job::place::running; }));
  }
  std::size_t queued() const { return queued_.size(); }
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t submitted() const { return submitted_; }
  std::size_t users() const {
    std::map<std::string, int> held;
    for (const job& j : jobs_)
      if (j.where != job::place::outside) ++held[j.user];
    return limits_.cap == 0 ? 0 : held.size();
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
  std::size_t slots(const std::string& user) const {
    return static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const job& j) {
      return j.user == user && j.where != job::place::outside;
    }));
  }

  void fill(weir::time_point now) {
    while (active() < limits_.workers && !queued_.empty()) {
      job& j = jobs_[queued_.front()];
      queued_.pop_front();
      admit_waiting();
      j.where = job::place::running;
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

  void admit_waiting() {
    if (waiting_.empty()) return;
    job& j = jobs_[waiting_.front()];
    queued_.push_back(waiting_.front());
    waiting_.pop_front();
    j.where = job::place::queued;
    ++submitted_;
  }

  void cancel(job& j, weir::cancel_cause cause, weir::time_point now) {
    if (j.cause != weir::cancel_cause::none) return;
    j.cause = cause;
    j.due = weir::time_point::max();
    if (j.how == conduct::sleeps)
      finish(j, cause == weir::cancel_cause::timeout ? fate::timed_out : fate::cancelled);
    else if (j.how == conduct::stubborn)
      finish(j, cause == weir::cancel_cause::timeout ? fate::timed_out : fate::completed);
    else if (j.by == door::co_spawn)
      j.answer = now + limits_.answer_after;
  }

  void finish(job& j, fate f) {
    j.end = f;
    j.where = job::place::outside;
  }

  void abandon_queue() {
    for (const std::size_t n : std::exchange(queued_, {})) {
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
