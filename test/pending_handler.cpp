// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/pending_handler.hpp>
#include <weir/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace asio = boost::asio;

BOOST_AUTO_TEST_SUITE(pending_handler)

namespace {

using weir::error_code;

/// What went through an allocator, and what is still out.
struct memory_log {
  std::size_t taken = 0;
  std::size_t out = 0;
};

template <typename T>
struct logged_allocator {
  using value_type = T;
  explicit logged_allocator(memory_log& l) noexcept : log(&l) {}
  template <typename Other>
  logged_allocator(const logged_allocator<Other>& other) noexcept : log(other.log) {}  // NOLINT

  T* allocate(std::size_t n) const {
    ++log->taken;
    ++log->out;
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t) const noexcept {
    --log->out;
    ::operator delete(p);
  }
  template <typename Other>
  friend bool operator==(const logged_allocator& a, const logged_allocator<Other>& b) noexcept {
    return a.log == b.log;
  }

  memory_log* log;
};

/// Runs what is ready. Not `run`: a context that something keeps busy must not hang the test.
std::size_t settle(asio::io_context& context) {
  context.restart();
  return context.poll();
}

template <typename Handler, typename Fallback>
auto pending(Handler handler, const Fallback& fallback) {
  return weir::detail::pending_handler<Handler, Fallback>(std::move(handler), fallback);
}

}  // namespace

BOOST_AUTO_TEST_CASE(handler_is_posted_and_called_once) {
  asio::io_context context;
  int calls = 0;
  auto p = pending([&] { ++calls; }, context.get_executor());
  std::move(p).complete();
  BOOST_TEST(calls == 0);
  BOOST_TEST(settle(context) == 1U);
  BOOST_TEST(calls == 1);
  BOOST_TEST(settle(context) == 0U);
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(handler_is_posted_even_from_inside_its_executor) {
  asio::io_context context;
  bool called = false;
  bool called_inline = true;
  auto p = pending([&] { called = true; }, context.get_executor());
  asio::post(context, [&] {
    std::move(p).complete();
    called_inline = called;
  });
  settle(context);
  BOOST_TEST(called);
  BOOST_TEST(!called_inline);
}

BOOST_AUTO_TEST_CASE(arguments_are_handed_over_move_only_ones_too) {
  asio::io_context context;
  error_code ec;
  std::string text;
  std::unique_ptr<int> owned;
  auto p = pending(
      [&](error_code e, std::string s, std::unique_ptr<int> u) {
        ec = e;
        text = std::move(s);
        owned = std::move(u);
      },
      context.get_executor());
  std::move(p).complete(error_code(weir::errc::queue_full), std::string(100, 'x'),
                        std::make_unique<int>(42));
  settle(context);
  BOOST_TEST((ec == weir::errc::queue_full));
  BOOST_TEST(text == std::string(100, 'x'));
  BOOST_TEST_REQUIRE(owned);
  BOOST_TEST(*owned == 42);
}

BOOST_AUTO_TEST_CASE(handler_that_can_be_called_once_only_is_called_as_an_rvalue) {
  struct once {
    bool& called;
    void operator()() && { called = true; }
  };
  asio::io_context context;
  bool called = false;
  auto p = pending(once{called}, context.get_executor());
  std::move(p).complete();
  settle(context);
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(executor_of_the_handler_comes_before_the_fallback) {
  asio::io_context own;
  asio::io_context fallback;
  bool called = false;
  auto p = pending(asio::bind_executor(own.get_executor(), [&] { called = true; }),
                   fallback.get_executor());
  std::move(p).complete();
  BOOST_TEST(settle(fallback) == 0U);
  BOOST_TEST(!called);
  BOOST_TEST(settle(own) == 1U);
  BOOST_TEST(called);
}

BOOST_AUTO_TEST_CASE(strand_of_the_handler_is_kept) {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  bool inside = false;
  auto p = pending(asio::bind_executor(strand, [&] { inside = strand.running_in_this_thread(); }),
                   asio::any_io_executor(context.get_executor()));
  std::move(p).complete();
  settle(context);
  BOOST_TEST(inside);
}

BOOST_AUTO_TEST_CASE(context_of_the_executor_is_busy_until_the_handler_has_run) {
  asio::io_context context;
  bool called = false;
  bool busy_inside = false;
  {
    auto p = pending(
        [&] {
          called = true;
          busy_inside = !context.stopped();
        },
        context.get_executor());
    BOOST_TEST(settle(context) == 0U);
    BOOST_TEST(!context.stopped());  // work is left: the handler is on its way
    std::move(p).complete();
    // What was moved from is idle: only the posted call keeps the context now.
    settle(context);
    BOOST_TEST(called);
    BOOST_TEST(busy_inside);
  }
  settle(context);
  BOOST_TEST(context.stopped());
}

BOOST_AUTO_TEST_CASE(context_of_the_handlers_executor_is_the_one_kept_busy) {
  asio::io_context own;
  asio::io_context fallback;
  const auto p = pending(asio::bind_executor(asio::any_io_executor(own.get_executor()), [] {}),
                         asio::any_io_executor(fallback.get_executor()));
  settle(own);
  settle(fallback);
  BOOST_TEST(!own.stopped());
  BOOST_TEST(fallback.stopped());
}

BOOST_AUTO_TEST_CASE(context_is_free_once_a_handler_was_dropped) {
  asio::io_context context;
  std::optional p = pending([] {}, context.get_executor());
  settle(context);
  BOOST_TEST(!context.stopped());
  p.reset();
  settle(context);
  BOOST_TEST(context.stopped());
}

BOOST_AUTO_TEST_CASE(memory_for_the_call_is_the_handlers) {
  asio::io_context context;
  memory_log log;
  std::size_t out_inside = 99;
  auto p = pending(asio::bind_allocator(logged_allocator<void>(log), [&] { out_inside = log.out; }),
                   context.get_executor());
  static_assert(std::is_same_v<decltype(p.allocator()), logged_allocator<void>>);
  BOOST_TEST(p.allocator().log == &log);
  BOOST_TEST(log.taken == 0U);
  std::move(p).complete();
  BOOST_TEST(log.taken >= 1U);
  BOOST_TEST(log.out >= 1U);
  settle(context);
  BOOST_TEST(out_inside == 0U);  // freed before the handler is called, so that it can use it again
  BOOST_TEST(log.out == 0U);
}

BOOST_AUTO_TEST_CASE(allocator_that_the_handler_owns_is_asked_before_the_handler_moves) {
  // Moved from, this handler has no allocator any more.
  struct owner {
    using allocator_type = logged_allocator<void>;
    allocator_type get_allocator() const noexcept {
      static memory_log lost;
      return allocator_type(log ? *log : lost);
    }
    void operator()() const {}
    std::unique_ptr<memory_log, void (*)(memory_log*)> log;
  };
  asio::io_context context;
  memory_log log;
  auto p = pending(owner{{&log, [](memory_log*) {}}}, context.get_executor());
  std::move(p).complete();
  BOOST_TEST(log.taken >= 1U);
  settle(context);
  BOOST_TEST(log.out == 0U);
}

BOOST_AUTO_TEST_CASE(slot_is_empty_when_the_handler_is_called) {
  asio::io_context context;
  asio::cancellation_signal signal;
  int emitted = 0;
  bool has_handler = true;
  auto p = pending(asio::bind_cancellation_slot(signal.slot(),
                                                [&] { has_handler = signal.slot().has_handler(); }),
                   context.get_executor());
  BOOST_TEST((p.slot() == signal.slot()));
  p.slot().assign([&](asio::cancellation_type) { ++emitted; });
  signal.emit(asio::cancellation_type::all);
  BOOST_TEST(emitted == 1);
  std::move(p).complete();
  settle(context);
  BOOST_TEST(!has_handler);
  signal.emit(asio::cancellation_type::all);
  BOOST_TEST(emitted == 1);
}

BOOST_AUTO_TEST_CASE(handler_can_fill_its_slot_anew) {
  asio::io_context context;
  asio::cancellation_signal signal;
  int emitted = 0;
  auto p = pending(asio::bind_cancellation_slot(
                       signal.slot(),
                       [&] { signal.slot().assign([&](asio::cancellation_type) { ++emitted; }); }),
                   context.get_executor());
  std::move(p).complete();
  settle(context);
  signal.emit(asio::cancellation_type::all);
  BOOST_TEST(emitted == 1);
}

BOOST_AUTO_TEST_CASE(handler_without_a_slot_has_none) {
  asio::io_context context;
  const auto p = pending([] {}, context.get_executor());
  BOOST_TEST(!p.slot().is_connected());
}

BOOST_AUTO_TEST_CASE(handler_that_was_never_completed_does_not_leak) {
  auto alive = std::make_shared<int>();
  asio::io_context context;
  {
    const auto p = pending([alive] {}, context.get_executor());
    BOOST_TEST(alive.use_count() == 2);
  }
  BOOST_TEST(alive.use_count() == 1);
  BOOST_TEST(settle(context) == 0U);
}

BOOST_AUTO_TEST_CASE(handler_destroyed_with_its_context_does_not_leak_or_run) {
  auto alive = std::make_shared<int>();
  memory_log log;
  bool called = false;
  {
    asio::io_context context;
    auto p = pending(
        asio::bind_allocator(logged_allocator<void>(log), [&called, alive] { called = true; }),
        context.get_executor());
    std::move(p).complete();
    BOOST_TEST(alive.use_count() == 2);
  }
  BOOST_TEST(!called);
  BOOST_TEST(alive.use_count() == 1);
  BOOST_TEST(log.taken >= 1U);
  BOOST_TEST(log.out == 0U);
}

BOOST_AUTO_TEST_CASE(handler_is_gone_after_its_call) {
  asio::io_context context;
  auto alive = std::make_shared<int>();
  auto p = pending([alive] {}, context.get_executor());
  std::move(p).complete();
  settle(context);
  BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(type_erased_handler_completes_with_its_memory) {
  asio::io_context context;
  memory_log log;
  error_code seen;
  asio::any_completion_handler<void(error_code)> handler =
      asio::bind_allocator(logged_allocator<void>(log), [&](error_code ec) { seen = ec; });
  auto p = pending(asio::bind_executor(context.get_executor(), std::move(handler)),
                   context.get_executor());
  const std::size_t before = log.taken;
  std::move(p).complete(error_code(weir::errc::pool_closed));
  BOOST_TEST(log.taken > before);
  settle(context);
  BOOST_TEST((seen == weir::errc::pool_closed));
  BOOST_TEST(log.out == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
