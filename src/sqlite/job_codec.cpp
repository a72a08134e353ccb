// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sqlite/job_codec.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace weir::sqlite {

namespace {

void put_length(std::string& to, std::size_t n) {
  for (unsigned shift = 0; shift != 32; shift += 8)
    to.push_back(static_cast<char>(n >> shift & 0xffU));
}

std::optional<std::size_t> take_length(std::string_view& from) {
  if (from.size() < 4) return std::nullopt;
  std::size_t n = 0;
  for (unsigned i = 0; i != 4; ++i)
    n |= std::size_t{static_cast<unsigned char>(from[i])} << (8 * i);
  from.remove_prefix(4);
  return n;
}

bool fits_int(std::int64_t n) {
  return n >= std::numeric_limits<int>::min() && n <= std::numeric_limits<int>::max();
}

}  // namespace

std::string encode_headers(const std::vector<job_header>& headers) {
  std::string bytes;
  for (const job_header& h : headers) {
    put_length(bytes, h.name.size());
    put_length(bytes, h.value.size());
    bytes += h.name;
    bytes += h.value;
  }
  return bytes;
}

bool decode_headers(std::string_view bytes, std::vector<job_header>& headers) {
  while (!bytes.empty()) {
    const auto name = take_length(bytes);
    const auto value = take_length(bytes);
    if (!name || !value || *name > bytes.size() || *value > bytes.size() - *name) return false;
    headers.push_back(
        {std::string(bytes.substr(0, *name)), std::string(bytes.substr(*name, *value))});
    bytes.remove_prefix(*name + *value);
  }
  return true;
}

bool read_job(const statement::run& row, job& to) {
  to.id = row.number(0);
  to.kind = row.text(1);
  to.payload = row.text(2);
  to.user = row.text(3);
  to.run_at = wall_time(wall_clock::duration(row.number(5)));
  to.unique_key = row.text(8);
  to.keep = duration(row.number(9));
  bool read = true;
  for (const auto& [column, field] :
       {std::pair{4, &to.priority}, std::pair{6, &to.attempt}, std::pair{7, &to.max_attempts}}) {
    const std::int64_t n = row.number(column);
    read = read && fits_int(n);
    if (fits_int(n)) *field = static_cast<int>(n);
  }
  return read && to.max_attempts >= 1 && to.attempt >= 0 && to.keep >= duration::zero() &&
         decode_headers(row.text(10), to.headers);
}

}  // namespace weir::sqlite
