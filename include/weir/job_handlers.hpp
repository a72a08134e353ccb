// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_JOB_HANDLERS_HPP
#define WEIR_JOB_HANDLERS_HPP

#include <weir/clock.hpp>
#include <weir/job_context.hpp>

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir {

/// Thrown by a handler: no attempt at this job can succeed. It is a dead letter at once, with
/// `what()` as its reason. For a payload that cannot be read, above all.
class discard_job : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown by a handler: not now. The job runs again after `wait`, and the attempt is not spent; one
/// that always says so comes back for ever.
class snooze_job : public std::exception {
 public:
  explicit snooze_job(duration wait) noexcept : wait_(wait) {}
  duration wait() const noexcept { return wait_; }
  const char* what() const noexcept override { return "not now"; }

 private:
  duration wait_;
};

namespace detail {

template <typename R>
concept job_result = std::is_void_v<R> || std::same_as<R, std::string> ||
    std::same_as<R, boost::asio::awaitable<void>> ||
    std::same_as<R, boost::asio::awaitable<std::string>>;

template <typename F>
concept job_callable = std::invocable < const std::decay_t<F>
&, job_context& > &&job_result<std::invoke_result_t<const std::decay_t<F>&, job_context&>>;

}  // namespace detail

/// What runs the jobs of a kind: a callable `R(job_context&)`, const, where `R` is `void`,
/// `std::string`, or an `awaitable` of one of them. A string is kept with the job as its result.
///
/// One that returns is done; what it throws says otherwise: `discard_job`, `snooze_job`, a
/// `retry_after_error` with a delay of its own, or anything else, for another attempt after a
/// backoff.
///
/// It is called for several jobs at once, from the pool's threads, and lives until the last of its
/// coroutines has ended: captures may be used after an await. Copies share the callable.
class job_handler {
 public:
  /// \param timeout run deadline of its jobs; empty: the consumer's; zero: none. Not negative.
  template <typename F>
  requires(!std::same_as<std::remove_cvref_t<F>, job_handler> && detail::job_callable<F>)
      job_handler(F&& f,  // NOLINT(google-explicit-constructor): a function object, as std's
                  std::optional<duration> timeout = {});

  const std::optional<duration>& timeout() const noexcept { return timeout_; }

  /// Begins a run, whose result goes into `result`. The awaitable is empty if it ended with the
  /// call.
  boost::asio::awaitable<void> operator()(job_context& context, std::string& result) const {
    return target_->run(context, result);
  }

 private:
  struct target {
    virtual ~target() = default;
    virtual boost::asio::awaitable<void> run(job_context& context, std::string& result) const = 0;
  };
  template <typename F>
  struct target_of;

  std::shared_ptr<const target> target_;
  std::optional<duration> timeout_;
};

/// Handlers by the kind of job that they run.
/// \code
/// weir::job_handlers handlers;
/// handlers.on("mail.send", [](weir::job_context& ctx) -> asio::awaitable<void> { ... })
///     .on("thumbnail", render, 30s);
/// \endcode
class job_handlers {
 public:
  job_handlers() = default;
  job_handlers(std::initializer_list<std::pair<std::string_view, job_handler>> handlers) {
    for (const auto& [kind, handler] : handlers) add(kind, handler);
  }

  /// From now on `f` runs the jobs of `kind`.
  ///
  /// \throws system_error with `invalid_argument` if the kind is empty or has a handler, or the
  /// timeout is negative.
  template <detail::job_callable F>
  job_handlers& on(std::string_view kind, F&& f, std::optional<duration> timeout = {}) {
    add(kind, job_handler(std::forward<F>(f), timeout));
    return *this;
  }

  bool empty() const noexcept { return by_kind_.empty(); }

  const job_handler* find(std::string_view kind) const {
    const auto found = by_kind_.find(kind);
    return found == by_kind_.end() ? nullptr : &found->second;
  }

  auto begin() const noexcept { return by_kind_.begin(); }
  auto end() const noexcept { return by_kind_.end(); }

 private:
  void add(std::string_view kind, const job_handler& handler);

  std::map<std::string, job_handler, std::less<>> by_kind_;
};

}  // namespace weir

#include <weir/impl/job_handlers.hpp>

#endif  // WEIR_JOB_HANDLERS_HPP
