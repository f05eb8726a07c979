// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf top: options, a source of windows, then the live screen or one plain table. The screen is
 * drawn when windows or keys have come, and each second, for its clock.
 */
#include "user/top/top_run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/cli/option_usage.h"
#include "user/cli/terminal.h"
#include "user/cli/unmatched.h"
#include "user/collect/sampling.h"
#include "user/top/top_keys.h"
#include "user/top/top_options.h"
#include "user/top/top_plain.h"
#include "user/top/top_source.h"
#include "user/top/top_terminal.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define REDRAW_NS   CLOCK_NS_PER_S
#define ONCE_MAX_NS (60 * CLOCK_NS_PER_S) /* for a busy host to give them */
/* Then a shorter part of the window that runs will do: windows may be shorter than two seconds. */
#define ONCE_SOME_NS  (5 * CLOCK_NS_PER_S)
#define ONCE_LEAST_NS (CLOCK_NS_PER_S / 2) /* of less it would say more cores than there are */

struct top {
	const struct top_options *options;
	struct top_model *model;
	struct top_source *source; /* NULL with --since */
	struct top_state state;
	struct top_content content;
	struct top_screen screen;
	struct top_terminal *terminal;
	char host[256];
	char text[300]; /* of the source */
	uint64_t drawn_boot_ns;
	uint64_t generation; /* that the content is of */
};

static struct top_facts facts_of(const struct top *top)
{
	return (struct top_facts){
		.host = top->host,
		.source = top->source ? top->source->text : top->text,
		.note = top->source && *top->source->note ? top->source->note : NULL,
		.now_unix_ns = clock_unix_ns(),
	};
}

static int fail_memory(void)
{
	pr_err("out of memory; select fewer processes\n");
	return CMD_EXIT_FAILED;
}

/* Loads the page; where one row was asked for, that row's. 0 or -ENOMEM. */
static int load(struct top *top)
{
	int err = top_content_load(top->model, &top->state, &top->content);

	if (!err && top_keys_enter_only_row(&top->state, &top->content))
		err = top_content_load(top->model, &top->state, &top->content);
	top->generation = top_model__generation(top->model);
	return err;
}

/* ---- plain ---- */

static void explain_nothing(const struct top *top)
{
	const struct streams *others = top_model__others(top->model);
	__cleanup_strbuf struct strbuf hint = STRBUF_INIT;

	/* Of what others wait for nothing was read. */
	if (!others->cnt || unmatched_hint(&top->options->selection, others, "", &hint) ||
	    !hint.len)
		strbuf_puts(&hint, "jbpf top without selectors shows what there is");
	if (top->options->has_selection)
		pr_err("no samples match; %s\n", strbuf_str(&hint));
	else if (top->source && top->source->is_sampling)
		pr_err("nothing was sampled: the host is idle, or too busy to give any samples\n");
	else
		pr_err("the store in '%s' has no samples of that time; is jbpfd running?\n",
		       top->options->store);
}

static int print_table(struct top *top)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct top_facts facts = facts_of(top);

	if (load(top))
		return fail_memory();
	if (top_content_cnt(&top->content, &top->state) == 0) {
		explain_nothing(top);
		return CMD_EXIT_NO_SAMPLES;
	}
	if (top_plain(&top->state, &top->content, &facts, top->options->rows,
		      terminal_columns(NULL), &out))
		return fail_memory();
	return cmd_write(NULL, &out);
}

/* Of samples of our own a table takes some seconds, of the window that runs two; else a store has what it has. */
static bool has_enough(struct top *top, uint64_t waited_ns, bool *is_short)
{
	const struct top_source *source = top->source;
	uint64_t wanted_ns = source->fills_ns;
	struct top_rows rows;
	bool is_enough;

	if (!source->fills_ns)
		return source->is_idle;
	*is_short = top_model__rows(top->model, top->state.event, &rows) != 0;
	if (*is_short)
		return true;
	if (!source->is_sampling && waited_ns >= ONCE_SOME_NS)
		wanted_ns = ONCE_LEAST_NS;
	is_enough = rows.host.span_ns >= wanted_ns &&
		    (source->is_sampling || (rows.host.is_running && source->is_idle));
	top_rows_release(&rows);
	return is_enough;
}

static int step(struct top *top)
{
	int err = top->source->ops->step(top->source, top->state.event, top->model);

	top->state.events = top->source->events;
	if (err)
		pr_err("%s\n", top->source->why);
	return err;
}

/* Until the source has given enough for a table. The exit code. */
static int run_once(struct top *top)
{
	uint64_t start_ns = clock_boot_ns(), waited_ns = 0;
	bool is_short = false;

	if (top->source->is_sampling)
		pr_info("sampling for %llu s\n",
			(unsigned long long)(top->source->fills_ns / CLOCK_NS_PER_S));
	while (waited_ns < ONCE_MAX_NS) {
		struct pollfd wait = { .fd = top->source->fd, .events = POLLIN };

		(void)poll(&wait, 1, 50);
		if (step(top))
			return CMD_EXIT_FAILED;
		waited_ns = clock_boot_ns() - start_ns;
		if (has_enough(top, waited_ns, &is_short))
			break;
	}
	return is_short ? fail_memory() : print_table(top);
}

static int run_range(struct top *top)
{
	const struct top_options *options = top->options;
	int code = top_store_read(options->store, options->event, options->selection.since_unix_ns,
				  options->selection.until_unix_ns, top->model);

	(void)snprintf(top->text, sizeof(top->text), "store %s", options->store);
	return code == CMD_EXIT_DONE ? print_table(top) : code;
}

/* ---- live ---- */

static void draw(struct top *top)
{
	const struct top_facts facts = facts_of(top);
	int width, height;

	top_terminal__size(top->terminal, &width, &height);
	top_keys_settle(&top->state, &top->content, top_view_lines(height));
	/* Without memory nothing is drawn, and the next try may have some. */
	if (top_screen_clear(&top->screen, width, height))
		return;
	top_view_draw(&top->screen, &top->state, &top->content, &facts);
	top_terminal__draw(top->terminal, &top->screen);
	top->drawn_boot_ns = clock_boot_ns();
}

/* True: something was pressed, or the size is another one. */
static bool take_keys(struct top *top)
{
	bool is_any = false;

	for (;;) {
		struct top_press press = top_terminal__read(top->terminal);

		if (press.key == TOP_KEY_NONE)
			return is_any;
		is_any = true;
		top_keys_apply(&top->state, &top->content, press,
			       top_view_lines(top->screen.height));
		top_model__freeze(top->model, top->state.is_paused);
		/* The next key may be meant for what this one brings. */
		if (top_content_load(top->model, &top->state, &top->content))
			top->state.is_done = true;
		top_keys_settle(&top->state, &top->content, top_view_lines(top->screen.height));
	}
}

static int wait_for(const struct top *top, int signal_fd, bool *is_over)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = signal_fd, .events = POLLIN },
		{ .fd = top->source->fd, .events = POLLIN },
	};
	uint64_t due_ns = top->drawn_boot_ns + REDRAW_NS;
	uint64_t now_ns = clock_boot_ns();

	if (top->source->due_boot_ns < due_ns)
		due_ns = top->source->due_boot_ns;
	/* A signal that wakes it up is the terminal's new size: ncurses has a key for that. */
	if (poll(fds, ARRAY_SIZE(fds),
		 due_ns > now_ns ? (int)((due_ns - now_ns) / CLOCK_NS_PER_MS) + 1 : 0) < 0)
		return errno == EINTR ? 0 : -errno;
	*is_over = fds[1].revents || (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
	return 0;
}

/* The exit code. */
static int run_loop(struct top *top, int signal_fd)
{
	bool is_over = false;

	if (load(top))
		return fail_memory();
	draw(top);
	while (!top->state.is_done && !is_over) {
		int err = wait_for(top, signal_fd, &is_over);
		bool is_changed = take_keys(top);

		if (err) {
			pr_err("waiting for keys failed: %s\n", errstr(err));
			return CMD_EXIT_FAILED;
		}
		if (step(top))
			return CMD_EXIT_FAILED;
		if (top->generation != top_model__generation(top->model)) {
			if (load(top))
				return fail_memory();
			is_changed = true;
		}
		if (is_changed || clock_boot_ns() >= top->drawn_boot_ns + REDRAW_NS)
			draw(top);
	}
	return CMD_EXIT_DONE;
}

static int run_live(struct top *top)
{
	__cleanup_fd int signal_fd = sampling_signals_open();
	char why[300];
	int code;

	if (signal_fd < 0) {
		pr_err("signals: %s\n", errstr(signal_fd));
		return CMD_EXIT_FAILED;
	}
	if (top_terminal__open(&top->terminal, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_FAILED;
	}
	top->screen.is_ascii = top_terminal__is_ascii(top->terminal);
	code = run_loop(top, signal_fd);
	top_terminal__free(take_ptr(top->terminal));
	return code;
}

/* ---- the command ---- */

static bool wants_sampling(const struct top_options *options)
{
	if (options->from != TOP_FROM_BEST)
		return options->from == TOP_FROM_SAMPLING;
	return geteuid() == 0 && !top_store_is_alive(options->store);
}

/* Of the window that runs no stacks are told: which code a sample was in, and which thread's it is. */
static bool reads_along(const struct top_options *options)
{
	return !selection_is_of_parts(&options->selection);
}

/* Prints why it fails. The exit code. */
static int open_source(struct top *top)
{
	const struct top_options *options = top->options;
	char why[1024];
	int err;

	if (!wants_sampling(options)) {
		err = top_store__open(options->store, options->event, reads_along(options),
				      &top->source);
		if (err && options->from == TOP_FROM_BEST && geteuid() != 0)
			pr_err("as root jbpf top samples by itself where no jbpfd runs\n");
		if (err)
			return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
		return CMD_EXIT_DONE;
	}
	if (top_sampler__open(options->event, &top->source, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_FAILED;
	}
	return CMD_EXIT_DONE;
}

static int run(struct top *top, bool is_live)
{
	int code;

	if (top->options->selection.since_unix_ns)
		return run_range(top);
	code = open_source(top);
	if (code == CMD_EXIT_DONE)
		code = is_live ? run_live(top) : run_once(top);
	top_source_free(take_ptr(top->source));
	return code;
}

static void top_release(struct top *top)
{
	top_content_release(&top->content);
	top_screen_release(&top->screen);
	top_model__free(top->model);
}

int top_main(int argc, char **argv)
{
	struct top_options options;
	struct top top = { .options = &options };
	char why[512];
	bool is_live;
	int held_fd;
	int code;

	if (top_options_parse(argc, argv, clock_unix_ns(), &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&top_option_table, &options.info);
	top.model = top_model__new(&options.selection, options.selection.since_unix_ns ?
							       TOP_SPAN_WHOLE :
							       TOP_SPAN_LIVE);
	if (!top.model)
		return fail_memory();
	top.state.event = options.event;
	top.state.is_inside = options.has_selection;
	if (gethostname(top.host, sizeof(top.host) - 1))
		top.host[0] = '\0';
	is_live = !options.once && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	held_fd = is_live ? top_stderr_hold() : -1;
	code = run(&top, is_live);
	top_stderr_release(held_fd);
	top_release(&top);
	return code;
}
