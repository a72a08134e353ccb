// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/scripts.hpp"

#include <array>
#include <string>

namespace weir::redis {

namespace {

// KEYS[1] is "weir:{name}:", and what begins with it:
//
//   ids, tokens       the last job id and the last fencing token
//   job:<id>          a hash
//   kinds             the kinds of which there are ready jobs
//   ready:<kind>      a sorted set, all scores 0, so in the order of its members: see `place`
//   scheduled         a sorted set of ids by the time at which they come due
//   leases            a stream: an entry <token>-0 for each lease, pending for who holds it in the
//                     consumer group "weir"
//   ends              a sorted set of tokens by the time at which the lease ends
//   done, cancelled   sorted sets of ids by the time at which they are forgotten
//   dead              a sorted set of ids by id
//   unique:<key>      who holds a unique key: "<id>", or "<id> <until>"
//   waiting:<kind>    a sorted set of the clients that wait for jobs, by when they began; of
//                     any kind, if <kind> is empty
//   answers:<client>  a hash of the last answer of each of its slots: "<number> <answer>"
//   wake:<client>     a channel
//
// ARGV: the time, or empty for the server's; client; slot; number of the request; milliseconds for
// which answers are kept; then what each script asks for.
//
// Times are microseconds since 1970; up to 2^53, which is as far as Lua's numbers are exact.
constexpr std::string_view common = R"lua(
local call, Q, client = redis.call, KEYS[1], ARGV[2]
local LAST = 9007199254740991
local now = tonumber(ARGV[1])
if not now then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

local function later(span) return math.min(now + tonumber(span), LAST) end

-- A request that comes again gets the answer that it had. The first may also come last, out of the
-- buffer of a connection that was given up, when its slot has another number already.
local function recall()
  local said = call('HGET', Q .. 'answers:' .. client, ARGV[3])
  if not said then return nil end
  local number, answer = said:match('^(%d+) (.*)$')
  if number == ARGV[4] then return answer end
  if tonumber(number) > tonumber(ARGV[4]) then error({err = 'WEIRLATE it was given up'}) end
end

local function remember(answer)
  call('HSET', Q .. 'answers:' .. client, ARGV[3], ARGV[4] .. ' ' .. answer)
  call('PEXPIRE', Q .. 'answers:' .. client, ARGV[5])
  return answer
end
)lua";

constexpr std::string_view jobs = R"lua(
-- One of those who wait hears of it. Whoever is gone has no ears, and is passed over.
local function wake(kind)
  for _, who in ipairs({kind, ''}) do
    while true do
      local first = call('ZPOPMIN', Q .. 'waiting:' .. who)[1]
      if not first then break end
      if call('PUBLISH', Q .. 'wake:' .. first, kind) > 0 then return end
    end
  end
end

local function holder_of(key)
  local held = key ~= '' and call('GET', Q .. 'unique:' .. key)
  if not held then return nil end
  local id, till = held:match('^(%d+) ?(%d*)$')
  if till and till ~= '' and tonumber(till) <= now then return nil end
  return id
end

local function hold(id, key, span)
  if key == '' then return end
  if span == 0 then
    call('SET', Q .. 'unique:' .. key, id)
  else
    call('SET', Q .. 'unique:' .. key, string.format('%s %.0f', id, later(span)), 'PX',
      string.format('%.0f', math.ceil(span / 1000)))
  end
end

local function free(j)
  if j.key ~= '' and j.span == 0 and call('GET', Q .. 'unique:' .. j.key) == j.id then
    call('DEL', Q .. 'unique:' .. j.key)
  end
end

local function bury(j, reason)
  free(j)
  call('HSET', Q .. 'job:' .. j.id, 'state', 7, 'reason', reason)
  call('ZADD', Q .. 'dead', j.id, j.id)
end

local function whole(text)
  local n = tonumber(text)
  if n and n == math.floor(n) and math.abs(n) <= LAST then return n end
end

-- A job, or nil. One that cannot be read becomes a dead letter, and is in nobody's way.
local function read(id)
  local f = redis.pcall('HMGET', Q .. 'job:' .. id, 'state', 'token', 'kind', 'priority', 'run_at',
    'attempt', 'max_attempts', 'unique_key', 'unique_for', 'keep')
  if f.err or not f[1] then return nil end
  local j = {id = id, state = f[1], token = f[2], kind = f[3] or '', priority = whole(f[4]),
    run_at = whole(f[5]), attempt = whole(f[6]), most = whole(f[7]), key = f[8] or '',
    span = whole(f[9]) or 0, keep = whole(f[10]) or 0}
  if j.kind ~= '' and j.priority and j.run_at and j.attempt and j.most then return j end
  if j.state == '2' or j.state == '3' or j.state == '4' then bury(j, 'it cannot be read') end
  return nil
end

-- Of fixed width, so that the order of the texts is that of the numbers.
local function place(j)
  return string.format('%08x%014x%014x', 2147483647 - j.priority, j.run_at, tonumber(j.id))
end

local function make_ready(j)
  call('HSET', Q .. 'job:' .. j.id, 'state', 2)
  call('SADD', Q .. 'kinds', j.kind)
  call('ZADD', Q .. 'ready:' .. j.kind, 0, place(j))
  wake(j.kind)
end

local function not_ready(kind, where)
  call('ZREM', Q .. 'ready:' .. kind, where)
  if call('EXISTS', Q .. 'ready:' .. kind) == 0 then call('SREM', Q .. 'kinds', kind) end
end

local function run_again(j, at)
  j.run_at = at
  call('HSET', Q .. 'job:' .. j.id, 'run_at', at)
  if at <= now then return make_ready(j) end
  call('HSET', Q .. 'job:' .. j.id, 'state', 4)
  call('ZADD', Q .. 'scheduled', at, j.id)
  -- Whoever waits does so until the one that was the first before.
  if call('ZRANGE', Q .. 'scheduled', 0, 0)[1] == j.id then wake(j.kind) end
end

local function drop_lease(token)
  call('XACK', Q .. 'leases', 'weir', token .. '-0')
  call('XDEL', Q .. 'leases', token .. '-0')
  call('ZREM', Q .. 'ends', token)
end

local function finish(j, state, kept, result)
  free(j)
  if j.keep <= 0 then return call('DEL', Q .. 'job:' .. j.id) end
  call('HSET', Q .. 'job:' .. j.id, 'state', state, 'result', result)
  call('ZADD', Q .. kept, later(j.keep), j.id)
end
)lua";

constexpr std::string_view open_text = R"lua(#!lua flags=allow-oom
local Q = KEYS[1]
local version = redis.call('GET', Q .. 'version')
if version and version ~= '1' then
  return redis.error_reply('WEIRVERSION ' .. version)
end
if not version then redis.call('SET', Q .. 'version', 1) end
-- Consumers that hold nothing and have not been heard of for an hour.
local seen = redis.pcall('XINFO', 'CONSUMERS', Q .. 'leases', 'weir')
for _, c in ipairs(seen.err and {} or seen) do
  if c[4] == 0 and c[6] > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', Q .. 'leases', 'weir', c[2])
  end
end
return 1
)lua";

// Without a flag it is refused when there is no memory left; all the others make room.
constexpr std::string_view enqueue_text = R"lua(
local answer = recall()
if answer then return answer end
answer = {}
for i = 6, #ARGV, 11 do
  local kind, payload, user, priority, timed, time, most, key, span, keep, headers =
    unpack(ARGV, i, i + 10)
  local holder = holder_of(key)
  if holder then
    answer[#answer + 1] = holder .. ' 1'
  else
    local id = string.format('%.0f', call('INCR', Q .. 'ids'))
    local at = timed == '1' and tonumber(time) or later(time)
    call('HSET', Q .. 'job:' .. id, 'kind', kind, 'payload', payload, 'user', user,
      'priority', priority, 'attempt', 0, 'max_attempts', most, 'unique_key', key, 'unique_for',
      span, 'keep', keep, 'headers', headers)
    hold(id, key, tonumber(span))
    run_again({id = id, kind = kind, priority = tonumber(priority)}, at)
    answer[#answer + 1] = id .. ' 0'
  end
end
return remember(table.concat(answer, ' '))
)lua";

// ARGV[6]: jobs at most, [7]: for how long, [8]: whether to be told when there is one, [9]...:
// kinds. Answer: microseconds until something happens by itself, or -1; then each lease.
constexpr std::string_view lease_text = R"lua(
local function due(set)
  return call('ZRANGEBYSCORE', Q .. set, '-inf', now, 'LIMIT', 0, 1000)
end

for _, id in ipairs(due('scheduled')) do
  call('ZREM', Q .. 'scheduled', id)
  local j = read(id)
  if j then make_ready(j) end
end

-- Leases that have run out: claimed from whoever holds them.
for _, token in ipairs(due('ends')) do
  local claimed = redis.pcall('XCLAIM', Q .. 'leases', 'weir', client, 0, token .. '-0')
  drop_lease(token)
  local entry = claimed[1]
  local j = entry and read(entry[2][2])
  if j and j.state == '3' and j.token == token then
    if j.attempt < j.most then
      make_ready(j)
    else
      bury(j, 'the lease of the last attempt ran out')
    end
  end
end

for _, kept in ipairs({'done', 'cancelled'}) do
  for _, id in ipairs(due(kept)) do
    call('ZREM', Q .. kept, id)
    call('DEL', Q .. 'job:' .. id)
  end
end

local function first_of(kind) return call('ZRANGE', Q .. 'ready:' .. kind, 0, 0)[1] end

local function take()
  local heads, got = {}, {}
  for i = 9, #ARGV do heads[ARGV[i]] = first_of(ARGV[i]) end
  if #ARGV < 9 then
    for _, kind in ipairs(call('SMEMBERS', Q .. 'kinds')) do heads[kind] = first_of(kind) end
  end
  for _ = 1, tonumber(ARGV[6]) do
    local best, j
    repeat
      best = nil
      for kind, head in pairs(heads) do
        if not best or head < heads[best] then best = kind end
      end
      if not best then return got end
      local id = string.format('%.0f', tonumber(heads[best]:sub(-14), 16) or 0)
      not_ready(best, heads[best])
      heads[best] = first_of(best)
      j = read(id)
    until j
    local token = string.format('%.0f', call('INCR', Q .. 'tokens'))
    call('HSET', Q .. 'job:' .. j.id, 'state', 3, 'token', token, 'attempt', j.attempt + 1)
    call('XADD', Q .. 'leases', token .. '-0', 'job', j.id)
    call('ZADD', Q .. 'ends', later(ARGV[7]), token)
    got[#got + 1] = j.id .. ' ' .. token
  end
  return got
end

local answer = recall()
if not answer then
  local got = take()
  answer = table.concat(got, ' ')
  if #got > 0 then
    local deliver = {'XREADGROUP', 'GROUP', 'weir', client, 'COUNT', #got, 'STREAMS',
      Q .. 'leases', '>'}
    if redis.pcall(unpack(deliver)).err then
      call('XGROUP', 'CREATE', Q .. 'leases', 'weir', 0)
      call(unpack(deliver))
    end
    remember(answer)
  end
end

local event = LAST
for _, set in ipairs({'scheduled', 'ends'}) do
  event = math.min(event, call('ZRANGE', Q .. set, 0, 0, 'WITHSCORES')[2] or LAST)
end
local reply = {event == LAST and -1 or math.max(event - now, 0)}
for id, token in answer:gmatch('(%d+) (%d+)') do
  local f = call('HMGET', Q .. 'job:' .. id, 'state', 'token', 'kind', 'payload', 'user',
    'priority', 'run_at', 'attempt', 'max_attempts', 'unique_key', 'keep', 'headers')
  if f[1] == '3' and f[2] == token then
    f[1] = id
    reply[#reply + 1] = f
  end
end
if #reply == 1 and ARGV[8] == '1' then
  for i = 9, #ARGV do call('ZADD', Q .. 'waiting:' .. ARGV[i], 'NX', now, client) end
  if #ARGV < 9 then call('ZADD', Q .. 'waiting:', 'NX', now, client) end
end
return reply
)lua";

// ARGV[6]: ack, nack, release or extend, [7]: id, [8]: token, [9]: delay or span, [10]: result or
// reason, [11]: whether dead. Answer: whether the lease was the latest.
constexpr std::string_view settle_text = R"lua(
local answer = recall()
if answer then return answer end
local how, token, text = ARGV[6], ARGV[8], ARGV[10]
local j = read(ARGV[7])
if not j or j.state ~= '3' or j.token ~= token then return '0' end
if how == 'extend' then
  call('ZADD', Q .. 'ends', later(ARGV[9]), token)
  call('XCLAIM', Q .. 'leases', 'weir', client, 0, token .. '-0', 'JUSTID')
  return '1'
end
drop_lease(token)
if how == 'ack' then
  finish(j, 5, 'done', text)
elseif how == 'release' then
  call('HSET', Q .. 'job:' .. j.id, 'attempt', j.attempt - 1)
  run_again(j, later(ARGV[9]))
elseif ARGV[11] == '1' or j.attempt >= j.most then
  bury(j, text)
else
  call('HSET', Q .. 'job:' .. j.id, 'reason', text)
  run_again(j, later(ARGV[9]))
end
return remember('1')
)lua";

// ARGV[6]: id. Answer: whether it had not ended.
constexpr std::string_view cancel_text = R"lua(
local answer = recall()
if answer then return answer end
local j = read(ARGV[6])
if not j then return '0' end
if j.state == '2' then
  not_ready(j.kind, place(j))
elseif j.state == '4' then
  call('ZREM', Q .. 'scheduled', j.id)
elseif j.state == '3' then
  drop_lease(j.token)
else
  return '0'
end
finish(j, 6, 'cancelled', '')
return remember('1')
)lua";

constexpr std::string_view status_text = R"lua(
local function status(id)
  return call('HMGET', Q .. 'job:' .. id, 'state', 'result', 'reason', 'kind', 'payload',
    'user', 'priority', 'run_at', 'attempt', 'max_attempts', 'unique_key', 'keep', 'headers')
end
)lua";

// ARGV[6]: id. Answer: nothing, or where it is.
constexpr std::string_view find_text = R"lua(
local f = status(ARGV[6])
local kept = (f[1] == '5' and 'done') or (f[1] == '6' and 'cancelled')
if kept and tonumber(call('ZSCORE', Q .. kept, ARGV[6]) or 0) <= now then return {} end
if not f[1] then return {} end
return {ARGV[6], f}
)lua";

constexpr std::string_view stats_text = R"lua(
local ready = 0
for _, kind in ipairs(call('SMEMBERS', Q .. 'kinds')) do
  ready = ready + call('ZCARD', Q .. 'ready:' .. kind)
end
local counts = {ready}
for _, set in ipairs({'scheduled', 'ends', 'done', 'cancelled', 'dead'}) do
  counts[#counts + 1] = call('ZCARD', Q .. set)
end
return counts
)lua";

// ARGV[6]: after which id, [7]: how many. Answer: id and status, in turn.
constexpr std::string_view dead_letters_text = R"lua(
local page = {}
for _, id in ipairs(call('ZRANGEBYSCORE', Q .. 'dead', '(' .. ARGV[6], '+inf', 'LIMIT', 0,
    ARGV[7])) do
  page[#page + 1] = id
  page[#page + 1] = status(id)
end
return page
)lua";

// ARGV[6]: whether to make them ready, else to forget them, [7]...: ids. Answer: how many.
constexpr std::string_view bury_text = R"lua(
local answer = recall()
if answer then return answer end
local count = 0
for i = 7, #ARGV do
  local id = ARGV[i]
  if call('ZSCORE', Q .. 'dead', id) then
    local gone = true
    if ARGV[6] == '0' then
      call('DEL', Q .. 'job:' .. id)
    else
      local j = read(id)
      -- A key that is held for a time was held from the first on, and is not taken again.
      gone = j and (j.span ~= 0 or not holder_of(j.key))
      if gone then
        if j.span == 0 then hold(id, j.key, 0) end
        call('HSET', Q .. 'job:' .. id, 'attempt', 0)
        run_again(j, now)
      end
    end
    if gone then
      call('ZREM', Q .. 'dead', id)
      count = count + 1
    end
  end
end
return remember(tostring(count))
)lua";

constexpr std::string_view pass_on_text = R"lua(
wake(ARGV[6])
return 1
)lua";

// What a script may do is said in its first line, so the parts that they share go after that.
constexpr std::string_view writes = "#!lua\n";
constexpr std::string_view writes_in_any_case = "#!lua flags=allow-oom\n";
constexpr std::string_view reads = "#!lua flags=no-writes\n";

template <typename... Parts>
std::string join(Parts... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}

}  // namespace

std::string_view text_of(script s) {
  static const std::array<std::string, script_count> texts{
      std::string(open_text),
      join(writes, common, jobs, enqueue_text),
      join(writes_in_any_case, common, jobs, lease_text),
      join(writes_in_any_case, common, jobs, settle_text),
      join(writes_in_any_case, common, jobs, cancel_text),
      join(reads, common, status_text, find_text),
      join(reads, common, status_text, stats_text),
      join(reads, common, status_text, dead_letters_text),
      join(writes_in_any_case, common, jobs, bury_text),
      join(writes_in_any_case, common, jobs, pass_on_text),
  };
  return texts[static_cast<std::size_t>(s)];
}

}  // namespace weir::redis
