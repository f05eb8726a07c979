// SPDX-License-Identifier: Apache-2.0
/*
 * Every gate before an attach, on fake /proc and cgroup trees: what opens it, what closes it, and
 * that it is closed when the tree does not tell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>

#include "tests/unit/fake_tree.h"
#include "user/collect/attach/jvm_cgroup.h"
#include "user/collect/attach/jvm_gates.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define PID	    42u
#define START_TICKS 100000ull

static uint64_t start_ns(void)
{
	return START_TICKS * (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* ---- a process that may be attached to ---- */

static void write_stat(const struct fake_tree *proc, char state)
{
	fake_tree_writef(proc, "42/stat",
			 "42 (java (x) ) %c 1 42 42 0 -1 0 0 0 0 0 1 1 0 0 20 0 30 0 %llu 0 0\n",
			 state, (unsigned long long)START_TICKS);
}

static void write_thread(const struct fake_tree *proc, unsigned int tid, const char *comm,
			 const char *sig_blk)
{
	char path[64];

	snprintf(path, sizeof(path), "42/task/%u/comm", tid);
	fake_tree_writef(proc, path, "%s\n", comm);
	snprintf(path, sizeof(path), "42/task/%u/status", tid);
	fake_tree_writef(proc, path,
			 "Name:\t%s\nState:\tS (sleeping)\nTgid:\t42\nUid:\t5\t5\t5\t5\n"
			 "Gid:\t6\t6\t6\t6\nSigBlk:\t%s\n",
			 comm, sig_blk);
}

/* Hybrid host: v1 pids and freezer, and v2 beside them. */
static void write_cgroups(const struct fake_tree *proc)
{
	fake_tree_writef(proc, "mounts",
			 "proc /proc proc rw 0 0\n"
			 "cgroup %s/cg/cpu cgroup rw,cpu,cpuacct 0 0\n"
			 "cgroup %s/cg/free\\040zer cgroup rw,relatime,freezer 0 0\n"
			 "cgroup %s/cg/pids cgroup rw,relatime,pids 0 0\n"
			 "cgroup2 %s/cg/unified cgroup2 rw,relatime 0 0\n",
			 proc->path, proc->path, proc->path, proc->path);
	fake_tree_write(proc, "42/cgroup",
			"9:name=systemd:/docker/abc\n8:pids:/docker/abc\n6:freezer:/docker/abc\n"
			"1:cpu,cpuacct:/docker/abc\n0::/docker/abc\n");
	fake_tree_write(proc, "cg/free zer/docker/abc/freezer.state", "THAWED\n");
	fake_tree_write(proc, "cg/free zer/docker/freezer.state", "THAWED\n");
	fake_tree_write(proc, "cg/pids/docker/abc/pids.max", "max\n");
	fake_tree_write(proc, "cg/pids/docker/abc/pids.current", "30\n");
	fake_tree_write(proc, "cg/pids/docker/pids.max", "max\n");
	fake_tree_write(proc, "cg/unified/docker/abc/cgroup.events", "populated 1\nfrozen 0\n");
	fake_tree_write(proc, "cg/unified/docker/abc/cgroup.freeze", "0\n");
	fake_tree_write(proc, "cg/unified/docker/cgroup.freeze", "0\n");
}

static void write_limits(const struct fake_tree *proc, const char *max_processes)
{
	fake_tree_writef(
		proc, "42/limits",
		"Limit                     Soft Limit           Hard Limit           Units\n"
		"Max stack size            8388608              unlimited            bytes\n"
		"Max processes             %-20s %-20s processes\n"
		"Max open files            1048576              1048576              files\n",
		max_processes, max_processes);
}

static void write_status(const struct fake_tree *proc, unsigned int pid, unsigned int uid,
			 unsigned int threads)
{
	char path[32];

	snprintf(path, sizeof(path), "%u/status", pid);
	fake_tree_writef(
		proc, path,
		"Name:\tx\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%u\nUid:\t%u\t1\t1\t1\n"
		"Gid:\t6\t6\t6\t6\nThreads:\t%u\nSigCgt:\t4\n",
		pid, uid, threads);
}

static void proc_make(struct fake_tree *proc)
{
	fake_tree_make(proc);
	write_stat(proc, 'S');
	write_cgroups(proc);
	write_limits(proc, "unlimited");
	write_status(proc, PID, 5, 30);
	fake_tree_write(proc, "loadavg", "0.10 0.20 0.30 2/500 9999\n");
	fake_tree_write(proc, "sys/kernel/threads-max", "10000\n");
	fake_tree_write(proc, "sys/kernel/pid_max", "32768\n");
	write_thread(proc, 42, "java", "0000000000000000");
	write_thread(proc, 43, "VM Thread", "0000000000000000");
	write_thread(proc, 44, "Signal Dispatch", "0000000000000004");
}

struct file_row {
	const char *path; /* NULL: nothing is changed */
	const char *text; /* NULL: the file is removed */
	enum jvm_attach_outcome outcome;
};

static void row_apply(const struct fake_tree *proc, const struct file_row *row)
{
	if (row->path && row->text)
		fake_tree_write(proc, row->path, row->text);
	else if (row->path)
		assert_int_equal(unlinkat(proc->fd, row->path, 0), 0);
}

/* ---- process ---- */

static enum jvm_attach_outcome process_outcome(const struct fake_tree *proc, uint32_t pid,
					       uint64_t start, uint64_t now)
{
	struct jvm_attach_request request = { .proc_fd = proc->fd, .pid = pid, .start_ns = start };

	return jvm_gate_process(&request, now);
}

static void jvm_gate_process_wants_the_same_running_old_enough_process(void **state)
{
	static const struct {
		char state;
		uint32_t pid;
		int64_t start_shift_ns, age_ns;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ 'S', PID, 0, 4000000000, JVM_ATTACH_OK },
		{ 'R', PID, 0, 4000000000, JVM_ATTACH_OK },
		{ 'D', PID, 0, 4000000000, JVM_ATTACH_OK },
		{ 'T', PID, 0, 4000000000, JVM_ATTACH_NOT_RUNNING },
		{ 't', PID, 0, 4000000000, JVM_ATTACH_NOT_RUNNING },
		{ 'Z', PID, 0, 4000000000, JVM_ATTACH_NOT_RUNNING },
		{ 'X', PID, 0, 4000000000, JVM_ATTACH_NOT_RUNNING },
		{ 'S', PID, 0, 3000000000, JVM_ATTACH_OK },
		{ 'S', PID, 0, 2999999999, JVM_ATTACH_TOO_YOUNG },
		{ 'S', PID, 0, 0, JVM_ATTACH_TOO_YOUNG },
		{ 'S', PID, 0, -1, JVM_ATTACH_TOO_YOUNG },
		{ 'S', PID, 1000000000, 4000000000, JVM_ATTACH_GONE },
		{ 'S', PID, -1000000000, 4000000000, JVM_ATTACH_GONE },
		{ 'S', 7777, 0, 4000000000, JVM_ATTACH_GONE },
	};
	struct fake_tree proc;

	(void)state;
	proc_make(&proc);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t start = start_ns() + (uint64_t)rows[i].start_shift_ns;

		write_stat(&proc, rows[i].state);
		assert_int_equal(process_outcome(&proc, rows[i].pid, start,
						 start + (uint64_t)rows[i].age_ns),
				 rows[i].outcome);
	}
	fake_tree_remove(&proc);
}

static void jvm_gate_process_leaves_frozen_ones_alone(void **state)
{
	static const struct file_row rows[] = {
		{ NULL, NULL, JVM_ATTACH_OK },
		{ "cg/free zer/docker/abc/freezer.state", "FROZEN\n", JVM_ATTACH_NOT_RUNNING },
		{ "cg/free zer/docker/abc/freezer.state", "FREEZING\n", JVM_ATTACH_NOT_RUNNING },
		{ "cg/free zer/docker/freezer.state", "FROZEN\n", JVM_ATTACH_NOT_RUNNING },
		{ "cg/free zer/docker/freezer.state", NULL, JVM_ATTACH_OK },
		{ "cg/unified/docker/abc/cgroup.events", "populated 1\nfrozen 1\n",
		  JVM_ATTACH_NOT_RUNNING },
		{ "cg/unified/docker/abc/cgroup.freeze", "1\n", JVM_ATTACH_NOT_RUNNING },
		{ "cg/unified/docker/cgroup.freeze", "1\n", JVM_ATTACH_NOT_RUNNING },
		{ "cg/unified/cgroup.freeze", "1\n", JVM_ATTACH_NOT_RUNNING },
		/* only one version of cgroups, or none */
		{ "42/cgroup", "0::/docker/abc\n", JVM_ATTACH_OK },
		{ "42/cgroup", "6:freezer:/docker/abc\n", JVM_ATTACH_OK },
		{ "42/cgroup", "", JVM_ATTACH_OK },
		{ "42/cgroup", "0::/\n", JVM_ATTACH_OK },
		/* what cannot be told */
		{ "42/cgroup", "0::/../other\n", JVM_ATTACH_ERROR },
		{ "42/cgroup", "0::/docker/../other\n", JVM_ATTACH_ERROR },
		{ "42/cgroup", "0::/docker/none (deleted)\n", JVM_ATTACH_ERROR },
		{ "42/cgroup", "0::relative\n", JVM_ATTACH_ERROR },
		{ "42/cgroup", NULL, JVM_ATTACH_GONE },
		{ "mounts", "proc /proc proc rw 0 0\n", JVM_ATTACH_ERROR },
		{ "mounts", NULL, JVM_ATTACH_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree proc;

		proc_make(&proc);
		row_apply(&proc, &rows[i]);
		assert_int_equal(process_outcome(&proc, PID, start_ns(), UINT64_MAX),
				 rows[i].outcome);
		fake_tree_remove(&proc);
	}
}

/* ---- HotSpot ---- */

static void jvm_gate_hotspot_is_closed_without_tables(void **state)
{
	static const struct {
		int vm_err;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ -ENOENT, JVM_ATTACH_NOT_HOTSPOT }, { -ENOTSUP, JVM_ATTACH_NOT_HOTSPOT },
		{ -EAGAIN, JVM_ATTACH_TOO_YOUNG },   { -ESRCH, JVM_ATTACH_GONE },
		{ -EIO, JVM_ATTACH_ERROR },	     { 0, JVM_ATTACH_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct jvm_attach_request request = { .pid = PID, .vm_err = rows[i].vm_err };
		int feature = -1;

		assert_int_equal(jvm_gate_hotspot(&request, &feature), rows[i].outcome);
		assert_int_equal(feature, -1);
	}
}

/* ---- signal ---- */

static void jvm_gate_signal_wants_sigquit_caught_by_a_dispatcher(void **state)
{
	static const struct {
		uint64_t caught, ignored;
		const char *blocked; /* by all threads but the dispatcher */
		const char *dispatcher, *extra_thread;
		int feature;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ 4, 0, "0", "Signal Dispatch", NULL, 17, JVM_ATTACH_OK },
		{ 4, 0, "0", "Signal Dispatch", NULL, 0, JVM_ATTACH_OK },
		{ ~4ull, 0, "0", "Signal Dispatch", NULL, 17, JVM_ATTACH_NO_SIGNAL },
		{ 0, 0, "0", "Signal Dispatch", NULL, 17, JVM_ATTACH_NO_SIGNAL },
		{ 4, 4, "0", "Signal Dispatch", NULL, 17, JVM_ATTACH_NO_SIGNAL },
		{ 4, 0, "0", "Signal Dispatcher", NULL, 17, JVM_ATTACH_NO_SIGNAL },
		{ 4, 0, "0", "nginx", NULL, 17, JVM_ATTACH_NO_SIGNAL },
		{ 4, 0, "4", "Signal Dispatch", NULL, 17, JVM_ATTACH_NO_SIGNAL },
		{ 4, 0, "fffffffe7ffbba00", "Signal Dispatch", NULL, 17, JVM_ATTACH_OK },
		/* a listener without socket: only newer JVMs open it again */
		{ 4, 0, "0", "Signal Dispatch", "Attach Listener", 17, JVM_ATTACH_OK },
		{ 4, 0, "0", "Signal Dispatch", "Attach Listener", 11, JVM_ATTACH_NO_SIGNAL },
		{ 4, 0, "0", "Signal Dispatch", "Attach Listener", 0, JVM_ATTACH_NO_SIGNAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct proc_status status = { .sig_caught = rows[i].caught,
					      .sig_ignored = rows[i].ignored };
		struct fake_tree proc;

		proc_make(&proc);
		write_thread(&proc, 42, "java", rows[i].blocked);
		write_thread(&proc, 43, "VM Thread", rows[i].blocked);
		write_thread(&proc, 44, rows[i].dispatcher, "4");
		if (rows[i].extra_thread)
			write_thread(&proc, 45, rows[i].extra_thread, "4");
		assert_int_equal(jvm_gate_signal(proc.fd, PID, &status, rows[i].feature),
				 rows[i].outcome);
		fake_tree_remove(&proc);
	}
}

static void jvm_gate_signal_of_a_process_that_ended_says_so(void **state)
{
	struct proc_status status = { .sig_caught = 4 };
	struct fake_tree proc;

	(void)state;
	proc_make(&proc);
	assert_int_equal(jvm_gate_signal(proc.fd, 7777, &status, 17), JVM_ATTACH_GONE);
	fake_tree_remove(&proc);
}

static void jvm_gate_last_look_sees_what_an_exec_changed(void **state)
{
	static const struct {
		const char *text;
		bool may;
	} rows[] = {
		{ "Name:\tjava\nState:\tS (sleeping)\nSigIgn:\t0\nSigCgt:\t4\n", true },
		{ "Name:\tjava\nState:\tR (running)\nSigIgn:\t1000\nSigCgt:\t2000000181004ccf\n",
		  true },
		{ "Name:\tjava\nState:\tS (sleeping)\nSigIgn:\t0\nSigCgt:\t0\n", false },
		{ "Name:\tjava\nState:\tS (sleeping)\nSigIgn:\t4\nSigCgt:\t4\n", false },
		{ "Name:\tjava\nState:\tT (stopped)\nSigIgn:\t0\nSigCgt:\t4\n", false },
		{ "Name:\tjava\nState:\tZ (zombie)\n", false },
		{ "Name:\tjava\nState:\tS (sleeping)\nSigCgt:\t4\n", false },
		{ "Name:\tjava\nState:\tS (sleeping)\nSigIgn:\t0\nSigCgt:\tzz\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(jvm_gate_status_catches_quit(rows[i].text), rows[i].may);
}

/* ---- room for a thread ---- */

static void jvm_gate_room_counts_every_cgroup_up_to_the_root(void **state)
{
	static const struct file_row rows[] = {
		{ NULL, NULL, JVM_ATTACH_OK },
		{ "cg/pids/docker/abc/pids.max", "46\n", JVM_ATTACH_OK },
		{ "cg/pids/docker/abc/pids.max", "45\n", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/pids/docker/abc/pids.max", "30\n", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/pids/docker/abc/pids.max", "1\n", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/pids/docker/abc/pids.max", NULL, JVM_ATTACH_OK },
		{ "cg/pids/docker/abc/pids.max", "garbage\n", JVM_ATTACH_ERROR },
		{ "cg/pids/docker/abc/pids.max", "", JVM_ATTACH_ERROR },
		/* a limit whose use is not known */
		{ "cg/pids/docker/pids.max", "1000000\n", JVM_ATTACH_ERROR },
		{ "42/cgroup", "8:cpu,pids,memory:/docker/none\n", JVM_ATTACH_ERROR },
		{ "42/cgroup", "8:notpids:/docker/none\n", JVM_ATTACH_OK },
		{ "42/cgroup", NULL, JVM_ATTACH_GONE },
	};
	static const struct {
		const char *where;
		enum jvm_attach_outcome outcome;
	} ancestors[] = {
		{ "cg/pids/docker", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/pids", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/unified/docker/abc", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/unified/docker", JVM_ATTACH_NO_THREAD_ROOM },
		{ "cg/unified/other", JVM_ATTACH_OK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree proc;

		proc_make(&proc);
		row_apply(&proc, &rows[i]);
		assert_int_equal(jvm_gate_thread_room(proc.fd, PID, 5), rows[i].outcome);
		fake_tree_remove(&proc);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ancestors); i++) {
		struct fake_tree proc;
		char path[64];

		proc_make(&proc);
		snprintf(path, sizeof(path), "%s/pids.max", ancestors[i].where);
		fake_tree_write(&proc, path, "100\n");
		snprintf(path, sizeof(path), "%s/pids.current", ancestors[i].where);
		fake_tree_write(&proc, path, "90\n");
		assert_int_equal(jvm_gate_thread_room(proc.fd, PID, 5), ancestors[i].outcome);
		fake_tree_remove(&proc);
	}
}

static void jvm_gate_room_obeys_the_limits_of_user_and_host(void **state)
{
	/* 500 threads on the host; uid 5: 30 of the JVM and 40 of another process. */
	static const struct {
		const char *max_processes, *threads_max, *pid_max;
		uid_t uid;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ "unlimited", "10000\n", "32768\n", 5, JVM_ATTACH_OK },
		{ "516", "10000\n", "32768\n", 5, JVM_ATTACH_OK },
		{ "86", "10000\n", "32768\n", 5, JVM_ATTACH_OK },
		{ "85", "10000\n", "32768\n", 5, JVM_ATTACH_NO_THREAD_ROOM },
		{ "10", "10000\n", "32768\n", 5, JVM_ATTACH_NO_THREAD_ROOM },
		{ "10", "10000\n", "32768\n", 0, JVM_ATTACH_OK }, /* does not bind root */
		{ "85", "10000\n", "32768\n", 6, JVM_ATTACH_OK }, /* nobody else has uid 6 */
		{ "garbage", "10000\n", "32768\n", 5, JVM_ATTACH_ERROR },
		{ "unlimited", "516\n", "32768\n", 5, JVM_ATTACH_OK },
		{ "unlimited", "515\n", "32768\n", 5, JVM_ATTACH_NO_THREAD_ROOM },
		{ "unlimited", "515\n", "32768\n", 0, JVM_ATTACH_NO_THREAD_ROOM },
		{ "unlimited", "10000\n", "515\n", 5, JVM_ATTACH_NO_THREAD_ROOM },
		{ "unlimited", "garbage\n", "32768\n", 5, JVM_ATTACH_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree proc;

		proc_make(&proc);
		write_status(&proc, 50, 5, 40);
		write_status(&proc, 51, 7, 300);
		fake_tree_write(&proc, "52/none", ""); /* ended while we look */
		write_limits(&proc, rows[i].max_processes);
		fake_tree_write(&proc, "sys/kernel/threads-max", rows[i].threads_max);
		fake_tree_write(&proc, "sys/kernel/pid_max", rows[i].pid_max);
		assert_int_equal(jvm_gate_thread_room(proc.fd, PID, rows[i].uid), rows[i].outcome);
		fake_tree_remove(&proc);
	}
}

static void jvm_gate_room_is_closed_when_it_cannot_be_told(void **state)
{
	static const struct file_row rows[] = {
		{ "loadavg", NULL, JVM_ATTACH_ERROR },
		{ "loadavg", "0.1 0.2\n", JVM_ATTACH_ERROR },
		{ "42/limits", NULL, JVM_ATTACH_ERROR },
		{ "42/limits", "Limit\n", JVM_ATTACH_ERROR },
		{ "sys/kernel/threads-max", NULL, JVM_ATTACH_ERROR },
		{ "sys/kernel/pid_max", NULL, JVM_ATTACH_ERROR },
		{ "mounts", "cgroup2 /x cgroup2 rw 0 0\n", JVM_ATTACH_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree proc;

		proc_make(&proc);
		row_apply(&proc, &rows[i]);
		assert_int_equal(jvm_gate_thread_room(proc.fd, PID, 5), rows[i].outcome);
		fake_tree_remove(&proc);
	}
}

static void jvm_cgroup_room_is_the_least_of_all(void **state)
{
	struct fake_tree proc;
	uint64_t room = 0;

	(void)state;
	proc_make(&proc);
	assert_int_equal(jvm_cgroup_pids_room(proc.fd, PID, &room), 0);
	assert_true(room == UINT64_MAX);
	fake_tree_write(&proc, "cg/pids/docker/abc/pids.max", "130\n");
	fake_tree_write(&proc, "cg/unified/docker/pids.max", "90\n");
	fake_tree_write(&proc, "cg/unified/docker/pids.current", "20\n");
	assert_int_equal(jvm_cgroup_pids_room(proc.fd, PID, &room), 0);
	assert_int_equal(room, 70);
	assert_int_equal(jvm_cgroup_pids_room(proc.fd, 7777, &room), -ESRCH);
	assert_int_equal(room, 70);
	fake_tree_remove(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jvm_gate_process_wants_the_same_running_old_enough_process),
		cmocka_unit_test(jvm_gate_process_leaves_frozen_ones_alone),
		cmocka_unit_test(jvm_gate_hotspot_is_closed_without_tables),
		cmocka_unit_test(jvm_gate_signal_wants_sigquit_caught_by_a_dispatcher),
		cmocka_unit_test(jvm_gate_signal_of_a_process_that_ended_says_so),
		cmocka_unit_test(jvm_gate_last_look_sees_what_an_exec_changed),
		cmocka_unit_test(jvm_gate_room_counts_every_cgroup_up_to_the_root),
		cmocka_unit_test(jvm_gate_room_obeys_the_limits_of_user_and_host),
		cmocka_unit_test(jvm_gate_room_is_closed_when_it_cannot_be_told),
		cmocka_unit_test(jvm_cgroup_room_is_the_least_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
