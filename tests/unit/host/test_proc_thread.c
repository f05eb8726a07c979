// SPDX-License-Identifier: Apache-2.0
/* A process whose first thread has ended while another runs: a real one, since only the kernel makes such. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "user/files/mapped_file.h"
#include "user/host/proc_thread.h"
#include "user/host/remote_mem.h"
#include "user/util/cleanup.h"

#define WORD UINT64_C(0x1122334455667788)

static const uint64_t word = WORD;
static int proc_fd;

static void *stay(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* A child that is asleep in a thread; its first one has ended, if that is so. */
static pid_t child_begin(bool first_ends)
{
	pid_t pid = fork();
	pthread_t thread;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (pthread_create(&thread, NULL, stay, NULL))
			_exit(1);
		if (first_ends)
			syscall(SYS_exit, 0); /* of this thread alone */
		stay(NULL);
	}
	while (first_ends && !proc_first_thread_has_ended(proc_fd, (uint32_t)pid))
		usleep(1000);
	return pid;
}

static void child_end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int proc_open(void **state)
{
	(void)state;
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY);
	return proc_fd < 0;
}

static const struct procmap *map_of_ours(const struct procmaps *maps)
{
	return procmaps_find(maps, (uint64_t)(uintptr_t)proc_open);
}

static void mappings_are_those_of_a_thread_that_is_left(void **state)
{
	pid_t pid = child_begin(true);
	struct procmaps maps = { 0 }, ours = { 0 };

	(void)state;
	assert_int_equal(proc_read_maps(proc_fd, (uint32_t)pid, &maps), 0);
	assert_int_equal(proc_read_maps(proc_fd, (uint32_t)getpid(), &ours), 0);
	assert_true(maps.cnt > 1);
	assert_non_null(map_of_ours(&maps));
	assert_string_equal(procmaps_path(&maps, map_of_ours(&maps)),
			    procmaps_path(&ours, map_of_ours(&ours)));
	procmaps_release(&maps);
	procmaps_release(&ours);
	child_end(pid);
}

static void memory_is_read_by_a_thread_that_is_left(void **state)
{
	pid_t pid = child_begin(true);
	struct remote_mem ways[] = { remote_mem_of_process(proc_fd, (uint32_t)pid),
				     remote_mem_of_file(proc_fd, (uint32_t)pid),
				     remote_mem_of_file(proc_fd, (uint32_t)pid) };

	(void)state;
	remote_mem_hold(&ways[2]);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		uint64_t read = 0, again = 0;
		struct remote_piece piece = { .address = (uint64_t)(uintptr_t)&word,
					      .out = &again,
					      .len = sizeof(again) };

		assert_int_equal(remote_mem_read(&ways[i], piece.address, &read, sizeof(read)), 0);
		assert_true(read == WORD);
		assert_int_equal(remote_mem_read_pieces(&ways[i], &piece, 1), 0);
		assert_int_equal(piece.err, 0);
		assert_true(again == WORD);
	}
	remote_mem_release(&ways[2]);
	child_end(pid);
}

static void root_and_mapped_files_are_opened_by_a_thread_that_is_left(void **state)
{
	pid_t pid = child_begin(true);
	struct procmaps maps = { 0 };
	struct stat ours, theirs;

	(void)state;
	__cleanup_fd int root_fd = container_root_open(proc_fd, (uint32_t)pid);

	assert_true(root_fd >= 0);
	assert_int_equal(stat("/", &ours), 0);
	assert_int_equal(fstat(root_fd, &theirs), 0);
	assert_int_equal(ours.st_ino, theirs.st_ino);
	assert_int_equal(proc_read_maps(proc_fd, (uint32_t)pid, &maps), 0);
	assert_non_null(map_of_ours(&maps));

	char name[64];
	(void)snprintf(name, sizeof(name), "map_files/%lx-%lx",
		       (unsigned long)map_of_ours(&maps)->start,
		       (unsigned long)map_of_ours(&maps)->end);
	__cleanup_fd int file_fd = proc_thread_open(proc_fd, (uint32_t)pid, name, O_PATH);

	/* Links of map_files ask for a capability. */
	assert_true(file_fd >= 0 || file_fd == -EPERM);
	assert_int_equal(stat("/proc/self/exe", &ours), 0);
	if (file_fd >= 0) {
		assert_int_equal(fstat(file_fd, &theirs), 0);
		assert_int_equal(ours.st_ino, theirs.st_ino);
	}
	procmaps_release(&maps);
	child_end(pid);
}

static void no_other_thread_is_asked_while_the_first_lives(void **state)
{
	pid_t pid = child_begin(false);

	(void)state;
	assert_false(proc_first_thread_has_ended(proc_fd, (uint32_t)pid));
	assert_int_equal(proc_thread_open(proc_fd, (uint32_t)pid, "maps", O_RDONLY), -ESRCH);
	child_end(pid);
}

static void a_process_that_is_gone_has_nothing(void **state)
{
	pid_t pid = fork();
	struct procmaps maps = { 0 };
	struct remote_mem mem;
	uint64_t read;
	int err;

	(void)state;
	if (pid == 0)
		_exit(0);
	while (!proc_first_thread_has_ended(proc_fd, (uint32_t)pid))
		usleep(1000);
	err = proc_read_maps(proc_fd, (uint32_t)pid, &maps);
	assert_true(err == 0 || err == -ESRCH);
	assert_int_equal(maps.cnt, 0);
	mem = remote_mem_of_process(proc_fd, (uint32_t)pid);
	assert_int_equal(remote_mem_read(&mem, (uint64_t)(uintptr_t)&word, &read, sizeof(read)),
			 -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_read_maps(proc_fd, (uint32_t)pid, &maps), -ESRCH);
	assert_int_equal(proc_thread_open(proc_fd, (uint32_t)pid, "maps", O_RDONLY), -ESRCH);
	procmaps_release(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_are_those_of_a_thread_that_is_left),
		cmocka_unit_test(memory_is_read_by_a_thread_that_is_left),
		cmocka_unit_test(root_and_mapped_files_are_opened_by_a_thread_that_is_left),
		cmocka_unit_test(no_other_thread_is_asked_while_the_first_lives),
		cmocka_unit_test(a_process_that_is_gone_has_nothing),
	};

	return cmocka_run_group_tests(tests, proc_open, NULL);
}
