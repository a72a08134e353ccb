// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_KEYED_RATE_LIMITER_HPP
#define WEIR_IMPL_KEYED_RATE_LIMITER_HPP

#include <weir/detail/fault_point.hpp>
#include <weir/detail/rate_limiter_state.hpp>
#include <weir/detail/require.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/wait_initiation.hpp>

#include <boost/asio/system_executor.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {
namespace detail {

/// What a key has: a bucket, and no more than that unless somebody waits. Guarded by the lock of
/// the table.
class keyed_bucket {
 public:
  keyed_bucket(const rate_options& options, time_point now) noexcept : bucket_(options, now) {}

  bool try_take(std::int64_t n, time_point now);
  time_point when(std::int64_t n, time_point now);
  void reconfigure(const rate_options& options, time_point now, rate_limiter_state::queue& served,
                   rate_limiter_state::queue& refused);
  void close(rate_limiter_state::queue& refused);

  /// Where to wait for tokens of this key.
  std::shared_ptr<rate_limiter_state> waiting_room(const boost::asio::any_io_executor& ex,
                                                   const std::string& name);

  /// Takes the bucket back from a waiting room that is empty. \returns that, to be destroyed
  /// without a lock.
  std::shared_ptr<rate_limiter_state> close_empty_room();

  /// When to look whether it is as the bucket of a key that was never seen: full, and nobody
  /// waits. Not after `now`, where it is. Where somebody waits it is a guess.
  time_point new_at(time_point now);

 private:
  /// Whether anybody waits, or has been served and might give back. Each of them shares the room.
  bool in_use() const noexcept { return room_ && room_.use_count() > 1; }

  token_bucket bucket_;
  std::shared_ptr<rate_limiter_state> room_;  ///< where there is one, it has the bucket
};

/// What a keyed rate limiter is: a table of buckets and a heap that knows which may be evicted.
///
/// A bucket's place in the heap is a time before which it is not full. It is not moved when tokens
/// are taken, which only makes it fill later: it is looked at when its time has come, and put back
/// if need be. So a key that is in the table costs a look-up and no more. (Tokens that a cancelled
/// wait gives back make it fill earlier; it is then found late.) A list by the time of the last use
/// was turned down: one bucket at its head that fills slowly would keep in all that are full.
///
/// Thread safety: safe.
template <typename Key, typename Hash, typename Equal>
class keyed_rate_core {
 public:
  keyed_rate_core(boost::asio::any_io_executor ex, const rate_options& options,
                  std::size_t max_keys, std::string name)
      : executor_(std::move(ex)),
        name_(std::move(name)),
        max_keys_(max_keys),
        options_((require(options.valid() && max_keys != 0, self), options)) {}

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  template <typename K>
  bool try_acquire(const K& key, std::int64_t n) {
    leftovers old;
    const std::lock_guard lock(mutex_);
    require(in_range(n), self);
    if (closed_) return false;
    const time_point now = steady_clock::now();
    entry* const e = find_or_add(key, now, old);
    if (!e) return false;
    old.room = e->second.close_empty_room();
    return e->second.try_take(n, now);
  }

  /// Never throws: the waiter belongs to the limiter by now.
  void enter(token_waiter& w, Key key, std::int64_t n) {
    error_code ec;
    std::shared_ptr<rate_limiter_state> room;
    try {
      room = waiting_room(std::move(key), n, ec);
    } catch (const std::bad_alloc&) {
      ec = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
    }
    if (ec)
      w.refuse(ec);
    else
      room->enter(w, n);
  }

  bool leave(token_waiter& w) { return w.limiter && w.limiter->leave(w); }

  template <typename K>
  time_point when(const K& key, std::int64_t n) {
    const std::lock_guard lock(mutex_);
    require(in_range(n), self);
    const time_point now = steady_clock::now();
    if (const auto found = table_.find(key); found != table_.end())
      return found->second.when(n, now);
    return table_.size() < max_keys_ ? now : std::max(now, heap_.front().at);
  }

  void reconfigure(const rate_options& options) {
    require(options.valid(), self);
    std::vector<node> evicted;
    rate_limiter_state::queue served;
    rate_limiter_state::queue refused;
    {
      const std::lock_guard lock(mutex_);
      evicted.reserve(table_.size());
      const time_point now = steady_clock::now();
      for (std::size_t i = 0; i < heap_.size();) {
        place& p = heap_[i];
        keyed_bucket& bucket = p.whose->second;
        if (bucket.new_at(now) <= now) {
          evicted.push_back(table_.extract(p.whose->first));
          p = heap_.back();
          heap_.pop_back();
        } else {
          bucket.reconfigure(options, now, served, refused);
          p.at = bucket.new_at(now);
          ++i;
        }
      }
      std::make_heap(heap_.begin(), heap_.end(), later);
      options_ = options;
      evicted_ += evicted.size();
    }
    serve(served);
    refuse(refused, errc::invalid_argument);
  }

  void close() {
    rate_limiter_state::queue refused;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      for (entry& e : table_) e.second.close(refused);
    }
    refuse(refused, errc::rate_limiter_closed);
  }

  rate_options options() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }

  keyed_rate_metrics metrics() const {
    const std::lock_guard lock(mutex_);
    return {table_.size(), evicted_, no_place_};
  }

 private:
  static constexpr const char* self = "weir::keyed_rate_limiter";

  using table = std::unordered_map<Key, keyed_bucket, Hash, Equal>;
  using entry = typename table::value_type;
  using node = typename table::node_type;

  struct place {
    time_point at;
    entry* whose;
  };
  static bool later(const place& a, const place& b) noexcept { return a.at > b.at; }

  /// What is destroyed when the lock has been given up. Declared before it.
  struct leftovers {
    node evicted[2];
    std::shared_ptr<rate_limiter_state> room;
  };

  bool in_range(std::int64_t n) const noexcept { return n >= 1 && n <= options_.burst; }

  std::shared_ptr<rate_limiter_state> waiting_room(Key key, std::int64_t n, error_code& ec) {
    leftovers old;
    const std::lock_guard lock(mutex_);
    if (closed_)
      ec = errc::rate_limiter_closed;
    else if (!in_range(n))
      ec = errc::invalid_argument;
    else if (entry* const e = find_or_add(std::move(key), steady_clock::now(), old))
      return e->second.waiting_room(executor_, name_);
    else
      ec = errc::rate_limited;
    return nullptr;
  }

  /// Null where there is no place.
  template <typename K>
  entry* find_or_add(K&& key, time_point now, leftovers& old) {
    if (const auto found = table_.find(key); found != table_.end()) return &*found;
    if (!make_room(now, old)) {
      ++no_place_;
      return nullptr;
    }
    fault_point();
    if (heap_.size() == heap_.capacity()) heap_.reserve(2 * heap_.size() + 16);
    entry& added = *table_.try_emplace(Key(std::forward<K>(key)), options_, now).first;
    heap_.push_back({now, &added});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return &added;
  }

  /// Evicts what is full, two for one that is to come, so that the table shrinks to what is in use.
  bool make_room(time_point now, leftovers& old) {
    std::size_t evicted = 0;
    for (int looks = 0; looks < 2 || table_.size() >= max_keys_; ++looks) {
      if (heap_.empty() || heap_.front().at > now) break;
      std::pop_heap(heap_.begin(), heap_.end(), later);
      place& p = heap_.back();
      if (const time_point at = p.whose->second.new_at(now); at > now) {
        p.at = at;
        std::push_heap(heap_.begin(), heap_.end(), later);
      } else {
        old.evicted[evicted++] = table_.extract(p.whose->first);
        heap_.pop_back();
      }
    }
    evicted_ += evicted;
    return table_.size() < max_keys_;
  }

  const boost::asio::any_io_executor executor_;
  const std::string name_;
  const std::size_t max_keys_;

  mutable spin_mutex mutex_;
  rate_options options_;
  bool closed_ = false;
  table table_;
  std::vector<place> heap_;  ///< of all keys, the earliest on top
  std::uint64_t evicted_ = 0;
  std::uint64_t no_place_ = 0;
};

}  // namespace detail

template <typename Key, typename Hash, typename Equal>
keyed_rate_limiter<Key, Hash, Equal>::keyed_rate_limiter(const rate_options& options,
                                                         std::size_t max_keys, std::string name)
    : keyed_rate_limiter(boost::asio::system_executor(), options, max_keys, std::move(name)) {}

template <typename Key, typename Hash, typename Equal>
keyed_rate_limiter<Key, Hash, Equal>::keyed_rate_limiter(boost::asio::any_io_executor ex,
                                                         const rate_options& options,
                                                         std::size_t max_keys, std::string name)
    : core_(std::make_shared<detail::keyed_rate_core<Key, Hash, Equal>>(
          std::move(ex), options, max_keys, std::move(name))) {}

template <typename Key, typename Hash, typename Equal>
template <detail::key_for<Key> K, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto keyed_rate_limiter<Key, Hash, Equal>::async_acquire(const K& key, std::int64_t n,
                                                         Token&& token) {
  using core = detail::keyed_rate_core<Key, Hash, Equal>;
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::wait_initiation<detail::token_waiter, core>{core_}, token, Key(key), n);
}

template <typename Key, typename Hash, typename Equal>
template <detail::key_for<Key> K, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto keyed_rate_limiter<Key, Hash, Equal>::async_acquire(const K& key, Token&& token) {
  return async_acquire(key, 1, std::forward<Token>(token));
}

}  // namespace weir

#endif  // WEIR_IMPL_KEYED_RATE_LIMITER_HPP
