// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_KEYED_RATE_LIMITER_HPP
#define WEIR_KEYED_RATE_LIMITER_HPP

#include <weir/error.hpp>
#include <weir/token_bucket.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

/// A keyed limiter at one moment.
struct keyed_rate_metrics {
  std::size_t keys = 0;        ///< in the table
  std::uint64_t evicted = 0;   ///< keys that left it, since it was made
  std::uint64_t no_place = 0;  ///< requests of new keys that were refused because it was full
};

namespace detail {

template <typename Key, typename Hash, typename Equal>
class keyed_rate_core;

template <typename K, typename Key>
concept key_for = std::constructible_from<Key, const K&>;

/// Hashes strings of any kind alike, so that one is found by a view of it.
struct string_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const noexcept {
    return std::hash<std::string_view>{}(s);
  }
};
template <typename Key>
struct key_hash : std::hash<Key> {};
template <>
struct key_hash<std::string> : string_hash {};

}  // namespace detail

/// So many in so long for each key: a user, an address, a tenant. Each has a token bucket of its
/// own; waiters of a key are served first come, first served.
///
/// The table has a place for `max_keys` of them. Only a full bucket that nobody waits on is
/// evicted, up to two for each new key, so that the table shrinks to what is in use; and a key that
/// is not in the table has a full bucket. So no key can tell whether it was evicted. Where all
/// `max_keys` are in use a new key is refused at once: to evict a bucket that is not full would
/// hand its owner a fresh burst, and to let new keys share one would let one stranger use up the
/// share of all.
///
/// Where `Hash` and `Equal` are transparent a key is looked up by whatever they take, and a `Key`
/// is made only to be put in: a `std::string` by a `std::string_view`, without an allocation. They
/// and the copying of a `Key` run under the limiter's lock; they do not come back to it, nor throw
/// anything but `bad_alloc`.
///
/// Destroying it closes it.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
template <typename Key, typename Hash = detail::key_hash<Key>, typename Equal = std::equal_to<>>
class keyed_rate_limiter {
 public:
  using executor_type = boost::asio::any_io_executor;

  /// Waits use the executor of whoever waits.
  ///
  /// \param options of each key; a key begins with a full bucket
  /// \throws system_error with `invalid_argument` if `options` are not valid or `max_keys` is 0.
  explicit keyed_rate_limiter(const rate_options& options, std::size_t max_keys = 100'000,
                              std::string name = {});

  /// \param ex where handlers run that have no executor of their own
  keyed_rate_limiter(boost::asio::any_io_executor ex, const rate_options& options,
                     std::size_t max_keys = 100'000, std::string name = {});
  keyed_rate_limiter(const keyed_rate_limiter&) = delete;
  keyed_rate_limiter& operator=(const keyed_rate_limiter&) = delete;
  ~keyed_rate_limiter() { core_->close(); }

  executor_type get_executor() const noexcept { return core_->executor(); }

  /// Takes `n` tokens of `key` if they are there, nobody waits for some of that key, and there is
  /// a place in the table. Never waits.
  ///
  /// \throws system_error with `invalid_argument` if `n` is below 1 or above the burst.
  template <detail::key_for<Key> K = Key>
  bool try_acquire(const K& key, std::int64_t n = 1) {
    return core_->try_acquire(key, n);
  }

  /// From now on by `options`, for all keys. Waiters stay in order; those who ask for more than
  /// the new burst get `invalid_argument`. A full bucket is full by the new options, too; in
  /// others what has gathered stays, up to the new burst.
  ///
  /// Looks at each key, under the lock.
  ///
  /// \throws system_error with `invalid_argument` if `options` are not valid.
  void reconfigure(const rate_options& options) { core_->reconfigure(options); }

  /// Turns waiters and later requests away with `rate_limiter_closed`. Final.
  void close() { core_->close(); }

  rate_options options() const { return core_->options(); }

  /// When a request of `key` for `n` that comes now would be served, which is what to tell a
  /// client. For a new key and a full table it is when a place may be free.
  ///
  /// \throws system_error with `invalid_argument` if `n` is below 1 or above the burst.
  template <detail::key_for<Key> K = Key>
  time_point when(const K& key, std::int64_t n = 1) const {
    return core_->when(key, n);
  }

  keyed_rate_metrics metrics() const { return core_->metrics(); }

  /// Waits for `n` tokens of `key`.
  ///
  /// Completion signature: `void(error_code)`.
  ///
  /// Errors: `invalid_argument` if `n` is below 1 or above the burst; `rate_limited` if a new key
  /// finds no place in the table, or more is owed than can be counted; `rate_limiter_closed`; each
  /// at once.
  ///
  /// Cancellation: all three types, with `operation_aborted`; the tokens go back exactly, and those
  /// behind move up. This holds until the handler has run.
  ///
  /// Executor: completes by way of the handler's executor, else the limiter's; never inside this
  /// call. The first in line of each key has a timer on its executor.
  ///
  /// Lifetime: destroy the limiter before the contexts of those who wait.
  template <detail::key_for<Key> K = Key, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_acquire(const K& key, std::int64_t n, Token&& token);

  /// The same for one token.
  template <detail::key_for<Key> K = Key, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_acquire(const K& key, Token&& token);

 private:
  std::shared_ptr<detail::keyed_rate_core<Key, Hash, Equal>> core_;
};

}  // namespace weir

#include <weir/impl/keyed_rate_limiter.hpp>

#endif  // WEIR_KEYED_RATE_LIMITER_HPP
