// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Package workerpool is a bounded goroutine pool: a fixed number of workers behind a buffered
// channel, a cap for each user, a deadline for each task, refusal instead of waiting.
//
// It is the peer that weir is measured against, so it is written as a Go programmer would write
// it, with the standard library, and neither slowed down nor tuned.
package workerpool

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Why a task is refused.
var (
	ErrPoolClosed       = errors.New("workerpool: pool closed")
	ErrUserLimitReached = errors.New("workerpool: user limit reached")
	ErrPoolFull         = errors.New("workerpool: pool full")
)

// Task is a piece of work for one user.
type Task struct {
	ID       string
	UserID   string
	Fn       func(ctx context.Context) error
	Priority int
}

// Metrics are the counters of a pool.
type Metrics struct {
	ActiveWorkers  atomic.Int32
	QueuedTasks    atomic.Int32
	CompletedTasks atomic.Int64
	FailedTasks    atomic.Int64
	SubmittedTasks atomic.Int64
	RejectedTasks  atomic.Int64
}

// Snapshot is a read-only copy of Metrics.
type Snapshot struct {
	ActiveWorkers  int32
	QueuedTasks    int32
	CompletedTasks int64
	FailedTasks    int64
	SubmittedTasks int64
	RejectedTasks  int64
}

// Pool runs tasks on a fixed number of goroutines.
type Pool struct {
	workers     int
	queueSize   int
	maxPerUser  int
	taskTimeout time.Duration
	taskQueue   chan Task
	wg          sync.WaitGroup
	ctx         context.Context
	cancel      context.CancelFunc
	metrics     *Metrics

	mu         sync.Mutex
	userActive map[string]int

	closed atomic.Bool
}

// Option changes a default of New.
type Option func(*Pool)

// WithWorkers sets the number of workers; below 1 it is 1.
func WithWorkers(n int) Option {
	return func(p *Pool) {
		if n < 1 {
			n = 1
		}
		p.workers = n
	}
}

// WithQueueSize sets the capacity of the queue; below 1 it is 1.
func WithQueueSize(n int) Option {
	return func(p *Pool) {
		if n < 1 {
			n = 1
		}
		p.queueSize = n
	}
}

// WithMaxPerUser sets the tasks that one user may have at once; below 1 there is no cap.
func WithMaxPerUser(n int) Option {
	return func(p *Pool) {
		if n < 1 {
			n = 0
		}
		p.maxPerUser = n
	}
}

// New starts a pool.
func New(options ...Option) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{
		workers:     runtime.NumCPU() * 4,
		queueSize:   100,
		maxPerUser:  2,
		taskTimeout: 10 * time.Minute,
		ctx:         ctx,
		cancel:      cancel,
		metrics:     &Metrics{},
		userActive:  make(map[string]int),
	}
	for _, option := range options {
		option(p)
	}
	p.taskQueue = make(chan Task, p.queueSize)
	p.wg.Add(p.workers)
	for i := 0; i < p.workers; i++ {
		go p.worker()
	}
	return p
}

// Submit hands over a task or says at once why not.
func (p *Pool) Submit(task Task) error {
	if p.closed.Load() {
		p.metrics.RejectedTasks.Add(1)
		return ErrPoolClosed
	}
	if !p.reserveUserSlot(task.UserID) {
		p.metrics.RejectedTasks.Add(1)
		return ErrUserLimitReached
	}
	// Counted before the send: a worker may take the task before this goroutine goes on.
	p.metrics.QueuedTasks.Add(1)
	select {
	case p.taskQueue <- task:
		p.metrics.SubmittedTasks.Add(1)
		return nil
	case <-p.ctx.Done():
		p.refuse(task)
		return ErrPoolClosed
	default:
		p.refuse(task)
		return ErrPoolFull
	}
}

// Shutdown refuses new tasks, tells the workers to stop and waits for them until ctx is done. It
// says whether all of them have ended.
func (p *Pool) Shutdown(ctx context.Context) bool {
	if p.closed.Swap(true) {
		return true
	}
	p.cancel()
	ended := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// Metrics returns the counters of this moment.
func (p *Pool) Metrics() Snapshot {
	return Snapshot{
		ActiveWorkers:  p.metrics.ActiveWorkers.Load(),
		QueuedTasks:    p.metrics.QueuedTasks.Load(),
		CompletedTasks: p.metrics.CompletedTasks.Load(),
		FailedTasks:    p.metrics.FailedTasks.Load(),
		SubmittedTasks: p.metrics.SubmittedTasks.Load(),
		RejectedTasks:  p.metrics.RejectedTasks.Load(),
	}
}

func (p *Pool) worker() {
	defer p.wg.Done()
	for {
		select {
		case <-p.ctx.Done():
			return
		case task := <-p.taskQueue:
			p.execute(task)
		}
	}
}

func (p *Pool) execute(task Task) {
	p.metrics.QueuedTasks.Add(-1)
	p.metrics.ActiveWorkers.Add(1)
	defer p.metrics.ActiveWorkers.Add(-1)
	defer p.releaseUserSlot(task.UserID)

	ctx, cancel := context.WithTimeout(p.ctx, p.taskTimeout)
	defer cancel()

	if err := task.Fn(ctx); err != nil {
		p.metrics.FailedTasks.Add(1)
		return
	}
	p.metrics.CompletedTasks.Add(1)
}

func (p *Pool) reserveUserSlot(userID string) bool {
	if p.maxPerUser == 0 {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	active := p.userActive[userID]
	if active >= p.maxPerUser {
		return false
	}
	p.userActive[userID] = active + 1
	return true
}

func (p *Pool) releaseUserSlot(userID string) {
	if p.maxPerUser == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// A user's entry stays in the map at zero. Deleting it would keep the map small and cost
	// more; the pool that this is modelled on only counts down.
	p.userActive[userID]--
}

func (p *Pool) refuse(task Task) {
	p.metrics.QueuedTasks.Add(-1)
	p.metrics.RejectedTasks.Add(1)
	p.releaseUserSlot(task.UserID)
}
