// SPDX-License-Identifier: Apache-2.0
/* Starting, watching and ending the parser process; see parser_process.h. */
#include "symbols/parser/parser_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define STATUS_MAX_BYTES 16384

const struct parser_limits parser_limits_default = {
	.request = {
		.tick_ms = 100,
		.max_ticks = PARSER_REQUEST_MAX_NS / (100 * CLOCK_NS_PER_MS),
		.max_all_ticks = PARSER_REQUEST_MAX_BUSY_NS / (100 * CLOCK_NS_PER_MS),
		.max_stalled_ticks = 10, /* the file does not come: given up for now */
		.max_cpu_ns = PARSER_REQUEST_MAX_NS,
	},
	/* Whose input fails has a limit of its own (user/util/account.h); this one is for all. */
	.start_burst = 64,
	.start_interval_ns = CLOCK_NS_PER_S,
	.rest_ns = 60 * CLOCK_NS_PER_S,
};

/* Of the start itself, on a host that may be very busy. */
static const struct helper_limits start_limits = {
	.tick_ms = 100,
	.max_ticks = 200,
	.max_all_ticks = 200,
	.max_stalled_ticks = 30,
	.max_cpu_ns = 10 * CLOCK_NS_PER_S,
};

void parser_process_init(struct parser_process *process, const struct child_starter *starter,
			 const struct parser_limits *limits)
{
	*process = (struct parser_process){
		.helper = helper_of(starter),
		.limits = limits->request,
		.budget = { .burst = limits->start_burst,
			    .interval_ns = limits->start_interval_ns },
	};
}

/* ---- memory ---- */

/* VmHWM of proc(5), which counts pages of files that it has mapped, too. */
static uint64_t process_most_bytes(pid_t pid)
{
	static const char field[] = "\nVmHWM:";
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t kib = 0;
	const char *at;

	if (fs_read_filef(AT_FDCWD, STATUS_MAX_BYTES, &text, "/proc/%d/status", (int)pid))
		return 0;
	at = strstr(strbuf_str(&text), field);
	if (!at)
		return 0;
	at += strlen(field);
	at += strspn(at, " \t");
	(void)parse_u64_n(at, strspn(at, "0123456789"), 10, &kib);
	return kib << 10;
}

uint64_t parser_process_peak_bytes(const struct parser_process *process)
{
	uint64_t most = process->helper.pid ? process_most_bytes(process->helper.pid) : 0;

	return most > process->begin_bytes ? most - process->begin_bytes : 0;
}

/* ---- watching ---- */

int parser_process_receive(const struct parser_process *process, struct helper_watch *watch,
			   struct parser_message *message)
{
	int err = helper_await(&process->helper, watch);

	return err ? err :
		     parser_message_receive(process->helper.socket_fd, MSG_DONTWAIT, message, NULL,
					    NULL);
}

/* ---- ending ---- */

void parser_process_renew(struct parser_process *process)
{
	if (!process->helper.pid)
		return;
	(void)helper_end(&process->helper, NULL);
	process->next_is_free = true;
}

void parser_process_forget(struct parser_process *process)
{
	if (!process->helper.pid)
		return;
	helper_forget(&process->helper);
	process->next_is_free = true;
}

/* ---- starting ---- */

static bool process_may_start(struct parser_process *process)
{
	return process->helper.start_cnt == 0 || process->next_is_free ||
	       start_budget_take(&process->budget, clock_boot_ns());
}

static int process_wait_ready(struct parser_process *process)
{
	struct helper_watch watch = helper_watch_begin(&process->helper, &start_limits);
	struct parser_message message;
	int err = parser_process_receive(process, &watch, &message);

	if (!err && message.kind != PARSER_MESSAGE_READY)
		err = -EBADMSG;
	if (!err)
		process->sandbox = (uint32_t)message.numbers[0];
	process->begin_bytes = process_most_bytes(process->helper.pid);
	return err;
}

int parser_process_start(struct parser_process *process)
{
	int err;

	if (process->helper.pid)
		return 0;
	if (!process_may_start(process))
		return -EAGAIN;
	err = helper_start(&process->helper);
	if (err)
		return err;
	process->renewal_cnt += process->next_is_free;
	process->next_is_free = false;
	err = process_wait_ready(process);
	if (err) {
		int exit_err = child_process_err(helper_end(&process->helper, NULL));

		/* Its exit status is the error of the step that failed. */
		if (err == -EPIPE && exit_err)
			err = exit_err;
	}
	return err;
}
