// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

//! Measures one scenario on the tokio pool and prints `result NAME VALUE UNIT` lines. The
//! scenarios, their flags and their names are those of the C++ program beside it.

mod pool;
mod workload;

use std::collections::HashMap;
use std::fs;
use std::future::{pending, Future};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pool::{Options, Pool, Refusal};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use workload::WorkItem;

const WORKERS: usize = 8;
const USERS: usize = 100;
const UNREACHED_CAP: usize = 10_000;
const SUBMITTERS: usize = 4;
const PAGE: u64 = 4096;

/// Counts allocations where the binary counts them.
pub type Counter = Option<fn() -> u64>;

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Arguments {
    flags: HashMap<String, String>,
    counter: Counter,
}

impl Arguments {
    fn number<T: std::str::FromStr>(&self, name: &str, otherwise: T) -> Result<T, Failure> {
        match self.flags.get(name) {
            None => Ok(otherwise),
            Some(text) => {
                text.parse().map_err(|_| format!("--{name}: not a number: {text}").into())
            }
        }
    }

    fn kind(&self) -> &str {
        self.flags.get("kind").map_or("", String::as_str)
    }

    fn seconds(&self) -> Result<Duration, Failure> {
        Ok(Duration::from_secs_f64(self.number("seconds", 0.6)?))
    }

    /// Where this binary counts: allocations so far.
    fn allocations(&self) -> Option<u64> {
        self.counter.map(|count| count())
    }

    fn report_allocations(&self, before: Option<u64>, n: u64, unit: &str) {
        if let (Some(after), Some(before)) = (self.allocations(), before) {
            result("allocations", (after - before) as f64 / n as f64, unit);
        }
    }
}

fn result(name: &str, value: f64, unit: &str) {
    println!("result {name} {value:.6} {unit}");
}

/// Runs the scenario that the command line names.
pub fn run(counter: Counter) {
    if let Err(failure) = dispatch(counter) {
        eprintln!("tokio_pool: {failure}");
        std::process::exit(1);
    }
}

fn dispatch(counter: Counter) -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    let scenario = words.next().ok_or("usage: tokio_pool SCENARIO [flags]")?;
    let mut flags = HashMap::new();
    while let Some(flag) = words.next() {
        let name = flag.strip_prefix("--").ok_or_else(|| format!("not a flag: {flag}"))?;
        let value = words.next().ok_or_else(|| format!("{flag}: no value"))?;
        flags.insert(name.to_string(), value);
    }
    let arguments = Arguments { flags, counter };
    let runtime = Runtime::new()?;
    match scenario.as_str() {
        "throughput" => on_runtime(&runtime, throughput(arguments)),
        "reject" => reject(&runtime, arguments),
        "drain" => on_runtime(&runtime, drain(arguments)),
        "memory" => on_runtime(&runtime, memory(arguments)),
        "latency" => latency(&runtime, arguments),
        "mix" => mix(&runtime, arguments),
        "spin" => measure_spin(),
        _ => Err(format!("no scenario {scenario}").into()),
    }?;
    runtime.shutdown_background();
    Ok(())
}

/// Runs a submitter as what it is in a server: a task of the runtime.
fn on_runtime<F>(runtime: &Runtime, submitter: F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    runtime.block_on(runtime.spawn(submitter))?
}

fn user_names(n: usize) -> Vec<Arc<str>> {
    (0..n).map(|i| Arc::from(format!("u{i}"))).collect()
}

/// The pool of most scenarios: eight at once, a cap that is on and not reached, ten minutes.
fn new_pool(queue_size: usize) -> Pool {
    with_cap(queue_size, UNREACHED_CAP)
}

fn with_cap(queue_size: usize, max_per_user: usize) -> Pool {
    Pool::new(Options {
        workers: WORKERS,
        queue_size,
        max_per_user,
        task_timeout: Duration::from_secs(600),
    })
}

async fn wait_for(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_micros(50)).await;
    }
}

fn block_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_micros(50));
    }
}

/// Submit, run, done, of a task that does nothing.
async fn throughput(arguments: Arguments) -> Result<(), Failure> {
    let pool = new_pool(arguments.number("queue", 100)?);
    let names = user_names(USERS);
    let done = Arc::new(AtomicU64::new(0));
    let mut submitted = 0u64;
    let mut before = 0u64;
    let mut allocated = None;
    let mut start = Instant::now();
    for (measured, length) in [(false, Duration::from_millis(100)), (true, arguments.seconds()?)] {
        if measured {
            before = submitted;
            allocated = arguments.allocations();
        }
        start = Instant::now();
        while start.elapsed() < length {
            for _ in 0..256 {
                let name = &names[submitted as usize % USERS];
                loop {
                    let done = done.clone();
                    let outcome = pool.submit(name, async move {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                    match outcome {
                        Ok(()) => break,
                        Err(Refusal::PoolFull) => tokio::task::yield_now().await,
                        Err(other) => return Err(format!("{other:?}").into()),
                    }
                }
                submitted += 1;
            }
        }
        wait_for(|| done.load(Ordering::Relaxed) == submitted).await;
    }
    let elapsed = start.elapsed();
    let n = submitted - before;
    result("throughput", elapsed.as_nanos() as f64 / n as f64, "ns/task");
    arguments.report_allocations(allocated, n, "per_task");
    Ok(())
}

/// How long a refusal takes while every worker is busy, four submitters at it.
fn reject(runtime: &Runtime, arguments: Arguments) -> Result<(), Failure> {
    let _entered = runtime.enter();
    let queue_size: usize = arguments.number("queue", 100)?;
    let names = user_names(SUBMITTERS);
    let (pool, want) = match arguments.kind() {
        "full" => {
            let pool = new_pool(queue_size);
            let blocked: Arc<str> = Arc::from("blocked");
            while pool.submit(&blocked, pending()).is_ok() {}
            (pool, Refusal::PoolFull)
        }
        "user" => {
            let pool = with_cap(queue_size, WORKERS / SUBMITTERS);
            for i in 0..WORKERS {
                if let Err(refusal) = pool.submit(&names[i % SUBMITTERS], pending()) {
                    return Err(format!("{refusal:?}").into());
                }
            }
            (pool, Refusal::UserLimitReached)
        }
        _ => return Err("reject: --kind full or user".into()),
    };
    let stop = AtomicBool::new(false);
    let total = AtomicU64::new(0);
    let length = arguments.seconds()?;
    let allocated = arguments.allocations();
    let start = Instant::now();
    thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| {
                let mut n = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(pool.submit(name, async {}), Err(want));
                    n += 1;
                }
                total.fetch_add(n, Ordering::Relaxed);
            });
        }
        thread::sleep(length);
        stop.store(true, Ordering::Relaxed);
    });
    let elapsed = start.elapsed();
    let n = total.load(Ordering::Relaxed);
    result("reject", elapsed.as_nanos() as f64 / n as f64, "ns/rejection");
    arguments.report_allocations(allocated, n, "per_rejection");
    Ok(())
}

/// Many short sleeps at limit eight.
async fn drain(arguments: Arguments) -> Result<(), Failure> {
    let n: u64 = arguments.number("tasks", 10_000)?;
    let pool = new_pool(n as usize);
    let names = user_names(USERS);
    let done = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    for i in 0..n {
        let done = done.clone();
        let outcome = pool.submit(&names[i as usize % USERS], async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            done.fetch_add(1, Ordering::Relaxed);
        });
        if let Err(refusal) = outcome {
            return Err(format!("{refusal:?}").into());
        }
    }
    wait_for(|| done.load(Ordering::Relaxed) == n).await;
    result("drain", start.elapsed().as_secs_f64(), "s");
    Ok(())
}

/// What 100,000 of something add to the resident set.
async fn memory(arguments: Arguments) -> Result<(), Failure> {
    let n: usize = arguments.number("tasks", 100_000)?;
    let names = user_names(n);
    let done = Arc::new(AtomicU64::new(0));
    let warm = new_pool(1000);
    for i in 0..1000 {
        let done = done.clone();
        let outcome = warm.submit(&names[i % USERS], async move {
            done.fetch_add(1, Ordering::Relaxed);
        });
        if let Err(refusal) = outcome {
            return Err(format!("{refusal:?}").into());
        }
    }
    wait_for(|| done.load(Ordering::Relaxed) == 1000).await;

    let before = resident()?;
    let started = Arc::new(AtomicU64::new(0));
    match arguments.kind() {
        "queued" => {
            // Eight that hold every permit, then the rest, each a task that waits for one.
            let pool = with_cap(n, 2 * n);
            for i in 0..n + WORKERS {
                let started = started.clone();
                let outcome = pool.submit(&names[i % USERS], async move {
                    started.fetch_add(1, Ordering::Relaxed);
                    pending::<()>().await;
                });
                if let Err(refusal) = outcome {
                    return Err(format!("{refusal:?}").into());
                }
            }
            wait_for(|| started.load(Ordering::Relaxed) == WORKERS as u64).await;
        }
        "suspended" => {
            let pool = Pool::new(Options {
                workers: n,
                queue_size: 100,
                max_per_user: 2,
                task_timeout: Duration::from_secs(600),
            });
            for name in &names {
                let started = started.clone();
                let outcome = pool.submit(name, async move {
                    started.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                });
                if let Err(refusal) = outcome {
                    return Err(format!("{refusal:?}").into());
                }
            }
            wait_for(|| started.load(Ordering::Relaxed) == n as u64).await;
        }
        "task_queued" => {
            // A bare task that waits for its turn.
            let slots = Arc::new(Semaphore::new(0));
            for _ in 0..n {
                let (slots, started) = (slots.clone(), started.clone());
                tokio::spawn(async move {
                    started.fetch_add(1, Ordering::Relaxed);
                    let _slot = slots.acquire().await;
                });
            }
            wait_for(|| started.load(Ordering::Relaxed) == n as u64).await;
        }
        "task_suspended" => {
            // A bare task that sleeps.
            for _ in 0..n {
                let started = started.clone();
                tokio::spawn(async move {
                    started.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                });
            }
            wait_for(|| started.load(Ordering::Relaxed) == n as u64).await;
        }
        _ => return Err("memory: --kind queued, suspended, task_queued or task_suspended".into()),
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    result("rss", (resident()? as f64 - before as f64) / n as f64, "bytes");
    Ok(())
}

fn resident() -> Result<u64, Failure> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split_whitespace().nth(1).ok_or("/proc/self/statm: no second field")?;
    Ok(pages.parse::<u64>()? * PAGE)
}

fn peak_resident() -> Result<f64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    for line in status.lines() {
        if let Some(rest) = line.strip_prefix("VmHWM:") {
            let kib = rest.split_whitespace().next().ok_or("VmHWM: no value")?;
            return Ok(kib.parse::<f64>()? * 1024.0);
        }
    }
    Err("no VmHWM in /proc/self/status".into())
}

/// From a submission to an idle pool to the start of its task.
fn latency(runtime: &Runtime, arguments: Arguments) -> Result<(), Failure> {
    let _entered = runtime.enter();
    let n: usize = arguments.number("tasks", 3000)?;
    let pool = new_pool(arguments.number("queue", 100)?);
    let names = user_names(USERS);
    let origin = Instant::now();
    let started = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicU64::new(0));
    let mut samples = Vec::with_capacity(n);
    for i in 0..n + n / 10 {
        let (started_at, done_by_task) = (started.clone(), done.clone());
        let submitted = origin.elapsed();
        let outcome = pool.submit(&names[i % USERS], async move {
            started_at.store(origin.elapsed().as_nanos() as u64, Ordering::Relaxed);
            done_by_task.fetch_add(1, Ordering::Release);
        });
        if let Err(refusal) = outcome {
            return Err(format!("{refusal:?}").into());
        }
        thread::sleep(Duration::from_micros(300));
        block_until(|| done.load(Ordering::Acquire) == i as u64 + 1);
        if i >= n / 10 {
            samples.push(started.load(Ordering::Relaxed) - submitted.as_nanos() as u64);
        }
    }
    samples.sort_unstable();
    result("latency_p50", percentile(&samples, 0.50), "ns");
    result("latency_p99", percentile(&samples, 0.99), "ns");
    Ok(())
}

fn percentile(sorted: &[u64], p: f64) -> f64 {
    sorted[(p * (sorted.len() - 1) as f64 + 0.5) as usize] as f64
}

/// A heavy-tailed mix of task times, as fast as the pool takes them or at a fixed rate.
fn mix(runtime: &Runtime, arguments: Arguments) -> Result<(), Failure> {
    let _entered = runtime.enter();
    let n: usize = arguments.number("tasks", 30_000)?;
    let plan = workload::make_mix(n);
    let arrivals = workload::make_arrivals(n, arguments.number("rate", 40_000.0)?);
    let paced = match arguments.kind() {
        "saturated" => false,
        "paced" => true,
        _ => return Err("mix: --kind saturated or paced".into()),
    };
    let pool = new_pool(arguments.number("queue", 100)?);
    let names = user_names(USERS);
    let latencies: Arc<Vec<AtomicU64>> = Arc::new((0..n).map(|_| AtomicU64::new(0)).collect());
    let done = Arc::new(AtomicU64::new(0));
    let allocated = arguments.allocations();
    let start = Instant::now();
    for i in 0..n {
        if paced {
            if let Some(wait) = arrivals[i].checked_sub(start.elapsed()) {
                thread::sleep(wait);
            }
        }
        let item = plan[i];
        let submitted = Instant::now();
        loop {
            let (latencies, done) = (latencies.clone(), done.clone());
            let outcome = pool.submit(&names[i % USERS], async move {
                match item {
                    WorkItem::Compute(steps) => workload::spin(steps),
                    WorkItem::Sleep(length) => tokio::time::sleep(length).await,
                }
                latencies[i].store(submitted.elapsed().as_nanos() as u64, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Release);
            });
            match outcome {
                Ok(()) => break,
                Err(Refusal::PoolFull) => thread::yield_now(),
                Err(other) => return Err(format!("{other:?}").into()),
            }
        }
    }
    block_until(|| done.load(Ordering::Acquire) == n as u64);
    let elapsed = start.elapsed();
    let allocations = arguments.allocations();
    let mut sorted: Vec<u64> = latencies.iter().map(|l| l.load(Ordering::Relaxed)).collect();
    sorted.sort_unstable();
    result("rate", n as f64 / elapsed.as_secs_f64(), "tasks/s");
    result("p50", percentile(&sorted, 0.50) / 1e3, "us");
    result("p95", percentile(&sorted, 0.95) / 1e3, "us");
    result("p99", percentile(&sorted, 0.99) / 1e3, "us");
    if let (Some(after), Some(before)) = (allocations, allocated) {
        result("allocations", (after - before) as f64 / n as f64, "per_task");
    }
    result("peak", peak_resident()? / f64::from(1 << 20), "MiB");
    Ok(())
}

/// What a step of `spin` takes, to see that it is the same in each language.
fn measure_spin() -> Result<(), Failure> {
    let steps = 100_000_000;
    let start = Instant::now();
    workload::spin(steps);
    result("step", start.elapsed().as_nanos() as f64 / steps as f64, "ns");
    Ok(())
}
