// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_HPP
#define WEIR_PIPELINE_HPP

#include <weir/pipeline/batch.hpp>
#include <weir/pipeline/elsewhere.hpp>
#include <weir/pipeline/fan_out.hpp>
#include <weir/pipeline/join.hpp>
#include <weir/pipeline/limit.hpp>
#include <weir/pipeline/map.hpp>
#include <weir/pipeline/options.hpp>
#include <weir/pipeline/progress.hpp>
#include <weir/pipeline/sink.hpp>
#include <weir/pipeline/source.hpp>
#include <weir/pipeline/transform.hpp>

#endif  // WEIR_PIPELINE_HPP
