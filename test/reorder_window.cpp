// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/error.hpp>
#include <weir/reorder_window.hpp>
#include <weir/test/random.hpp>

#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(reorder_window)

namespace {

/// Plays a script on a window: `+` an item enters; `a` that of this letter finishes, `A` is
/// dropped; `>` what can be released is. \returns what was released, with `|` after each `>`, and
/// `!` for an end that was not wanted.
std::string play(int width, const std::string& script) {
  weir::reorder_window w(width);
  std::string out;
  for (const char c : script) {
    if (c == '+') {
      w.enter();
    } else if (c == '>') {
      while (const auto t = w.release()) out.push_back(static_cast<char>('a' + *t));
      out.push_back('|');
    } else if (c >= 'a') {
      if (!w.finish(static_cast<std::uint64_t>(c - 'a'))) out.push_back('!');
    } else {
      if (!w.drop(static_cast<std::uint64_t>(c - 'A'))) out.push_back('!');
    }
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_width_below_one_is_invalid) {
  for (const int n : {0, -1})
    BOOST_CHECK_EXCEPTION(weir::reorder_window{n}, boost::system::system_error,
                          [](const auto& e) { return e.code() == weir::errc::invalid_argument; });
}

BOOST_AUTO_TEST_CASE(what_ends_in_any_order_comes_out_in_the_order_in_which_it_began) {
  const struct {
    int width;
    const char* script;
    const char* released;
  } table[] = {
      {4, ">", "|"},
      {4, "+++abc>", "abc|"},
      {4, "+++cba>", "abc|"},
      {4, "+++c>b>a>", "||abc|"},
      {4, "+++b>a>c>", "|ab|c|"},
      {4, "++++dcb>a>+e>", "|abcd|e|"},
      {1, "+a>+b>+c>", "a|b|c|"},
      // A head that is dropped lets those behind it go; so does one in the middle.
      {4, "+++bcA>", "bc|"},
      {4, "+++Abc>", "bc|"},
      {4, "+++aBc>", "ac|"},
      {4, "+++ABC>+d>", "|d|"},
      {2, "+A+B+C+d>", "d|"},
      // Late ends change nothing, also where another has the place by now.
      {2, "+Aa>", "!|"},
      {2, "+A+B+a>Ac>", "!|!c|"},
      {2, "+aa>a>", "!a|!|"},
  };
  for (const auto& row : table) BOOST_TEST(play(row.width, row.script) == row.released, row.script);
}

BOOST_AUTO_TEST_CASE(a_slow_head_holds_back_a_window_of_items_and_no_more) {
  weir::reorder_window w(3);
  const auto head = w.enter();
  for (int i = 0; i < 2; ++i) w.finish(w.enter());
  BOOST_TEST(w.full());
  BOOST_TEST(!w.release());
  w.drop(head);
  BOOST_TEST(w.size() == 2U);
  BOOST_TEST(*w.release() == 1U);
  BOOST_TEST(*w.release() == 2U);
  BOOST_TEST(w.size() == 0U);
}

BOOST_AUTO_TEST_CASE(agrees_with_a_model_that_remembers_everything) {
  enum class fate { running, finished, dropped };
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    weir::test::random random(seed);
    const int width = random.between(1, 5);
    weir::reorder_window w(width);
    std::map<std::uint64_t, fate> all;
    std::uint64_t released = 0;
    const auto pass_over = [&] {
      while (all.contains(released) && all[released] == fate::dropped) ++released;
    };
    for (int step = 0; step < 200; ++step) {
      BOOST_TEST_REQUIRE(w.size() <= static_cast<std::size_t>(width));
      switch (random.below(4)) {
        case 0:
          if (!w.full()) all[w.enter()] = fate::running;
          break;
        case 1:
        case 2:
          if (!all.empty()) {
            const std::uint64_t t = random.below(all.size());
            const fate how = random.chance(0.3) ? fate::dropped : fate::finished;
            const bool wanted = all[t] == fate::running;
            BOOST_TEST_REQUIRE((how == fate::dropped ? w.drop(t) : w.finish(t)) == wanted);
            if (wanted) all[t] = how;
            pass_over();
          }
          break;
        default:
          if (const auto t = w.release()) {
            BOOST_TEST_REQUIRE(*t == released);
            BOOST_TEST_REQUIRE((all[*t] == fate::finished));
            ++released;
            pass_over();
          } else {
            BOOST_TEST_REQUIRE((!all.contains(released) || all[released] == fate::running));
          }
      }
      BOOST_TEST_REQUIRE(w.size() == all.size() - released);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
