// SPDX-License-Identifier: Apache-2.0
/* Starting, watching and ending the parser process; see parser_process.h. */
#include "symbols/parser/parser_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/host/proc_stat.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define STATUS_MAX_BYTES 16384

const struct parser_limits parser_limits_default = {
	.tick_ms = 100,
	.max_ticks = PARSER_REQUEST_MAX_NS / (100 * CLOCK_NS_PER_MS),
	.max_all_ticks = PARSER_REQUEST_MAX_BUSY_NS / (100 * CLOCK_NS_PER_MS),
	.max_stalled_ticks = 10,
	.max_cpu_ns = PARSER_REQUEST_MAX_NS,
	/* Whose input fails has a limit of its own (user/util/account.h); this one is for all. */
	.start_burst = 64,
	.start_interval_ns = CLOCK_NS_PER_S,
};

/* Of the start itself, on a host that may be very busy. */
static const struct parser_limits start_limits = {
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
		.starter = *starter,
		.limits = *limits,
		.socket_fd = -1,
		.tokens = limits->start_burst,
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
	uint64_t most = process->pid ? process_most_bytes(process->pid) : 0;

	return most > process->begin_bytes ? most - process->begin_bytes : 0;
}

/* ---- watching ---- */

struct parser_watch parser_watch_begin(const struct parser_process *process)
{
	uint64_t cpu_ns = clock_process_ns(process->pid);

	return (struct parser_watch){
		.limits = &process->limits,
		.cpu_begin_ns = cpu_ns,
		.cpu_ns = cpu_ns,
	};
}

/* False: it has had enough time. */
static bool watch_tick(const struct parser_process *process, struct parser_watch *watch)
{
	const struct parser_limits *limits = watch->limits;
	uint64_t cpu_ns = clock_process_ns(process->pid);
	bool is_stalled = cpu_ns == watch->cpu_ns;
	/* One that gets nothing from a busy host does not hang. */
	bool is_ready = proc_stat_wants_cpu(process->pid);

	watch->all_ticks++;
	watch->ticks += !is_ready;
	watch->stalled_ticks = is_stalled && !is_ready ? watch->stalled_ticks + 1 : 0;
	watch->cpu_ns = cpu_ns;
	return watch->ticks < limits->max_ticks && watch->all_ticks < limits->max_all_ticks &&
	       watch->stalled_ticks < limits->max_stalled_ticks &&
	       cpu_ns - watch->cpu_begin_ns < limits->max_cpu_ns;
}

int parser_process_receive(const struct parser_process *process, struct parser_watch *watch,
			   struct parser_message *message)
{
	for (;;) {
		struct pollfd wait = { .fd = process->socket_fd, .events = POLLIN };
		int ready = poll(&wait, 1, (int)watch->limits->tick_ms);

		if (ready > 0)
			return parser_message_receive(process->socket_fd, MSG_DONTWAIT, message,
						      NULL, NULL);
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && !watch_tick(process, watch))
			return -ETIMEDOUT;
	}
}

/* ---- ending ---- */

int parser_process_end(struct parser_process *process)
{
	pid_t pid = process->pid;
	int status;

	if (!pid)
		return -1;
	/* One that sees its socket closed first ends by itself, with another status. */
	status = process->starter.end(process->starter.ctx, pid);
	close(process->socket_fd);
	process->socket_fd = -1;
	process->pid = 0;
	return status;
}

void parser_process_renew(struct parser_process *process)
{
	if (!process->pid)
		return;
	(void)parser_process_end(process);
	process->next_is_free = true;
}

void parser_process_forget(struct parser_process *process)
{
	if (!process->pid)
		return;
	close(process->socket_fd);
	process->socket_fd = -1;
	process->pid = 0;
	process->next_is_free = true;
}

/* ---- starting ---- */

static bool process_may_start(struct parser_process *process)
{
	const struct parser_limits *limits = &process->limits;
	uint64_t now_ns = clock_boot_ns();

	if (process->start_cnt == 0 || process->next_is_free)
		return true;
	if (process->tokens < limits->start_burst) {
		uint64_t back = (now_ns - process->token_boot_ns) / limits->start_interval_ns;
		uint64_t room = limits->start_burst - process->tokens;

		process->tokens += (uint32_t)(back < room ? back : room);
		process->token_boot_ns += back * limits->start_interval_ns;
	}
	if (process->tokens == limits->start_burst)
		process->token_boot_ns = now_ns;
	if (process->tokens == 0)
		return false;
	process->tokens--;
	return true;
}

static int process_wait_ready(struct parser_process *process)
{
	struct parser_watch watch = parser_watch_begin(process);
	struct parser_message message;
	int err;

	watch.limits = &start_limits;
	err = parser_process_receive(process, &watch, &message);
	if (!err && message.kind != PARSER_MESSAGE_READY)
		err = -EBADMSG;
	if (!err)
		process->sandbox = (uint32_t)message.numbers[0];
	process->begin_bytes = process_most_bytes(process->pid);
	return err;
}

int parser_process_start(struct parser_process *process)
{
	int err;

	if (process->pid)
		return 0;
	if (!process_may_start(process))
		return -EAGAIN;
	err = process->starter.start(process->starter.ctx, &process->socket_fd, &process->pid);
	if (err)
		return err;
	process->start_cnt++;
	process->renewal_cnt += process->next_is_free;
	process->next_is_free = false;
	err = process_wait_ready(process);
	if (err) {
		int exit_err = child_process_err(parser_process_end(process));

		/* Its exit status is the error of the step that failed. */
		if (err == -EPIPE && exit_err)
			err = exit_err;
	}
	return err;
}
