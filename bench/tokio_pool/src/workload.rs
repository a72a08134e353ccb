// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

//! The heavy-tailed mix: the same numbers come out of the same seed in each language.

use std::time::Duration;

const MIX_SEED: u64 = 20240229;
const ARRIVAL_SEED: u64 = 7;
const TIMER_SHARE: f64 = 0.005;
const SHORTEST: f64 = 1.0; // µs of computation, at least
const LONGEST: f64 = 5000.0; // and at most
const STEPS_PER_USEC: f64 = 600.0;

#[derive(Clone, Copy)]
pub enum WorkItem {
    Compute(u64),
    Sleep(Duration),
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub fn make_mix(n: usize) -> Vec<WorkItem> {
    let mut random = Random(MIX_SEED);
    (0..n)
        .map(|_| {
            let is_timer = random.uniform() < TIMER_SHARE;
            let u = random.uniform();
            if is_timer {
                WorkItem::Sleep(Duration::from_nanos(((1.0 + 9.0 * u) * 1e6) as u64))
            } else {
                // A Pareto law with exponent 1, bounded, by inversion.
                let micros = SHORTEST / (1.0 - u * (1.0 - SHORTEST / LONGEST));
                WorkItem::Compute((micros * STEPS_PER_USEC) as u64)
            }
        })
        .collect()
}

/// The moments of a Poisson process of so many events per second.
pub fn make_arrivals(n: usize, per_second: f64) -> Vec<Duration> {
    let mut random = Random(ARRIVAL_SEED);
    let mut at = 0.0;
    (0..n)
        .map(|_| {
            at += -(1.0 - random.uniform()).ln() / per_second;
            Duration::from_secs_f64(at)
        })
        .collect()
}

/// A fixed amount of work: each step needs the result of the one before it.
pub fn spin(steps: u64) {
    let mut x = steps;
    for _ in 0..steps {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    }
    // A volatile store, so that the loop is not found to be useless.
    let mut result = 0;
    unsafe { std::ptr::write_volatile(&mut result, x) };
}
