/* SPDX-License-Identifier: MIT */
/* Monotonic time in nanoseconds; a deadline is such a time, 0 means none. */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <time.h>

#define SBX_NS_PER_MS 1000000ull
#define SBX_NS_PER_S  1000000000ull

static inline uint64_t sbx_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SBX_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* In so many milliseconds, or in 292 years when that is earlier: then sums do not overflow. */
static inline uint64_t sbx_deadline_ns(uint64_t timeout_ms)
{
	uint64_t now = sbx_now_ns();

	if (timeout_ms == 0)
		return 0;
	return timeout_ms < (INT64_MAX - now) / SBX_NS_PER_MS ? now + timeout_ms * SBX_NS_PER_MS
							      : INT64_MAX;
}

/* The timeout for poll(): whole milliseconds until the deadline, rounded up; -1 for none. */
static inline int sbx_poll_ms(uint64_t deadline_ns)
{
	uint64_t now = sbx_now_ns(), ms;

	if (deadline_ns == 0)
		return -1;
	if (deadline_ns <= now)
		return 0;
	ms = (deadline_ns - now + SBX_NS_PER_MS - 1) / SBX_NS_PER_MS;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* A time of sbx_now_ns() as pthread_cond_timedwait() takes it by the monotonic clock. */
static inline struct timespec sbx_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / SBX_NS_PER_S),
				 .tv_nsec = (long)(ns % SBX_NS_PER_S)};
}
