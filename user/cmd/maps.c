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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/cli/cmd_write.h"
#include "user/cli/option_usage.h"
#include "user/cli/text_table.h"
#include "user/cmd/cmd.h"
#include "user/cmd/map_file.h"
#include "user/output/map_text.h"
#include "user/cmd/maps_options.h"
#include "user/collect/map_reader.h"
#include "user/model/jvm_facts.h"
#include "user/model/select.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

/* ---- one process ---- */

struct maps {
	const struct maps_options *options;
	int dir_fd;
	struct map_reader *reader;
	struct text_table *table;
	size_t matched_cnt;
	size_t written_cnt;
};

static void maps_add_row(struct maps *maps, const struct naming_map_answer *answer,
			 const struct map_text *text, const char *problem)
{
	text_table_cellf(maps->table, "%" PRIu32, answer->pid);
	text_table_cell(maps->table, answer->container);
	text_table_cellf(maps->table, "%zu", problem ? 0 : text->cnt);
	text_table_cell(maps->table, problem ? "" : jit_source_name(answer->source));
	if (problem)
		text_table_cellf(maps->table, "not written: %s", problem);
	else
		text_table_cellf(maps->table, "%s/perf-%" PRIu32 ".map", maps->options->dir,
				 answer->pid);
}

static int maps_add_name(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	return map_text_add(ctx, start, len, name);
}

/* NULL, or why there is no answer. */
static const char *maps_ask(struct maps *maps, const struct naming_map *question,
			    struct map_text *text, struct naming_map_answer *answer)
{
	int err;

	*answer = (struct naming_map_answer){ .pid = question->pid };
	err = map_reader__ask(maps->reader, question, maps_add_name, text, answer);
	switch (err) {
	case 0:
		return *answer->problem ? answer->problem : NULL;
	case -ETIME:
		return "its memory does not answer: what read it hung";
	case -EPIPE:
		return "what read it ended";
	case -EAGAIN:
		return "no process can be started that reads it";
	case -E2BIG:
		return "it has more code than a map may hold";
	default:
		return errstr(err);
	}
}

static const char *maps_write(struct maps *maps, const struct naming_map_answer *answer,
			      struct map_text *text)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	char name[sizeof("perf-4294967295.map")];
	const struct map_file file = {
		.dir_fd = maps->dir_fd,
		.name = name,
		.is_forced = maps->options->is_forced,
		.may_be_jvms = answer->is_of_the_host,
		.process_uid = answer->euid,
	};
	const char *obstacle;
	int err;

	(void)snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", answer->pid);
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

static void maps_one(struct maps *maps, const struct naming_map_answer *who, const char *problem)
{
	const struct naming_map question = {
		.start_ns = who->start_ns,
		.pid = who->pid,
		.wants_code = true,
	};
	struct naming_map_answer answer = *who;
	struct map_text text = { .cnt = 0 };

	maps->matched_cnt++;
	if (!problem) {
		problem = maps_ask(maps, &question, &text, &answer);
		/* Without an answer the row still says which container it is. */
		if (!answer.start_ns)
			answer = *who;
	}
	if (!problem && text.cnt == 0)
		problem = "it has no compiled code yet";
	if (!problem)
		problem = maps_write(maps, &answer, &text);
	maps->written_cnt += !problem;
	maps_add_row(maps, &answer, &text, problem);
	map_text_release(&text);
}

/* ---- which processes ---- */

static bool maps_matches(const struct maps *maps, const struct naming_map_answer *who)
{
	const struct selection selection = { .container = maps->options->container };
	struct window window = { .pid = who->pid };

	window.labels[WINDOW_LABEL_CONTAINER] = who->container;
	window.labels[WINDOW_LABEL_CONTAINER_ID] = who->container_id;
	return selection_matches(&selection, &window);
}

static void maps_consider(struct maps *maps, uint32_t pid, bool is_asked)
{
	const struct naming_map question = { .pid = pid, .only_jvms = !is_asked };
	struct naming_map_answer who;
	const char *problem = maps_ask(maps, &question, NULL, &who);

	bool has_answered = !problem || problem == who.problem;

	if (!has_answered && maps->options->container)
		pr_warn("process %" PRIu32 ": %s; whether it is in such a container is not known\n",
			pid, problem);
	else if (!has_answered)
		maps_one(maps, &who, problem);
	else if (is_asked && !who.start_ns)
		pr_warn("there is no process %" PRIu32 "\n", pid);
	else if (who.start_ns && (is_asked || who.is_jvm) && maps_matches(maps, &who))
		maps_one(maps, &who, problem);
}

static int is_pid(const struct dirent *entry)
{
	return isdigit((unsigned char)entry->d_name[0]);
}

/* The numbers of all processes: read while those of others can be seen. */
struct pids {
	uint32_t *items;
	size_t cnt;
};

static int pids_read(struct pids *pids)
{
	struct dirent **entries;
	int cnt = scandir("/proc", &entries, is_pid, versionsort);

	if (cnt < 0)
		return -errno;
	pids->items = calloc((size_t)cnt + 1, sizeof(*pids->items));
	for (int i = 0; i < cnt; i++) {
		if (pids->items &&
		    parse_u32_range(entries[i]->d_name, 1, INT32_MAX, &pids->items[pids->cnt]) == 0)
			pids->cnt++;
		free(entries[i]);
	}
	free(entries);
	return pids->items ? 0 : -ENOMEM;
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

/* It writes files, and reads nothing of other processes. */
static int maps_drop_privileges(void)
{
	const struct daemon_sandbox_needs needs = { .aside = DAEMON_SANDBOX_WRITING };
	struct daemon_sandbox sandbox;
	char why[256];
	int err = daemon_sandbox_enter(&needs, &sandbox, why, sizeof(why));

	if (err)
		pr_err("%s\n", why);
	return err;
}

static int maps_go(struct maps *maps)
{
	const struct maps_options *options = maps->options;
	struct pids pids = { 0 };
	int err = options->pid_cnt ? 0 : pids_read(&pids);

	if (err)
		pr_err("the processes of this host cannot be read: %s\n", errstr(err));
	if (!err)
		err = maps_drop_privileges();
	for (size_t i = 0; !err && i < options->pid_cnt; i++)
		maps_consider(maps, options->pids[i], true);
	for (size_t i = 0; !err && i < pids.cnt; i++)
		maps_consider(maps, pids.items[i], false);
	free(pids.items);
	return err ? CMD_EXIT_FAILED : maps_report(maps);
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
	__cleanup_fd int dir_fd = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct text_table table = { .columns = columns, .column_cnt = ARRAY_SIZE(columns) };
	struct maps maps = { .options = options, .dir_fd = dir_fd, .table = &table };
	int code = CMD_EXIT_FAILED;
	char why[256];

	if (dir_fd < 0) {
		pr_err("'%s' cannot be opened: %s; give -d another directory\n", options->dir,
		       errstr(errno));
		return CMD_EXIT_FAILED;
	}
	if (map_reader__open(&maps.reader, why, sizeof(why)))
		pr_err("%s\n", why);
	else
		code = maps_go(&maps);
	map_reader__free(maps.reader);
	text_table_release(&table);
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
