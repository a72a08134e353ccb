// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sqlite/store.hpp"

#include "sqlite/job_codec.hpp"
#include "sqlite/schema.hpp"

#include <weir/sqlite_queue.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <tuple>
#include <utility>

namespace weir::sqlite {

namespace {

using detail::queue_time;

constexpr std::int64_t for_ever = std::numeric_limits<std::int64_t>::max();

// Pages in the log from which on it is written back to the file, as is SQLite's own default.
constexpr int checkpoint_pages = 1000;

// What comes due at once is dealt with in parts, so that one lease does not pay for all of it.
#define WEIR_PART "1000"

// How many ready jobs are looked up at once for leases of one job each.
constexpr std::size_t farthest_ahead = 256;

std::int64_t ticks(wall_time t) noexcept { return t.time_since_epoch().count(); }
std::int64_t ticks(time_point t) noexcept { return t.time_since_epoch().count(); }

std::string columns(std::string_view before, std::string_view after) {
  return std::string(before).append(job_columns).append(after);
}

/// Opens the file and makes it ready, before any statement is prepared.
database open(const std::string& path, const store_options& options) {
  database db(path, options.busy_timeout);
  if (sqlite3_db_readonly(db.handle(), "main") == 1)
    db.fail(SQLITE_READONLY, "it can only be read");
  // While several processes make the same new file SQLite says "busy" without waiting.
  for (const auto give_up = std::chrono::steady_clock::now() + options.busy_timeout;;) {
    try {
      db.run("PRAGMA journal_mode = WAL");
      break;
    } catch (const boost::system::system_error& e) {
      if ((e.code().value() & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() >= give_up)
        throw;
      sqlite3_sleep(5);
    }
  }
  db.run("PRAGMA synchronous = FULL");
  // The log is cut to this when it begins anew, which it does once no reader needs its end.
  db.run("PRAGMA journal_size_limit = 8388608");
  if (options.check) check_integrity(db);
  migrate(db, schema_steps());
  note_boot(db, options.boot_id);
  return db;
}

}  // namespace

bool store::candidate::operator<(const candidate& other) const noexcept {
  return std::tuple(-priority, at, id) < std::tuple(-other.priority, other.at, other.id);
}

store::store(const std::string& path, const store_options& options)
    : db_(open(path, options)),
      capacity_(options.capacity),
      checkpoint_at_(checkpoint_pages),
      begin_read_(db_, "BEGIN"),
      begin_write_(db_, "BEGIN IMMEDIATE"),
      commit_(db_, "COMMIT"),
      count_(db_, "UPDATE weir_counts SET jobs = jobs + ?2 WHERE state = ?1"),
      counts_(db_, "SELECT state, jobs FROM weir_counts"),
      data_version_of_(db_, "PRAGMA data_version"),
      probe_(db_,
             "SELECT EXISTS (SELECT 1 FROM weir_jobs WHERE state = 4 AND at <= ?1)"
             " OR EXISTS (SELECT 1 FROM weir_jobs WHERE state = 3 AND at <= ?2)"
             " OR EXISTS (SELECT 1 FROM weir_jobs WHERE state = 5 AND at <= ?1)"
             " OR EXISTS (SELECT 1 FROM weir_jobs WHERE state = 6 AND at <= ?1)"
             " OR EXISTS (SELECT 1 FROM weir_keys WHERE until <= ?1)"),
      promote_(db_,
               "UPDATE weir_jobs SET state = 2 WHERE id IN (SELECT id FROM weir_jobs"
               " WHERE state = 4 AND at <= ?1 ORDER BY at LIMIT " WEIR_PART ")"),
      lapsed_(db_,
              "SELECT id, attempt < max_attempts, unique_key, unique_for FROM weir_jobs"
              " WHERE state = 3 AND at <= ?1 ORDER BY at LIMIT " WEIR_PART),
      put_back_(db_, "UPDATE weir_jobs SET state = 2, at = run_at WHERE id = ?1"),
      forget_done_(db_,
                   "DELETE FROM weir_jobs WHERE id IN (SELECT id FROM weir_jobs"
                   " WHERE state = 5 AND at <= ?1 LIMIT " WEIR_PART ")"),
      forget_cancelled_(db_,
                        "DELETE FROM weir_jobs WHERE id IN (SELECT id FROM weir_jobs"
                        " WHERE state = 6 AND at <= ?1 LIMIT " WEIR_PART ")"),
      forget_keys_(db_,
                   "DELETE FROM weir_keys WHERE key IN (SELECT key FROM weir_keys"
                   " WHERE until <= ?1 LIMIT " WEIR_PART ")"),
      next_scheduled_(db_, "SELECT min(at) FROM weir_jobs WHERE state = 4"),
      next_lapse_(db_, "SELECT min(at) FROM weir_jobs WHERE state = 3"),
      insert_(db_,
              "INSERT INTO weir_jobs (state, at, max_attempts, priority, run_at, keep, unique_for,"
              " kind, user, unique_key, headers, payload)"
              " VALUES (?1, ?2, ?3, ?4, ?2, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"),
      key_holder_(db_, "SELECT job FROM weir_keys WHERE key = ?1 AND until > ?2"),
      hold_key_(db_, "INSERT OR REPLACE INTO weir_keys (key, job, until) VALUES (?1, ?2, ?3)"),
      free_key_(db_, "DELETE FROM weir_keys WHERE key = ?1 AND job = ?2"),
      ready_of_kind_(db_,
                     "SELECT priority, at, id FROM weir_jobs INDEXED BY weir_jobs_ready"
                     " WHERE state = 2 AND kind = ?1 ORDER BY priority DESC, at, id LIMIT ?2"),
      next_kind_(db_,
                 "SELECT kind FROM weir_jobs INDEXED BY weir_jobs_ready"
                 " WHERE state = 2 AND kind > ?1 ORDER BY kind LIMIT 1"),
      // Not `UPDATE ... RETURNING`: SQLite makes a table in memory for what that returns, which
      // costs more than a second statement.
      ready_one_(db_, columns("SELECT ", ", token + 1 FROM weir_jobs WHERE id = ?1")),
      claim_(db_,
             "UPDATE weir_jobs SET state = 3, at = ?2, attempt = ?3, token = ?4 WHERE id = ?1"),
      held_(db_,
            "SELECT attempt, max_attempts, keep, unique_key, unique_for FROM weir_jobs"
            " WHERE id = ?1 AND state = 3 AND token = ?2"),
      drop_plain_(db_,
                  "DELETE FROM weir_jobs WHERE id = ?1 AND state = 3 AND token = ?2"
                  " AND keep = 0 AND unique_key = ''"),
      keep_(db_, "UPDATE weir_jobs SET state = 5, at = ?2, result = ?3 WHERE id = ?1"),
      run_again_(db_,
                 "UPDATE weir_jobs SET state = ?2, at = ?3, run_at = ?3, attempt = ?4,"
                 " reason = coalesce(?5, reason) WHERE id = ?1"),
      extend_(db_, "UPDATE weir_jobs SET at = ?3 WHERE id = ?1 AND state = 3 AND token = ?2"),
      make_dead_(db_, "UPDATE weir_jobs SET state = 7, reason = ?2 WHERE id = ?1"),
      live_(db_,
            "SELECT state, keep, unique_key, unique_for FROM weir_jobs"
            " WHERE id = ?1 AND state IN (2, 3, 4)"),
      drop_(db_, "DELETE FROM weir_jobs WHERE id = ?1"),
      cancel_(db_, "UPDATE weir_jobs SET state = 6, at = ?2 WHERE id = ?1"),
      find_(db_, columns("SELECT ",
                         ", state, result, reason FROM weir_jobs"
                         " WHERE id = ?1 AND NOT (state IN (5, 6) AND at <= ?2)")),
      dead_page_(db_, columns("SELECT ",
                              ", state, result, reason FROM weir_jobs"
                              " WHERE state = 7 AND id > ?1 ORDER BY id LIMIT ?2")),
      dead_one_(db_, "SELECT unique_key, unique_for FROM weir_jobs WHERE id = ?1 AND state = 7"),
      requeue_(db_,
               "UPDATE weir_jobs SET state = 2, at = ?2, run_at = ?2, attempt = 0 WHERE id = ?1") {
  sqlite3_wal_hook(
      db_.handle(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<store*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  // What a function in a transaction may not do is to end it.
  sqlite3_commit_hook(
      db_.handle(), [](void* self) { return static_cast<store*>(self)->in_effect_ ? 1 : 0; }, this);
}

void store::begin(bool writes) {
  counted_ = {};
  ahead_.clear();
  ahead_size_ = 0;
  statement::run(writes ? begin_write_ : begin_read_).finish();
}

void store::commit() {
  for (std::size_t state = 0; state != counted_.size(); ++state)
    if (counted_[state] != 0)
      statement::run(count_, static_cast<std::int64_t>(state), counted_[state]).finish();
  statement::run(commit_).finish();
}

void store::rollback() noexcept {
  // After some errors SQLite has done so itself, and to say it again is one more error. Whichever
  // it is, the transaction is over: the connection would be of no use otherwise.
  if (db_.in_transaction()) sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

bool store::changed_elsewhere() {
  statement::run row(data_version_of_);
  return row.step() && std::exchange(data_version_, row.number(0)) != row.number(0);
}

void store::tidy() noexcept {
  if (wal_pages_ < checkpoint_at_) return;
  // Never waits. Where a reader is in the way the rest is for later, and not for each transaction
  // from now on.
  int pages = 0;
  int done = 0;
  sqlite3_wal_checkpoint_v2(db_.handle(), "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &done);
  checkpoint_at_ = checkpoint_pages + (done < pages ? pages : 0);
  wal_pages_ = 0;
}

void store::recover(queue_time now) {
  {
    statement::run due(probe_, ticks(now.wall), ticks(now.steady));
    if (!due.step() || due.number(0) == 0) return;
  }
  statement::run(promote_, ticks(now.wall)).finish();
  count(job_state::scheduled, -db_.changes());
  count(job_state::ready, db_.changes());

  struct lapse {
    job_id id;
    bool again;
    held_key key;
  };
  std::vector<lapse> lapses;
  {
    statement::run row(lapsed_, ticks(now.steady));
    while (row.step())
      lapses.push_back({row.number(0), row.number(1) != 0, {row.text(2), duration(row.number(3))}});
  }
  for (const lapse& l : lapses) {
    if (l.again) {
      statement::run(put_back_, l.id).finish();
      count_move(job_state::leased, job_state::ready);
    } else {
      make_dead(l.id, job_state::leased, l.key, detail::lease_ran_out);
    }
  }

  statement::run(forget_done_, ticks(now.wall)).finish();
  count(job_state::done, -db_.changes());
  statement::run(forget_cancelled_, ticks(now.wall)).finish();
  count(job_state::cancelled, -db_.changes());
  statement::run(forget_keys_, ticks(now.wall)).finish();
}

std::optional<duration> store::next_event(queue_time now) {
  std::optional<duration> next;
  {
    statement::run row(next_scheduled_);
    if (row.step() && !row.is_null(0)) next = duration(row.number(0) - ticks(now.wall));
  }
  statement::run row(next_lapse_);
  if (row.step() && !row.is_null(0)) {
    // A lease that was given before the machine was started ended before any time there is.
    const std::int64_t lapse = std::max<std::int64_t>(row.number(0), 0) - ticks(now.steady);
    next = std::min(next.value_or(duration::max()), duration(lapse));
  }
  return next;
}

template <typename F>
error_code store::with_effect(const transaction_effect& effect, F request) {
  if (!effect) return request();
  db_.run("SAVEPOINT weir_effect");
  const state_counts before = counted_;
  error_code ec = request();
  if (!ec) {
    in_effect_ = true;
    try {
      ec = effect(db_.handle());
    } catch (const boost::system::system_error& e) {
      ec = e.code();
    } catch (...) {
      ec = {SQLITE_ABORT, sqlite_category()};
    }
    in_effect_ = false;
  }
  if (!db_.in_transaction()) {
    // It tried to end the transaction, or SQLite had to. If it says why, that is the error.
    if (ec) throw boost::system::system_error(ec, "weir::sqlite_queue: the effect failed");
    db_.fail(SQLITE_ABORT, "the effect has ended the transaction");
  }
  if (ec) {
    db_.run("ROLLBACK TO weir_effect");
    counted_ = before;
  }
  db_.run("RELEASE weir_effect");
  return ec;
}

std::int64_t store::jobs_held() {
  std::int64_t held = 0;
  for (const std::int64_t n : counted_) held += n;
  statement::run row(counts_);
  while (row.step()) held += row.number(1);
  return held;
}

std::optional<job_id> store::holder_of(std::string_view key, queue_time now) {
  if (key.empty()) return std::nullopt;
  statement::run row(key_holder_, key, ticks(now.wall));
  return row.step() ? std::optional(row.number(0)) : std::nullopt;
}

void store::free_key(job_id id, const held_key& k) {
  if (!k.key.empty() && k.held_for == duration::zero())
    statement::run(free_key_, std::string_view(k.key), id).finish();
}

job_id store::add(const new_job& n, queue_time now) {
  const job& j = n.job;
  const wall_time run_at = n.timed ? j.run_at : saturating_add(now.wall, n.delay);
  const job_state state = run_at <= now.wall ? job_state::ready : job_state::scheduled;
  const std::string headers = encode_headers(j.headers);
  statement::run(insert_, static_cast<std::int64_t>(state), ticks(run_at),
                 std::int64_t{j.max_attempts}, std::int64_t{j.priority},
                 std::int64_t{j.keep.count()}, std::int64_t{n.unique_for.count()},
                 std::string_view(j.kind), std::string_view(j.user), std::string_view(j.unique_key),
                 blob{headers}, blob{j.payload})
      .finish();
  count(state, 1);
  const job_id id = sqlite3_last_insert_rowid(db_.handle());
  if (!j.unique_key.empty()) {
    const bool timed = n.unique_for > duration::zero();
    const std::int64_t until = timed ? ticks(saturating_add(now.wall, n.unique_for)) : for_ever;
    statement::run(hold_key_, std::string_view(j.unique_key), id, until).finish();
  }
  return id;
}

error_code store::add_all(const enqueue_request& r, queue_time now, std::span<enqueued> answer) {
  if (capacity_ != 0) {
    // Duplicates take no room, so they are told apart first.
    const auto fresh = std::count_if(r.jobs.begin(), r.jobs.end(), [&](const new_job& n) {
      return !holder_of(n.job.unique_key, now);
    });
    if (jobs_held() + fresh > static_cast<std::int64_t>(capacity_)) return errc::queue_full;
  }
  for (std::size_t i = 0; i != r.jobs.size(); ++i) {
    const auto holder = holder_of(r.jobs[i].job.unique_key, now);
    answer[i] = {.id = holder ? *holder : add(r.jobs[i], now), .duplicate = holder.has_value()};
  }
  return {};
}

error_code store::enqueue(const enqueue_request& r, queue_time now, std::span<enqueued> answer) {
  return with_effect(r.effect, [&] { return add_all(r, now, answer); });
}

void store::find_ready(const std::string& kind, std::size_t limit) {
  statement::run row(ready_of_kind_, std::string_view(kind), static_cast<std::int64_t>(limit));
  while (row.step()) ahead_.push_back({row.number(0), row.number(1), row.number(2)});
}

void store::find_ready_of_any_kind(std::size_t limit) {
  // From kind to kind by way of the index: an index without the kind as well would cost each
  // request that moves a job, and kinds are few.
  for (std::string kind;;) {
    {
      statement::run row(next_kind_, std::string_view(kind));
      if (!row.step()) return;
      kind = row.text(0);
    }
    find_ready(kind, limit);
  }
}

bool store::look_ahead(const lease_request& r, std::size_t wanted) {
  // Twice as far as the last time, where it is for the same kinds: half of it is wanted, at least.
  const bool same = ahead_size_ != 0 && ahead_kinds_ == r.kinds;
  ahead_size_ = std::max(wanted, same ? std::min(2 * ahead_size_, farthest_ahead) : 1);
  ahead_kinds_ = r.kinds;
  ahead_.clear();
  if (r.kinds.empty())
    find_ready_of_any_kind(ahead_size_);
  else
    for (const std::string& kind : r.kinds) find_ready(kind, ahead_size_);
  if (r.kinds.size() != 1) std::sort(ahead_.begin(), ahead_.end());
  if (ahead_.size() > ahead_size_) ahead_.resize(ahead_size_);
  std::reverse(ahead_.begin(), ahead_.end());
  return !ahead_.empty();
}

void store::claim(job_id id, const lease_request& r, queue_time now,
                  std::vector<weir::lease>& answer) {
  weir::lease l;
  bool readable = false;
  {
    statement::run row(ready_one_, id);
    if (!row.step()) db_.fail(SQLITE_CORRUPT, "a job is in an index and not in its table");
    readable = read_job(row, l.job) && l.job.attempt != std::numeric_limits<int>::max();
    l.key = {id, row.number(job_column_count)};
  }
  if (!readable) {
    // It blocks nobody, neither in the queue nor by its key.
    const held_key key{std::move(l.job.unique_key), duration::zero()};
    make_dead(id, job_state::ready, key, "it cannot be read");
    return;
  }
  l.until = saturating_add(now.steady, r.lease_for);
  ++l.job.attempt;
  statement::run(claim_, id, ticks(l.until), std::int64_t{l.job.attempt}, l.key.token).finish();
  --counted_[static_cast<std::size_t>(job_state::ready)];  // which is not `count`: it was ahead
  count(job_state::leased, 1);
  answer.push_back(std::move(l));
}

void store::lease(const lease_request& r, queue_time now, std::vector<weir::lease>& answer) {
  const auto max = static_cast<std::size_t>(r.max);
  while (answer.size() < max) {
    if ((ahead_.empty() || ahead_kinds_ != r.kinds) && !look_ahead(r, max - answer.size())) return;
    const job_id next = ahead_.back().id;
    ahead_.pop_back();
    claim(next, r, now, answer);
  }
}

error_code store::report(const settle_request& r, queue_time now) {
  const job_id id = r.key.id;
  if (r.how == settlement::extend) {
    const std::int64_t until = ticks(saturating_add(now.steady, r.time));
    statement::run(extend_, id, r.key.token, until).finish();
    return db_.changes() == 1 ? error_code() : errc::lease_lost;
  }
  if (r.how == settlement::ack) {
    // Most jobs leave nothing behind: one statement, then, and not two.
    statement::run(drop_plain_, id, r.key.token).finish();
    if (db_.changes() == 1) {
      count(job_state::leased, -1);
      return {};
    }
  }
  std::int64_t attempt = 0;
  std::int64_t max_attempts = 0;
  duration keep{};
  held_key key{};
  {
    statement::run row(held_, id, r.key.token);
    if (!row.step()) return errc::lease_lost;
    attempt = row.number(0);
    max_attempts = row.number(1);
    keep = duration(row.number(2));
    key = {row.text(3), duration(row.number(4))};
  }
  if (r.how == settlement::ack) {
    if (keep == duration::zero()) {
      statement::run(drop_, id).finish();
      count(job_state::leased, -1);
    } else {
      statement::run(keep_, id, ticks(saturating_add(now.wall, keep)), blob{r.text}).finish();
      count_move(job_state::leased, job_state::done);
    }
    free_key(id, key);
    return {};
  }
  if (r.how == settlement::nack && (r.dead || attempt >= max_attempts)) {
    make_dead(id, job_state::leased, key, r.text);
    return {};
  }
  const wall_time run_at = saturating_add(now.wall, r.time);
  const job_state state = run_at <= now.wall ? job_state::ready : job_state::scheduled;
  const auto number = static_cast<std::int64_t>(state);
  if (r.how == settlement::nack)
    statement::run(run_again_, id, number, ticks(run_at), attempt, std::string_view(r.text))
        .finish();
  else
    statement::run(run_again_, id, number, ticks(run_at), attempt - 1, nullptr).finish();
  count_move(job_state::leased, state);
  return {};
}

error_code store::settle(const settle_request& r, queue_time now) {
  return with_effect(r.effect, [&] { return report(r, now); });
}

void store::make_dead(job_id id, job_state from, const held_key& k, std::string_view reason) {
  statement::run(make_dead_, id, reason).finish();
  count_move(from, job_state::dead);
  free_key(id, k);
}

bool store::cancel(job_id id, queue_time now) {
  job_state state{};
  duration keep{};
  held_key key{};
  {
    statement::run row(live_, id);
    if (!row.step()) return false;
    state = static_cast<job_state>(row.number(0));
    keep = duration(row.number(1));
    key = {row.text(2), duration(row.number(3))};
  }
  if (keep == duration::zero()) {
    statement::run(drop_, id).finish();
    count(state, -1);
  } else {
    statement::run(cancel_, id, ticks(saturating_add(now.wall, keep))).finish();
    count_move(state, job_state::cancelled);
  }
  free_key(id, key);
  return true;
}

namespace {

job_status read_status(const statement::run& row) {
  job_status s;
  read_job(row, s.job);  // as much as there is
  s.state = static_cast<job_state>(row.number(job_column_count));
  s.result = row.text(job_column_count + 1);
  s.reason = row.text(job_column_count + 2);
  return s;
}

}  // namespace

std::optional<job_status> store::find(job_id id, queue_time now) {
  statement::run row(find_, id, ticks(now.wall));
  return row.step() ? std::optional(read_status(row)) : std::nullopt;
}

queue_stats store::stats() {
  queue_stats s;
  statement::run row(counts_);
  while (row.step()) {
    const auto jobs = static_cast<std::size_t>(row.number(1));
    switch (static_cast<job_state>(row.number(0))) {
      case job_state::ready:
        s.ready = jobs;
        break;
      case job_state::leased:
        s.leased = jobs;
        break;
      case job_state::scheduled:
        s.scheduled = jobs;
        break;
      case job_state::done:
        s.done = jobs;
        break;
      case job_state::cancelled:
        s.cancelled = jobs;
        break;
      case job_state::dead:
        s.dead = jobs;
        break;
    }
  }
  return s;
}

std::vector<job_status> store::dead_letters(const dead_letters_request& r) {
  std::vector<job_status> page;
  statement::run row(dead_page_, r.after, std::int64_t{r.limit});
  while (row.step()) page.push_back(read_status(row));
  return page;
}

std::size_t store::bury(const bury_request& r, queue_time now) {
  std::size_t buried = 0;
  for (const job_id id : r.ids) {
    held_key key{};
    {
      statement::run row(dead_one_, id);
      if (!row.step()) continue;
      key = {row.text(0), duration(row.number(1))};
    }
    if (!r.requeue) {
      statement::run(drop_, id).finish();
      count(job_state::dead, -1);
    } else {
      // A key that is held for a time was held from the first on, and is not taken again.
      const bool takes_key = !key.key.empty() && key.held_for == duration::zero();
      if (takes_key && holder_of(key.key, now)) continue;
      if (takes_key) statement::run(hold_key_, std::string_view(key.key), id, for_ever).finish();
      statement::run(requeue_, id, ticks(now.wall)).finish();
      count_move(job_state::dead, job_state::ready);
    }
    ++buried;
  }
  return buried;
}

}  // namespace weir::sqlite
