// SPDX-License-Identifier: Apache-2.0
/* The words of jvm_facts.h. */
#include "user/model/jvm_facts.h"

/* ---- where names came from ---- */

const char *jit_source_name(uint32_t jit_source)
{
	switch (jit_source) {
	case JIT_SOURCE_PERFMAP:
		return "perfmap";
	case JIT_SOURCE_ATTACH:
		return "attach";
	case JIT_SOURCE_VMSTRUCTS:
		return "vmstructs";
	default:
		return "";
	}
}

/* ---- asking a JVM ---- */

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

/* ---- flags ---- */

const char *hotspot_flag_origin_name(uint32_t origin)
{
	switch (origin) {
	case HOTSPOT_FLAG_DEFAULT:
		return "";
	case HOTSPOT_FLAG_COMMAND_LINE:
		return "command line";
	case HOTSPOT_FLAG_ENVIRONMENT:
		return "environment";
	case HOTSPOT_FLAG_ERGONOMIC:
		return "JVM";
	default:
		return "other";
	}
}
