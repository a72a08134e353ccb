// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_BOUNDED_QUEUE_HPP
#define WEIR_IMPL_BOUNDED_QUEUE_HPP

#include <weir/detail/bounded_queue_state.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/wait_initiation.hpp>

#include <boost/asio/associator.hpp>

#include <algorithm>
#include <iterator>
#include <new>

namespace weir {

namespace detail {

// --- sending -------------------------------------------------------------------------------------

template <typename T>
bounded_queue_state<T>::bounded_queue_state(boost::asio::any_io_executor ex,
                                            queue_options<T> options, overflow when_full,
                                            std::unique_ptr<coalescer<T>> coalescer,
                                            std::unique_ptr<spiller<T>> spiller, std::string name)
    : bounded_queue_core(std::move(ex), options.capacity, options.max_weight,
                         static_cast<bool>(options.weigh), std::move(name)),
      weigh_(std::move(options.weigh)),
      on_drop_(std::move(options.on_drop)),
      when_full_(when_full),
      coalescer_(std::move(coalescer)),
      spiller_(std::move(spiller)) {}

template <typename T>
error_code bounded_queue_state<T>::try_send(T&& item, std::optional<overflow> when_full) {
  const std::size_t weight = weigh(item);
  if (!coalescer_ && !(spiller_ && when_full) && send_at_once(item, weight)) return {};
  error_code why;
  parcel<T> p = pack(item, weight, when_full);
  switch (send(p, why, nullptr)) {
    case fate::waits:
      return errc::queue_full;
    case fate::merged:
      drop(std::move(item), drop_kind::merged);
      break;
    case fate::dropped:
      drop(std::move(item), drop_kind::dropped_newest);
      break;
    default:
      break;
  }
  return why;
}

template <typename T>
void bounded_queue_state<T>::enter(item_sender<T>& w, T&& item, std::optional<overflow> when_full) {
  w.item.emplace(std::move(item));
  fate f = fate::refused;
  error_code why;
  try {
    w.sent = pack(*w.item, weigh(*w.item), when_full);
    f = send(w.sent, why, &w);
  } catch (...) {
    why = current_error();
  }
  if (f == fate::waits) return;  // and may be gone
  if (f == fate::refused) drop(std::move(*w.item), drop_kind::rejected);
  if (f == fate::merged) drop(std::move(*w.item), drop_kind::merged);
  if (f == fate::dropped) drop(std::move(*w.item), drop_kind::dropped_newest);
  w.complete(why);
}

template <typename T>
bool bounded_queue_state<T>::leave(item_sender<T>& w) {
  outcome out;
  {
    const std::lock_guard lock(mutex_);
    if (!senders_.erase(w)) return false;
    ++books_.rejected;
    settle(out);  // it may have been the one that those behind it waited for
  }
  drop(std::move(*w.item), drop_kind::rejected);
  deliver(out);
  return true;
}

template <typename T>
bool bounded_queue_state<T>::send_at_once(T& item, std::size_t weight) noexcept {
  const std::lock_guard lock(mutex_);
  if (books_.closed || !receivers_.empty() || !has_room(weight) || spare_.empty()) return false;
  ++books_.offered;
  ++books_.sent;
  fill(item, weight);
  return true;
}

template <typename T>
parcel<T> bounded_queue_state<T>::pack(T& item, std::size_t weight,
                                       std::optional<overflow> when_full) const {
  return {&item, weight, coalescer_ ? coalescer_->key_of(item) : std::any(), when_full};
}

template <typename T>
auto bounded_queue_state<T>::send(parcel<T>& p, error_code& why, item_sender<T>* waiter) -> fate {
  outcome out;
  fate f = attempt(p, why, waiter, false, out);
  if (f == fate::spills) {
    std::unique_lock turn(sink_turn_);
    f = attempt(p, why, waiter, true, out);
    if (f == fate::spills) {
      try {
        spiller_->push(std::move(*p.item));
      } catch (...) {
        spill_ended(false, out);
        turn.unlock();
        deliver(out);
        throw;
      }
      spill_ended(true, out);
    }
  }
  deliver(out);
  return f;
}

template <typename T>
auto bounded_queue_state<T>::attempt(parcel<T>& p, error_code& why, item_sender<T>* waiter,
                                     bool has_turn, outcome& out) -> fate {
  const std::lock_guard lock(mutex_);
  if (!has_turn) {
    ++books_.offered;
    ++books_.rejected;  // until it is known better, for what follows may throw
  }
  const fate f = decide(p, why, out);
  if (f == fate::entered || f == fate::merged || f == fate::dropped) {
    --books_.rejected;
    ++books_.sent;
  } else if (f == fate::waits && waiter) {
    --books_.rejected;
    senders_.push(*waiter);
  } else if (f == fate::spills && has_turn && spiller_->readable()) {
    ++books_.in_sink;  // before it is, so that nobody who comes now overtakes it
  }
  settle(out);
  return f;
}

template <typename T>
void bounded_queue_state<T>::spill_ended(bool pushed, outcome& out) noexcept {
  const std::lock_guard lock(mutex_);
  if (pushed) {
    --books_.rejected;
    ++books_.sent;
    ++books_.spilled;
  } else if (spiller_->readable()) {
    --books_.in_sink;
    settle(out);
  }
}

template <typename T>
auto bounded_queue_state<T>::decide(parcel<T>& p, error_code& why, outcome& out) -> fate {
  const auto refuse_with = [&](errc e) {
    why = e;
    return fate::refused;
  };
  if (books_.closed) return refuse_with(errc::queue_closed);
  if (!can_ever_fit(p.weight) || (spiller_ && p.when_full == drop_oldest))
    return refuse_with(errc::invalid_argument);
  if (coalescer_) {
    if (queued_item<T>* queued = coalescer_->find(p.key)) {
      merge(*queued, *p.item);
      return fate::merged;
    }
  }
  if (!has_room(p.weight)) {
    if (spiller_ && !p.when_full) return fate::spills;
    switch (p.when_full.value_or(when_full_)) {
      case block:
        return fate::waits;
      case reject:
        return refuse_with(errc::queue_full);
      case drop_newest:
        ++books_.dropped_newest;
        return fate::dropped;
      case drop_oldest:
        break;
    }
  }
  place(p, out);
  return fate::entered;
}

template <typename T>
void bounded_queue_state<T>::merge(queued_item<T>& queued, T& newer) {
  coalescer_->merge(*queued.item, std::move(newer));
  ++books_.merged;
  const std::size_t before = std::exchange(queued.weight, weigh(*queued.item));
  if (!queued.granted) books_.weight += queued.weight - before;
}

template <typename T>
void bounded_queue_state<T>::place(parcel<T>& p, outcome& out) {
  // First what may throw, then what cannot be taken back.
  if (spare_.empty()) {
    fault_point();
    spare_.emplace_back();
  }
  queued_item<T>& place = spare_.front();
  place.key = std::move(p.key);
  if (coalescer_) coalescer_->insert(place);
  while (!fits(p.weight)) {
    queued_item<T>& oldest = items_.front();
    if (coalescer_) coalescer_->erase(oldest);
    book_out(oldest.weight);
    ++books_.dropped_oldest;
    out.evicted.splice(out.evicted.end(), items_, items_.begin());
  }
  fill(*p.item, p.weight);
}

template <typename T>
void bounded_queue_state<T>::fill(T& item, std::size_t weight) noexcept {
  queued_item<T>& place = spare_.front();
  place.item.emplace(std::move(item));
  place.weight = weight;
  place.granted = false;
  book_in(weight);
  items_.splice(items_.end(), spare_, spare_.begin());
}

template <typename T>
void bounded_queue_state<T>::admit(item_sender<T>& w, outcome& out) noexcept {
  try {
    queued_item<T>* const queued = coalescer_ ? coalescer_->find(w.sent.key) : nullptr;
    w.merged = queued != nullptr;
    if (queued)
      merge(*queued, *w.item);
    else
      place(w.sent, out);
    ++books_.sent;
  } catch (...) {
    w.why = current_error();
    ++books_.rejected;
  }
  out.sent.push(w);
}

// --- receiving -----------------------------------------------------------------------------------

template <typename T>
std::optional<T> bounded_queue_state<T>::try_receive() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (books_.size != 0 && senders_.empty()) return take_next();
      if (books_.size == 0 && books_.in_sink == 0) return std::nullopt;
    }
    if (std::optional<T> item = receive_and_settle()) return item;
    refill(1);
  }
}

template <typename T>
std::optional<T> bounded_queue_state<T>::receive_and_settle() {
  outcome out;
  std::unique_lock lock(mutex_);
  if (books_.size == 0) return std::nullopt;
  std::optional<T> item = take_next();
  settle(out);
  lock.unlock();
  deliver(out);
  return item;
}

template <typename T>
void bounded_queue_state<T>::enter(receive_waiter& w, std::ptrdiff_t wants) {
  if (wants < 1) return w.refuse(errc::invalid_argument);
  outcome out;
  while (!receive(w, out)) {
    try {
      refill(static_cast<std::size_t>(wants));
    } catch (...) {
      // With something inside, the next who finds nothing will meet it again.
      if (size() == 0) return w.refuse(current_error());
    }
  }
  deliver(out);
}

template <typename T>
bool bounded_queue_state<T>::receive(receive_waiter& w, outcome& out) noexcept {
  const std::lock_guard lock(mutex_);
  if (books_.size == 0 && books_.in_sink != 0) return false;
  receivers_.push(w);
  settle(out);  // which serves it, or turns it away, where it need not wait
  return true;
}

template <typename T>
T bounded_queue_state<T>::take() {
  outcome out;
  std::unique_lock lock(mutex_);
  std::optional<T> item = take_granted();
  settle(out);
  lock.unlock();
  deliver(out);
  return *std::move(item);
}

template <typename T>
std::vector<T> bounded_queue_state<T>::take(std::size_t most) {
  std::vector<T> batch;
  fault_point();
  batch.reserve(std::min(most, size() + 1));
  outcome out;
  {
    const std::lock_guard lock(mutex_);
    for (;;) {
      batch.push_back(*take_granted());
      if (books_.size == 0 || batch.size() == batch.capacity()) break;
      grant();
    }
    settle(out);
  }
  deliver(out);
  return batch;
}

template <typename T>
void bounded_queue_state<T>::unclaim() noexcept {
  outcome out;
  {
    const std::lock_guard lock(mutex_);
    queued_item<T>& last = granted_.back();
    last.granted = false;
    --books_.in_flight;
    book_in(last.weight);
    items_.splice(items_.begin(), granted_, std::prev(granted_.end()));
    settle(out);
  }
  deliver(out);
}

template <typename T>
void bounded_queue_state<T>::refill(std::size_t wants) {
  for (;;) {
    outcome out;
    {
      const std::lock_guard turn(sink_turn_);
      if (!wants_more(wants)) return;
      fault_point();
      nodes place(1);  // before anything is taken out of the sink
      std::optional<T> item = spiller_->pop();
      if (item) {
        place.front().weight = weigh(*item);
        place.front().item.emplace(std::move(*item));
      }
      const std::lock_guard lock(mutex_);
      if (item) {
        --books_.in_sink;
        ++books_.read_back;
        book_in(place.front().weight);
        items_.splice(items_.end(), place);
      } else {
        books_.in_sink = 0;
      }
      settle(out);
    }
    deliver(out);
  }
}

template <typename T>
bool bounded_queue_state<T>::wants_more(std::size_t wants) const {
  const std::lock_guard lock(mutex_);
  return books_.size < std::min(wants, capacity_) && books_.in_sink != 0;
}

// --- both ----------------------------------------------------------------------------------------

template <typename T>
void bounded_queue_state<T>::grant() noexcept {
  queued_item<T>& first = items_.front();
  first.granted = true;
  book_out(first.weight);
  ++books_.in_flight;
  granted_.splice(granted_.end(), items_, items_.begin());
}

template <typename T>
std::optional<T> bounded_queue_state<T>::take_next() noexcept {
  if (!granted_.empty()) {  // which come before it, and are as good for those who have claims
    grant();
    return take_granted();
  }
  book_out(items_.front().weight);
  return take_first(items_);
}

template <typename T>
std::optional<T> bounded_queue_state<T>::take_granted() noexcept {
  --books_.in_flight;
  return take_first(granted_);
}

template <typename T>
std::optional<T> bounded_queue_state<T>::take_first(nodes& from) noexcept {
  queued_item<T>& first = from.front();
  if (coalescer_) {
    coalescer_->erase(first);
    first.key.reset();
  }
  std::optional<T> item = std::move(first.item);
  first.item.reset();
  ++books_.received;
  if (spare_.size() < max_spare)
    spare_.splice(spare_.begin(), from, from.begin());
  else
    from.pop_front();
  return item;
}

template <typename T>
void bounded_queue_state<T>::settle(outcome& out) noexcept {
  for (;;) {
    if (!receivers_.empty() && books_.size != 0) {
      grant();
      out.served.push(receivers_.pop());
    } else if (!senders_.empty() && books_.in_sink == 0 &&
               fits(static_cast<item_sender<T>&>(senders_.front()).sent.weight)) {
      admit(static_cast<item_sender<T>&>(senders_.pop()), out);
    } else {
      break;
    }
  }
  if (drained()) receivers_.pop_if(out.ended, [](const receive_waiter&) { return true; });
}

template <typename T>
void bounded_queue_state<T>::deliver(outcome& out) noexcept {
  for (queued_item<T>& gone : out.evicted) drop(std::move(*gone.item), drop_kind::dropped_oldest);
  while (send_waiter* const waited = out.sent.pop()) {
    auto& w = static_cast<item_sender<T>&>(*waited);
    if (w.why)
      drop(std::move(*w.item), drop_kind::rejected);
    else if (w.merged)
      drop(std::move(*w.item), drop_kind::merged);
    w.complete(w.why);
  }
  while (receive_waiter* const w = out.served.pop())
    w->complete({}, item_claim(shared_from_this()));
  refuse(out.ended, errc::queue_closed);
}

template <typename T>
void bounded_queue_state<T>::drop(T&& item, drop_kind kind) const noexcept {
  T gone = std::move(item);
  if (on_drop_) on_drop_(std::move(gone), kind);
}

template <typename T>
void bounded_queue_state<T>::end(bool abandoned) {
  outcome out;
  nodes left;
  {
    const std::lock_guard lock(mutex_);
    books_.closed = true;
    senders_.pop_if(out.sent, [](const send_waiter&) { return true; });
    out.sent.for_each(
        [](send_waiter& w) { static_cast<item_sender<T>&>(w).why = errc::queue_closed; });
    books_.rejected += out.sent.size();
    if (abandoned) {
      if (coalescer_)
        for (const queued_item<T>& queued : items_) coalescer_->erase(queued);
      left.swap(items_);
      books_.size = books_.weight = 0;
      receivers_.pop_if(out.ended, [](const receive_waiter&) { return true; });
    }
    settle(out);
  }
  deliver(out);
}

// --- the handlers of receives --------------------------------------------------------------------

/// What a receive takes when its handler runs, and not before.
template <typename T>
struct take_one {
  static constexpr std::ptrdiff_t most = 1;

  T operator()(error_code& ec, item_claim claim) const {
    if (ec) return T();
    T item = static_cast<bounded_queue_state<T>&>(claim.queue()).take();
    claim.used();
    return item;
  }
};

template <typename T>
struct take_batch {
  std::ptrdiff_t most;

  std::vector<T> operator()(error_code& ec, item_claim claim) const {
    if (ec) return {};
    try {
      auto batch =
          static_cast<bounded_queue_state<T>&>(claim.queue()).take(static_cast<std::size_t>(most));
      claim.used();
      return batch;
    } catch (const std::bad_alloc&) {
      ec = bounded_queue_core::current_error();
      return {};  // and the claim goes back
    }
  }
};

template <typename Take, typename Handler>
struct claim_handler {
  Take take;
  Handler handler;

  void operator()(error_code ec, item_claim claim) {
    auto taken = take(ec, std::move(claim));
    std::move(handler)(ec, std::move(taken));
  }
};

/// What starts a receive once its handler is known.
template <typename T>
struct receive_initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return state->executor(); }

  template <typename Handler, typename Take>
  void operator()(Handler&& handler, Take take) const {
    using takes = claim_handler<Take, std::decay_t<Handler>>;
    wait_op<receive_waiter, takes>::start(state, takes{take, std::forward<Handler>(handler)},
                                          state->executor(), take.most);
  }

  std::shared_ptr<bounded_queue_state<T>> state;
};

}  // namespace detail

// --- the queue -----------------------------------------------------------------------------------

template <typename T>
bounded_queue<T>::bounded_queue(boost::asio::any_io_executor ex, std::ptrdiff_t capacity,
                                overflow_policy<T> policy, std::string name)
    : bounded_queue(std::move(ex), queue_options<T>{.capacity = capacity}, std::move(policy),
                    std::move(name)) {}

template <typename T>
bounded_queue<T>::bounded_queue(boost::asio::any_io_executor ex, queue_options<T> options,
                                overflow_policy<T> policy, std::string name)
    : state_(std::make_shared<detail::bounded_queue_state<T>>(
          std::move(ex), std::move(options), policy.when_full_, std::move(policy.coalescer_),
          std::move(policy.spiller_), std::move(name))) {}

template <typename T>
bounded_queue<T>::~bounded_queue() {
  state_->abandon();
}

template <typename T>
auto bounded_queue<T>::get_executor() const noexcept -> executor_type {
  return state_->executor();
}

template <typename T>
error_code bounded_queue<T>::try_send(T&& item) {
  return state_->try_send(std::move(item), std::nullopt);
}

template <typename T>
error_code bounded_queue<T>::try_send(T&& item, overflow when_full) {
  return state_->try_send(std::move(item), when_full);
}

template <typename T>
std::optional<T> bounded_queue<T>::try_receive() {
  return state_->try_receive();
}

template <typename T>
void bounded_queue<T>::close() {
  state_->close();
}

template <typename T>
std::size_t bounded_queue<T>::size() const {
  return state_->size();
}

template <typename T>
queue_metrics bounded_queue<T>::metrics() const {
  return state_->metrics();
}

template <typename T>
template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto bounded_queue<T>::async_send(T item, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::item_sender<T>, detail::bounded_queue_state<T>>{state_},
      token, std::move(item), std::optional<overflow>());
}

template <typename T>
template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto bounded_queue<T>::async_send(T item, overflow when_full, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::item_sender<T>, detail::bounded_queue_state<T>>{state_},
      token, std::move(item), std::optional<overflow>(when_full));
}

template <typename T>
template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, T)) Token>
auto bounded_queue<T>::async_receive(Token&& token) {
  static_assert(std::is_default_constructible_v<T>,
                "a receive that fails completes with an empty T: let a std::optional or a "
                "std::unique_ptr hold it, or use try_receive or async_receive_batch");
  return boost::asio::async_initiate<Token, void(error_code, T)>(
      detail::receive_initiation<T>{state_}, token, detail::take_one<T>());
}

template <typename T>
template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<T>)) Token>
auto bounded_queue<T>::async_receive_batch(std::ptrdiff_t max, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, std::vector<T>)>(
      detail::receive_initiation<T>{state_}, token, detail::take_batch<T>{max});
}

}  // namespace weir

/// Whatever goes with the handler of a receive goes with the one around it.
template <template <typename, typename> class Associator, typename Take, typename Handler,
          typename Default>
struct boost::asio::associator<Associator, weir::detail::claim_handler<Take, Handler>, Default>
    : Associator<Handler, Default> {
  static auto get(const weir::detail::claim_handler<Take, Handler>& h) noexcept {
    return Associator<Handler, Default>::get(h.handler);
  }
  static auto get(const weir::detail::claim_handler<Take, Handler>& h, const Default& d) noexcept {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};

#endif  // WEIR_IMPL_BOUNDED_QUEUE_HPP
