// SPDX-License-Identifier: Apache-2.0
/*
 * From counters and labels to sentences. A cut stack has one most likely cause after the other: the
 * JVM's flag, then native code; a consequence of a cause that was named before is not reported again.
 */
#include "user/cli/advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/model/jvm_facts.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define WORTH_A_LINE_PERCENT 5.0
#define WORTH_A_LINE_SAMPLES 20	 /* a share of fewer is chance */
#define NAME_MAX_BYTES	     128 /* of a container or pod within a line */

static void add_line(struct advice *advice, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_line(struct advice *advice, const char *format, ...)
{
	va_list args;

	if (advice->cnt == ADVICE_LINES_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(advice->lines[advice->cnt], sizeof(advice->lines[0]), format, args);
	va_end(args);
	advice->cnt++;
}

/* Is the share worth a line? Then it is in *percent. */
static bool is_much(const struct stream *stream, uint64_t part, uint64_t whole, double *percent)
{
	*percent = info_percent(part, whole);
	return stream->counts.samples >= WORTH_A_LINE_SAMPLES && *percent > WORTH_A_LINE_PERCENT;
}

/* ---- frame pointers ---- */

static bool lacks_frame_pointers(const struct window *window)
{
	return window->is_jvm && window->preserve_frame_pointer == WINDOW_FLAG_OFF;
}

/* "JVM of pod shop-1 (pid 42)" */
static void name_jvm(const struct window *window, char *out, size_t len)
{
	const char *pod = window_label(window, WINDOW_LABEL_POD);
	const char *container = window_label(window, WINDOW_LABEL_CONTAINER);

	if (*pod)
		(void)snprintf(out, len, "JVM of pod %.*s (pid %" PRIu32 ")", NAME_MAX_BYTES, pod,
			       window->pid);
	else if (*container)
		(void)snprintf(out, len, "JVM of container %.*s (pid %" PRIu32 ")", NAME_MAX_BYTES,
			       container, window->pid);
	else
		(void)snprintf(out, len, "JVM with pid %" PRIu32, window->pid);
}

/* JAVA_TOOL_OPTIONS comes before the command line, which therefore wins. */
static void add_frame_pointer_line(const struct window *window, struct advice *out)
{
	char jvm[NAME_MAX_BYTES + 64];

	name_jvm(window, jvm, sizeof(jvm));
	switch (window->preserve_frame_pointer_origin) {
	case HOTSPOT_FLAG_COMMAND_LINE:
		add_line(out,
			 "%s runs with -XX:-PreserveFramePointer on its command line: its stacks "
			 "are cut after the first compiled frame; replace it there by "
			 "-XX:+PreserveFramePointer and restart it",
			 jvm);
		break;
	case HOTSPOT_FLAG_ENVIRONMENT:
		add_line(out,
			 "%s gets -XX:-PreserveFramePointer from its environment: its stacks are "
			 "cut after the first compiled frame; replace it in JAVA_TOOL_OPTIONS by "
			 "-XX:+PreserveFramePointer and restart it",
			 jvm);
		break;
	default:
		add_line(out,
			 "%s runs without -XX:+PreserveFramePointer: its stacks are cut after the "
			 "first compiled frame; add -XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS "
			 "and restart it",
			 jvm);
		break;
	}
}

/* Stacks that do not reach their thread's first frame, when the flag is not the known cause. */
static void find_cut_stacks(const struct stream *stream, struct advice *out)
{
	const struct window *latest = &stream->latest;
	double cut;

	if (!is_much(stream, stream->counts.truncated_samples, stream->counts.samples, &cut))
		return;
	if (latest->is_jvm && latest->preserve_frame_pointer == WINDOW_FLAG_ON)
		add_line(out,
			 "%.1f %% of its stacks are cut although the JVM keeps frame pointers: a "
			 "native library does not; build it with -fno-omit-frame-pointer",
			 cut);
	else if (latest->is_jvm)
		add_line(out,
			 "%.1f %% of its stacks are cut, and its flags could not be read: if it "
			 "runs without -XX:+PreserveFramePointer, add that to JAVA_TOOL_OPTIONS "
			 "and restart it",
			 cut);
	else
		add_line(out,
			 "%.1f %% of its stacks are cut: code without frame pointers; build "
			 "it with -fno-omit-frame-pointer",
			 cut);
}

/* ---- names ---- */

static bool is_attach_failure(uint32_t outcome)
{
	return outcome != JVM_ATTACH_NONE && outcome != JVM_ATTACH_OK;
}

/* Its container, as a whole, lost samples over its budget, or uses much of that. */
static void find_over_budget(const struct stream *stream, struct advice *out)
{
	const char *lost = window_label(&stream->latest, WINDOW_LABEL_OVER_BUDGET);
	const char *cost = window_label(&stream->latest, WINDOW_LABEL_COST);

	if (*lost)
		add_line(out, "its container is over its budget: %s", lost);
	else if (*cost)
		add_line(out, "its container is within its budget, but uses much: %s", cost);
}

/* Why JIT code has no names at all. */
static void find_missing_names(const struct stream *stream, struct advice *out)
{
	const struct window *latest = &stream->latest;
	const char *why = window_label(latest, WINDOW_LABEL_JIT_PROBLEM);
	const char *fallback = window_label(latest, WINDOW_LABEL_JIT_FALLBACK);

	if (is_attach_failure(latest->attach_outcome))
		add_line(out, "no names of compiled code: %s",
			 jvm_attach_outcome_text((enum jvm_attach_outcome)latest->attach_outcome));
	else if (*why && !lacks_frame_pointers(latest))
		add_line(out, "no names of compiled code: %s", why);
	else if (latest->is_jvm && stream->counts.jit_frames && !*fallback)
		add_line(out, "no names of compiled code yet: jbpfd has not asked this JVM");
	if (*fallback)
		add_line(out, "its own tables do not name its code: %s", fallback);
}

/* Why the names are not as good or as complete as they could be. */
static void find_poor_names(const struct stream *stream, struct advice *out)
{
	const struct window *latest = &stream->latest;
	const char *fallback = window_label(latest, WINDOW_LABEL_JIT_FALLBACK);
	double unnamed, stale;

	if (*fallback && latest->jit_source == JIT_SOURCE_VMSTRUCTS)
		add_line(out, "its own tables name its code, but not all of it: %s", fallback);
	else if (*fallback)
		add_line(out, "a perf map names its code, not its own tables: %s", fallback);
	if (is_much(stream, stream->counts.ambiguous_frames, stream->counts.jit_frames, &stale))
		add_line(out,
			 "%.1f %% of its compiled frames were replaced while they were sampled and "
			 "are not named; it clears when the JVM has warmed up",
			 stale);
	else if (is_much(stream, stream->counts.unknown_jit_frames, stream->counts.jit_frames,
			 &unnamed))
		add_line(out,
			 "%.1f %% of its compiled frames have no name: %s; it clears when the JVM "
			 "has warmed up",
			 unnamed,
			 latest->jit_source == JIT_SOURCE_VMSTRUCTS ?
				 "the code was gone before it was read" :
				 "they were compiled after the map was read");
}

static void find_stripped_code(const struct stream *stream, struct advice *out)
{
	uint64_t jit = stream->counts.unknown_jit_frames, all = stream->counts.unknown_frames;
	double unnamed;

	if (is_much(stream, all > jit ? all - jit : 0, stream->counts.frames, &unnamed))
		add_line(out,
			 "%.1f %% of its frames are in native code without symbols%s; install its "
			 "debug symbols in the image",
			 unnamed, stream->latest.is_jvm ? ", such as a stripped libjvm.so" : "");
}

void advice_find(const struct stream *stream, struct advice *out)
{
	const struct window *latest = &stream->latest;

	out->cnt = 0;
	if (lacks_frame_pointers(latest))
		add_frame_pointer_line(latest, out);
	if (latest->jit_source == JIT_SOURCE_NONE)
		find_missing_names(stream, out);
	else
		find_poor_names(stream, out);
	find_stripped_code(stream, out);
	find_over_budget(stream, out);
	if (!lacks_frame_pointers(latest))
		find_cut_stacks(stream, out);
}

int advice_frame_pointers(const struct streams *streams, struct strbuf *out)
{
	const struct stream *busiest = NULL;
	struct advice advice = { .cnt = 0 };
	size_t cnt = 0;
	int err;

	for (size_t i = 0; i < streams->cnt; i++) {
		const struct stream *stream = &streams->items[i];

		if (!stream->counts.samples || !lacks_frame_pointers(&stream->latest))
			continue;
		cnt++;
		if (!busiest || stream->counts.samples > busiest->counts.samples)
			busiest = stream;
	}
	if (!busiest)
		return 0;
	add_frame_pointer_line(&busiest->latest, &advice);
	err = escape_terminal(out, advice.lines[0], strlen(advice.lines[0]));
	if (!err && cnt > 1)
		err = strbuf_printf(out, " (and %zu more like it; see jbpf status)", cnt - 1);
	return err;
}

bool advice_warn(const struct streams *streams)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (advice_frame_pointers(streams, &line) || !line.len)
		return false;
	pr_warn("%s\n", strbuf_str(&line));
	return true;
}
