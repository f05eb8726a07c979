// SPDX-License-Identifier: Apache-2.0
/* See command.h. */
#include "user/collect/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/host/cgroup_lines.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define CGROUP_TEXT_MAX (64 << 10)

struct command {
	int go_fd;    /* closed or written: the program begins only if it was written */
	int ended_fd; /* the runner's word, of the size of an int */
	pid_t pid;
	char cgroup[PATH_MAX];
};

/* What the runner says first. */
struct begun {
	pid_t pid;
	int has_cgroup;
};

/* ---- the cgroup ---- */

/* "/sys/fs/cgroup/user.slice/jbpf-record-4711". 0; -ENODEV: there is no cgroup v2; -errno. */
static int cgroup_name(char out[PATH_MAX])
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_line line;
	char mount[PATH_MAX];
	int err = proc_fd < 0 ? -errno : cgroup_mount_find(proc_fd, NULL, mount);

	if (!err)
		err = fs_read_file(proc_fd, "self/cgroup", CGROUP_TEXT_MAX, &text);
	if (err)
		return err;
	if (!cgroup_lines_find(strbuf_str(&text), text.len, NULL, &line))
		return -ENODEV;
	if (snprintf(out, PATH_MAX, "%s%.*s/jbpf-record-%d", mount, (int)line.name_len, line.path,
		     (int)getpid()) >= PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

static int cgroup_take(const char *cgroup, pid_t pid)
{
	char path[PATH_MAX + 16], text[16];
	__cleanup_fd int fd = -1;
	int len = snprintf(text, sizeof(text), "%d", (int)pid);

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fs_write_all(fd, text, (size_t)len);
}

/* ---- the program ---- */

static int run_program(char *const *argv, int go_fd, int error_fd)
{
	char word;
	int err;

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	if (read(go_fd, &word, 1) != 1)
		return 0;
	(void)execvp(argv[0], argv);
	err = -errno;
	return write(error_fd, &err, sizeof(err)) == sizeof(err);
}

/* ---- the runner ---- */

/* What it ended with: a wait status, or the error of execvp(). */
static int wait_for(pid_t pid, int error_fd)
{
	int status, err;

	if (read(error_fd, &err, sizeof(err)) != sizeof(err))
		err = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return err ? err : status;
}

/* Signals of the terminal are the program's and jbpf's; this process ends when the program has. */
static void runner_signals(void)
{
	static const int others[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		(void)signal(others[i], SIG_IGN);
}

static int runner_main(const struct command *command, char *const *argv, int go_fd, int said_fd)
{
	struct begun begun = { 0 };
	int error_fds[2], status;

	runner_signals();
	if (pipe2(error_fds, O_CLOEXEC))
		return 1;
	begun.pid = fork();
	if (begun.pid == 0) {
		close(error_fds[0]);
		_exit(run_program(argv, go_fd, error_fds[1]) ? 127 : 0);
	}
	close(error_fds[1]);
	close(go_fd);
	if (begun.pid < 0)
		return 1;
	begun.has_cgroup = *command->cgroup && mkdir(command->cgroup, 0755) == 0 &&
			   cgroup_take(command->cgroup, begun.pid) == 0;
	(void)!write(said_fd, &begun, sizeof(begun));
	status = wait_for(begun.pid, error_fds[0]);
	(void)!write(said_fd, &status, sizeof(status));
	if (*command->cgroup)
		(void)rmdir(command->cgroup); /* not while others of it are there */
	return 0;
}

/* ---- for the caller ---- */

static int start_runner(struct command *command, char *const *argv)
{
	int go[2], said[2];
	pid_t runner;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(said, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	runner = fork();
	if (runner == 0) {
		close(go[1]);
		close(said[0]);
		_exit(runner_main(command, argv, go[0], said[1]));
	}
	close(go[0]);
	close(said[1]);
	command->go_fd = go[1];
	command->ended_fd = said[0];
	return runner < 0 ? -errno : 0;
}

int command__start(char *const *argv, struct command **out)
{
	struct command *command = calloc(1, sizeof(*command));
	struct begun begun;
	int err;

	if (!command)
		return -ENOMEM;
	command->go_fd = command->ended_fd = -1;
	if (cgroup_name(command->cgroup))
		*command->cgroup = '\0';
	err = start_runner(command, argv);
	if (!err && read(command->ended_fd, &begun, sizeof(begun)) != sizeof(begun))
		err = -EAGAIN;
	if (!err && fcntl(command->ended_fd, F_SETFL, O_NONBLOCK))
		err = -errno;
	if (err) {
		command__free(command);
		return err;
	}
	command->pid = begun.pid;
	if (!begun.has_cgroup)
		*command->cgroup = '\0';
	*out = command;
	return 0;
}

void command__free(struct command *command)
{
	if (!command)
		return;
	if (command->go_fd >= 0)
		close(command->go_fd);
	if (command->ended_fd >= 0)
		close(command->ended_fd);
	free(command);
}

pid_t command__pid(const struct command *command)
{
	return command->pid;
}

const char *command__cgroup(const struct command *command)
{
	return *command->cgroup ? command->cgroup : NULL;
}

void command__go(struct command *command)
{
	(void)!write(command->go_fd, "g", 1);
	close(command->go_fd);
	command->go_fd = -1;
}

bool command__has_ended(struct command *command, int *status)
{
	return read(command->ended_fd, status, sizeof(*status)) == sizeof(*status);
}
