// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Command go_pool measures one scenario on the Go pool and prints `result NAME VALUE UNIT` lines.
// The scenarios, their flags and their names are those of the C++ program beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"weir-bench/go_pool/workerpool"
)

const (
	workers       = 8
	users         = 100
	unreachedCap  = 10000
	submitters    = 4
	blockedUserID = "blocked"
)

var (
	queueSize = flag.Int("queue", 100, "capacity of the queue")
	seconds   = flag.Float64("seconds", 0.6, "length of a timed measurement")
	kind      = flag.String("kind", "", "variant of the scenario")
	tasks     = flag.Int("tasks", 0, "number of tasks")
	rate      = flag.Int("rate", 40000, "submissions per second of the paced mix")
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: go_pool SCENARIO [flags]"))
	}
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	scenarios := map[string]func() error{
		"throughput": throughput,
		"reject":     reject,
		"drain":      drain,
		"memory":     memory,
		"latency":    latency,
		"mix":        mix,
		"spin":       measureSpin,
	}
	scenario, ok := scenarios[os.Args[1]]
	if !ok {
		fail(fmt.Errorf("no scenario %q", os.Args[1]))
	}
	if err := scenario(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "go_pool:", err)
	os.Exit(1)
}

func result(name string, value float64, unit string) {
	fmt.Printf("result %s %.6g %s\n", name, value, unit)
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

func userNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("u%d", i)
	}
	return names
}

func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

// newPool makes the pool of most scenarios: eight workers, a cap that is on and not reached, the
// default timeout of ten minutes.
func newPool(queue int) *workerpool.Pool {
	return workerpool.New(
		workerpool.WithWorkers(workers),
		workerpool.WithQueueSize(queue),
		workerpool.WithMaxPerUser(unreachedCap),
	)
}

// submitOrYield submits until there is room.
func submitOrYield(pool *workerpool.Pool, task workerpool.Task) {
	for {
		err := pool.Submit(task)
		if err == nil {
			return
		}
		if err != workerpool.ErrPoolFull {
			fail(err)
		}
		runtime.Gosched()
	}
}

func waitFor(condition func() bool) {
	for !condition() {
		time.Sleep(50 * time.Microsecond)
	}
}

// throughput: submit, run, done, of a task that does nothing.
func throughput() error {
	pool := newPool(*queueSize)
	names := userNames(users)
	var done atomic.Uint64
	fn := func(context.Context) error {
		done.Add(1)
		return nil
	}
	submitted := uint64(0)
	run := func(length time.Duration) {
		for start := time.Now(); time.Since(start) < length; {
			for i := 0; i < 256; i++ {
				submitOrYield(pool, workerpool.Task{UserID: names[submitted%users], Fn: fn})
				submitted++
			}
		}
		waitFor(func() bool { return done.Load() == submitted })
	}
	run(100 * time.Millisecond)

	before, allocated, start := submitted, mallocs(), time.Now()
	run(time.Duration(*seconds * float64(time.Second)))
	elapsed := time.Since(start)
	n := float64(submitted - before)
	result("throughput", float64(elapsed.Nanoseconds())/n, "ns/task")
	result("allocations", float64(mallocs()-allocated)/n, "per_task")
	return nil
}

// block submits tasks that hold a worker each, and waits until they do.
func block(pool *workerpool.Pool, names []string) (release chan struct{}) {
	release = make(chan struct{})
	var running atomic.Int32
	for _, name := range names {
		submitOrYield(pool, workerpool.Task{UserID: name, Fn: func(context.Context) error {
			running.Add(1)
			<-release
			return nil
		}})
	}
	waitFor(func() bool { return int(running.Load()) == len(names) })
	return release
}

// reject: how long a refusal takes while every worker is busy, four submitters at it.
func reject() error {
	var pool *workerpool.Pool
	var want error
	names := userNames(submitters)
	fn := func(context.Context) error { return nil }
	switch *kind {
	case "full":
		want = workerpool.ErrPoolFull
		pool = newPool(*queueSize)
		blockers := make([]string, workers)
		for i := range blockers {
			blockers[i] = blockedUserID
		}
		block(pool, blockers)
		for pool.Submit(workerpool.Task{UserID: blockedUserID, Fn: fn}) == nil {
		}
	case "user":
		want = workerpool.ErrUserLimitReached
		pool = workerpool.New(
			workerpool.WithWorkers(workers),
			workerpool.WithQueueSize(*queueSize),
			workerpool.WithMaxPerUser(workers/submitters),
		)
		blockers := make([]string, workers)
		for i := range blockers {
			blockers[i] = names[i%submitters]
		}
		block(pool, blockers)
	default:
		return errors.New("reject: --kind full or user")
	}

	var stop atomic.Bool
	var total atomic.Uint64
	var ended sync.WaitGroup
	allocated, start := mallocs(), time.Now()
	for _, name := range names {
		ended.Add(1)
		go func(name string) {
			defer ended.Done()
			n := uint64(0)
			for ; !stop.Load(); n++ {
				if err := pool.Submit(workerpool.Task{UserID: name, Fn: fn}); err != want {
					fail(fmt.Errorf("reject: got %v, want %v", err, want))
				}
			}
			total.Add(n)
		}(name)
	}
	time.Sleep(time.Duration(*seconds * float64(time.Second)))
	stop.Store(true)
	ended.Wait()
	elapsed := time.Since(start)
	n := float64(total.Load())
	result("reject", float64(elapsed.Nanoseconds())/n, "ns/rejection")
	result("allocations", float64(mallocs()-allocated)/n, "per_rejection")
	return nil
}

// drain: many short sleeps at limit eight.
func drain() error {
	n := orDefault(*tasks, 10000)
	pool := newPool(n)
	names := userNames(users)
	var done atomic.Int64
	fn := func(ctx context.Context) error {
		timer := time.NewTimer(5 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		done.Add(1)
		return nil
	}
	start := time.Now()
	for i := 0; i < n; i++ {
		submitOrYield(pool, workerpool.Task{UserID: names[i%users], Fn: fn})
	}
	waitFor(func() bool { return done.Load() == int64(n) })
	result("drain", time.Since(start).Seconds(), "s")
	return nil
}

// memory: what 100,000 of something add to the resident set.
func memory() error {
	n := orDefault(*tasks, 100000)
	names := userNames(n)
	warm := newPool(100)
	for i := 0; i < 1000; i++ {
		submitOrYield(warm, workerpool.Task{
			UserID: names[i%users],
			Fn:     func(context.Context) error { return nil },
		})
	}
	warm.Shutdown(context.Background())
	runtime.GC()

	before := memoryNow()
	switch *kind {
	case "queued": // an entry in the channel of the pool
		pool := workerpool.New(
			workerpool.WithWorkers(workers),
			workerpool.WithQueueSize(n),
			workerpool.WithMaxPerUser(2*n),
		)
		block(pool, userNames(workers))
		fn := func(context.Context) error { return nil }
		for i := 0; i < n; i++ {
			submitOrYield(pool, workerpool.Task{UserID: names[i%users], Fn: fn})
		}
	case "suspended": // a task of the pool that waits for a timer or its context
		pool := workerpool.New(
			workerpool.WithWorkers(n),
			workerpool.WithQueueSize(100),
			workerpool.WithMaxPerUser(2),
		)
		var running atomic.Int64
		for i := 0; i < n; i++ {
			submitOrYield(pool, workerpool.Task{UserID: names[i], Fn: func(ctx context.Context) error {
				running.Add(1)
				timer := time.NewTimer(time.Hour)
				defer timer.Stop()
				select {
				case <-timer.C:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}})
		}
		waitFor(func() bool { return running.Load() == int64(n) })
	case "goroutine_queued": // a goroutine that waits for its turn
		slots := make(chan struct{}, workers)
		for i := 0; i < workers; i++ {
			slots <- struct{}{}
		}
		var started atomic.Int64
		for i := 0; i < n; i++ {
			go func() {
				started.Add(1)
				slots <- struct{}{}
			}()
		}
		waitFor(func() bool { return started.Load() == int64(n) })
	case "goroutine_suspended": // a goroutine that sleeps
		var started atomic.Int64
		for i := 0; i < n; i++ {
			go func() {
				started.Add(1)
				time.Sleep(time.Hour)
			}()
		}
		waitFor(func() bool { return started.Load() == int64(n) })
	default:
		return errors.New("memory: --kind queued, suspended, goroutine_queued or goroutine_suspended")
	}
	time.Sleep(50 * time.Millisecond)
	after := memoryNow()
	result("rss", (after.resident-before.resident)/float64(n), "bytes")
	result("in_use", (after.inUse-before.inUse)/float64(n), "bytes")
	return nil
}

type memoryUse struct{ resident, inUse float64 }

// memoryNow reads what the process has resident, and what the runtime says is in use.
func memoryNow() memoryUse {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	contents, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail(err)
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(contents), &size, &resident); err != nil {
		fail(err)
	}
	return memoryUse{
		resident: float64(resident) * float64(os.Getpagesize()),
		inUse:    float64(stats.HeapInuse + stats.StackInuse),
	}
}

func peakResident() float64 {
	contents, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	return parsePeak(string(contents))
}

// latency: from a submission to an idle pool to the start of its task.
func latency() error {
	n := orDefault(*tasks, 3000)
	pool := newPool(*queueSize)
	names := userNames(users)
	samples := make([]time.Duration, 0, n)
	var started atomic.Int64
	var done atomic.Int64
	origin := time.Now()
	fn := func(context.Context) error {
		started.Store(int64(time.Since(origin)))
		done.Add(1)
		return nil
	}
	for i := 0; i < n+n/10; i++ {
		submitted := time.Since(origin)
		if err := pool.Submit(workerpool.Task{UserID: names[i%users], Fn: fn}); err != nil {
			return err
		}
		time.Sleep(300 * time.Microsecond)
		waitFor(func() bool { return done.Load() == int64(i+1) })
		if i >= n/10 {
			samples = append(samples, time.Duration(started.Load())-submitted)
		}
	}
	sort.Slice(samples, func(a, b int) bool { return samples[a] < samples[b] })
	result("latency_p50", float64(percentile(samples, 0.50).Nanoseconds()), "ns")
	result("latency_p99", float64(percentile(samples, 0.99).Nanoseconds()), "ns")
	return nil
}

func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[int(p*float64(len(sorted)-1)+0.5)]
}

// mix: a heavy-tailed mix of task times, as fast as the pool takes them or at a fixed rate.
func mix() error {
	n := orDefault(*tasks, 30000)
	plan := makeMix(n)
	arrivals := makeArrivals(n, *rate)
	pool := newPool(*queueSize)
	names := userNames(users)
	origin := time.Now()
	latencies := make([]time.Duration, n)
	submittedAt := make([]time.Duration, n)
	var done atomic.Int64

	submit := func(i int) {
		item := plan[i]
		submittedAt[i] = time.Since(origin)
		submitOrYield(pool, workerpool.Task{UserID: names[i%users], Fn: func(ctx context.Context) error {
			if item.sleep > 0 {
				timer := time.NewTimer(item.sleep)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
					return ctx.Err()
				}
			} else {
				spin(item.steps)
			}
			latencies[i] = time.Since(origin) - submittedAt[i]
			done.Add(1)
			return nil
		}})
	}
	allocated, start := mallocs(), time.Now()
	switch *kind {
	case "saturated":
		for i := 0; i < n; i++ {
			submit(i)
		}
	case "paced":
		for i := 0; i < n; i++ {
			if wait := arrivals[i] - time.Since(start); wait > 0 {
				time.Sleep(wait)
			}
			submit(i)
		}
	default:
		return errors.New("mix: --kind saturated or paced")
	}
	waitFor(func() bool { return done.Load() == int64(n) })
	elapsed := time.Since(start)
	allocations := mallocs() - allocated
	sort.Slice(latencies, func(a, b int) bool { return latencies[a] < latencies[b] })
	result("rate", float64(n)/elapsed.Seconds(), "tasks/s")
	result("p50", float64(percentile(latencies, 0.50).Nanoseconds())/1e3, "us")
	result("p95", float64(percentile(latencies, 0.95).Nanoseconds())/1e3, "us")
	result("p99", float64(percentile(latencies, 0.99).Nanoseconds())/1e3, "us")
	result("allocations", float64(allocations)/float64(n), "per_task")
	result("peak", peakResident()/(1<<20), "MiB")
	return nil
}

// measureSpin: what a step of spin takes, to see that it is the same in each language.
func measureSpin() error {
	const steps = 100000000
	start := time.Now()
	spin(steps)
	result("step", float64(time.Since(start).Nanoseconds())/steps, "ns")
	return nil
}
