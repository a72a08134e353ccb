// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_INLINE_STRAND_HPP
#define WEIR_DETAIL_INLINE_STRAND_HPP

#include <weir/detail/spin_mutex.hpp>

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// Where the innermost `inline_executor` on this thread keeps what is to run after it.
///
/// A strand that finds more to run when it is done asks its inner executor not to nest it. Run
/// at once it would nest all the same, once for each time that another thread got in between.
class inline_frame {
 public:
  inline_frame() noexcept : outer_(std::exchange(innermost, this)) {}
  inline_frame(const inline_frame&) = delete;
  inline_frame& operator=(const inline_frame&) = delete;
  ~inline_frame() { innermost = outer_; }

  /// A frame is asked by one strand, which hands over itself, so one place is enough.
  template <typename F>
  void keep(F&& f) {
    using function = std::decay_t<F>;
    static_assert(sizeof(function) <= sizeof storage_ &&
                  alignof(function) <= alignof(std::max_align_t));
    assert(!run_);
    ::new (static_cast<void*>(storage_)) function(std::forward<F>(f));
    run_ = [](void* storage) {
      auto* kept = std::launder(static_cast<function*>(storage));
      function moved(std::move(*kept));
      kept->~function();
      moved();
    };
  }

  void drain() {
    while (auto run = std::exchange(run_, nullptr)) run(storage_);
  }

  static inline thread_local inline_frame* innermost = nullptr;

 private:
  inline_frame* outer_;
  void (*run_)(void*) = nullptr;
  alignas(std::max_align_t) std::byte storage_[96];
};

/// Runs a function where it is handed over. Of use inside a strand only, and to nobody else.
template <typename Allocator = std::allocator<void>>
class inline_executor {
 public:
  explicit inline_executor(boost::asio::execution_context& context, const Allocator& allocator = {},
                           bool never = false) noexcept
      : context_(&context), allocator_(allocator), never_(never) {}

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return *context_;
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return never_ ? boost::asio::execution::blocking_t(boost::asio::execution::blocking.never)
                  : boost::asio::execution::blocking_t(boost::asio::execution::blocking.possibly);
  }
  template <typename Other>
  Allocator query(boost::asio::execution::allocator_t<Other>) const noexcept {
    return allocator_;
  }
  inline_executor require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return inline_executor(*context_, allocator_, true);
  }
  inline_executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept {
    return inline_executor(*context_, allocator_, false);
  }
  template <typename Other>
  inline_executor<Other> require(boost::asio::execution::allocator_t<Other> a) const noexcept {
    return inline_executor<Other>(*context_, a.value(), never_);
  }
  inline_executor<> require(boost::asio::execution::allocator_t<void>) const noexcept {
    return inline_executor<>(*context_, {}, never_);
  }

  template <typename F>
  void execute(F&& f) const {
    if (never_ && inline_frame::innermost) {
      inline_frame::innermost->keep(std::forward<F>(f));
      return;
    }
    inline_frame frame;
    std::decay_t<F> function(std::forward<F>(f));
    function();
    frame.drain();
  }

  friend bool operator==(const inline_executor& a, const inline_executor& b) noexcept {
    return a.context_ == b.context_ && a.never_ == b.never_;
  }

 private:
  boost::asio::execution_context* context_;
  [[no_unique_address]] Allocator allocator_;
  bool never_;
};

/// Memory for one strand operation, on the stack of the thread that waits for it.
struct stack_block {
  alignas(std::max_align_t) std::byte bytes[128];
};

template <typename T>
class stack_allocator {
 public:
  using value_type = T;
  explicit stack_allocator(stack_block& block) noexcept : block_(&block) {}
  template <typename Other>
  stack_allocator(const stack_allocator<Other>& other) noexcept  // NOLINT: an allocator converts
      : block_(other.block()) {}

  T* allocate([[maybe_unused]] std::size_t n) noexcept {
    static_assert(sizeof(T) <= sizeof(stack_block));
    assert(n == 1);
    return reinterpret_cast<T*>(block_->bytes);
  }
  void deallocate(T*, std::size_t) noexcept {}
  stack_block* block() const noexcept { return block_; }

  template <typename Other>
  friend bool operator==(const stack_allocator& a, const stack_allocator<Other>& b) noexcept {
    return a.block_ == b.block();
  }

 private:
  stack_block* block_;
};

template <>
class stack_allocator<void> {
 public:
  using value_type = void;
  explicit stack_allocator(stack_block& block) noexcept : block_(&block) {}
  template <typename Other>
  stack_allocator(const stack_allocator<Other>& other) noexcept  // NOLINT: an allocator converts
      : block_(other.block()) {}
  stack_block* block() const noexcept { return block_; }

 private:
  stack_block* block_;
};

/// A strand on which short functions run to their end before the caller goes on.
///
/// An idle strand runs the function on the spot, with no hop and no allocation. A busy one has
/// it run by the thread that holds the strand, so that the state behind it stays in that
/// thread's cache; the caller spins meanwhile. Nothing here depends on a thread pool, so workers
/// that block cannot hold it up.
class inline_strand {
 public:
  explicit inline_strand(boost::asio::execution_context& context)
      : strand_(inline_executor<>(context)) {}

  /// Runs `f`, which does not throw, alone on the strand. From inside the strand it nests.
  template <typename F>
  void run(F&& f) {
    static_assert(noexcept(f()), "the caller of run waits in another thread: f must not throw");
    if (strand_.running_in_this_thread()) {
      f();
      return;
    }
    std::atomic<bool> done{false};
    stack_block block;
    boost::asio::require(strand_, boost::asio::execution::allocator(stack_allocator<void>(block)))
        .execute([&f, &done]() noexcept {
          f();
          done.store(true, std::memory_order_release);
        });
    // A futex was turned down: whoever sets `done` would have to touch this stack frame again to
    // wake its owner, which may be gone by then. The holder needs less than a microsecond unless
    // it was preempted, and then giving up the processor is what helps.
    for (int spins = 0; !done.load(std::memory_order_acquire); ++spins) {
      if (spins < 200)
        spin_pause();
      else
        std::this_thread::yield();
    }
  }

  bool running_in_this_thread() const noexcept { return strand_.running_in_this_thread(); }

 private:
  boost::asio::strand<inline_executor<>> strand_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_INLINE_STRAND_HPP
