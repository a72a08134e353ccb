// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_USER_SLOTS_HPP
#define WEIR_DETAIL_USER_SLOTS_HPP

#include <weir/detail/inline_strand.hpp>
#include <weir/error.hpp>

#include <boost/asio/execution_context.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::detail {

/// How many slots each user, or each tenant, holds. The table is split by name into shards, each
/// behind a strand.
///
/// Thread safety: shared object: safe.
class user_slots {
  struct key {
    std::string name;
    std::size_t hash;
  };
  struct sought {
    std::string_view name;
    std::size_t hash;
  };
  struct key_hash {
    using is_transparent = void;
    std::size_t operator()(const key& k) const noexcept { return k.hash; }
    std::size_t operator()(const sought& s) const noexcept { return s.hash; }
  };
  struct key_equal {
    using is_transparent = void;
    bool operator()(const key& a, const key& b) const noexcept { return a.name == b.name; }
    bool operator()(const sought& a, const key& b) const noexcept { return a.name == b.name; }
    bool operator()(const key& a, const sought& b) const noexcept { return a.name == b.name; }
  };
  struct holding {
    int slots = 0;
    int queued = 0;  ///< of those: tasks that wait. Counted by the pool, under its lock
  };
  using table = std::unordered_map<key, holding, key_hash, key_equal>;

 public:
  static constexpr std::size_t shard_count = 64;

  /// A user's line in the table; stays where it is while a slot of the user is held.
  using entry = table::value_type;

  /// \param cap at least 1
  /// \param reached what one hears who has as many
  user_slots(boost::asio::execution_context& context, int cap, errc reached);

  /// The hash of a user, which the calls below want so that it is computed once.
  static std::size_t hash(std::string_view user) noexcept {
    return std::hash<std::string_view>{}(user);
  }

  /// Takes a slot for `user` and calls `admit(entry*) -> error_code`, both in one visit to the
  /// user's strand; gives the slot back within that visit if `admit` says no. `probe() ->
  /// error_code` is asked between the look at the cap and the taking, so that a pool that is full
  /// refuses without a change to the table.
  ///
  /// Tables may be nested, always in the same order: `admit` may acquire from another.
  ///
  /// \returns that the cap is reached, or what `probe` or `admit` returned.
  /// \throws std::bad_alloc when the table cannot grow; nothing is taken then.
  template <typename Probe, typename Admit>
  error_code acquire(std::string_view user, std::size_t hash, Probe&& probe, Admit&& admit) {
    shard& home = shards_[hash % shard_count];
    error_code result;
    std::exception_ptr failure;
    home.strand.run([&]() noexcept {
      try {
        const auto found = home.users.find(sought{user, hash});
        if (found != home.users.end() && found->second.slots >= cap_) {
          result = reached_;
          return;
        }
        if ((result = probe())) return;
        entry* const held = found != home.users.end() ? &*found : home.insert(user, hash);
        ++held->second.slots;
        reservation undo{&home, held};
        result = admit(held);
        if (!result) undo.held = nullptr;
      } catch (...) {
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
    return result;
  }

  /// Gives back one slot that `acquire` took.
  void release(entry* held) noexcept;

  /// Users that hold a slot now.
  std::size_t size() const noexcept;

 private:
  struct alignas(64) shard {
    explicit shard(boost::asio::execution_context& context);
    entry* insert(std::string_view user, std::size_t hash);
    void give_back(entry* held) noexcept;

    inline_strand strand;
    table users;
    std::vector<table::node_type> spare;  ///< lines that are used again instead of allocated
    std::atomic<std::size_t> size{0};     ///< users.size(), for who looks from outside the strand
  };

  struct reservation {
    shard* home;
    entry* held;
    ~reservation() {
      if (held) home->give_back(held);
    }
  };

  int cap_;
  errc reached_;
  std::deque<shard> shards_;  ///< never moved once made
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_USER_SLOTS_HPP
