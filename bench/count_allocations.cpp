// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Counts what a program takes from the heap, by standing in for the C library's functions. The
// standard `operator new` calls `malloc`, so what it hands out is counted here too. The blocks are
// the C library's own, hence its `free` and its `realloc` fit them.

#include "measure.hpp"

#include <atomic>
#include <cerrno>

namespace {

constinit std::atomic<std::uint64_t> count{0};

void counted() noexcept { count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::optional<std::uint64_t> bench::allocations() noexcept {
  return count.load(std::memory_order_relaxed);
}

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t n, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  counted();
  return __libc_malloc(size);
}

void* calloc(std::size_t n, std::size_t size) {
  counted();
  return __libc_calloc(n, size);
}

void* realloc(void* block, std::size_t size) {
  counted();
  return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  counted();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  counted();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  counted();
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
}
