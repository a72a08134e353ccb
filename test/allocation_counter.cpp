// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"

#include <cstdlib>
#include <new>

// Replaces every form of `operator new`, not only the two that the others rest on: a sanitizer
// brings forms of its own, and what one side allocates the other must not free. `malloc` and
// `free` are what a sanitizer watches anyway.

namespace {

constinit thread_local std::size_t allocations = 0;
constinit thread_local bool failing = false;
constinit thread_local bool failed = false;
constinit thread_local std::size_t granted_left = 0;

bool refused() noexcept {
  ++allocations;
  if (!failing) return false;
  if (granted_left > 0) {
    --granted_left;
    return false;
  }
  failed = true;
  return true;
}

void* take(std::size_t size) noexcept {
  return refused() ? nullptr : std::malloc(size == 0 ? 1 : size);
}

void* take(std::size_t size, std::align_val_t alignment) noexcept {
  if (refused()) return nullptr;
  const auto unit = static_cast<std::size_t>(alignment);
  // `aligned_alloc` wants a multiple of the alignment.
  return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

void* or_throw(void* block) {
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

allocation_counter::allocation_counter() noexcept : before_(allocations) {}

std::size_t allocation_counter::count() const noexcept { return allocations - before_; }

allocation_failure::allocation_failure(std::size_t granted) noexcept {
  failing = true;
  failed = false;
  granted_left = granted;
}

allocation_failure::~allocation_failure() { failing = false; }

bool allocation_failure::hit() const noexcept { return failed; }

void* operator new(std::size_t size) { return or_throw(take(size)); }
void* operator new[](std::size_t size) { return or_throw(take(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void* operator new(std::size_t size, std::align_val_t a) { return or_throw(take(size, a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return or_throw(take(size, a)); }
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(size, a);
}
void* operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return take(size, a);
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(block);
}
