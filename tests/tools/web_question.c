// SPDX-License-Identifier: Apache-2.0
/*
 * Asks a store what jbpf web asks it in a child process, without the server: for the failure sweep.
 * Usage: web_question info|timeline --store=DIR [OPTION]...
 */
#include <stdio.h>
#include <string.h>

#include "user/util/log.h"
#include "user/web/web_info.h"
#include "user/web/web_timeline_run.h"

int main(int argc, char **argv)
{
	int code;

	if (argc < 2)
		return 2;
	log_set_program("jbpf-web");
	if (strcmp(argv[1], "info") == 0)
		code = web_info_run(argc - 1, argv + 1);
	else
		code = web_timeline_run(argc - 1, argv + 1);
	return fflush(stdout) && !code ? 1 : code;
}
