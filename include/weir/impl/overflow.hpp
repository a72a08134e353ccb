// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_OVERFLOW_HPP
#define WEIR_IMPL_OVERFLOW_HPP

#include <any>
#include <unordered_map>

namespace weir {

namespace detail {

/// An item with its place in a queue. It does not move while it is in one.
template <typename T>
struct queued_item {
  std::optional<T> item;
  std::size_t weight = 0;
  std::any key;          ///< of a queue that coalesces
  bool granted = false;  ///< promised to a receiver: inside no longer, as far as room goes
};

/// Finds what is queued by its key. Guarded by the queue's lock, but for `key_of`.
template <typename T>
class coalescer {
 public:
  virtual ~coalescer() = default;

  virtual std::any key_of(const T& item) const = 0;
  virtual queued_item<T>* find(const std::any& key) const = 0;

  /// Under its own `key`, which stays as it is until `erase`.
  virtual void insert(queued_item<T>& queued) = 0;
  virtual void erase(const queued_item<T>& queued) noexcept = 0;
  virtual void merge(T& queued, T&& newer) = 0;
};

template <typename T, typename Key, typename Merge>
class keyed_coalescer final : public coalescer<T> {
  using value = std::decay_t<std::invoke_result_t<const Key&, const T&>>;

 public:
  explicit keyed_coalescer(coalesce_policy<Key, Merge> policy) : policy_(std::move(policy)) {}

  std::any key_of(const T& item) const override { return value(std::invoke(policy_.key, item)); }

  queued_item<T>* find(const std::any& key) const override {
    const auto found = queued_.find(std::any_cast<value>(&key));
    return found == queued_.end() ? nullptr : found->second;
  }

  void insert(queued_item<T>& queued) override {
    queued_.emplace(std::any_cast<value>(&queued.key), &queued);
  }

  void erase(const queued_item<T>& queued) noexcept override {
    queued_.erase(std::any_cast<value>(&queued.key));
  }

  void merge(T& queued, T&& newer) override {
    std::invoke(policy_.merge, queued, std::move(newer));
  }

 private:
  // By address, since each queued item has its key already.
  struct hash {
    std::size_t operator()(const value* key) const { return std::hash<value>()(*key); }
  };
  struct equal {
    bool operator()(const value* a, const value* b) const { return *a == *b; }
  };

  coalesce_policy<Key, Merge> policy_;
  std::unordered_map<const value*, queued_item<T>*, hash, equal> queued_;
};

/// A sink of any type.
template <typename T>
class spiller {
 public:
  virtual ~spiller() = default;
  virtual bool readable() const noexcept = 0;
  virtual void push(T&& item) = 0;
  virtual std::optional<T> pop() = 0;
};

template <typename T, typename Sink>
class sink_spiller final : public spiller<T> {
  static constexpr bool can_read = readable_spill_sink<std::remove_reference_t<Sink>, T>;

 public:
  explicit sink_spiller(spill_policy<Sink> policy) : policy_(std::move(policy)) {}

  bool readable() const noexcept override { return can_read; }
  void push(T&& item) override { policy_.sink.push(std::move(item)); }
  std::optional<T> pop() override {
    if constexpr (can_read)
      return policy_.sink.pop();
    else
      return std::nullopt;
  }

 private:
  spill_policy<Sink> policy_;
};

}  // namespace detail

template <typename T>
overflow_policy<T>::overflow_policy(overflow when_full) : when_full_(when_full) {}

template <typename T>
template <typename Key, typename Merge>
requires coalesces<Key, Merge, T> overflow_policy<T>::overflow_policy(
    coalesce_policy<Key, Merge> policy)
    : coalescer_(std::make_unique<detail::keyed_coalescer<T, Key, Merge>>(std::move(policy))) {}

template <typename T>
template <typename Sink>
requires spill_sink<std::remove_reference_t<Sink>, T> overflow_policy<T>::overflow_policy(
    spill_policy<Sink> policy)
    : spiller_(std::make_unique<detail::sink_spiller<T, Sink>>(std::move(policy))) {}

template <typename T>
overflow_policy<T>::overflow_policy(overflow_policy&&) noexcept = default;

template <typename T>
overflow_policy<T>& overflow_policy<T>::operator=(overflow_policy&&) noexcept = default;

template <typename T>
overflow_policy<T>::~overflow_policy() = default;

}  // namespace weir

#endif  // WEIR_IMPL_OVERFLOW_HPP
