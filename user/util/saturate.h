/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smaller of two numbers, and counts that stop at the largest number instead of starting at 0 again. In: any
 * numbers; out: the result, or the largest one. Nothing fails.
 */
#ifndef JBPF_UTIL_SATURATE_H
#define JBPF_UTIL_SATURATE_H

#include <stdint.h>

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint32_t add_saturated_u32(uint32_t a, uint64_t b)
{
	uint32_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT32_MAX : sum;
}

static inline uint64_t multiply_saturated(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
