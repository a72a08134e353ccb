// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "wait_report.hpp"

#include <weir/test/simulation.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <tuple>

namespace weir::test {

namespace {

// How deep dispatched handlers may run inside one another.
constexpr int max_depth = 16;

/// Holds the signals of coroutines until the coroutines have been destroyed, but no longer than
/// the strands of the same context are: the slot of a signal keeps the executor of the coroutine,
/// and of those that it has spawned.
class signal_keeper final : public boost::asio::execution_context::service {
 public:
  using key_type = signal_keeper;
  static boost::asio::execution_context::id id;

  explicit signal_keeper(boost::asio::execution_context& context) : service(context) {}
  std::vector<std::shared_ptr<const void>> held;

 private:
  void shutdown() override {}
};

boost::asio::execution_context::id signal_keeper::id;

}  // namespace

struct simulation::traced {
  std::uint64_t step;
  time_point at;
  tag_pointer tag;
  std::uint64_t by;
  bool cancelled;  ///< not a handler: the kit cancelled the coroutine
};

struct simulation::delayed {
  time_point due;
  std::uint64_t number;
  std::unique_ptr<op> what;

  friend bool operator<(const delayed& a, const delayed& b) noexcept {
    return std::tie(a.due, a.number) > std::tie(b.due, b.number);
  }
};

simulation::simulation(std::uint64_t seed, simulation_options options)
    : driver(start_of_time),
      seed_(seed),
      options_(options),
      order_random_(random(seed)()),
      program_random_(random(~seed)()),
      context_(std::in_place, 1) {
  bell_.emplace(*context_);
  if (options_.fail_allocation > 0) {
    outer_faults_ = weir::detail::installed_faults.exchange(this);
  }
}

simulation::~simulation() {
  if (options_.fail_allocation > 0) weir::detail::installed_faults.store(outer_faults_);
  closing_ = true;
  drop_all();
  bell_.reset();
  // The youngest service is the first to be destroyed, after all have dropped their handlers.
  auto& keeper = boost::asio::use_service<signal_keeper>(*context_);
  keeper.held.assign(coroutines().begin(), coroutines().end());
  forget_coroutines();
  context_.reset();
  drop_all();
}

void simulation::drop_all() noexcept {
  // What is dropped may own coroutines whose ends add more; `add` drops that at once.
  while (!ready_.empty() || !delayed_.empty()) {
    const auto now_ready = std::exchange(ready_, {});
    const auto ready_later = std::exchange(delayed_, {});
  }
}

boost::asio::any_io_executor simulation::base() { return get_executor(); }

void simulation::before_allocation() {
  if (!closing_ && order_random_.chance(options_.fail_allocation)) throw std::bad_alloc();
}

bool simulation::may_run_inline() noexcept {
  return running_step_ != 0 && depth_ < max_depth && !closing_ &&
         !order_random_.chance(options_.preempt);
}

void simulation::add(std::unique_ptr<op> made) {
  if (closing_) return;
  if (order_random_.chance(options_.delay)) {
    const auto most = static_cast<std::uint64_t>(options_.max_delay.count());
    const duration by(
        static_cast<duration::rep>(1 + order_random_.below(std::max<std::uint64_t>(most, 1))));
    delayed_.push_back({saturating_add(now(), by), ++delayed_count_, std::move(made)});
    std::push_heap(delayed_.begin(), delayed_.end());
    note_expiry(delayed_.front().due);
  } else {
    ready_.push_back(std::move(made));
  }
}

void simulation::collect() {
  // Cancelled timers are handed over first and due ones after them, however late the kernel tells
  // that they are due: so the list that is drawn from is the same each time.
  bell_->poll();
  while (next_event_ && *next_event_ <= now()) look_again();
}

std::size_t simulation::look_again() {
  const std::size_t before = ready_.size();
  next_event_.reset();
  bell_->ring();
  while (!delayed_.empty() && delayed_.front().due <= now()) {
    std::pop_heap(delayed_.begin(), delayed_.end());
    ready_.push_back(std::move(delayed_.back().what));
    delayed_.pop_back();
  }
  if (!delayed_.empty()) note_expiry(delayed_.front().due);
  return ready_.size() - before;
}

bool simulation::step() {
  collect();
  if (order_random_.chance(options_.cancel)) {
    cancel_one();
    collect();
  }
  if (ready_.empty()) return false;
  std::swap(ready_[order_random_.below(ready_.size())], ready_.back());
  const std::unique_ptr<op> drawn = std::move(ready_.back());
  ready_.pop_back();
  perform(*drawn);
  return true;
}

void simulation::perform(op& ready) {
  ++steps_;
  if (options_.trace != 0) {
    if (trace_.size() == options_.trace) trace_.pop_front();
    trace_.push_back({steps_, now(), ready.tag, ready.by, false});
  }
  struct scope : nesting {
    explicit scope(simulation& s) noexcept
        : nesting(s), before(std::exchange(s.running_step_, s.steps_)) {}
    ~scope() { sim.running_step_ = before; }
    std::uint64_t before;
  } const running(*this);
  ready.run();
}

std::size_t simulation::run_ready() {
  std::size_t handlers = 0;
  while (step()) ++handlers;
  return handlers;
}

bool simulation::work_left() const { return work_ != 0 || !ready_.empty() || !delayed_.empty(); }

std::string simulation::outside() const {
  return "\n  seed " + std::to_string(seed_) + real_waits();
}

void simulation::cancel_one() {
  std::vector<spawned*> candidates;
  for (const auto& s : coroutines())
    // Not before it has begun: the exception would leave Asio's own part of the coroutine, and with
    // Boost 1.81 nobody would hear of its end.
    if (s->tag->started && !s->ended && !s->cancelled) candidates.push_back(s.get());
  if (candidates.empty()) return;
  spawned& chosen = *candidates[order_random_.below(candidates.size())];
  chosen.cancelled = true;
  constexpr std::array types{boost::asio::cancellation_type::terminal,
                             boost::asio::cancellation_type::partial,
                             boost::asio::cancellation_type::total};
  if (options_.trace != 0) trace_.push_back({steps_, now(), chosen.tag, 0, true});
  chosen.signal.emit(types[order_random_.below(types.size())]);
}

std::string simulation::trace() const {
  std::string text;
  for (const traced& t : trace_) {
    text += std::to_string(t.step) + " at " + time_text(*this, t.at) + ": " +
            (t.tag ? t.tag->text() : "a handler");
    if (t.cancelled)
      text += " is cancelled";
    else if (t.by != 0)
      text += ", made ready by step " + std::to_string(t.by);
    else
      text += ", made ready by a timer or from outside";
    text += '\n';
  }
  return text;
}

}  // namespace weir::test
