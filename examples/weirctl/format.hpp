// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_WEIRCTL_FORMAT_HPP
#define WEIR_EXAMPLES_WEIRCTL_FORMAT_HPP

#include <weir/job.hpp>
#include <weir/task_queue.hpp>

#include <string>
#include <string_view>

namespace weirctl {

/// Text as it can be shown on one line: whatever is not printable ASCII is `\xNN`.
std::string printable(std::string_view text);

/// `ready 2  leased 1  …`
std::string to_line(const weir::queue_stats& s);

/// A change in so much time: `+12/s`.
std::string per_second(double change, weir::duration time);

/// A dead letter on one line, with tabs between id, kind, user, attempts and reason.
std::string to_row(const weir::job_status& s);

/// All that is known of a job, a line each.
std::string to_text(const weir::job_status& s);

}  // namespace weirctl

#endif  // WEIR_EXAMPLES_WEIRCTL_FORMAT_HPP
