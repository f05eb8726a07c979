// SPDX-License-Identifier: Apache-2.0
/* See waiting_place.h. */
#include "user/model/waiting_place.h"

#include <string.h>

#include "user/model/stack_text.h"

/* Loops of HotSpot's own threads. JavaThread and VMThread::execute are of programs that wait for something. */
#define HOTSPOT_THREADS "*(Thread|GangWorker|Sweeper|TaskDispatcher|Sampler|Driver|Director)::"
#define HOTSPOT_LOOPS                                             \
	HOTSPOT_THREADS "(run|run_service|loop) " HOTSPOT_THREADS \
			"*(_loop|_entry) " HOTSPOT_THREADS "*(sleep|wait_for_)*"
#define HOTSPOT_WAIT                                                               \
	"(Monitor|MonitorLocker|Mutex)::wait* (Semaphore|PosixSemaphore)::*wait* " \
	"os::Platform(Monitor::wait|Event::park)*"

const struct waiting_rule waiting_rules[] = {
	{ WAITING_POOL, "java.util.concurrent.ThreadPoolExecutor.getTask", NULL, NULL },
	{ WAITING_POOL, "java.util.concurrent.ForkJoinPool.(awaitWork|idleAwaitWork)", NULL, NULL },
	{ WAITING_POOL, "java.util.TimerThread.mainLoop", NULL,
	  "java.lang.Object.wait java.lang.Object.wait0" },
	{ WAITING_POOL, "io.netty.util.concurrent.SingleThreadEventExecutor.takeTask", NULL, NULL },
	{ WAITING_POOL, "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll", NULL, NULL },
	{ WAITING_POOL, "org.apache.tomcat.util.threads.TaskQueue.(take|poll)", NULL, NULL },
	{ WAITING_SELECTOR, "sun.nio.ch.EPoll.wait sun.nio.ch.EPollArrayWrapper.epollWait", NULL,
	  NULL },
	{ WAITING_SELECTOR, "io.netty.channel.epoll.Native.(epollWait|epollWait0)", NULL, NULL },
	{ WAITING_SELECTOR,
	  "sun.nio.ch.(NioSocketImpl|ServerSocketChannelImpl).(accept|implAccept|timedAccept)",
	  NULL, NULL },
	{ WAITING_SELECTOR,
	  "java.net.(PlainSocketImpl|AbstractPlainSocketImpl).(socketAccept|accept)", NULL, NULL },
	{ WAITING_REFERENCE, "java.lang.ref.Reference.waitForReferencePendingList", NULL, NULL },
	{ WAITING_REFERENCE, "java.lang.ref.Reference($ReferenceHandler.run|.tryHandlePending)",
	  NULL, "java.lang.Object.wait java.lang.Object.wait0" },
	{ WAITING_REFERENCE,
	  "java.lang.ref.Finalizer$FinalizerThread.run java.lang.ref.*Cleaner*.run "
	  "jdk.internal.ref.CleanerImpl.run",
	  NULL, "java.lang.ref.ReferenceQueue.(remove|remove0)" },
	{ WAITING_JVM, "CompileQueue::get os::signal_wait", NULL, NULL },
	/* The functions between may be inlined. */
	{ WAITING_JVM, "signal_thread_entry Threads::destroy_vm", NULL, HOTSPOT_WAIT },
	{ WAITING_JVM, HOTSPOT_LOOPS, "JavaThread*", HOTSPOT_WAIT },
	/* The thread that began a JVM waits for its main(). */
	{ WAITING_JVM, "CallJavaMainInNewThread ContinueInNewThread ContinueInNewThread0", NULL,
	  "*pthread_(join|clockjoin)*" },
	{ WAITING_PLACE_CNT, NULL, NULL, NULL },
};

const char *waiting_place_name(enum waiting_place place)
{
	static const char *const names[WAITING_PLACE_CNT] = {
		[WAITING_POOL] = "pool queues",
		[WAITING_SELECTOR] = "selectors and acceptors",
		[WAITING_REFERENCE] = "reference and cleaner threads",
		[WAITING_JVM] = "threads of the JVM",
		[WAITING_IDLE] = "idle threads",
	};

	return place < WAITING_PLACE_CNT ? names[place] : "";
}

/* A name and a pattern that are being compared, from `at` on. */
static bool is_like(const char *pattern, const char *at, const char *end);

/* One of (a|b) and what follows; `pattern` is behind the bracket. */
static bool is_like_one(const char *pattern, const char *at, const char *end)
{
	const char *rest = strchr(pattern, ')') + 1;

	while (pattern < rest) {
		size_t len = strcspn(pattern, "|)");

		if ((size_t)(end - at) >= len && memcmp(pattern, at, len) == 0 &&
		    is_like(rest, at + len, end))
			return true;
		pattern += len + 1;
	}
	return false;
}

/*
 * Any text, and then one of (a|b) before what stands behind the bracket, which is looked for first: most names of
 * most stacks do not have it. `pattern` is behind the bracket's begin.
 */
static bool ends_like_one(const char *pattern, const char *at, const char *end)
{
	const char *rest = strchr(pattern, ')') + 1;
	size_t rest_len = strcspn(rest, "*( ");
	const char *found = at;

	while ((found = memmem(found, (size_t)(end - found), rest, rest_len))) {
		for (const char *one = pattern; one < rest;) {
			size_t len = strcspn(one, "|)");

			if ((size_t)(found - at) >= len && memcmp(found - len, one, len) == 0 &&
			    is_like(rest, found, end))
				return true;
			one += len + 1;
		}
		if (found++ == end)
			break;
	}
	return false;
}

static bool is_like(const char *pattern, const char *at, const char *end)
{
	for (; *pattern && *pattern != ' '; pattern++, at++) {
		if (*pattern == '(')
			return is_like_one(pattern + 1, at, end);
		if (*pattern == '*' && pattern[1] == '(')
			return ends_like_one(pattern + 2, at, end);
		if (*pattern == '*') {
			for (; at <= end; at++)
				if (is_like(pattern + 1, at, end))
					return true;
			return false;
		}
		if (at == end || *at != *pattern)
			return false;
	}
	return at == end;
}

bool waiting_is_like(const char *pattern, const char *name, size_t len)
{
	while (pattern) {
		if (is_like(pattern, name, name + len))
			return true;
		pattern = strchr(pattern, ' ');
		pattern = pattern ? pattern + 1 : NULL;
	}
	return false;
}

static bool is_frame_like(const char *pattern, const struct stack_frame *frame)
{
	return waiting_is_like(pattern, frame->name,
			       stack_text_method_len(frame->name, frame->name_len));
}

/* `rest` is the stack below the frame. */
static bool is_of_rule(const struct waiting_rule *rule, const struct stack_frame *frame,
		       const char *rest, size_t rest_len)
{
	struct stack_frame callee;

	if (!is_frame_like(rule->frame, frame) ||
	    (rule->except && is_frame_like(rule->except, frame)))
		return false;
	return !rule->callee ||
	       (stack_text_next(&rest, &rest_len, &callee) && is_frame_like(rule->callee, &callee));
}

bool waiting_is_idle(const char *stack, size_t len)
{
	const size_t idle_len = sizeof(STACK_LINE_IDLE) - 1;
	const char *root_end = memchr(stack, ';', len);
	size_t left;

	if (!root_end)
		return false;
	left = len - (size_t)(root_end + 1 - stack);
	return left >= idle_len && memcmp(root_end + 1, STACK_LINE_IDLE, idle_len) == 0 &&
	       (left == idle_len || root_end[1 + idle_len] == ';');
}

enum waiting_place waiting_place_of(const char *stack, size_t len)
{
	struct stack_frame frame;

	if (waiting_is_idle(stack, len))
		return WAITING_IDLE;
	while (stack_text_next(&stack, &len, &frame)) {
		for (const struct waiting_rule *rule = waiting_rules; rule->frame; rule++) {
			if (is_of_rule(rule, &frame, stack, len))
				return rule->place;
		}
	}
	return WAITING_PLACE_CNT;
}
