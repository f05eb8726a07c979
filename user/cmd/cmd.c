// SPDX-License-Identifier: Apache-2.0
/*
 * The table of commands and the way into them: "jbpf dump" and the link "jbpf-dump" are the same.
 * What is planned but not here says so, instead of looking like a typing error.
 */
#include "user/cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/cli/cmd_write.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define PROGRAM	    "jbpf"
#define LINK_PREFIX "jbpf-"

static const struct cmd commands[] = {
	{ "diff", "which methods need more CPU than before, and how sure that is", cmd_diff },
	{ "dump", "stacks of the store as folded text, flame graph, table or JSON", cmd_dump },
	{ "maps", "write /tmp/perf-PID.map for every JVM, so that perf names Java code", cmd_maps },
	{ "record", "sample this host for a while, without daemon and store", cmd_record },
	{ "status", "are the stacks of every JVM whole and named, and if not, why", cmd_status },
	{ "store", "check the files of the store, or compact them now", cmd_store },
};

/* Names that later versions will know. */
static const char *const later_commands[] = { "top" };

static const struct cmd *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static void print_help(void)
{
	printf("usage: jbpf COMMAND [OPTION]...\n"
	       "Continuous profiles of every process of a host, and of JVMs in containers.\n"
	       "\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-8s %s\n", commands[i].name, commands[i].help);
	printf("\n"
	       "jbpf COMMAND --help says more, and so does man jbpf-COMMAND. Every command is also\n"
	       "a program: jbpf-dump is jbpf dump. The daemon that fills the store is jbpfd.\n");
}

static int unknown_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(later_commands); i++) {
		if (strcmp(later_commands[i], name) != 0)
			continue;
		pr_err("this version has no '%s' command\n", name);
		return CMD_EXIT_USAGE;
	}
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

	if (argc <= 2) {
		print_help();
		return CMD_EXIT_DONE;
	}
	return run_command(argv[2], 2, help_argv);
}

int cmd_main(int argc, char **argv)
{
	const char *called = argc > 0 ? argv[0] : PROGRAM;
	const char *slash = strrchr(called, '/');

	/* A reader that goes away (| head) is no failure; writes then say EPIPE. */
	(void)signal(SIGPIPE, SIG_IGN);
	log_set_program(PROGRAM);
	called = slash ? slash + 1 : called;
	if (strncmp(called, LINK_PREFIX, strlen(LINK_PREFIX)) == 0)
		return run_command(called + strlen(LINK_PREFIX), argc, argv);
	if (argc < 2) {
		pr_err("which command? see jbpf --help\n");
		return CMD_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help();
		return CMD_EXIT_DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		return cmd_print_info("jbpf", NULL);
	}
	if (strcmp(argv[1], "help") == 0)
		return run_help(argc, argv);
	return run_command(argv[1], argc - 1, argv + 1);
}
