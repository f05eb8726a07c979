// SPDX-License-Identifier: Apache-2.0
/*
 * What outcomes are called, and when a JVM may be asked again. While a JVM writes its map it holds
 * CodeCache_lock, which every safepoint may have to wait for (CodeCache::write_perf_map(), codeCache.cpp): hence the budget.
 */
#include "user/collect/jvm_attach.h"

#include "user/util/clock.h"

#define COST_FACTOR	    1000ull /* 0.1 % of the time */
#define FAILURE_MAX_WAIT_NS (3600ull * CLOCK_NS_PER_S)

struct outcome_text {
	const char *name;
	const char *text;
};

static const struct outcome_text outcome_texts[JVM_ATTACH_OUTCOME_CNT] = {
	[JVM_ATTACH_NONE] = { "none", "not asked yet" },
	[JVM_ATTACH_OK] = { "ok", "wrote its perf map when asked" },
	[JVM_ATTACH_NOT_HOTSPOT] = { "not-hotspot",
				     "not a HotSpot JVM that is understood: let the runtime write "
				     "/tmp/perf-PID.map itself" },
	[JVM_ATTACH_TOO_YOUNG] = { "too-young", "still starting: asked again later" },
	[JVM_ATTACH_NOT_RUNNING] = { "not-running", "stopped or frozen: asked again when it runs" },
	[JVM_ATTACH_DISABLED] = { "disabled",
				  "started with -XX:+DisableAttachMechanism: remove that flag" },
	[JVM_ATTACH_NO_SIGNAL] = { "no-signal",
				   "SIGQUIT does not reach its attach listener (-Xrs?): start it "
				   "with -XX:+StartAttachListener or without -Xrs" },
	[JVM_ATTACH_NO_THREAD_ROOM] = { "no-thread-room",
					"too near to its limit of threads, attaching could kill it: "
					"raise pids.max or the limit of processes (ulimit -u)" },
	[JVM_ATTACH_TMP_NOT_WRITABLE] = { "tmp-not-writable",
					  "may not write to /tmp in its container: mount a tmpfs or "
					  "an emptyDir there" },
	[JVM_ATTACH_TMP_HOSTILE] = { "tmp-hostile",
				     "something else has the name of its socket or perf map in "
				     "the container's /tmp: remove it" },
	[JVM_ATTACH_WRONG_PEER] = { "wrong-peer",
				    "another JVM answered: containers that share a /tmp need one "
				    "each" },
	[JVM_ATTACH_TIMEOUT] = { "timeout", "did not answer in time: asked again later" },
	[JVM_ATTACH_UNSUPPORTED] = { "unsupported",
				     "this JDK cannot write perf maps: use JDK 17 or later" },
	[JVM_ATTACH_REFUSED] = { "refused",
				 "closed the connection without an answer: asked again later" },
	[JVM_ATTACH_NO_MAP] = { "no-map",
				"said that it wrote its perf map, but there is no whole file: is "
				"the container's /tmp full?" },
	[JVM_ATTACH_GONE] = { "gone", "ended meanwhile" },
	[JVM_ATTACH_ERROR] = { "error", "jbpfd could not look or attach: run it as root with the "
					"capabilities of its systemd unit" },
};

static const struct outcome_text *outcome_find(enum jvm_attach_outcome outcome)
{
	static const struct outcome_text unknown = { "unknown", "unknown outcome" };

	return (unsigned int)outcome < JVM_ATTACH_OUTCOME_CNT ? &outcome_texts[outcome] : &unknown;
}

const char *jvm_attach_outcome_text(enum jvm_attach_outcome outcome)
{
	return outcome_find(outcome)->text;
}

const char *jvm_attach_outcome_name(enum jvm_attach_outcome outcome)
{
	return outcome_find(outcome)->name;
}

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
	case JVM_ATTACH_TOO_YOUNG:
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
