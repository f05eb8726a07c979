// SPDX-License-Identifier: Apache-2.0
/* See web.h. Listens, gives up all rights but to read the store, prints the address, serves. */
#include "user/web/web.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/cli/cmd_store.h"
#include "user/cli/exit_codes.h"
#include "user/cli/option_usage.h"
#include "user/web/web_options.h"
#include "user/serve/http_library.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/web/web_access.h"
#include "user/web/web_engine.h"
#include "user/web/web_rights.h"
#include "user/web/web_server.h"

/* Is there a store that this user may read? Says why not. */
static int check_store(const char *dir)
{
	enum event event = EVENT_CPU;
	struct store_source *reader;
	uint32_t events;
	int err;

	/* What it fails of, opening fails of, too, and says so. */
	if (store_events(dir, &events))
		events = 0;
	while (events && !(events & EVENT_BIT(event)))
		event++;
	err = cmd_store_open_event(dir, event, &reader);
	if (!err)
		store_source__free(reader);
	return err;
}

static int listen_on(const struct web_options *options)
{
	int fd = serve_address_listen(&options->address);
	const char *path = serve_address_path(&options->address);
	struct stat st;

	if (fd == -EADDRINUSE)
		pr_err("--listen %s is in use by another process; give another one\n",
		       options->listen);
	else if (fd == -EEXIST)
		pr_err("--listen %s: the path is taken by something that is no socket; remove it or give another one\n",
		       options->listen);
	else if (fd < 0)
		pr_err("--listen %s cannot be listened on: %s; give another one\n", options->listen,
		       errstr(fd));
	/* Who may read the store may ask for it. */
	if (fd >= 0 && path && geteuid() == 0 && options->source.store &&
	    stat(options->source.store, &st) == 0)
		(void)!lchown(path, (uid_t)-1, st.st_gid);
	return fd;
}

/* INT and TERM, instead of their ending the process at once. -errno */
static int signals_fd(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void print_address(const struct web_options *options, const char *token)
{
	const char *path = serve_address_path(&options->address);

	if (path)
		printf("unix:%s\n", path);
	else
		printf("http://%s/#token=%s\n", options->listen, token);
	fflush(stdout);
	if (path)
		pr_info("from elsewhere: ssh -L 7099:%s HOST, then http://localhost:7099/\n", path);
}

static int serve(const struct web_options *options, const struct web_programs *programs,
		 const struct http_library *library, struct web_engine *engine, int listen_fd)
{
	char token[WEB_TOKEN_CHARS + 1], said[512];
	__cleanup_fd int end_fd = signals_fd();
	struct web_server_options how = {
		.library = library,
		.programs = programs,
		.source = options->source,
		.engine = engine,
		.token = options->address.is_unix ? NULL : token,
		.listen_fd = listen_fd,
		.end_fd = end_fd,
	};
	struct web_server *server;
	int err = end_fd < 0 ? end_fd : web_access_make_token(token);

	if (!err)
		err = web_server__open(&how, &server);
	else
		close(listen_fd);
	if (err) {
		pr_err("pages cannot be served: %s\n", errstr(err));
		return CMD_EXIT_FAILED;
	}
	err = web_rights_give_up(options->source.store, said, sizeof(said));
	if (*said)
		log_print(err ? LOG_LEVEL_ERR : LOG_LEVEL_INFO, "%s\n", said);
	if (!err) {
		print_address(options, token);
		err = web_server__run(server);
		if (err)
			pr_err("pages cannot be served any more: %s\n",
			       err == -EPIPE ? "the process that reaches the server has ended" :
					       errstr(err));
	}
	web_server__free(server);
	return err ? CMD_EXIT_FAILED : CMD_EXIT_DONE;
}

int web_run(int argc, char **argv, const struct web_programs *programs)
{
	struct web_engine *engine = NULL;
	struct http_library library;
	struct web_options options;
	char why[512];
	int fd, code = CMD_EXIT_FAILED;

	if (web_options_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&web_option_table, &options.info);
	if (options.source.store && check_store(options.source.store))
		return CMD_EXIT_FAILED;
	if (http_library_load(&library)) {
		pr_err("jbpf web needs libmicrohttpd, which cannot be loaded; install libmicrohttpd12\n");
		return CMD_EXIT_FAILED;
	}
	if (options.source.from && web_engine__start(options.source.from, programs, &engine))
		return CMD_EXIT_FAILED;
	fd = listen_on(&options);
	if (fd >= 0)
		code = serve(&options, programs, &library, engine, fd);
	web_engine__free(engine);
	return code;
}
