// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_REDIS_BACKEND_HPP
#define WEIR_SRC_REDIS_BACKEND_HPP

#include "redis/address.hpp"
#include "redis/codec.hpp"
#include "redis/connection.hpp"
#include "redis/scripts.hpp"

#include <weir/detail/inspection.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/queue_backend.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::redis {

struct backend_options {
  std::string name = {};
  duration timeout = {};
  duration connect_timeout = {};
  duration answer_timeout = {};
  duration poll = {};
};

/// A queue in a Redis server.
///
/// Each request is a script, and those that come together are sent together. Requests whose answer
/// has not come when the connection breaks are sent again on the next one; each has a number, by
/// which the server knows it again.
///
/// Those who wait for jobs are a list. It is gone through, one at a time and in order, when the
/// server says on a second connection that there is something, when something happens by itself,
/// and every `poll`.
///
/// Thread safety: safe. What is not guarded by the lock is used on the strand.
class backend final : public queue_backend, private connection::user {
 public:
  backend(boost::asio::any_io_executor ex, address to, backend_options options);
  ~backend() override;

  const boost::asio::any_io_executor& executor() const noexcept override { return executor_; }
  void close() override;
  void give_back(std::span<const lease_key> leases) noexcept override;
  void inspect(detail::inspector& to) const;

 private:
  using lease_queue = detail::intrusive_queue<lease_op>;

  struct request {
    std::optional<any_queue_op> op = {};  ///< empty: the queue's own
    settle_request own = {};
    std::string kind_to_pass_on = {};
    bool looks = false;  ///< on behalf of somebody who waits
    time_point deadline = {};
    bool begun = false;     ///< has a slot and a number
    bool sent = false;      ///< and so may have been carried out
    bool was_sent = false;  ///< before the last time
    bool in_full = false;   ///< with the text of the script: the server has forgotten it
    std::uint32_t slot = 0;
    std::uint64_t number = 0;
    time_point first_sent = {};
    time_point last_sent = {};
  };
  using request_list = std::list<request>;

  /// The connection on which the server says that there is something.
  class ear final : public connection::user {
   public:
    explicit ear(backend& owner) : owner_(owner) {}
    std::shared_ptr<user> hold() override;
    error_code on_greeting(std::size_t, const redisReply&) override { return {}; }
    void on_up() override { owner_.look(); }
    void on_answer(void* request, const redisReply* answer) override;
    void on_down(error_code) override { owner_.listen(); }

   private:
    backend& owner_;
  };

  void start(any_queue_op op) noexcept override;
  bool withdraw(any_queue_op op) override;

  std::shared_ptr<user> hold() override;
  error_code on_greeting(std::size_t command, const redisReply& answer) override;
  void on_up() override;
  void on_answer(void* request, const redisReply* answer) override;
  void on_down(error_code why) override;

  /// With the lock held. \returns whether the caller is to call `go`.
  bool begin_work() noexcept;
  void go() noexcept;

  // On the strand.
  void work();
  void send_all();
  void transmit(request& r);
  static script script_of(const request& r);
  void prepare(const request& r);
  error_code receive(request& r, const redisReply& answer);
  void finish(request_list one, error_code outcome);
  bool quarantine();
  void finish_lease(const request& r, lease_op& op, error_code outcome);
  void fail_all(error_code why);
  void add_own(request r) noexcept;

  void look();
  void ask_next();
  void listen();
  void hear(std::string_view kind);

  void arm(time_point at);
  void on_timer();
  void rest_if_closed();

  const boost::asio::any_io_executor executor_;
  const backend_options options_;
  const std::string prefix_;
  const std::string client_;  ///< under which leases are held
  const std::string answers_kept_;

  mutable detail::spin_mutex mutex_;
  request_list queue_;   ///< to be sent
  lease_queue waiting_;  ///< for jobs
  lease_queue asked_;    ///< those of them for whom this look was in vain
  bool working_ = false;
  bool closed_ = false;

  request_list sent_;                              ///< answers come in order
  request_list lost_;                              ///< what was sent when the connection broke
  request_list look_;                              ///< the request of a look, while it is not used
  std::vector<std::vector<std::string>> in_vain_;  ///< kinds for which this look found nothing
  bool looking_ = false;
  bool look_again_ = false;
  time_point event_at_ = time_point::max();
  time_point poll_at_ = time_point::max();

  std::array<std::string, script_count> digests_;
  words words_;
  lease_answer leases_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t slots_ = 0;
  std::uint64_t last_number_ = 0;
  error_code last_error_ = {};  ///< why it cannot now

  connection::strand strand_;
  connection commands_;
  ear ear_;
  connection events_;
  steady_timer timer_;
  time_point armed_for_ = time_point::max();

  detail::inspectable inspectable_{*this};
};

}  // namespace weir::redis

#endif  // WEIR_SRC_REDIS_BACKEND_HPP
