// SPDX-License-Identifier: Apache-2.0
/*
 * Work with a known profile, for the tests and benches of the BPF side. Usage: load MODE SECONDS|lines [N]
 *
 *   recurse S N   burns CPU below N frames of one function, all with frame pointers
 *   syscalls S    spends most of its time inside system calls
 *   rename S      burns, and renames itself to "renamed" half-way
 *   renames S     gives itself one name after the other, as fast as it can
 *   rename-storm S N   N children of its own do so; their parent waits
 *   exec S        burns, then executes itself in mode "recurse S 1"
 *   threads S N   N threads named "worker" burn and end together, while the first one waits
 *   many S N      burns below N frames whose return addresses differ from round to round
 *   cpu S         burns until it has used S seconds of CPU time
 *   cpu-exec S    the same, then executes itself in mode "cpu S" with JBPF_PROFILE of its environment
 *                 taken out, or put in as "off" where there was none
 *   pulse S N     burns for the first N ms of each half second of wall time, and sleeps for the rest
 *   pulse-told S N   the same, and prints when it woke and went to sleep: ns of CLOCK_BOOTTIME
 *
 * "lines" instead of seconds: each part of the work (before and behind a new name, a new program)
 * goes on until there is a line on stdin, or its end, which ends all that follow, too.
 *
 * Prints "ready" when the work begins, below the N frames of "recurse".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURN_ROUNDS 20000
#define MANY_BITS   10

static volatile uint64_t sink;

static double time_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double now(void)
{
	return time_of(CLOCK_MONOTONIC);
}

static bool has_line(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte = 0;

	while (byte != '\n' && poll(&input, 1, 0) > 0) {
		if (read(STDIN_FILENO, &byte, 1) <= 0)
			return true;
	}
	return byte == '\n';
}

/* `end` as now() has it; infinite: that of a line. */
static bool is_over(double end)
{
	return isinf(end) ? has_line() : now() >= end;
}

static __attribute__((noinline)) void burn(void)
{
	for (int i = 0; i < BURN_ROUNDS; i++)
		sink += (uint64_t)i * sink + 1;
}

static __attribute__((noinline)) void burn_until(double end)
{
	while (!is_over(end))
		burn();
	sink++;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static __attribute__((noinline)) void recurse(long depth, double end)
{
	if (depth > 1) {
		recurse(depth - 1, end);
	} else {
		say_ready();
		burn_until(end);
	}
	sink++;
}

static __attribute__((noinline)) void syscalls_until(double end)
{
	char bytes[65536];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (!is_over(end)) {
		for (int i = 0; i < 100; i++)
			sink += (uint64_t)read(fd, bytes, sizeof(bytes));
	}
	close(fd);
}

/* The bits of `path` choose one of two call sites at each frame. */
static __attribute__((noinline)) void many(long depth, unsigned int path)
{
	if (depth <= 1)
		burn();
	else if (path & 1)
		many(depth - 1, path >> 1 | (path & 1) << (MANY_BITS - 1));
	else
		many(depth - 1, path >> 1);
	sink++;
}

static uint64_t boot_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pulse_until(double end, long on_ms, bool is_told)
{
	uint64_t woke_ns = boot_ns();

	while (!is_over(end)) {
		double wall = time_of(CLOCK_REALTIME);
		double in_half_second = wall - (double)(uint64_t)(wall * 2) / 2;

		if (in_half_second < (double)on_ms / 1000) {
			burn();
			continue;
		}
		if (is_told) {
			printf("%" PRIu64 " %" PRIu64 "\n", woke_ns, boot_ns());
			fflush(stdout);
		}
		usleep((useconds_t)((0.5 - in_half_second) * 1e6) + 1);
		woke_ns = boot_ns();
	}
}

static void burn_cpu(double seconds)
{
	double end = time_of(CLOCK_PROCESS_CPUTIME_ID) + seconds;

	while (isinf(end) ? !has_line() : time_of(CLOCK_PROCESS_CPUTIME_ID) < end)
		burn();
}

static void exec_turned(char *seconds)
{
	if (getenv("JBPF_PROFILE"))
		unsetenv("JBPF_PROFILE");
	else
		setenv("JBPF_PROFILE", "off", 1);
	execl("/proc/self/exe", "load", "cpu", seconds, (char *)NULL);
}

static void renames_until(double end)
{
	char name[16];

	for (unsigned int i = 0; !is_over(end); i++) {
		snprintf(name, sizeof(name), "name%u", i);
		prctl(PR_SET_NAME, name);
	}
}

static int rename_storm(double end, long cnt)
{
	for (long i = 0; i < cnt; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			renames_until(end);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static void *worker(void *end)
{
	prctl(PR_SET_NAME, "worker");
	burn_until(*(double *)end);
	return NULL;
}

static int threads_until(double end, long cnt)
{
	pthread_t thread;

	for (long i = 0; i < cnt; i++) {
		if (pthread_create(&thread, NULL, worker, &end))
			return 1;
	}
	while (!is_over(end + 0.2))
		usleep(20000);
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc <= 2 ? 0 : strcmp(argv[2], "lines") == 0 ? INFINITY : atof(argv[2]);
	long depth = argc > 3 ? atol(argv[3]) : 1;
	double end = now() + seconds;

	if (argc < 3 || seconds <= 0) {
		fprintf(stderr, "usage: load MODE SECONDS|lines [N]\n");
		return 2;
	}
	if (strcmp(argv[1], "recurse") != 0)
		say_ready();
	if (strcmp(argv[1], "recurse") == 0) {
		recurse(depth, end);
	} else if (strcmp(argv[1], "syscalls") == 0) {
		syscalls_until(end);
	} else if (strcmp(argv[1], "pulse") == 0 || strcmp(argv[1], "pulse-told") == 0) {
		pulse_until(end, depth, argv[1][strlen("pulse")]);
	} else if (strcmp(argv[1], "cpu") == 0) {
		burn_cpu(seconds);
	} else if (strcmp(argv[1], "cpu-exec") == 0) {
		burn_cpu(seconds);
		exec_turned(argv[2]);
		return 1;
	} else if (strcmp(argv[1], "rename") == 0) {
		burn_until(isinf(end) ? end : end - seconds / 2);
		prctl(PR_SET_NAME, "renamed");
		burn_until(end);
	} else if (strcmp(argv[1], "renames") == 0) {
		renames_until(end);
	} else if (strcmp(argv[1], "rename-storm") == 0) {
		return rename_storm(end, depth);
	} else if (strcmp(argv[1], "exec") == 0) {
		burn_until(end);
		execl("/proc/self/exe", "load", "recurse", argv[2], "1", (char *)NULL);
		return 1;
	} else if (strcmp(argv[1], "threads") == 0) {
		return threads_until(end, depth);
	} else if (strcmp(argv[1], "many") == 0) {
		for (unsigned int path = 0; !is_over(end); path++)
			many(depth, path & ((1u << MANY_BITS) - 1));
	} else {
		return 2;
	}
	return 0;
}
