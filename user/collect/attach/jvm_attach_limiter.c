// SPDX-License-Identifier: Apache-2.0
/*
 * When a JVM may be asked again. While a JVM writes its map it holds
 * CodeCache_lock, which every safepoint may have to wait for (CodeCache::write_perf_map(), codeCache.cpp): hence the budget.
 */
#include "user/collect/attach/jvm_attach.h"

#include "user/util/clock.h"

#define COST_FACTOR	    1000ull /* 0.1 % of the time */
#define FAILURE_MAX_WAIT_NS (3600ull * CLOCK_NS_PER_S)

bool jvm_attach_limiter_may(const struct jvm_attach_limiter *limiter, uint64_t now_boot_ns,
			    uint64_t min_interval_ns)
{
	uint64_t cost_ns = limiter->last_command_ms * CLOCK_NS_PER_MS * COST_FACTOR;
	uint64_t wait_ns = min_interval_ns;

	if (limiter->never_again)
		return false;
	if (limiter->last_boot_ns == 0)
		return true;
	for (uint32_t i = 0; i < limiter->failure_cnt && wait_ns < FAILURE_MAX_WAIT_NS; i++)
		wait_ns *= 2;
	if (limiter->failure_cnt && wait_ns > FAILURE_MAX_WAIT_NS)
		wait_ns = FAILURE_MAX_WAIT_NS;
	if (wait_ns < min_interval_ns)
		wait_ns = min_interval_ns;
	if (wait_ns < cost_ns)
		wait_ns = cost_ns;
	return now_boot_ns >= limiter->last_boot_ns &&
	       now_boot_ns - limiter->last_boot_ns >= wait_ns;
}

void jvm_attach_limiter_note(struct jvm_attach_limiter *limiter, uint64_t now_boot_ns,
			     const struct jvm_attach_result *result)
{
	limiter->last_boot_ns = now_boot_ns;
	switch (result->outcome) {
	case JVM_ATTACH_NOT_RUNNING:
		return; /* passes by itself: no failure, nothing was done to the JVM */
	case JVM_ATTACH_NOT_HOTSPOT:
	case JVM_ATTACH_DISABLED:
	case JVM_ATTACH_UNSUPPORTED:
	case JVM_ATTACH_GONE:
		limiter->never_again = true;
		break;
	default:
		break;
	}
	limiter->request_cnt++;
	limiter->total_command_ms += result->command_ms;
	limiter->last_command_ms = result->command_ms;
	limiter->failure_cnt = result->outcome == JVM_ATTACH_OK ? 0 : limiter->failure_cnt + 1;
}
