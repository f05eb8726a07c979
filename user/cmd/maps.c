// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf maps: writes /tmp/perf-PID.map for every JVM of the host, with the names that jbpfd would give
 * its code, so that perf report and perf top name Java frames of containers. PID is the host's: perf
 * looks there when the container has no such map.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/elf/libjvm.h"
#include "symbols/symbols.h"
#include "user/cmd/cmd.h"
#include "user/cli/cmd_write.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/cmd/map_file.h"
#include "user/cmd/map_text.h"
#include "user/cmd/maps_options.h"
#include "user/cli/option_usage.h"
#include "user/cli/text_table.h"
#include "user/collect/container/container.h"
#include "user/collect/container/opt_out.h"
#include "user/model/jvm_facts.h"
#include "user/model/select.h"
#include "user/util/cleanup.h"
#include "user/model/java_name.h"
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/host/proc_stat.h"
#include "user/util/strbuf.h"

/* ---- one process ---- */

struct maps {
	const struct maps_options *options;
	int proc_fd;
	int dir_fd;
	struct symbolizer *symbolizer;
	struct container_resolver *containers;
	struct text_table *table;
	size_t matched_cnt;
	size_t written_cnt;
};

/* The row of one process. */
struct maps_row {
	uint32_t pid;
	const char *container;
	const char *source;
	size_t entry_cnt;
	const char *problem; /* NULL = written */
};

static void maps_add_row(struct maps *maps, const struct maps_row *row)
{
	text_table_cellf(maps->table, "%" PRIu32, row->pid);
	text_table_cell(maps->table, row->container ? row->container : "");
	text_table_cellf(maps->table, "%zu", row->entry_cnt);
	text_table_cell(maps->table, row->source);
	if (row->problem)
		text_table_cellf(maps->table, "not written: %s", row->problem);
	else
		text_table_cellf(maps->table, "%s/perf-%" PRIu32 ".map", maps->options->dir,
				 row->pid);
}

static const char *collect_problem(int err, const struct symbols_jit_status *status)
{
	switch (err) {
	case -ENOENT:
		if (status->problem)
			return status->problem;
		return status->fallback ? status->fallback : "it has no compiled code yet";
	case -EPERM:
	case -EACCES:
		return "its memory may not be read; run jbpf maps as root";
	case -E2BIG:
		return "it has more code than a map may hold";
	default:
		return errstr(err);
	}
}

/* Names as in profiles: without the parts that differ from run to run. */
struct maps_names {
	struct map_text *text;
	struct strbuf name;
	bool is_hotspot;
};

static int maps_add_name(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	struct maps_names *names = ctx;
	enum frame_kind kind;
	int err;

	strbuf_clear(&names->name);
	err = java_name_canonical(name, strlen(name), names->is_hotspot, false, &names->name,
				  &kind);
	return err ? err : map_text_add(names->text, start, len, strbuf_str(&names->name));
}

/* All code of the process that has a name. NULL, or why there is none. */
static const char *maps_collect(struct maps *maps, const struct symbols_process_id *id,
				struct map_text *text, struct maps_row *row)
{
	struct symbols_jit_status status = { .source = JIT_SOURCE_NONE };
	struct maps_names names = { .text = text };
	struct symbols_process *process = NULL;
	int err = symbolizer__open_process(maps->symbolizer, id, NULL, &process);

	if (!err) {
		symbols_process__jit_status(process, &status);
		names.is_hotspot = status.is_hotspot;
		err = symbols_process__each_jit(process, maps_add_name, &names);
		symbols_process__jit_status(process, &status);
		strbuf_release(&names.name);
	}
	if (!err && text->cnt == 0)
		err = -ENOENT;
	symbols_process__close(process);
	/* The pid may belong to another process meanwhile: then the names may be of either. */
	if (proc_stat_check_start(maps->proc_fd, id->pid, id->start_ns))
		return "it ended meanwhile";
	if (err)
		return collect_problem(err, &status);
	row->source = jit_source_name(status.source);
	row->entry_cnt = text->cnt;
	return NULL;
}

/* Does the process see the directory of the maps under the same name? */
static bool shares_files(const struct maps *maps, uint32_t pid)
{
	char path[32];
	struct stat ours, theirs;

	(void)snprintf(path, sizeof(path), "%" PRIu32 "/ns/mnt", pid);
	return fstatat(maps->proc_fd, "self/ns/mnt", &ours, 0) == 0 &&
	       fstatat(maps->proc_fd, path, &theirs, 0) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

static const char *maps_write(struct maps *maps, uint32_t pid, struct map_text *text)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	char name[sizeof("perf-4294967295.map")];
	struct map_file file = {
		.dir_fd = maps->dir_fd,
		.name = name,
		.is_forced = maps->options->is_forced,
	};
	struct proc_status status;
	const char *obstacle;
	int err;

	(void)snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", pid);
	err = proc_status_read(maps->proc_fd, pid, &status);
	if (err)
		return "it ended meanwhile";
	file.may_be_jvms = status.ns_pid == pid && shares_files(maps, pid);
	file.process_uid = status.euid;
	obstacle = map_file_obstacle(&file);
	if (obstacle)
		return obstacle;
	err = map_text_render(text, &bytes);
	if (!err)
		err = map_file_write(&file, bytes.data, bytes.len);
	if (err == -EEXIST && map_file_obstacle(&file))
		return map_file_obstacle(&file);
	return err ? errstr(err) : NULL;
}

/* Without this right the process would look as if it had no code. */
static bool may_read(const struct maps *maps, uint32_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%" PRIu32 "/maps", pid);

	__cleanup_fd int fd = openat(maps->proc_fd, path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

/* NULL, or why the process is to be left alone. */
static const char *opt_out_problem(const struct maps *maps, uint32_t pid,
				   const struct container_info *container)
{
	if (container->is_opted_out)
		return "its container opted out of profiling (label " OPT_OUT_LABEL ")";
	if (opt_out_read(maps->proc_fd, pid) == OPT_OUT_BY_ENVIRONMENT)
		return "it opted out of profiling (" OPT_OUT_VARIABLE " in its environment)";
	return NULL;
}

static void maps_one(struct maps *maps, uint32_t pid, const struct container_info *container)
{
	struct symbols_process_id id = { .pid = pid };
	struct maps_row row = { .pid = pid, .container = container->name, .source = "" };
	struct map_text text = { .cnt = 0 };

	maps->matched_cnt++;
	if (proc_stat_start_ns(maps->proc_fd, pid, &id.start_ns))
		row.problem = "it ended meanwhile";
	else if (!may_read(maps, pid))
		row.problem = collect_problem(-EACCES, NULL);
	else
		row.problem = opt_out_problem(maps, pid, container);
	if (!row.problem)
		row.problem = maps_collect(maps, &id, &text, &row);
	if (!row.problem)
		row.problem = maps_write(maps, pid, &text);
	map_text_release(&text);
	maps->written_cnt += !row.problem;
	maps_add_row(maps, &row);
}

/* ---- which processes ---- */

static void maps_consider(struct maps *maps, uint32_t pid)
{
	const struct selection selection = { .container = maps->options->container };
	struct window window = { .pid = pid };
	struct container_info info = { 0 };

	if (container_resolver__lookup(maps->containers, pid, 0, &info) == 0) {
		window.labels[WINDOW_LABEL_CONTAINER] = info.name;
		window.labels[WINDOW_LABEL_CONTAINER_ID] = info.id;
	}
	if (selection_matches(&selection, &window))
		maps_one(maps, pid, &info);
	container_info_release(&info);
}

static bool is_jvm(int proc_fd, uint32_t pid)
{
	struct libjvm_mapping mapping;
	size_t cnt;

	return libjvm_find(proc_fd, pid, &mapping, 1, &cnt) == 0;
}

static int is_pid(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]);
}

static int maps_all(struct maps *maps)
{
	struct dirent **entries;
	int cnt = scandirat(maps->proc_fd, ".", &entries, is_pid, versionsort);

	if (cnt < 0)
		return -errno;
	for (int i = 0; i < cnt; i++) {
		uint32_t pid;

		if (parse_u32_range(entries[i]->d_name, 1, INT32_MAX, &pid) == 0 &&
		    is_jvm(maps->proc_fd, pid))
			maps_consider(maps, pid);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

static void maps_asked(struct maps *maps)
{
	for (size_t i = 0; i < maps->options->pid_cnt; i++) {
		struct proc_stat stat;

		if (proc_stat_read(maps->proc_fd, maps->options->pids[i], &stat))
			pr_warn("there is no process %" PRIu32 "\n", maps->options->pids[i]);
		else
			maps_consider(maps, maps->options->pids[i]);
	}
}

/* ---- the command ---- */

static int maps_report(const struct maps *maps)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	int code;

	if (maps->matched_cnt == 0) {
		pr_err("there is no such JVM%s\n",
		       geteuid() ? "; as root jbpf maps sees those of others, too" : "");
		return CMD_EXIT_NO_SAMPLES;
	}
	if (text_table_render(maps->table, &out)) {
		pr_err("out of memory\n");
		return CMD_EXIT_FAILED;
	}
	code = cmd_write(NULL, &out);
	if (code == CMD_EXIT_DONE && maps->written_cnt == 0) {
		pr_err("no map was written; the last column says why\n");
		return CMD_EXIT_FAILED;
	}
	return code;
}

static int maps_open(struct maps *maps, int root_fd)
{
	const struct symbolizer_options symbolizer_options = {
		.proc_fd = maps->proc_fd,
		.jit = JIT_MODE_AUTO,
	};
	struct container_resolver_options container_options = {
		.proc_fd = maps->proc_fd,
		.root_fd = root_fd,
		.cgroup_root = "/sys/fs/cgroup",
	};
	int err = symbolizer__open(&symbolizer_options, &maps->symbolizer);

	if (err)
		return err;
	container_options.parser = symbolizer__parser(maps->symbolizer);
	return container_resolver__new(&container_options, &maps->containers);
}

/* Dropped before any bytes of containers are read. */
static int maps_drop_privileges(void)
{
	const struct daemon_sandbox_needs needs = { .names = true,
						    .aside = DAEMON_SANDBOX_WRITING };
	struct daemon_sandbox sandbox;
	char why[256];
	int err = daemon_sandbox_enter(&needs, &sandbox, why, sizeof(why));

	if (err)
		pr_err("%s\n", why);
	return err;
}

static int maps_say(int err)
{
	if (err)
		pr_err("the processes of this host cannot be read: %s\n", errstr(err));
	return err;
}

static int maps_go(struct maps *maps)
{
	int err = 0;

	if (maps->options->pid_cnt)
		maps_asked(maps);
	else
		err = maps_all(maps);
	return maps_say(err) ? CMD_EXIT_FAILED : maps_report(maps);
}

static int maps_run(const struct maps_options *options)
{
	static const struct text_table_column columns[] = {
		{ .title = "PID", .is_number = true },
		{ .title = "CONTAINER" },
		{ .title = "ENTRIES", .is_number = true },
		{ .title = "SYMBOLS" },
		{ .title = "MAP" },
	};
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int dir_fd = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct text_table table = { .columns = columns, .column_cnt = ARRAY_SIZE(columns) };
	struct maps maps = {
		.options = options, .proc_fd = proc_fd, .dir_fd = dir_fd, .table = &table
	};
	int code = CMD_EXIT_FAILED;

	if (dir_fd < 0) {
		pr_err("'%s' cannot be opened: %s; give -d another directory\n", options->dir,
		       errstr(errno));
		return CMD_EXIT_FAILED;
	}
	if (maps_say(proc_fd < 0 || root_fd < 0 ? -ENOENT : maps_open(&maps, root_fd)) == 0 &&
	    maps_drop_privileges() == 0)
		code = maps_go(&maps);
	text_table_release(&table);
	container_resolver__free(maps.containers);
	symbolizer__free(maps.symbolizer);
	return code;
}

int cmd_maps(int argc, char **argv)
{
	struct maps_options options;
	char why[256];

	if (maps_options_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&maps_option_table, &options.info);
	return maps_run(&options);
}
