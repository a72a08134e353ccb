// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

//! What one writes with tokio for bounded work: a task for each submission, a semaphore for how
//! many run, a counter for how many exist, a map for how many each user has, `timeout` around each.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    UserLimitReached,
    PoolFull,
}

pub struct Options {
    pub workers: usize,
    pub queue_size: usize,
    pub max_per_user: usize,
    pub task_timeout: Duration,
}

pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    running: Semaphore,
    in_flight: AtomicUsize,
    in_flight_max: usize,
    max_per_user: usize,
    task_timeout: Duration,
    user_active: Mutex<HashMap<Arc<str>, usize>>,
}

impl Pool {
    pub fn new(options: Options) -> Pool {
        Pool {
            shared: Arc::new(Shared {
                running: Semaphore::new(options.workers),
                in_flight: AtomicUsize::new(0),
                in_flight_max: options.workers + options.queue_size,
                max_per_user: options.max_per_user,
                task_timeout: options.task_timeout,
                user_active: Mutex::new(HashMap::new()),
            }),
        }
    }

    /// Spawns `work` for `user`, or says at once why not.
    pub fn submit<F>(&self, user: &Arc<str>, work: F) -> Result<(), Refusal>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let slot = UserSlot::reserve(&self.shared, user)?;
        let room = Room::reserve(&self.shared)?;
        tokio::spawn(async move {
            // Both are given back when the task ends, however it ends.
            let _slot = &slot;
            let _running = room.shared.running.acquire().await;
            let _ = timeout(room.shared.task_timeout, work).await;
        });
        Ok(())
    }
}

/// One of the places in the pool, queue and workers together.
struct Room {
    shared: Arc<Shared>,
}

impl Room {
    fn reserve(shared: &Arc<Shared>) -> Result<Room, Refusal> {
        if shared.in_flight.fetch_add(1, Ordering::Relaxed) >= shared.in_flight_max {
            shared.in_flight.fetch_sub(1, Ordering::Relaxed);
            return Err(Refusal::PoolFull);
        }
        Ok(Room { shared: shared.clone() })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One of the places of a user.
struct UserSlot {
    shared: Arc<Shared>,
    user: Arc<str>,
}

impl UserSlot {
    fn reserve(shared: &Arc<Shared>, user: &Arc<str>) -> Result<UserSlot, Refusal> {
        let mut active = shared.user_active.lock().unwrap();
        if let Some(count) = active.get_mut(user) {
            if *count >= shared.max_per_user {
                return Err(Refusal::UserLimitReached);
            }
            *count += 1;
        } else {
            active.insert(user.clone(), 1);
        }
        Ok(UserSlot { shared: shared.clone(), user: user.clone() })
    }
}

impl Drop for UserSlot {
    fn drop(&mut self) {
        // As in the Go pool, an entry stays in the map at zero.
        if let Some(count) = self.shared.user_active.lock().unwrap().get_mut(&self.user) {
            *count -= 1;
        }
    }
}
