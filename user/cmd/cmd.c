// SPDX-License-Identifier: Apache-2.0
/*
 * The table of commands and the way into them: "jbpf dump" and the link "jbpf-dump" are the same.
 */
#include "user/cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/cli/cmd_write.h"
#include "user/cmd/diff_options.h"
#include "user/cmd/dump_options.h"
#include "user/cmd/maps_options.h"
#include "user/cmd/record_options.h"
#include "user/cmd/store_options.h"
#include "user/names/near_name.h"
#include "user/push/push.h"
#include "user/push/push_options.h"
#include "user/top/top_options.h"
#include "user/top/top_run.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"
#include "user/util/version.h"
#include "user/web/web.h"
#include "user/web/web_options.h"

#define PROGRAM	    "jbpf"
#define LINK_PREFIX "jbpf-"

static int cmd_web(int argc, char **argv)
{
	static const struct web_programs programs = { .profile = cmd_dump, .diff = cmd_diff };

	return web_run(argc, argv, &programs);
}

const struct cmd cmd_list[] = {
	{ "diff", "report which methods need more CPU than before, and how sure that is",
	  &diff_option_table, cmd_diff },
	{ "dump", "write stacks of the store as folded text, flame graph, table or JSON",
	  &dump_option_table, cmd_dump },
	{ "maps", "write /tmp/perf-PID.map for every JVM, so that perf names Java code",
	  &maps_option_table, cmd_maps },
	{ "push", "send the store to ClickHouse, a receiver of OTLP or Pyroscope",
	  &push_option_table, push_run },
	{ "record", "sample this host for a while, without daemon and store", &record_option_table,
	  cmd_record },
	{ "status", "show whether the stacks of every JVM are whole and named, and if not, why",
	  &status_option_table, cmd_status },
	{ "store", "check the files of the store, or compact them now", &store_option_table,
	  cmd_store },
	{ "top", "show live who uses this host, and with which code", &top_option_table, top_main },
	{ "web", "show the store in a browser: time line, flame graph, comparison",
	  &web_option_table, cmd_web },
	{ NULL, NULL, NULL, NULL },
};

static const struct cmd *find_command(const char *name)
{
	const struct cmd *cmd = cmd_list;

	while (cmd->name && strcmp(cmd->name, name) != 0)
		cmd++;
	return cmd->name ? cmd : NULL;
}

static int print(const struct strbuf *text)
{
	if (!strbuf_error(text))
		return cmd_write(NULL, text);
	pr_err("out of memory\n");
	return CMD_EXIT_FAILED;
}

static int print_help(void)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_puts(&text,
		    "usage: jbpf COMMAND [OPTION]...\n"
		    "Continuous profiles of every process of a host, and of JVMs in containers.\n"
		    "\n");
	for (const struct cmd *cmd = cmd_list; cmd->name; cmd++)
		strbuf_printf(&text, "  %-8s %s\n", cmd->name, cmd->help);
	strbuf_puts(
		&text,
		"\n"
		"jbpf COMMAND --help and man jbpf-COMMAND say more. Every command is also a program:\n"
		"jbpf-dump is jbpf dump. The daemon that fills the store is jbpfd.\n");
	return print(&text);
}

static int print_version(void)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_printf(&text, "%s %s\n", PROGRAM, jbpf_version);
	return print(&text);
}

static int unknown_command(const char *name)
{
	uint32_t least = NEAR_NAME_FAR;
	const char *nearest = NULL;

	for (const struct cmd *cmd = cmd_list; cmd->name; cmd++) {
		if (near_name_is_nearer(name, cmd->name, &least))
			nearest = cmd->name;
	}
	if (nearest)
		pr_err("there is no command '%s' (did you mean '%s'?); see jbpf --help\n", name,
		       nearest);
	else
		pr_err("there is no command '%s'; see jbpf --help\n", name);
	return CMD_EXIT_USAGE;
}

static int run_command(const char *name, int argc, char **argv)
{
	const struct cmd *cmd = find_command(name);
	char program[64];
	int code;

	if (!cmd)
		return unknown_command(name);
	(void)snprintf(program, sizeof(program), LINK_PREFIX "%s", cmd->name);
	log_set_program(program);
	code = cmd->run(argc, argv);
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE && code == CMD_EXIT_DONE) {
		pr_err("standard output: %s\n", errstr(errno));
		code = CMD_EXIT_FAILED;
	}
	/* `program` ends with this call. */
	log_set_program(PROGRAM);
	return code;
}

/* "jbpf help dump" is "jbpf dump --help". */
static int run_help(int argc, char **argv)
{
	static char option[] = "--help";
	char *help_argv[] = { argc > 2 ? argv[2] : NULL, option, NULL };

	if (argc <= 2)
		return print_help();
	return run_command(argv[2], 2, help_argv);
}

int cmd_main(int argc, char **argv)
{
	const char *called = argc > 0 ? argv[0] : PROGRAM;
	const char *slash = strrchr(called, '/');

	/* A reader that goes away (| head) is not an error; writes then fail with EPIPE. */
	(void)signal(SIGPIPE, SIG_IGN);
	log_set_program(PROGRAM);
	called = slash ? slash + 1 : called;
	if (strncmp(called, LINK_PREFIX, strlen(LINK_PREFIX)) == 0)
		return run_command(called + strlen(LINK_PREFIX), argc, argv);
	if (argc < 2) {
		pr_err("which command? see jbpf --help\n");
		return CMD_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0)
		return print_version();
	if (strcmp(argv[1], "help") == 0)
		return run_help(argc, argv);
	return run_command(argv[1], argc - 1, argv + 1);
}
