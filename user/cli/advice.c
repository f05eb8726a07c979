// SPDX-License-Identifier: Apache-2.0
/*
 * From counters and labels to sentences. Cut stacks say why they are cut, and their windows how the
 * process is walked; a JVM's flag is advised where it alone helps. A consequence of a cause that was
 * named before is not reported again.
 */
#include "user/cli/advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/model/jvm_facts.h"
#include "user/model/unwind_facts.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define WORTH_A_LINE_PERCENT 5.0
#define WORTH_A_LINE_SAMPLES 20 /* a share of fewer is chance */
#define WARM_UP_NS	     (600 * CLOCK_NS_PER_S)
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

/* ---- cut stacks ---- */

/* How the stacks of a stream end, and how they are walked. */
struct walk {
	const struct stream *stream;
	struct unwind_facts facts;
	uint64_t untold; /* cut samples of windows that do not say why */
};

static struct walk walk_of(const struct stream *stream)
{
	struct walk walk = { .stream = stream, .untold = stream->counts.truncated_samples };

	unwind_facts_read(window_label(&stream->latest, WINDOW_LABEL_UNWIND), &walk.facts);
	for (int i = 0; i < STACK_END_CNT; i++) {
		uint64_t samples = stream->counts.ends[i];

		walk.untold -= samples < walk.untold ? samples : walk.untold;
	}
	return walk;
}

static uint64_t ended(const struct walk *walk, enum stack_end end)
{
	return walk->stream->counts.ends[end];
}

/* Stacks that frame pointers lead nowhere; where they are not all that is followed, see find_ends(). */
static uint64_t ended_by_fp(const struct walk *walk)
{
	return ended(walk, STACK_END_BAD_FP) + ended(walk, STACK_END_NO_FP);
}

/*
 * Is it the flag that is missing? It is where the sizes of frames are not to be had or lead
 * nowhere, and for stacks deeper than what is walked by sizes. A leaf that is not proved yet, or a
 * library without rules, is cut with the flag, too; and where jbpfd follows frame pointers alone it
 * need not.
 */
static bool lacks_flag(const struct walk *walk)
{
	const struct stream *stream = walk->stream;
	uint64_t helped =
		walk->untold + ended(walk, STACK_END_JIT) + ended(walk, STACK_END_MAX_RULES);

	if (!stream->latest.is_jvm || stream->latest.preserve_frame_pointer != WINDOW_FLAG_OFF ||
	    walk->facts.by == UNWIND_BY_FP)
		return false;
	if (walk->facts.java == UNWIND_JAVA_UNKNOWN)
		helped += ended_by_fp(walk) + ended(walk, STACK_END_FAULT);
	return info_percent(helped, stream->counts.samples) > WORTH_A_LINE_PERCENT;
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
static void add_flag_line(const struct walk *walk, struct advice *out)
{
	const struct window *window = &walk->stream->latest;
	bool is_deep = ended(walk, STACK_END_MAX_RULES) > walk->untold + ended(walk, STACK_END_JIT);
	const char *effect =
		is_deep ? "its stacks are deeper than what is walked without frame pointers" :
		walk->facts.java == UNWIND_JAVA_SIZES ?
			  "its stacks are cut in compiled code" :
			  "its stacks are cut after the first compiled frame";
	char jvm[NAME_MAX_BYTES + 64];

	name_jvm(window, jvm, sizeof(jvm));
	switch (window->preserve_frame_pointer_origin) {
	case HOTSPOT_FLAG_COMMAND_LINE:
		add_line(out,
			 "%s runs with -XX:-PreserveFramePointer on its command line: %s; replace "
			 "it there by -XX:+PreserveFramePointer and restart it",
			 jvm, effect);
		break;
	case HOTSPOT_FLAG_ENVIRONMENT:
		add_line(out,
			 "%s gets -XX:-PreserveFramePointer from its environment: %s; replace it "
			 "in JAVA_TOOL_OPTIONS by -XX:+PreserveFramePointer and restart it",
			 jvm, effect);
		break;
	default:
		add_line(out,
			 "%s runs without -XX:+PreserveFramePointer: %s; add "
			 "-XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it",
			 jvm, effect);
		break;
	}
}

/* What helps against a file that has no table. */
static const char *remedy_for(enum unwind_why why, const char *file)
{
	switch (why) {
	case UNWIND_WHY_NO_INFORMATION:
		return strstr(file, "musl") ? "use an image with glibc" :
					      "build it with -fasynchronous-unwind-tables, or with "
					      "-fno-omit-frame-pointer";
	case UNWIND_WHY_UNREADABLE:
		return "it is tried again; the log at --log-level debug says what is wrong with it";
	case UNWIND_WHY_SHARE:
		return "run fewer different large programs in one container";
	case UNWIND_WHY_FULL:
		return "run fewer different large programs on this host";
	case UNWIND_WHY_KERNEL:
		return "it is tried again";
	case UNWIND_WHY_UNKNOWN:
	case UNWIND_WHY_LARGE:
	case UNWIND_WHY_DAMAGED:
	case UNWIND_WHY_CNT:
		break;
	}
	return "build it with -fno-omit-frame-pointer";
}

/* The file in which stacks ended so; NULL: it is not known. */
static const char *file_of(const struct walk *walk, enum stack_end end)
{
	for (uint32_t i = 0; i < walk->facts.end_cnt; i++)
		if (walk->facts.ends[i].end == end)
			return walk->facts.ends[i].name;
	/* Before enough ended there to name it: it can be no other. */
	return end == STACK_END_NO_RULE && walk->facts.without_cnt + walk->facts.more_cnt == 1 ?
		       walk->facts.without[0].name :
		       NULL;
}

static void add_no_rule(const struct walk *walk, double percent, struct advice *out)
{
	const char *file = file_of(walk, STACK_END_NO_RULE);
	const enum unwind_why *why = file ? unwind_facts_why(&walk->facts, file) : NULL;

	if (why)
		add_line(out, "%.1f %% of its stacks end in %s, which %s; %s", percent, file,
			 unwind_why_text(*why), remedy_for(*why, file));
	else if (file)
		add_line(out,
			 "%.1f %% of its stacks end in %s, in code that its unwind information "
			 "says nothing of, such as hand-written assembly",
			 percent, file);
	else
		add_line(out,
			 "%.1f %% of its stacks end in code without unwind information; build it "
			 "with -fasynchronous-unwind-tables",
			 percent);
}

static void add_by_fp(const struct walk *walk, double percent, struct advice *out)
{
	const struct window *latest = &walk->stream->latest;

	if (walk->facts.by == UNWIND_BY_FP)
		add_line(out,
			 "%.1f %% of its stacks are cut: its code keeps no frame pointers, and "
			 "jbpfd walks by nothing else; run jbpfd with --unwind auto, or%s where "
			 "jbpfd --check knows no unwind tables",
			 percent,
			 latest->is_jvm && latest->preserve_frame_pointer == WINDOW_FLAG_OFF ?
				 " the JVM with -XX:+PreserveFramePointer" :
				 " build it with -fno-omit-frame-pointer");
	else
		add_line(out,
			 "%.1f %% of its stacks end at a frame pointer that leads nowhere: code "
			 "without unwind tables, such as that of a JIT compiler, uses the register "
			 "for something else; have it keep frame pointers",
			 percent);
}

/* Ends of which there is one thing to say; the others are said elsewhere, or nothing helps. */
static const char *const end_texts[STACK_END_CNT] = {
	[STACK_END_MAX_DEPTH] = "are deeper than --max-depth of jbpfd; raise it",
	[STACK_END_FAULT] = "end where its memory could not be read: paged out, or no stack at all",
	[STACK_END_NO_WALK] =
		"have their interrupted function only: it is a 32-bit program; use a 64-bit one",
	[STACK_END_NO_MAPPING] =
		"end in code that lies in no known file: a library that was just loaded, which "
		"clears in seconds, or code of a JIT compiler, which should keep frame pointers",
	[STACK_END_JIT] =
		"end in compiled code that was thrown away while it ran; it clears when the JVM has "
		"warmed up",
	[STACK_END_UNPROVED_LEAF] =
		"are cut behind a method that was being entered or left, or a stub of the JVM, as its "
		"caller is not proved yet: nothing to do, they become fewer",
	[STACK_END_MAX_RULES] =
		"are deeper than what is walked without frame pointers; build it with "
		"-fno-omit-frame-pointer",
	[STACK_END_LONG_TEXT] =
		"have names that are together longer than the 60 KiB of a stack: their callers "
		"are missing at the root, the rest is right",
};

static void add_unusable(const struct walk *walk, enum stack_end end, double percent,
			 struct advice *out)
{
	const char *file = file_of(walk, end);

	add_line(out, "%.1f %% of its stacks end at unwind information that cannot be used%s%s",
		 percent, file ? ", in " : "", file ? file : "");
}

static void add_end(const struct walk *walk, enum stack_end end, double percent, struct advice *out)
{
	if (end == STACK_END_NO_RULE)
		add_no_rule(walk, percent, out);
	else if (end == STACK_END_UNSUPPORTED || end == STACK_END_BAD_CFA)
		add_unusable(walk, end, percent, out);
	else if (end_texts[end])
		add_line(out, "%.1f %% of its stacks %s", percent, end_texts[end]);
}

/* Of windows that do not say why, when the flag is not the known cause. */
static void find_untold(const struct walk *walk, struct advice *out)
{
	const struct window *latest = &walk->stream->latest;
	double cut;

	if (!is_much(walk->stream, walk->untold, walk->stream->counts.samples, &cut))
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

/* Is it said by the line on the flag already? */
static bool is_of_flag(const struct walk *walk, enum stack_end end)
{
	return end == STACK_END_JIT || end == STACK_END_MAX_RULES ||
	       (walk->facts.java == UNWIND_JAVA_UNKNOWN && end == STACK_END_FAULT);
}

/* Why stacks do not reach their thread's first frame, and what helps. */
static void find_ends(const struct walk *walk, bool lacks, struct advice *out)
{
	const struct stream *stream = walk->stream;
	double percent;

	for (int i = STACK_END_ROOT + 1; i < STACK_END_CNT; i++) {
		enum stack_end end = (enum stack_end)i;

		if (lacks && is_of_flag(walk, end))
			continue;
		if (is_much(stream, ended(walk, end), stream->counts.samples, &percent))
			add_end(walk, end, percent, out);
	}
	if (!(lacks && walk->facts.java == UNWIND_JAVA_UNKNOWN) &&
	    is_much(stream, ended_by_fp(walk), stream->counts.samples, &percent))
		add_by_fp(walk, percent, out);
	if (!lacks)
		find_untold(walk, out);
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
	bool has_container = *window_label(&stream->latest, WINDOW_LABEL_CONTAINER_ID) ||
			     *window_label(&stream->latest, WINDOW_LABEL_CONTAINER);
	const char *account = has_container ? "container" : "cgroup";

	if (*lost)
		add_line(out, "its %s is over its budget: %s", account, lost);
	else if (*cost)
		add_line(out, "its %s is within its budget, but uses much: %s", account, cost);
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
	else if (*why)
		add_line(out, "no names of compiled code: %s", why);
	else if (latest->is_jvm && stream->counts.jit_frames && !*fallback)
		add_line(out, "no names of compiled code yet: jbpfd has not asked this JVM");
	if (*fallback)
		add_line(out, "its own tables do not name its code: %s", fallback);
}

/* A JVM that has run for long and still replaces its code will go on with it. */
static const char *when_code_settles(const struct window *latest)
{
	bool is_old = latest->process_start_ns &&
		      latest->start_boot_ns > latest->process_start_ns &&
		      latest->start_boot_ns - latest->process_start_ns > WARM_UP_NS;

	return is_old ? "it has run for long and still replaces its code: classes that an agent "
			"redefines, or a code cache that is full (-XX:ReservedCodeCacheSize)" :
			"it clears when the JVM has warmed up";
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
			 "are not named; %s",
			 stale, when_code_settles(latest));
	else if (is_much(stream, stream->counts.unknown_jit_frames, stream->counts.jit_frames,
			 &unnamed))
		add_line(out, "%.1f %% of its compiled frames have no name: %s; %s", unnamed,
			 latest->jit_source == JIT_SOURCE_VMSTRUCTS ?
				 "the code was gone before it was read" :
				 "they were compiled after the map was read",
			 when_code_settles(latest));
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
	const struct walk walk = walk_of(stream);
	bool lacks = lacks_flag(&walk);

	out->cnt = 0;
	if (lacks)
		add_flag_line(&walk, out);
	if (latest->jit_source == JIT_SOURCE_NONE)
		find_missing_names(stream, out);
	else
		find_poor_names(stream, out);
	find_stripped_code(stream, out);
	find_over_budget(stream, out);
	find_ends(&walk, lacks, out);
}

/*
 * A program that ran for minutes, such as a compiler's, and was not seen since: there is nothing to restart,
 * and it hardly warmed up.
 */
static bool was_brief(const struct streams *streams, const struct stream *stream)
{
	const struct window *latest = &stream->latest;
	uint64_t silent_ns = streams->last_window_unix_ns > stream->last_unix_ns ?
				     streams->last_window_unix_ns - stream->last_unix_ns :
				     0;

	return latest->process_start_ns && latest->start_boot_ns > latest->process_start_ns &&
	       latest->start_boot_ns - latest->process_start_ns < WARM_UP_NS &&
	       silent_ns > 2 * streams->last_window_ns;
}

int advice_frame_pointers(const struct streams *streams, struct strbuf *out)
{
	const struct stream *busiest = NULL;
	struct advice advice = { .cnt = 0 };
	size_t cnt = 0;

	for (size_t i = 0; i < streams->cnt; i++) {
		const struct stream *stream = &streams->items[i];
		const struct walk walk = walk_of(stream);

		if (!stream->counts.samples || !lacks_flag(&walk) || was_brief(streams, stream))
			continue;
		cnt++;
		if (!busiest || stream->counts.samples > busiest->counts.samples)
			busiest = stream;
	}
	if (!busiest)
		return 0;
	const struct walk walk = walk_of(busiest);

	add_flag_line(&walk, &advice);
	escape_terminal(out, advice.lines[0], strlen(advice.lines[0]));
	if (cnt > 1)
		strbuf_printf(out, " (and %zu more like it; see jbpf status)", cnt - 1);
	return strbuf_error(out);
}

bool advice_warn(const struct streams *streams)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (advice_frame_pointers(streams, &line) || !line.len)
		return false;
	pr_warn("%s\n", strbuf_str(&line));
	return true;
}
