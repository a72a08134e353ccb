// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The heavy-tailed mix: the same numbers come out of the same seed in each language.
const (
	mixSeed      = 20240229
	arrivalSeed  = 7
	timerShare   = 0.005
	shortest     = 1.0    // µs of computation, at least
	longest      = 5000.0 // and at most
	stepsPerUsec = 600
)

type workItem struct {
	steps int           // of computation, or
	sleep time.Duration // a wait
}

// random is SplitMix64.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (r *random) uniform() float64 { return float64(r.next()>>11) * 0x1p-53 }

func makeMix(n int) []workItem {
	r := random(mixSeed)
	items := make([]workItem, n)
	for i := range items {
		isTimer, u := r.uniform() < timerShare, r.uniform()
		if isTimer {
			items[i].sleep = time.Duration((1 + 9*u) * float64(time.Millisecond))
		} else {
			// A Pareto law with exponent 1, bounded, by inversion.
			micros := shortest / (1 - u*(1-shortest/longest))
			items[i].steps = int(micros * stepsPerUsec)
		}
	}
	return items
}

// makeArrivals draws the moments of a Poisson process of so many events per second.
func makeArrivals(n, perSecond int) []time.Duration {
	r := random(arrivalSeed)
	moments := make([]time.Duration, n)
	at := 0.0
	for i := range moments {
		at += -math.Log(1-r.uniform()) / float64(perSecond)
		moments[i] = time.Duration(at * float64(time.Second))
	}
	return moments
}

var sink atomic.Uint64

// spin does a fixed amount of work: each step needs the result of the one before it.
func spin(steps int) {
	x := uint64(steps)
	for i := 0; i < steps; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		sink.Store(x)
	}
}

// parsePeak finds VmHWM in /proc/self/status, in bytes.
func parsePeak(status string) float64 {
	for _, line := range strings.Split(status, "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			fields := strings.Fields(line)
			if kib, err := strconv.ParseFloat(fields[1], 64); err == nil {
				return kib * 1024
			}
		}
	}
	fail(errors.New("no VmHWM in /proc/self/status"))
	return 0
}
