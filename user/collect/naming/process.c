// SPDX-License-Identifier: Apache-2.0
/*
 * Process table over tsearch(3): at most a few thousand entries, looked up a few thousand times per
 * window.
 */
#include "user/collect/naming/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/collect/container/cgroup_account.h"
#include "user/host/proc_thread.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/host/proc_stat.h"
#include "user/util/strbuf.h"

/*
 * A process that was silent for this long is read afresh when it comes back: a minute at 10 s
 * windows.
 */
#define PROCESS_IDLE_WINDOWS_MAX 6

/* A name and its newline; those of kernel workers may be longer than others. */
#define PROCESS_COMM_MAX_BYTES 128

/* Cgroups whose processes may be recorded, as living ones showed; power of two. */
#define PROCESS_CGROUPS 1024

struct process_table {
	struct process_table_options options;
	void *tree; /* of struct process, by id */
	size_t cnt;
	uint64_t open_cgroups[PROCESS_CGROUPS]; /* by low bits of the id; 0 = none */
};

static int process_compare(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return process_life_compare(&x->id, &y->id);
}

static void process_free(void *pointer)
{
	struct process *process = pointer;

	if (!process)
		return;
	symbols_process__close(process->symbols);
	jvm_release(&process->jvm);
	jvm_threads_release(&process->threads);
	container_info_release(&process->container);
	free(process->exe);
	free(process);
}

int process_table__new(const struct process_table_options *options, struct process_table **out)
{
	struct process_table *table;

	if (!options->symbolizer || !options->accounts || !options->containers)
		return -EINVAL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->options = *options;
	*out = table;
	return 0;
}

void process_table__free(struct process_table *table)
{
	if (!table)
		return;
	tdestroy(table->tree, process_free);
	free(table);
}

/* Path of the running program, as the kernel shows it for that process's own root. */
static char *process_read_exe(int proc_fd, uint32_t pid)
{
	char link[32];
	char path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "%u/exe", pid);
	len = readlinkat(proc_fd, link, path, sizeof(path) - 1);
	if (len < 0) {
		__cleanup_fd int fd =
			proc_thread_open(proc_fd, pid, "exe", O_PATH | O_NOFOLLOW | O_CLOEXEC);

		len = fd < 0 ? -1 : readlinkat(fd, "", path, sizeof(path) - 1);
	}
	if (len <= 0)
		return NULL;
	path[len] = '\0';
	return strdup(path);
}

/* Has the process this name? 0, -ESTALE: another one, or -errno: it has ended. */
static int process_check_comm(int proc_fd, uint32_t pid, const char *comm)
{
	__cleanup_strbuf struct strbuf now = STRBUF_INIT;
	size_t len = strlen(comm);
	int err = fs_read_filef(proc_fd, PROCESS_COMM_MAX_BYTES, &now, "%u/comm", pid);

	if (err)
		return err;
	return now.len == len + 1 && memcmp(now.data, comm, len) == 0 ? 0 : -ESTALE;
}

/*
 * The program of the run that was sampled as sight->comm. It may have called execve() before it is read:
 * then the path is another program's, which may have opted out, and the name differs.
 */
static char *process_read_exe_of(int proc_fd, uint32_t pid, const struct process_sight *sight)
{
	__cleanup_free char *exe = process_read_exe(proc_fd, pid);

	if (exe && !sight->is_any_program && process_check_comm(proc_fd, pid, sight->comm))
		return NULL;
	return take_ptr(exe);
}

static int process_look_up(struct process_table *table, const struct process *process,
			   uint64_t cgroup_id, struct container_info *out)
{
	const struct container_sight sight = {
		.pid = process->id.pid,
		.start_ns = process->id.start_ns,
		.cgroup_id = cgroup_id,
	};

	return container_resolver__lookup(table->options.containers, &sight, out);
}

/* 0, -ENOMEM, or -ENOENT: of its cgroup nothing is known. */
static int process_label(struct process_table *table, struct process *process, uint64_t cgroup_id)
{
	struct container_info info = { 0 };
	int err = process_look_up(table, process, cgroup_id, &info);

	if (err == -ENOMEM)
		return err;
	if (err)
		pr_debug("process %u: no cgroup: %s\n", process->id.pid, errstr(err));
	container_info_release(&process->container);
	process->container = info;
	return err;
}

/*
 * When in doubt, nothing is recorded: the process ended before its environment, or the labels of
 * its container, could be read. What a living process of a cgroup showed holds for short-lived ones
 * of that cgroup.
 */
static enum opt_out process_opt_out(struct process_table *table, struct process *process,
				    const struct process_sight *sight, bool is_cgroup_known)
{
	enum opt_out opt_out = OPT_OUT_NONE;
	uint64_t *cgroup;

	if (table->options.ignores_opt_out)
		return OPT_OUT_NONE;
	if (!sight->may_be_recorded) {
		opt_out = process->exited ? OPT_OUT_UNDECIDED :
					    opt_out_read(table->options.proc_fd, process->id.pid);
		process->is_environment_read = true;
		/* It may have been another process's, which has the number by now. */
		if (proc_stat_check_start(table->options.proc_fd, process->id.pid,
					  process->id.start_ns)) {
			process->exited = true;
			opt_out = OPT_OUT_UNDECIDED;
		}
		/*
		 * Or it runs another program by now, and this is that one's: the name changes before the new
		 * environment is there (begin_new_exec() in fs/exec.c). The kernel part reports no execve of a
		 * process that was sampled only in the middle of the one before.
		 */
		if (opt_out == OPT_OUT_NONE && !sight->is_any_program &&
		    process_check_comm(table->options.proc_fd, process->id.pid, process->comm))
			opt_out = OPT_OUT_UNDECIDED;
	}
	if (process->container.is_opted_out && opt_out != OPT_OUT_BY_ENVIRONMENT)
		return OPT_OUT_BY_LABEL;
	cgroup = &table->open_cgroups[sight->cgroup_id % PROCESS_CGROUPS];
	if (is_cgroup_known)
		*cgroup = sight->cgroup_id;
	else if (opt_out == OPT_OUT_NONE && process->exited && *cgroup != sight->cgroup_id)
		return OPT_OUT_UNDECIDED;
	return opt_out;
}

void process_execed(struct process *process)
{
	if (!process)
		return;
	process->has_execed = true;
	symbols_process__note_exec(process->symbols);
	if (process->is_environment_read && process->opt_out == OPT_OUT_NONE)
		process->opt_out = OPT_OUT_UNDECIDED;
}

bool process_is_as_sampled(int proc_fd, const struct process *process)
{
	return !process->has_execed &&
	       process_check_comm(proc_fd, process->id.pid, process->comm) != -ESTALE;
}

int process_table__relabel(struct process_table *table, struct process *process)
{
	struct container_info info = { 0 };
	int err;

	if (process->exited || !process->container.id || !*process->container.id)
		return 0;
	err = process_look_up(table, process, process->cgroup_id, &info);
	/* Gone in this moment: what was known stays. */
	if (err || strcmp(info.id, process->container.id) != 0) {
		container_info_release(&info);
		return err == -ENOMEM ? err : 0;
	}
	container_info_release(&process->container);
	process->container = info;
	if (info.is_opted_out && !table->options.ignores_opt_out && !process->opt_out)
		process->opt_out = OPT_OUT_BY_LABEL;
	return 0;
}

/* Its account. What a user made below the cgroup that root named is no account of its own. */
static void process_set_account(struct process *process)
{
	const struct container_info *container = &process->container;
	const char *path = container->cgroup_path ? container->cgroup_path : "";

	process->account_len = cgroup_account_len_within(path, container->roots_path_len);
	process->account = cgroup_account_id(path, process->account_len);
}

/* Paid for by its account. */
static int process_open_symbols(struct process_table *table, struct process *process)
{
	char name[ACCOUNT_NAME_BYTES] = "";
	struct account *account;
	int err;

	if (process->account_len)
		snprintf(name, sizeof(name), "%.*s", (int)process->account_len,
			 process->container.cgroup_path);
	account = accounts__get(table->options.accounts, process->account, name);
	if (!account)
		return -ENOMEM;
	err = symbolizer__open_process(table->options.symbolizer, &process->id, account,
				       &process->symbols);
	account__put(account);
	/* It may have called execve() before it was read. One that was not sampled has no name yet. */
	if (!err && *process->comm && !process_is_as_sampled(table->options.proc_fd, process))
		err = symbols_process__doubt_maps(process->symbols);
	if (!err && process->has_execed)
		symbols_process__note_exec(process->symbols);
	return err;
}

static int process_make(struct process_table *table, const struct process_sight *sight,
			struct process **out)
{
	struct process *process = calloc(1, sizeof(*process));
	const struct process_life *id = &sight->id;
	int err;

	if (!process)
		return -ENOMEM;
	process->id = *id;
	process->cgroup_id = sight->cgroup_id;
	process->ns_pid = sight->ns_pid;
	snprintf(process->comm, sizeof(process->comm), "%s", sight->comm);

	/* Of another process that has the number by now nothing may be learnt. */
	if (proc_stat_check_start(table->options.proc_fd, id->pid, id->start_ns) == 0)
		process->exe = process_read_exe_of(table->options.proc_fd, id->pid, sight);
	else
		process->exited = true;
	err = process_label(table, process, sight->cgroup_id);
	if (err != -ENOMEM) {
		process->opt_out = process_opt_out(table, process, sight, err == 0);
		err = 0;
	}
	process_set_account(process);
	if (!err && table->options.meet)
		table->options.meet(table->options.ctx, process);
	if (!err && process->opt_out == OPT_OUT_NONE && !process->is_banned)
		err = process_open_symbols(table, process);
	if (!err && !tsearch(process, &table->tree, process_compare))
		err = -ENOMEM;
	if (err) {
		process_free(process);
		return err;
	}
	table->cnt++;
	*out = process;
	return 0;
}

struct process *process_table__find(struct process_table *table, const struct process_life *id)
{
	struct process wanted = { .id = *id };
	struct process **node = tfind(&wanted, &table->tree, process_compare);

	return node ? *node : NULL;
}

static void process_forget(struct process_table *table, struct process *process)
{
	tdelete(process, &table->tree, process_compare);
	process_free(process);
	table->cnt--;
}

/* It lives, and could not be asked in a window before: it may only have changed its name. */
static bool is_to_be_asked_again(const struct process *process)
{
	return process->opt_out == OPT_OUT_UNDECIDED && !process->exited && !process->has_execed &&
	       !process->is_environment_read;
}

int process_table__get(struct process_table *table, const struct process_sight *sight,
		       struct process **out)
{
	struct process *process = process_table__find(table, &sight->id);
	int err;

	if (process && is_to_be_asked_again(process)) {
		process_forget(table, process);
		process = NULL;
	}
	if (!process)
		return process_make(table, sight, out);
	if (process->cgroup_id != sight->cgroup_id && !process->opt_out) {
		err = process_label(table, process, sight->cgroup_id);
		if (err == -ENOMEM)
			return err;
		if (process->container.is_opted_out && !table->options.ignores_opt_out)
			process->opt_out = OPT_OUT_BY_LABEL;
		process->cgroup_id = sight->cgroup_id;
	}
	*out = process;
	return 0;
}

struct process_sweep {
	struct process **dead;
	size_t cnt;
	size_t cap;
};

static void process_collect_dead(const void *node, VISIT visit, void *closure)
{
	struct process *process = *(struct process *const *)node;
	struct process_sweep *sweep = closure;

	if (visit != postorder && visit != leaf)
		return;
	process->idle_windows++;
	process->is_environment_read = false;
	/* The window in which it ended is written by the time it has been idle for one. */
	if ((process->exited && process->idle_windows > 1) ||
	    process->idle_windows > PROCESS_IDLE_WINDOWS_MAX) {
		if (sweep->cnt < sweep->cap)
			sweep->dead[sweep->cnt++] = process;
	}
}

void process_table__expire(struct process_table *table)
{
	struct process_sweep sweep = { .cap = table->cnt };

	/* Short of memory: the sweep only ages them, the next one frees. */
	sweep.dead = calloc(table->cnt ? table->cnt : 1, sizeof(*sweep.dead));
	if (!sweep.dead)
		sweep.cap = 0;
	twalk_r(table->tree, process_collect_dead, &sweep);
	for (size_t i = 0; i < sweep.cnt; i++)
		process_forget(table, sweep.dead[i]);
	free(sweep.dead);
}

struct process_ban {
	bool (*is_banned)(const void *ctx, const struct process *process);
	const void *ctx;
};

static void process_ban(const void *node, VISIT visit, void *closure)
{
	struct process *process = *(struct process *const *)node;
	const struct process_ban *ban = closure;

	if ((visit != postorder && visit != leaf) || process->is_banned ||
	    !ban->is_banned(ban->ctx, process))
		return;
	process->is_banned = true;
	symbols_process__close(process->symbols);
	process->symbols = NULL;
}

void process_table__ban(struct process_table *table,
			bool (*is_banned)(const void *ctx, const struct process *process),
			const void *ctx)
{
	struct process_ban ban = { .is_banned = is_banned, .ctx = ctx };

	twalk_r(table->tree, process_ban, &ban);
}

int process_table__lift_ban(struct process_table *table, struct process *process)
{
	int err = process->opt_out == OPT_OUT_NONE ? process_open_symbols(table, process) : 0;

	process->is_banned = err != 0;
	return err;
}

size_t process_table__count(const struct process_table *table)
{
	return table->cnt;
}
