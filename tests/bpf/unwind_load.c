// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of every make, in a program without frame pointers. Usage: unwind_load MODE SECONDS [N]
 *
 *   recurse S N   burns below N frames
 *   chain S N     burns below N frames, 490 at most, each called from a place of its own
 *   alloca S      burns below frames whose size differs from call to call
 *   big S         burns below frames of 20,000 bytes, and of 300
 *   realign S     burns below frames that align their stack
 *   signal S      burns in a signal's handler, and where a signal came and went
 *   altstack S    the same on a stack of its own
 *   vdso S        asks for the time
 *   thread S      burns in a second thread, while the first one waits
 *   libc S        sorts, prints and allocates
 *
 * Prints "ready" when the work begins, below all frames that stay.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BURN_ROUNDS 20000
#define CHAIN_BASE  1000

static volatile uint64_t sink;
static double end_time;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) void burn(void)
{
	for (int i = 0; i < BURN_ROUNDS; i++)
		sink += (uint64_t)i * sink + 1;
}

static void say_ready(void)
{
	static bool is_said;

	if (is_said)
		return;
	is_said = true;
	puts("ready");
	fflush(stdout);
}

static __attribute__((noinline)) void burn_to_the_end(void)
{
	say_ready();
	while (now() < end_time)
		burn();
}

static __attribute__((noinline)) void recurse(long depth, void (*work)(void))
{
	if (depth > 1)
		recurse(depth - 1, work);
	else
		work();
	sink++;
}

/* clang-format off */
#define CALL(n) \
	case 1##n: sink += 1##n; call_chain(depth - 1); sink += 3 * 1##n; break;
#define CALLS_10(n) \
	CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4) \
	CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)
#define CALLS_100(n) \
	CALLS_10(n##0) CALLS_10(n##1) CALLS_10(n##2) CALLS_10(n##3) CALLS_10(n##4) \
	CALLS_10(n##5) CALLS_10(n##6) CALLS_10(n##7) CALLS_10(n##8) CALLS_10(n##9)
#define CALLS_500 CALLS_100(0) CALLS_100(1) CALLS_100(2) CALLS_100(3) CALLS_100(4)
/* clang-format on */

static __attribute__((noinline)) void call_chain(long depth)
{
	switch (depth) {
		CALLS_500
	default:
		burn_to_the_end();
		break;
	}
}

static __attribute__((noinline)) void with_alloca(long depth)
{
	volatile char *bytes = alloca((size_t)(depth * 24 + 17));

	bytes[0] = (char)depth;
	if (depth > 1)
		with_alloca(depth - 1);
	else
		burn();
	sink += (uint64_t)bytes[0];
}

static __attribute__((noinline)) void with_big_frames(long depth)
{
	volatile char bytes[20000];

	bytes[depth] = (char)depth;
	if (depth > 1)
		with_big_frames(depth - 1);
	else
		burn();
	sink += (uint64_t)bytes[depth];
}

static __attribute__((noinline)) void with_small_frames(long depth)
{
	volatile char bytes[300];

	bytes[depth] = (char)depth;
	if (depth > 1)
		with_small_frames(depth - 1);
	else
		with_big_frames(2);
	sink += (uint64_t)bytes[depth];
}

/* Arguments on the stack, which is aligned for the bytes: gcc keeps where it was in another register. */
static __attribute__((noinline)) long with_realigned_frames(long a, long b, long c, long d, long e,
							    long f, long depth)
{
	volatile char bytes[64] __attribute__((aligned(64)));

	bytes[depth] = (char)a;
	if (depth > 1)
		sink += (uint64_t)with_realigned_frames(b, c, d, e, f, a, depth - 1);
	else
		burn();
	sink += (uint64_t)bytes[depth];
	return a + f;
}

static void on_signal(int number)
{
	(void)number;
	recurse(5, burn);
}

static void burn_with_signals(int flags)
{
	const struct itimerval timer = { { 0, 700 }, { 0, 700 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	recurse(10, burn_to_the_end);
}

static void use_altstack(void)
{
	static char bytes[1 << 16] __attribute__((aligned(4096)));
	const stack_t stack = { .ss_sp = bytes, .ss_size = sizeof(bytes) };

	sigaltstack(&stack, NULL);
}

static void *in_thread(void *arg)
{
	(void)arg;
	recurse(3, burn_to_the_end);
	return NULL;
}

static void run_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, in_thread, NULL))
		pthread_join(thread, NULL);
}

static int compare(const void *left, const void *right)
{
	int a = *(const int *)left, b = *(const int *)right;

	return (a > b) - (a < b);
}

static void use_libc(void)
{
	char *text = malloc(4096);
	int *numbers = calloc(1000, sizeof(*numbers));

	for (int i = 0; numbers && i < 1000; i++)
		numbers[i] = (i * 7919) % 1009;
	if (numbers)
		qsort(numbers, 1000, sizeof(*numbers), compare);
	for (int i = 0; text && numbers && i < 100; i++)
		snprintf(text, 4096, "%d %.17g %s", numbers[i], i / 7.0, "text");
	sink += text ? (uint64_t)text[0] : 0;
	free(numbers);
	free(text);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	long cnt = argc > 3 ? atol(argv[3]) : 10;

	end_time = now() + (argc > 2 ? atof(argv[2]) : 0);
	if (!strcmp(mode, "recurse"))
		recurse(cnt, burn_to_the_end);
	else if (!strcmp(mode, "chain"))
		call_chain(CHAIN_BASE + cnt);
	else if (!strcmp(mode, "signal"))
		burn_with_signals(0);
	else if (!strcmp(mode, "altstack")) {
		use_altstack();
		burn_with_signals(SA_ONSTACK);
	} else if (!strcmp(mode, "thread"))
		run_thread();
	say_ready();
	while (now() < end_time) {
		if (!strcmp(mode, "alloca"))
			with_alloca(12);
		else if (!strcmp(mode, "big"))
			with_small_frames(5);
		else if (!strcmp(mode, "realign"))
			sink += (uint64_t)with_realigned_frames(1, 2, 3, 4, 5, 6, 8);
		else if (!strcmp(mode, "libc"))
			use_libc();
		else if (strcmp(mode, "vdso"))
			return 2;
	}
	return 0;
}
