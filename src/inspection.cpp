// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/inspection.hpp>

#include <array>
#include <cstdint>
#include <mutex>

namespace weir::detail {

struct inspectable::part {
  static std::array<part, 16>& all() noexcept {
    // There from the start, and nothing to destroy: objects of static storage register too.
    static constinit std::array<part, 16> parts;
    return parts;
  }
  std::mutex mutex;
  inspectable* first = nullptr;
};

inspectable::part& inspectable::part_of(const void* owner) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(owner);
  return part::all()[(address >> 6U ^ address >> 12U) % part::all().size()];
}

inspectable::inspectable(const void* owner, function ask) : owner_(owner), ask_(ask) {
  part& p = part_of(owner);
  const std::lock_guard lock(p.mutex);
  next_ = p.first;
  if (next_) next_->prev_ = this;
  p.first = this;
}

inspectable::~inspectable() {
  part& p = part_of(owner_);
  const std::lock_guard lock(p.mutex);
  (prev_ ? prev_->next_ : p.first) = next_;
  if (next_) next_->prev_ = prev_;
}

void inspectable::ask_all(inspector& to) {
  for (part& p : part::all()) {
    const std::lock_guard lock(p.mutex);
    for (const inspectable* i = p.first; i; i = i->next_) i->ask_(i->owner_, to);
  }
}

}  // namespace weir::detail
