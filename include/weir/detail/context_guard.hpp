// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CONTEXT_GUARD_HPP
#define WEIR_DETAIL_CONTEXT_GUARD_HPP

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace weir::detail {

class pool_core;

/// Tells pools that the context under them is being destroyed.
///
/// Frames that are suspended then die one after another in the destructor of the context, each
/// by way of an executor that is dying too. A pool that knows lets them unwind on the spot, and
/// so gives back slots and answers callers even then.
class context_guard final : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit context_guard(boost::asio::execution_context& context) : service(context) {}

  void add(std::weak_ptr<pool_core> core);

 private:
  void shutdown() override;

  std::mutex mutex_;
  std::vector<std::weak_ptr<pool_core>> cores_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CONTEXT_GUARD_HPP
