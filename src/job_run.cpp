// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/consumer_core.hpp>
#include <weir/detail/job_run.hpp>
#include <weir/retry.hpp>
#include <weir/task_context.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace weir {

namespace detail {

namespace {

job_verdict failed(const char* why, duration at_least, bool dead) {
  return {.counts = dead ? &consumer_metrics::dead : &consumer_metrics::retried,
          .how = settlement::nack,
          .delay = at_least,
          .backs_off = true,
          .dead = dead,
          .text = why};
}

job_verdict put_off(std::uint64_t consumer_metrics::*counts, duration wait) noexcept {
  return {.counts = counts, .delay = wait};
}

job_verdict no_report(std::uint64_t consumer_metrics::*counts) noexcept {
  return {.counts = counts, .report = false};
}

/// Of what the handler threw.
job_verdict judge(const std::exception_ptr& error, bool last) {
  try {
    std::rethrow_exception(error);
  } catch (const discard_job& e) {
    return failed(e.what(), {}, true);
  } catch (const snooze_job& e) {
    return put_off(&consumer_metrics::snoozed, std::max(e.wait(), duration::zero()));
  } catch (const retry_after_error& e) {
    return failed(e.what(), std::max(e.wait(), duration::zero()), last);
  } catch (const std::exception& e) {
    return failed(e.what(), {}, last);
  } catch (...) {
    return failed("an exception of no standard type", {}, last);
  }
}

}  // namespace

job_verdict judge(job_run& run, const error_code& why, const std::exception_ptr& error) noexcept {
  if (run.settled()) return no_report(&consumer_metrics::settled);
  const bool last = run.job().attempt >= run.job().max_attempts;
  try {
    if (error) return judge(error, last);
    if (why == errc::task_timed_out) return failed("its run deadline passed", {}, last);
  } catch (const std::bad_alloc&) {
    return {.counts = last ? &consumer_metrics::dead : &consumer_metrics::retried,
            .how = settlement::nack,
            .backs_off = true};
  }
  // The pool has given it up, so this is not the job's fault; or it was never begun.
  if (why) return put_off(&consumer_metrics::returned, {});
  return {.counts = &consumer_metrics::acked, .how = settlement::ack, .text = run.take_result()};
}

job_run::job_run(std::shared_ptr<consumer_core> core, lease l, const job_handler& handler)
    : until(l.until), core_(std::move(core)), lease_(std::move(l)), handler_(handler) {
  id = "job-" + std::to_string(lease_.key.id);
  // A capped pool wants a user. One that is nobody else's is held by no cap.
  user = lease_.job.user.empty() ? id + '#' + std::to_string(lease_.key.token) : lease_.job.user;
  priority = lease_.job.priority;
}

boost::asio::awaitable<void> job_run::start(task_context& context) {
  context_.task_ = &context;
  return handler_(context_, result_);
}

void job_run::finish(error_code why, std::exception_ptr error) noexcept {
  core_->ended(*this, why, error);
}

void job_run::answer_early(error_code) noexcept {
  if (!stuck_.exchange(true, std::memory_order_relaxed)) core_->got_stuck();
}

void job_run::report() {
  core_->queue().enter(report_, {.how = verdict.how,
                                 .key = lease_.key,
                                 .time = verdict.delay,
                                 .text = verdict.text,
                                 .dead = verdict.dead});
}

void job_run::extend(std::shared_ptr<job_run> self, duration lease_for) {
  extension_.keep = std::move(self);
  core_->queue().enter(extension_,
                       {.how = settlement::extend, .key = lease_.key, .time = lease_for});
}

void job_run::report_call::complete(error_code ec) { run_.core_->reported(run_, ec); }

void job_run::extend_call::complete(error_code ec, time_point until) {
  const auto kept = std::move(keep);
  run_.core_->extended(run_, ec, until);
}

}  // namespace detail

const weir::job& job_context::job() const noexcept { return run_.job(); }

lease_key job_context::key() const noexcept { return run_.key(); }

time_point job_context::deadline() const noexcept { return task_->deadline(); }

weir::stop_token job_context::stop_token() const noexcept { return task_->stop_token(); }

error_code job_context::cause() const noexcept {
  const cancel_cause cause = task_->cause();
  // Nobody else gives it up.
  return cause == cancel_cause::caller ? make_error_code(errc::lease_lost) : to_error(cause);
}

void job_context::settled() noexcept { run_.settle(); }

}  // namespace weir
