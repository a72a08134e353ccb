// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Stages that cannot take what comes to them. For each case one line of the compiler's names both
// the function and the item; without a case this compiles.

// error MAP: invocable.*int \(\*.*string
// error FILTER: invocable.*bool \(\*.*string
// error SCAN: invocable.*int \(\*.*string
// error FOR_EACH: invocable.*void \(\*.*string

#include <weir/pipeline.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

int twice(int i);
bool is_even(int i);
int add(int sum, int i);
void print(int i);

boost::asio::awaitable<void> run(std::vector<int> numbers, std::vector<std::string> words) {
#if defined MAP
  co_await (weir::from(words) | weir::map(twice) | weir::collect());
#elif defined FILTER
  co_await (weir::from(words) | weir::filter(is_even) | weir::collect());
#elif defined SCAN
  co_await (weir::from(words) | weir::scan(0, add) | weir::collect());
#elif defined FOR_EACH
  co_await (weir::from(words) | weir::for_each(print));
#else
  co_await (weir::from(numbers) | weir::map(twice) | weir::filter(is_even) | weir::scan(0, add) |
            weir::for_each(print));
#endif
}
