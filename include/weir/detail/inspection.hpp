// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_INSPECTION_HPP
#define WEIR_DETAIL_INSPECTION_HPP

#include <weir/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <string_view>

namespace weir::detail {

/// Hears what the objects of weir have to tell: who waits on them, and what is held of them.
class inspector {
 public:
  /// Somebody waits. `what` is the operation, such as "pool submit".
  virtual void on_wait(const void* object, std::string_view name, std::string_view what,
                       time_point since, const boost::asio::any_io_executor& waiter) = 0;

  /// So much of something is held, such as "running task" of a pool.
  virtual void on_hold(const void* object, std::string_view name, std::string_view what,
                       std::size_t count) = 0;

 protected:
  ~inspector() = default;
};

/// Keeps its owner in the list of objects that can be asked. The last member of its owner, so
/// that it goes first.
///
/// Objects register, not waits: a wait costs nothing more for being visible. The list is cut
/// in parts, each with a lock of its own, since objects may come and go with requests.
///
/// Thread safety: safe. The owner's function locks what it reads.
class inspectable {
 public:
  template <typename T>
  explicit inspectable(const T& owner)
      : inspectable(&owner,
                    [](const void* o, inspector& to) { static_cast<const T*>(o)->inspect(to); }) {}
  inspectable(const inspectable&) = delete;
  inspectable& operator=(const inspectable&) = delete;
  ~inspectable();

  /// Asks every registered object.
  static void ask_all(inspector& to);

 private:
  using function = void (*)(const void* owner, inspector& to);
  struct part;

  inspectable(const void* owner, function ask);
  static part& part_of(const void* owner) noexcept;

  const void* owner_;
  function ask_;
  inspectable* next_ = nullptr;
  inspectable* prev_ = nullptr;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_INSPECTION_HPP
