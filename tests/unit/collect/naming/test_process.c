// SPDX-License-Identifier: Apache-2.0
/* Process table and the JVM's verdict line, on this test's own process and on one that is gone. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/parse_here.h"
#include "tests/unit/remove_tree.h"
#include "user/collect/naming/jvm.h"
#include "user/collect/naming/process.h"
#include "user/host/proc_stat.h"
#include "user/util/account.h"

struct fixture {
	int proc_fd;
	struct symbolizer *symbolizer;
	struct accounts *accounts;
	struct container_resolver *containers;
	struct process_table *table;
	struct process_life self;
};

static int setup(void **state)
{
	static struct fixture fixture;
	struct symbolizer_options symbolizer_options = { .jit = JIT_MODE_PERFMAP,
							 .parser_starter = &starter_of_none,
							 .opener_starter = &starter_of_none };
	struct container_resolver_options containers = { .cgroup_root = "/nowhere",
							 .parser = parser_here() };
	struct process_table_options options;

	fixture.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	symbolizer_options.proc_fd = fixture.proc_fd;
	assert_int_equal(symbolizer__open(&symbolizer_options, &fixture.symbolizer), 0);
	options = (struct process_table_options){ .proc_fd = fixture.proc_fd,
						  .symbolizer = fixture.symbolizer };
	assert_int_equal(process_table__new(&options, &fixture.table), -EINVAL);
	fixture.accounts = options.accounts = containers.accounts = accounts__new();
	containers.proc_fd = containers.root_fd = fixture.proc_fd;
	assert_int_equal(process_table__new(&options, &fixture.table), -EINVAL);
	assert_int_equal(container_resolver__new(&containers, &fixture.containers), 0);
	options.containers = fixture.containers;
	assert_int_equal(process_table__new(&options, &fixture.table), 0);
	fixture.self = (struct process_life){ .pid = (uint32_t)getpid(), .exec_id = 1 };
	assert_int_equal(
		proc_stat_start_ns(fixture.proc_fd, fixture.self.pid, &fixture.self.start_ns), 0);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	process_table__free(fixture->table);
	container_resolver__free(fixture->containers);
	symbolizer__free(fixture->symbolizer);
	accounts__free(fixture->accounts);
	close(fixture->proc_fd);
	return 0;
}

/* As the kernel tells of one whose environment it could read. */
static int get(struct process_table *table, const struct process_life *id, const char *comm,
	       uint32_t ns_pid, struct process **out)
{
	const struct process_sight sight = {
		.id = *id, .cgroup_id = 1, .comm = comm, .ns_pid = ns_pid, .may_be_recorded = true
	};

	return process_table__get(table, &sight, out);
}

static void a_living_process_is_made_once_and_has_its_program(void **state)
{
	struct fixture *fixture = *state;
	struct process *first, *second;

	assert_int_equal(get(fixture->table, &fixture->self, "test_process", 7, &first), 0);
	assert_int_equal(get(fixture->table, &fixture->self, "you", 8, &second), 0);
	assert_ptr_equal(first, second);
	assert_string_equal(first->comm, "test_process");
	assert_int_equal(first->ns_pid, 7);
	assert_non_null(strstr(first->exe, "test_process"));
	assert_false(first->exited);
	assert_int_equal(process_table__count(fixture->table), 1);
}

static bool has_pid(const void *ctx, const struct process *process)
{
	return process->id.pid == *(const uint32_t *)ctx;
}

/* Known processes are, too: nothing of one is open any more, and others are as they were. */
static void a_ban_takes_the_symbols_of_processes_that_are_known(void **state)
{
	struct fixture *fixture = *state;
	struct process_life other = fixture->self;
	struct process *banned, *left;

	other.pid = 1;
	assert_int_equal(get(fixture->table, &fixture->self, "test_process", 7, &banned), 0);
	assert_int_equal(get(fixture->table, &other, "init", 7, &left), 0);
	assert_non_null(banned->symbols);
	assert_non_null(left->symbols);
	process_table__ban(fixture->table, has_pid, &fixture->self.pid);
	assert_true(banned->is_banned);
	assert_null(banned->symbols);
	assert_false(left->is_banned);
	assert_non_null(left->symbols);
	/* Sampled again it is still banned. */
	assert_int_equal(get(fixture->table, &fixture->self, "test_process", 7, &left), 0);
	assert_ptr_equal(left, banned);
	assert_null(left->symbols);
	/* When that is over it is looked into as before. */
	assert_int_equal(process_table__lift_ban(fixture->table, banned), 0);
	assert_false(banned->is_banned);
	assert_non_null(banned->symbols);
}

/* After an exec the path is that of another program than the one that was sampled. */
static void the_program_of_a_process_with_another_name_is_not_known(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	assert_int_equal(get(fixture->table, &fixture->self, "test_proces", 7, &process), 0);
	assert_false(process->exited);
	assert_null(process->exe);
}

static void another_process_with_the_same_pid_is_not_looked_at(void **state)
{
	struct fixture *fixture = *state;
	struct process_life id = fixture->self;
	struct process *process;

	id.start_ns += 1000000000ull;
	assert_int_equal(get(fixture->table, &id, "late", 7, &process), 0);
	assert_true(process->exited);
	assert_null(process->exe);
	assert_ptr_equal(process_table__find(fixture->table, &id), process);
}

static void ended_processes_go_after_a_window_and_silent_ones_later(void **state)
{
	struct fixture *fixture = *state;
	struct process_life gone = fixture->self;
	struct process *process;

	gone.start_ns += 1000000000ull;
	assert_int_equal(get(fixture->table, &gone, "gone", 7, &process), 0);
	assert_int_equal(get(fixture->table, &fixture->self, "me", 7, &process), 0);
	process_table__expire(fixture->table);
	assert_non_null(process_table__find(fixture->table, &gone));
	process_table__expire(fixture->table);
	assert_null(process_table__find(fixture->table, &gone));
	assert_non_null(process_table__find(fixture->table, &fixture->self));
	for (int i = 0; i < 10; i++)
		process_table__expire(fixture->table);
	assert_null(process_table__find(fixture->table, &fixture->self));
	assert_int_equal(process_table__count(fixture->table), 0);
}

/* ---- who does not want to be recorded ---- */

/* A cat with this environment, as long as its input is open. */
struct child {
	pid_t pid;
	int input;
	struct process_life id;
};

static struct child child_start(const struct fixture *fixture, char *variable)
{
	char *const environment[] = { variable, NULL };
	struct child child;
	int in[2], out[2];
	char byte = 0;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		execle("/bin/cat", "cat", (char *)NULL, environment);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	child.input = in[1];
	/* What goes through it says that it runs. */
	assert_int_equal(write(child.input, "x", 1), 1);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(out[0]);
	child.id = (struct process_life){ .pid = (uint32_t)child.pid, .exec_id = 1 };
	assert_int_equal(proc_stat_start_ns(fixture->proc_fd, child.id.pid, &child.id.start_ns), 0);
	return child;
}

static void child_end(const struct child *child)
{
	close(child->input);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static enum opt_out opt_out_of(const struct fixture *fixture, const struct process_sight *sight)
{
	struct process *process;

	assert_int_equal(process_table__get(fixture->table, sight, &process), 0);
	assert_true((process->symbols == NULL) == (process->opt_out != OPT_OUT_NONE));
	return process->opt_out;
}

static void the_environment_is_read_where_the_kernel_could_not(void **state)
{
	struct fixture *fixture = *state;
	char off[] = "JBPF_PROFILE=off", on[] = "JBPF_PROFILE=on";
	struct child closed = child_start(fixture, off), open_one = child_start(fixture, on);
	struct process_sight sight = { .id = closed.id, .comm = "cat" };

	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_BY_ENVIRONMENT);
	sight.id = open_one.id;
	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_NONE);
	child_end(&closed);
	child_end(&open_one);
}

static void nothing_is_recorded_of_who_ended_before_he_could_be_asked(void **state)
{
	struct fixture *fixture = *state;
	char on[] = "JBPF_PROFILE=on";
	struct child child = child_start(fixture, on);
	struct process_sight sight = { .id = child.id, .comm = "cat" };

	child_end(&child);
	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_UNDECIDED);
	/* Another process that has its number is not he. */
	sight.id = fixture->self;
	sight.id.start_ns += 1000000000ull;
	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_UNDECIDED);
}

/* What is read is the next program's: nothing tells so of who was sampled in the middle of an execve alone. */
static void an_environment_of_a_program_of_another_name_decides_nothing(void **state)
{
	struct fixture *fixture = *state;
	char on[] = "JBPF_PROFILE=on";
	struct child child = child_start(fixture, on);
	struct process_sight sight = { .id = child.id, .comm = "turn-shy" };

	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_UNDECIDED);
	/* It had renamed itself: then it is asked again, but not before the next window. */
	sight.comm = "cat";
	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_UNDECIDED);
	process_table__expire(fixture->table);
	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_NONE);
	assert_int_equal(process_table__count(fixture->table), 1);
	child_end(&child);
}

/* Who asks for a process by its number means the program that runs: it may rename itself meanwhile. */
static void a_process_that_was_not_sampled_is_decided_whatever_its_name(void **state)
{
	struct fixture *fixture = *state;
	char on[] = "JBPF_PROFILE=on";
	struct child child = child_start(fixture, on);
	struct process_sight sight = { .id = child.id, .comm = "", .is_any_program = true };

	assert_int_equal(opt_out_of(fixture, &sight), OPT_OUT_NONE);
	assert_non_null(process_table__find(fixture->table, &child.id)->exe);
	child_end(&child);
}

/* What is read may be the next program's: the notice of its exec comes later. */
static void an_environment_read_about_an_exec_decides_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct process_sight sight = { .id = fixture->self, .comm = "test_process" };
	struct process *process;

	assert_int_equal(process_table__get(fixture->table, &sight, &process), 0);
	assert_int_equal(process->opt_out, OPT_OUT_NONE);
	process_execed(process);
	assert_int_equal(process->opt_out, OPT_OUT_UNDECIDED);

	sight.id.exec_id++;
	assert_int_equal(process_table__get(fixture->table, &sight, &process), 0);
	process_table__expire(fixture->table);
	process_execed(process);
	assert_int_equal(process->opt_out, OPT_OUT_NONE);
	process_execed(NULL);
}

/* /proc shows the next program for a while before the kernel reports the exec. */
static void what_was_read_about_an_exec_is_not_told(void **state)
{
	struct fixture *fixture = *state;
	struct process_life gone = { .pid = 0x7fffffff, .exec_id = 1 };
	struct process *process;

	assert_int_equal(get(fixture->table, &fixture->self, "test_process", 7, &process), 0);
	assert_true(process_is_as_sampled(fixture->proc_fd, process));
	strcpy(process->comm, "bash");
	assert_false(process_is_as_sampled(fixture->proc_fd, process));
	strcpy(process->comm, "test_process");
	process_execed(process);
	assert_false(process_is_as_sampled(fixture->proc_fd, process));
	/* What has ended without one is what it was. */
	assert_int_equal(get(fixture->table, &gone, "bash", 7, &process), 0);
	assert_true(process_is_as_sampled(fixture->proc_fd, process));
	process_execed(process);
	assert_false(process_is_as_sampled(fixture->proc_fd, process));
}

/* The test program's own function, as its symbols name it. */
static void check_own_name(struct process *process, const char *name)
{
	uint64_t ip = (uint64_t)(uintptr_t)what_was_read_about_an_exec_is_not_told;
	struct symbols_stack stack = { .words = &ip, .word_cnt = 1 };
	struct frame_list frames = { 0 };

	assert_int_equal(symbols_process__read_and_resolve(process->symbols, &stack, UINT64_MAX,
							   &frames),
			 0);
	assert_int_equal(frames.cnt, 1);
	assert_string_equal(frames.items[0].name, name);
	frame_list_release(&frames);
}

static void of_what_executed_another_program_nothing_more_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	assert_int_equal(get(fixture->table, &fixture->self, "test_process", 7, &process), 0);
	assert_int_equal(symbols_process__refresh(process->symbols), 0);
	process_execed(process);
	assert_int_equal(symbols_process__refresh(process->symbols), -ESRCH);
	check_own_name(process, "what_was_read_about_an_exec_is_not_told");
	/* Nor when it was banned meanwhile. */
	process_table__ban(fixture->table, has_pid, &fixture->self.pid);
	assert_int_equal(process_table__lift_ban(fixture->table, process), 0);
	assert_int_equal(symbols_process__refresh(process->symbols), -ESRCH);
	check_own_name(process, "[unknown]");
}

/* The mappings are those of the program that it has executed since. */
static void a_program_that_is_read_too_late_has_not_the_names_of_the_next(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;

	assert_int_equal(get(fixture->table, &fixture->self, "bash", 7, &process), 0);
	check_own_name(process, "[unknown]");
	assert_int_equal(symbols_process__refresh(process->symbols), -EAGAIN);
	check_own_name(process, "[unknown]");
}

/* ---- a container, as Docker's files describe it ---- */

#define CONTAINER_HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CONTAINER_DIR "var/lib/docker/containers/" CONTAINER_HEX

static void write_text(int dir_fd, const char *path, const char *text)
{
	char part[256];
	int fd;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdirat(dir_fd, part, 0755);
	}
	fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* As Docker does it: a new file renamed over the old one. */
static void name_container(int root_fd, const char *name)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"ID\":\"" CONTAINER_HEX "\",\"Name\":\"/%s\"}", name);
	write_text(root_fd, CONTAINER_DIR "/new", text);
	assert_int_equal(renameat(root_fd, CONTAINER_DIR "/new", root_fd,
				  CONTAINER_DIR "/config.v2.json"),
			 0);
}

/* A table whose one process, the test's own, is in the container. */
struct contained {
	char folder[32];
	int root_fd;
	struct container_resolver *containers;
	struct process_table *table;
};

/* /proc/PID/stat of a process that started then. */
static void write_start(int proc_fd, uint32_t pid, uint64_t start_ns)
{
	unsigned long long ticks = start_ns / (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	char path[64], text[256];

	snprintf(path, sizeof(path), "%u/stat", pid);
	snprintf(text, sizeof(text), "%u (me) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %llu 0\n", pid,
		 ticks);
	write_text(proc_fd, path, text);
}

static void contained_make(const struct fixture *fixture, bool ignores_opt_out,
			   struct contained *out)
{
	struct container_resolver_options options = { .cgroup_root = "/nowhere",
						      .parser = parser_here(),
						      .accounts = fixture->accounts };
	struct process_table_options table_options = { .proc_fd = fixture->proc_fd,
						       .symbolizer = fixture->symbolizer,
						       .accounts = fixture->accounts,
						       .ignores_opt_out = ignores_opt_out };
	char cgroup[64];

	strcpy(out->folder, "/tmp/jbpf-test-XXXXXX");
	assert_non_null(mkdtemp(out->folder));
	out->root_fd = open(out->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	options.root_fd = options.proc_fd = out->root_fd;
	snprintf(cgroup, sizeof(cgroup), "%u/cgroup", fixture->self.pid);
	write_text(out->root_fd, cgroup, "0::/docker/" CONTAINER_HEX "\n");
	write_start(out->root_fd, fixture->self.pid, fixture->self.start_ns);
	write_text(out->root_fd, CONTAINER_DIR "/config.v2.json",
		   "{\"Name\":\"/shy\",\"Config\":{\"Labels\":{\"jbpf.profile\":\"off\"}}}");
	assert_int_equal(container_resolver__new(&options, &out->containers), 0);
	table_options.containers = out->containers;
	assert_int_equal(process_table__new(&table_options, &out->table), 0);
}

static void contained_remove(struct contained *contained)
{
	process_table__free(contained->table);
	container_resolver__free(contained->containers);
	close(contained->root_fd);
	assert_int_equal(remove_tree(contained->folder), 0);
}

static void a_container_opts_out_with_all_its_processes(void **state)
{
	struct fixture *fixture = *state;
	struct contained contained;
	struct process *process;

	contained_make(fixture, false, &contained);
	assert_int_equal(get(contained.table, &fixture->self, "me", 7, &process), 0);
	assert_int_equal(process->opt_out, OPT_OUT_BY_LABEL);
	assert_null(process->symbols);
	contained_remove(&contained);

	contained_make(fixture, true, &contained);
	assert_int_equal(get(contained.table, &fixture->self, "me", 7, &process), 0);
	assert_int_equal(process->opt_out, OPT_OUT_NONE);
	assert_non_null(process->symbols);
	contained_remove(&contained);
}

/* Of a process that has ended the cgroup may be unknown: others of it tell. */
static void a_cgroup_is_known_by_its_living_processes(void **state)
{
	struct fixture *fixture = *state;
	struct process_life gone = fixture->self;
	struct contained contained;
	struct process *process;
	char cgroup[64];

	contained_make(fixture, false, &contained);
	gone.start_ns += 1000000000ull;
	snprintf(cgroup, sizeof(cgroup), "%u/cgroup", fixture->self.pid);
	assert_int_equal(unlinkat(contained.root_fd, cgroup, 0), 0);
	assert_int_equal(get(contained.table, &gone, "gone", 7, &process), 0);
	assert_int_equal(process->opt_out, OPT_OUT_UNDECIDED);

	write_text(contained.root_fd, cgroup, "0::/user.slice\n");
	assert_int_equal(get(contained.table, &fixture->self, "me", 7, &process), 0);
	assert_int_equal(process->opt_out, OPT_OUT_NONE);
	assert_int_equal(unlinkat(contained.root_fd, cgroup, 0), 0);
	gone.exec_id++;
	assert_int_equal(get(contained.table, &gone, "gone", 7, &process), 0);
	assert_int_equal(process->opt_out, OPT_OUT_NONE);
	contained_remove(&contained);
}

/* Nor is its cgroup one of which is known that nobody there opted out. */
static void another_process_with_the_same_pid_lends_no_container(void **state)
{
	struct fixture *fixture = *state;
	struct process_life gone = fixture->self;
	struct contained contained;
	struct process *process;

	contained_make(fixture, false, &contained);
	name_container(contained.root_fd, "neighbour");
	gone.start_ns += 1000000000ull;
	assert_int_equal(get(contained.table, &gone, "gone", 7, &process), 0);
	assert_string_equal(process->container.id, "");
	assert_string_equal(process->container.name, "");
	assert_int_equal(process->account_len, 0);
	assert_int_equal(process->opt_out, OPT_OUT_UNDECIDED);
	assert_int_equal(get(contained.table, &fixture->self, "me", 7, &process), 0);
	assert_string_equal(process->container.name, "neighbour");
	contained_remove(&contained);
}

/* It ended after it was met, and its end has not been reported yet. */
static void a_process_whose_pid_is_anothers_by_now_is_not_in_that_ones_container(void **state)
{
	struct fixture *fixture = *state;
	struct process_sight moved = {
		.id = fixture->self, .cgroup_id = 2, .comm = "me", .may_be_recorded = true
	};
	struct contained contained;
	struct process *process;
	char cgroup[64];

	contained_make(fixture, false, &contained);
	name_container(contained.root_fd, "first");
	assert_int_equal(get(contained.table, &fixture->self, "me", 7, &process), 0);
	assert_string_equal(process->container.name, "first");
	snprintf(cgroup, sizeof(cgroup), "%u/cgroup", fixture->self.pid);
	write_start(contained.root_fd, fixture->self.pid, fixture->self.start_ns + 1000000000ull);
	write_text(contained.root_fd, cgroup, "0::/lxc.payload.neighbour\n");
	assert_int_equal(process_table__relabel(contained.table, process), 0);
	assert_string_equal(process->container.name, "first");
	assert_int_equal(process_table__get(contained.table, &moved, &process), 0);
	assert_string_equal(process->container.name, "");
	assert_string_equal(process->container.cgroup_path, "");
	contained_remove(&contained);
}

static void a_renamed_container_has_its_new_name_and_a_removed_one_keeps_it(void **state)
{
	struct fixture *fixture = *state;
	char folder[] = "/tmp/jbpf-test-XXXXXX";
	char cgroup[64];
	struct container_resolver_options options = { .cgroup_root = "/nowhere",
						      .parser = parser_here(),
						      .accounts = fixture->accounts };
	struct process_table_options table_options = { .proc_fd = fixture->proc_fd,
						       .symbolizer = fixture->symbolizer,
						       .accounts = fixture->accounts };
	struct container_resolver *containers;
	struct process_table *table;
	struct process *process;

	assert_non_null(mkdtemp(folder));
	options.root_fd = options.proc_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(cgroup, sizeof(cgroup), "%u/cgroup", fixture->self.pid);
	write_text(options.proc_fd, cgroup, "0::/docker/" CONTAINER_HEX "\n");
	write_start(options.proc_fd, fixture->self.pid, fixture->self.start_ns);
	name_container(options.root_fd, "first");
	assert_int_equal(container_resolver__new(&options, &containers), 0);
	table_options.containers = containers;
	assert_int_equal(process_table__new(&table_options, &table), 0);

	assert_int_equal(get(table, &fixture->self, "me", 7, &process), 0);
	assert_string_equal(process->container.name, "first");
	name_container(options.root_fd, "second-name");
	assert_int_equal(process_table__relabel(table, process), 0);
	assert_string_equal(process->container.name, "second-name");

	assert_int_equal(unlinkat(options.root_fd, CONTAINER_DIR "/config.v2.json", 0), 0);
	assert_int_equal(unlinkat(options.proc_fd, cgroup, 0), 0);
	assert_int_equal(process_table__relabel(table, process), 0);
	assert_string_equal(process->container.name, "second-name");
	assert_string_equal(process->container.id, CONTAINER_HEX);

	process_table__free(table);
	container_resolver__free(containers);
	close(options.root_fd);
	assert_int_equal(remove_tree(folder), 0);
}

static void jvm_verdict_names_what_to_change(void **state)
{
	struct symbols_jit_status none = { .problem = "no perf map" };
	struct symbols_jit_status mapped = { .source = JIT_SOURCE_ATTACH };
	struct jvm jvm = { .is_hotspot = true, .preserve_frame_pointer = WINDOW_FLAG_ON };

	(void)state;
	assert_null(jvm_problem(&jvm, &mapped));
	assert_string_equal(jvm_problem(&jvm, &none), "no perf map");
	jvm.outcome = JVM_ATTACH_UNSUPPORTED;
	assert_string_equal(jvm_problem(&jvm, &none),
			    jvm_attach_outcome_text(JVM_ATTACH_UNSUPPORTED));
}

static void a_program_without_jit_code_has_no_problem(void **state)
{
	struct symbols_jit_status status = { .problem = "no perf map" };
	struct jvm jvm = { 0 };

	(void)state;
	assert_null(jvm_problem(&jvm, &status));
	status.has_jit_code = true;
	assert_string_equal(jvm_problem(&jvm, &status), "no perf map");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_ban_takes_the_symbols_of_processes_that_are_known,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_program_of_a_process_with_another_name_is_not_known, setup, teardown),
		cmocka_unit_test_setup_teardown(the_environment_is_read_where_the_kernel_could_not,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			nothing_is_recorded_of_who_ended_before_he_could_be_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_environment_of_a_program_of_another_name_decides_nothing, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_process_that_was_not_sampled_is_decided_whatever_its_name, setup,
			teardown),
		cmocka_unit_test_setup_teardown(an_environment_read_about_an_exec_decides_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			of_what_executed_another_program_nothing_more_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_program_that_is_read_too_late_has_not_the_names_of_the_next, setup,
			teardown),
		cmocka_unit_test_setup_teardown(what_was_read_about_an_exec_is_not_told, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_container_opts_out_with_all_its_processes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_cgroup_is_known_by_its_living_processes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			another_process_with_the_same_pid_lends_no_container, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_process_whose_pid_is_anothers_by_now_is_not_in_that_ones_container, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_living_process_is_made_once_and_has_its_program,
						setup, teardown),
		cmocka_unit_test_setup_teardown(another_process_with_the_same_pid_is_not_looked_at,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			ended_processes_go_after_a_window_and_silent_ones_later, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_renamed_container_has_its_new_name_and_a_removed_one_keeps_it, setup,
			teardown),
		cmocka_unit_test(jvm_verdict_names_what_to_change),
		cmocka_unit_test(a_program_without_jit_code_has_no_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
