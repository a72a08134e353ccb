// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_JOB_HANDLERS_HPP
#define WEIR_IMPL_JOB_HANDLERS_HPP

#include <weir/detail/fault_point.hpp>

namespace weir {

template <typename F>
struct job_handler::target_of final : job_handler::target {
  using value = std::invoke_result_t<const F&, job_context&>;

  template <typename G>
  explicit target_of(G&& g) : f(std::forward<G>(g)) {}

  boost::asio::awaitable<void> run(job_context& context, std::string& result) const override {
    if constexpr (std::is_void_v<value>) {
      std::invoke(f, context);
      return {};
    } else if constexpr (std::same_as<value, std::string>) {
      result = std::invoke(f, context);
      return {};
    } else if constexpr (std::same_as<value, boost::asio::awaitable<void>>) {
      return std::invoke(f, context);
    } else {
      return store(std::invoke(f, context), result);
    }
  }

  static boost::asio::awaitable<void> store(boost::asio::awaitable<std::string> work,
                                            std::string& result) {
    result = co_await std::move(work);
  }

  F f;
};

template <typename F>
requires(!std::same_as<std::remove_cvref_t<F>, job_handler> &&
         detail::job_callable<F>) job_handler::job_handler(F&& f, std::optional<duration> timeout)
    : timeout_(timeout) {
  detail::fault_point();
  target_ = std::make_shared<const target_of<std::decay_t<F>>>(std::forward<F>(f));
}

}  // namespace weir

#endif  // WEIR_IMPL_JOB_HANDLERS_HPP
