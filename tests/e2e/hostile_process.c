// SPDX-License-Identifier: Apache-2.0
/*
 * What a hostile or broken process may do to who profiles it, each for SECONDS. Prints "READY"
 * once it is at it. Modest with CPU time, so that a test can run many at once.
 *
 *   rename SECONDS           another comm 1000 times a second, with bytes that terminals obey
 *   exec SECONDS PEER        executes PEER in a moment, which executes this one, and so on
 *   threads SECONDS COUNT    so many threads, each with some work now and then
 *   maps SECONDS COUNT DIR   so many files, each mapped executable, another one every time it looks
 *   rewrite SECONDS DIR      maps a program that it damages, shortens and mends all the time
 *   short COUNT              so many children one after the other, each with a little work
 *   bomb SECONDS             forks until it may not any more, each child with work, and again
 *   reuse SECONDS PID FILE...  children of one and the same pid, one FILE after the other
 *   work SECONDS             works in work_of_file_a(), one function, nothing else
 *
 * For `exec` and `reuse`, tests copy this program and replace "work_of_file_a" in the copy by another
 * name of that length: same addresses, other names.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"

static __attribute__((noinline, noclone)) void work_of_file_a(uint64_t cpu_ns)
{
	burn(cpu_ns);
}

/* ---- one process ---- */

static int do_rename(uint64_t end_ns)
{
	static const char *const names[] = { "\x1b[31mred\x07",
					     "a;b 12",
					     "<script>1</scr",
					     "x\n1 2\r",
					     "\xff\xc2\x9b\xe2\x80",
					     "java",
					     " ",
					     "",
					     "#!;\t%s%n" };

	say_ready();
	for (size_t i = 0; now_ns(CLOCK_MONOTONIC) < end_ns; i++) {
		prctl(PR_SET_NAME, names[i % (sizeof(names) / sizeof(names[0]))]);
		work_of_file_a(NS_PER_MS / 10);
		usleep(900);
	}
	return 0;
}

static int do_work(uint64_t end_ns)
{
	say_ready();
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		work_of_file_a(2 * NS_PER_MS);
		usleep(8000);
	}
	return 0;
}

/* The time that is left goes along; only the first one of the chain has not said "READY". */
static int do_exec(uint64_t end_ns, char **argv)
{
	char left[24];

	if (!getenv("HOSTILE_AGAIN"))
		say_ready();
	work_of_file_a(15 * NS_PER_MS);
	usleep(10000);
	if (now_ns(CLOCK_MONOTONIC) >= end_ns)
		return 0;
	setenv("HOSTILE_AGAIN", argv[0], 1);
	snprintf(left, sizeof(left), "@%llu", (unsigned long long)end_ns);
	execl(argv[3], argv[3], "exec", left, argv[0], NULL);
	return 1;
}

/* Not all at once: they are to be many, not busy. */
static void *thread_main(void *end)
{
	uint64_t end_ns = *(const uint64_t *)end;
	unsigned int seed = (unsigned int)syscall(SYS_gettid);

	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		usleep((useconds_t)rand_r(&seed) % 10000000);
		work_of_file_a(NS_PER_MS);
	}
	return NULL;
}

static int do_threads(uint64_t end_ns, unsigned long cnt)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (unsigned long i = 0; i < cnt; i++)
		if (pthread_create(&thread, &small, thread_main, &end_ns))
			return 1;
	say_ready();
	thread_main(&end_ns);
	return 0;
}

/* A file that begins like a program and is none, mapped, with no name any more. */
static void *map_new_file(const char *dir)
{
	static unsigned int number;
	char path[256];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "%s/file-%u.so", dir, number++);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || dprintf(fd, "\177ELF\2\1\1%u", number) < 0)
		exit(1);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	unlink(path);
	close(fd);
	return mapped;
}

static int do_maps(uint64_t end_ns, unsigned long cnt, const char *dir)
{
	for (unsigned long i = 0; i < cnt; i++)
		if (map_new_file(dir) == MAP_FAILED)
			return 1;
	say_ready();
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		void *mapped = map_new_file(dir);

		work_of_file_a(2 * NS_PER_MS);
		usleep(10000);
		munmap(mapped, 4096);
	}
	return 0;
}

/* A whole program at first, as a reader finds it; then never the same for two reads. */
static void rewrite_once(const char *dir, const char *program, size_t len, unsigned int *seed)
{
	char path[256];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "%s/rewritten.so", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || pwrite(fd, program, len, 0) != (ssize_t)len)
		exit(1);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	for (int i = 0; i < 200; i++) {
		/* Headers, which are at both ends, more often than the rest. */
		size_t at = (size_t)rand_r(seed) % (i % 3 == 0 ? len : 4096);
		uint32_t word = (uint32_t)rand_r(seed) * 3u;

		if (i % 3 == 1)
			at = len - 4096 + at;
		if (at > len - sizeof(word))
			at = len - sizeof(word);
		if (pwrite(fd, &word, sizeof(word), (off_t)at) != sizeof(word))
			exit(1);
		if (i % 50 == 49 && (ftruncate(fd, (off_t)(len / 3)) ||
				     pwrite(fd, program, len, 0) != (ssize_t)len))
			exit(1);
		usleep(500);
	}
	munmap(mapped, 4096);
	unlink(path);
	close(fd);
}

static int do_rewrite(uint64_t end_ns, const char *dir)
{
	static char program[1 << 20];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, program, sizeof(program));
	unsigned int seed = 1;

	if (len < 8192)
		return 1;
	say_ready();
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		rewrite_once(dir, program, (size_t)len, &seed);
		work_of_file_a(10 * NS_PER_MS);
	}
	return 0;
}

/* ---- many processes ---- */

static int do_short(unsigned long cnt)
{
	say_ready();
	for (unsigned long i = 0; i < cnt; i++) {
		pid_t child = fork();

		if (child == 0) {
			work_of_file_a(NS_PER_MS / 20);
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	puts("DONE");
	return 0;
}

static void bomb_child(uint64_t end_ns)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
		work_of_file_a(NS_PER_MS / 10);
		usleep(1000000);
	}
	_exit(0);
}

static int do_bomb(uint64_t end_ns)
{
	unsigned int made = 0;

	for (;;) {
		pid_t child = fork();

		if (child == 0)
			bomb_child(end_ns);
		if (child < 0)
			break;
		made++;
	}
	printf("FULL %u %d\n", made, errno == EAGAIN);
	say_ready();
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		if (fork() == 0)
			bomb_child(end_ns);
		work_of_file_a(NS_PER_MS / 10);
		usleep(2000);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = (uintptr_t)&pid,
				   .set_tid_size = 1 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int do_reuse(uint64_t end_ns, pid_t pid, char **files)
{
	unsigned long turns = 0;

	say_ready();
	for (char **file = files; now_ns(CLOCK_MONOTONIC) < end_ns;
	     file = file[1] ? file + 1 : files) {
		char until[24];
		pid_t child = fork_as(pid);

		if (child == 0) {
			int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

			dup2(null_fd, STDOUT_FILENO);
			snprintf(until, sizeof(until), "@%llu",
				 (unsigned long long)(now_ns(CLOCK_MONOTONIC) + 120 * NS_PER_MS));
			execl(*file, *file, "work", until, NULL);
			_exit(1);
		}
		/* Somebody else may have the pid for a moment. */
		if (child < 0 && errno != EEXIST)
			return 1;
		if (child < 0)
			usleep(10000);
		else if (waitpid(child, NULL, 0) != child)
			return 1;
		else
			turns++;
	}
	printf("TURNS %lu\n", turns);
	return 0;
}

/* "SECONDS" from now, or "@END" of the monotonic clock. */
static uint64_t end_of(const char *text)
{
	if (*text == '@')
		return strtoull(text + 1, NULL, 10);
	return now_ns(CLOCK_MONOTONIC) + strtoull(text, NULL, 10) * NS_PER_S;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	uint64_t end_ns = argc > 2 ? end_of(argv[2]) : 0;

	if (strcmp(what, "rename") == 0)
		return do_rename(end_ns);
	if (strcmp(what, "work") == 0)
		return do_work(end_ns);
	if (strcmp(what, "exec") == 0 && argc > 3)
		return do_exec(end_ns, argv);
	if (strcmp(what, "threads") == 0 && argc > 3)
		return do_threads(end_ns, strtoul(argv[3], NULL, 10));
	if (strcmp(what, "maps") == 0 && argc > 4)
		return do_maps(end_ns, strtoul(argv[3], NULL, 10), argv[4]);
	if (strcmp(what, "rewrite") == 0 && argc > 3)
		return do_rewrite(end_ns, argv[3]);
	if (strcmp(what, "short") == 0)
		return do_short(strtoul(argv[2], NULL, 10));
	if (strcmp(what, "bomb") == 0)
		return do_bomb(end_ns);
	if (strcmp(what, "reuse") == 0 && argc > 4)
		return do_reuse(end_ns, (pid_t)strtoul(argv[3], NULL, 10), argv + 4);
	return 2;
}
