// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_SPIN_MUTEX_HPP
#define WEIR_DETAIL_SPIN_MUTEX_HPP

#include <mutex>

namespace weir::detail {

/// Tells the processor that this is a busy-wait loop.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A mutex for sections of a few dozen nanoseconds: tries for about as long as such a section
/// lasts before it goes to sleep, since to sleep and be woken costs a hundred times that.
class spin_mutex {
 public:
  void lock() {
    for (int i = 0; i < 100; ++i) {
      if (mutex_.try_lock()) return;
      spin_pause();
    }
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_SPIN_MUTEX_HPP
