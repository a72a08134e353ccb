// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_TASK_FUNCTION_HPP
#define WEIR_DETAIL_TASK_FUNCTION_HPP

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

namespace weir {

class task_context;

namespace detail {

template <typename F>
concept task_callable = std::invocable<F&, task_context&> &&
    (std::is_void_v<std::invoke_result_t<F&, task_context&>> ||
     std::same_as<std::invoke_result_t<F&, task_context&>, boost::asio::awaitable<void>>);

/// A move-only `awaitable<void>(task_context&)`.
///
/// Moving one is a copy of four words and runs no code of the user's: tasks are moved while the
/// pool's lock is held. So only trivially copyable callables are stored in place.
class task_function {
 public:
  task_function() noexcept = default;
  task_function(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  template <typename F>
  requires(!std::same_as<std::remove_cvref_t<F>, task_function> && task_callable<std::decay_t<F>>)
      task_function(F&& f) {  // NOLINT(google-explicit-constructor): a function object, as std's
    using target = std::decay_t<F>;
    // An empty function pointer or std::function makes an empty one. A function is never empty.
    if constexpr (!std::is_function_v<std::remove_reference_t<F>> &&
                  (std::is_pointer_v<target> || requires { f.operator bool(); }))
      if (!f) return;
    if constexpr (fits_in_place<target>) {
      ::new (static_cast<void*>(storage_)) target(std::forward<F>(f));
      ops_ = &in_place_ops<target>;
    } else {
      auto* on_heap = new target(std::forward<F>(f));
      std::memcpy(storage_, &on_heap, sizeof on_heap);
      ops_ = &on_heap_ops<target>;
    }
  }

  task_function(task_function&& other) noexcept : ops_(std::exchange(other.ops_, nullptr)) {
    std::memcpy(storage_, other.storage_, sizeof storage_);
  }

  task_function& operator=(task_function&& other) noexcept {
    if (this != &other) {
      reset();
      ops_ = std::exchange(other.ops_, nullptr);
      std::memcpy(storage_, other.storage_, sizeof storage_);
    }
    return *this;
  }

  ~task_function() { reset(); }

  explicit operator bool() const noexcept { return ops_ != nullptr; }

  void reset() noexcept {
    if (const auto* ops = std::exchange(ops_, nullptr)) ops->destroy(storage_);
  }

  /// Calls the target. The awaitable is empty (`valid()` is false) if the target returns void.
  boost::asio::awaitable<void> operator()(task_context& context) {
    return ops_->call(storage_, context);
  }

 private:
  static constexpr std::size_t capacity = 3 * sizeof(void*);

  struct operations {
    boost::asio::awaitable<void> (*call)(void* storage, task_context& context);
    void (*destroy)(void* storage) noexcept;
  };

  template <typename F>
  static constexpr bool fits_in_place = std::is_trivially_copyable_v<F> && sizeof(F) <= capacity &&
                                        alignof(F) <= alignof(void*);

  template <typename F>
  static boost::asio::awaitable<void> call(F& f, task_context& context) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, task_context&>>) {
      std::invoke(f, context);
      return {};
    } else {
      return std::invoke(f, context);
    }
  }

  template <typename F>
  static F* heap_target(void* storage) noexcept {
    F* target = nullptr;
    std::memcpy(&target, storage, sizeof target);
    return target;
  }

  template <typename F>
  static constexpr operations in_place_ops{[](void* storage, task_context& context) {
                                             return call(*std::launder(static_cast<F*>(storage)),
                                                         context);
                                           },
                                           [](void*) noexcept {}};

  template <typename F>
  static constexpr operations on_heap_ops{
      [](void* storage, task_context& context) { return call(*heap_target<F>(storage), context); },
      [](void* storage) noexcept { delete heap_target<F>(storage); }};

  const operations* ops_ = nullptr;
  alignas(void*) std::byte storage_[capacity];
};

}  // namespace detail
}  // namespace weir

#endif  // WEIR_DETAIL_TASK_FUNCTION_HPP
