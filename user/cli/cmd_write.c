// SPDX-License-Identifier: Apache-2.0
/* Output of the commands; see cmd_write.h. */
#include "user/cli/cmd_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/sandbox/daemon_sandbox.h"
#include "user/cli/exit_codes.h"
#include "user/cli/terminal.h"
#include "user/output/escape.h"
#include "user/sandbox/capabilities.h"
#include "user/util/fs.h"
#include "user/util/log.h"

/* A command that dropped privileges may have kept the user's right to write, for this. */
static int write_output(const char *path, const struct strbuf *text)
{
	struct capabilities before;
	int err = capabilities_raise(DAEMON_SANDBOX_WRITING, &before);

	if (err)
		return err;
	err = fs_write_output(AT_FDCWD, path, 0644, text->data, text->len);
	(void)capabilities_restore(&before);
	return err;
}

int cmd_write(const char *path, const struct strbuf *text)
{
	int err;

	if (path)
		err = write_output(path, text);
	else
		err = fs_write_all(STDOUT_FILENO, text->data, text->len);
	if (!err || (!path && err == -EPIPE))
		return CMD_EXIT_DONE;
	if (path)
		pr_err("'%s' cannot be written: %s; give --output another file\n", path,
		       errstr(err));
	else
		pr_err("standard output: %s\n", errstr(err));
	return CMD_EXIT_FAILED;
}

int cmd_write_paged(const char *path, bool no_pager, const struct strbuf *text)
{
	if (!path && !no_pager && terminal_page(text))
		return CMD_EXIT_DONE;
	return cmd_write(path, text);
}

int cmd_write_prepare_lines(const char *path, struct strbuf *text)
{
	__cleanup_strbuf struct strbuf raw = STRBUF_INIT;

	if (path || !isatty(STDOUT_FILENO))
		return 0;
	raw = *text;
	*text = (struct strbuf)STRBUF_INIT;
	for (const char *line = strbuf_str(&raw); *line;) {
		size_t len = strcspn(line, "\n");

		escape_terminal(text, line, len);
		strbuf_putc(text, '\n');
		line += len;
		line += *line == '\n';
	}
	return strbuf_error(text);
}
