// SPDX-License-Identifier: Apache-2.0
/*
 * A plain C program whose threads wait in functions of known names, for as long as it says itself in
 * the end: "TRUTH function nanoseconds", by what the kernel says of the thread (schedstat). They print
 * nothing themselves: each would wait for the lock of stdout as long as another holds it.
 * Usage: known_waits SECONDS
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
#define WORK_NS	 100000

static uint64_t end_ns; /* CLOCK_MONOTONIC */
static int ping[2], pong[2];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Ran, and waited for a CPU, so far. */
static uint64_t busy_ns(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long run = 0, delay = 0;

	if (!file || fscanf(file, "%llu %llu", &run, &delay) != 2)
		abort();
	fclose(file);
	return run + delay;
}

static __attribute__((noinline)) void sleep_short(void)
{
	const struct timespec moment = { .tv_nsec = 300000 };

	(void)nanosleep(&moment, NULL);
}

static __attribute__((noinline)) void sleep_long(void)
{
	const struct timespec moment = { .tv_nsec = 25000000 };

	(void)nanosleep(&moment, NULL);
}

/*
 * The other one waits for long enough that it does not matter what a switch takes: the kernel and
 * jbpf read the clock at different places of it, a tenth of a microsecond apart.
 */
static void work(void)
{
	uint64_t begin_ns = now_ns();

	while (now_ns() - begin_ns < WORK_NS)
		;
}

static void hand_over(int from, int to)
{
	char byte = 0;

	work();
	if (write(to, &byte, 1) != 1 || read(from, &byte, 1) < 0)
		abort();
}

static __attribute__((noinline)) void play_ping(void)
{
	hand_over(pong[0], ping[1]);
}

static __attribute__((noinline)) void play_pong(void)
{
	hand_over(ping[0], pong[1]);
}

/* Leaves the CPU to another thread, but never waits. */
static __attribute__((noinline)) void only_yield(void)
{
	(void)sched_yield();
}

static struct part {
	const char *name;
	void (*function)(void);
	uint64_t waited_ns; /* written by its thread */
} parts[] = {
	{ "sleep_short", sleep_short, 0 }, { "sleep_long", sleep_long, 0 },
	{ "play_ping", play_ping, 0 },	   { "play_pong", play_pong, 0 },
	{ "only_yield", only_yield, 0 },   { "only_yield", only_yield, 0 },
};
#define PART_CNT (sizeof(parts) / sizeof(parts[0]))

static void *thread_main(void *arg)
{
	struct part *part = arg;
	uint64_t begin_ns = now_ns(), begin_busy_ns = busy_ns(), all_ns, was_busy_ns;

	(void)prctl(PR_SET_NAME, part->name);
	while (now_ns() < end_ns)
		part->function();
	all_ns = now_ns() - begin_ns;
	was_busy_ns = busy_ns() - begin_busy_ns;
	part->waited_ns = all_ns > was_busy_ns ? all_ns - was_busy_ns : 0;
	/* The other one of a pair goes on. */
	(void)!write(part->function == play_ping ? ping[1] : pong[1], "", 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[PART_CNT];

	if (argc != 2 || pipe(ping) || pipe(pong))
		return 1;
	end_ns = now_ns() + (uint64_t)atoi(argv[1]) * NS_PER_S;
	for (size_t i = 0; i < PART_CNT; i++)
		if (pthread_create(&threads[i], NULL, thread_main, &parts[i]))
			return 1;
	for (size_t i = 0; i < PART_CNT; i++) {
		(void)pthread_join(threads[i], NULL);
		printf("TRUTH %s %llu\n", parts[i].name, (unsigned long long)parts[i].waited_ns);
	}
	return 0;
}
