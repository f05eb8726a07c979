// SPDX-License-Identifier: Apache-2.0
/*
 * Reads every file of the store to its end and decodes every profile in it. Damage is printed when it
 * is found, totals at the end.
 */
#include "user/cmd/store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "user/cmd/cmd.h"
#include "user/cli/cmd_store.h"
#include "user/cli/cmd_write.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/store/segment/segment_tree.h"
#include "user/store/store_source.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

struct check {
	const char *dir;
	enum event event; /* whose files are being looked at */
	bool json;
	struct strbuf out;
	struct json_writer writer; /* with json */
	uint64_t files;
	uint64_t day_files;
	uint64_t bytes;
	uint64_t windows;
	uint64_t samples;
	uint64_t over_budget; /* windows that were cut; their label names the reason */
	uint64_t damage_cnt;
	uint64_t damage_bytes;
	uint64_t kept_files; /* damaged ones, beside the files made from them */
	uint64_t kept_bytes;
	uint64_t first_unix_ns; /* of windows with samples; UINT64_MAX = none */
	uint64_t last_unix_ns;
};

/* ---- findings ---- */

static int check_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct check *check = ctx;

	(void)text;
	(void)len;
	if (!window->pid)
		return 0;
	check->windows += window->window_cnt ? window->window_cnt : 1;
	if (*window_label(window, WINDOW_LABEL_OVER_BUDGET))
		check->over_budget += window->window_cnt ? window->window_cnt : 1;
	check->samples += window->counts.samples;
	if (window->start_unix_ns < check->first_unix_ns)
		check->first_unix_ns = window->start_unix_ns;
	if (window_end_unix_ns(window) > check->last_unix_ns)
		check->last_unix_ns = window_end_unix_ns(window);
	return 0;
}

static void damage_json(struct json_writer *writer, const struct store_damage *damage)
{
	json_writer_newline(writer);
	json_writer_begin(writer, '{');
	json_writer_member_string(writer, "file", damage->path);
	json_writer_member_u64(writer, "offset", damage->offset);
	json_writer_member_u64(writer, "bytes", damage->bytes);
	json_writer_key(writer, "what");
	json_writer_string(writer, damage->what);
	json_writer_end(writer, '}');
}

static void damage_text(struct check *check, const struct store_damage *damage)
{
	struct strbuf *out = &check->out;

	escape_terminal(out, damage->path, strlen(damage->path));
	strbuf_printf(out, ": byte %" PRIu64 ", %" PRIu64 " bytes: ", damage->offset,
		      damage->bytes);
	escape_terminal(out, damage->what, strlen(damage->what));
	strbuf_putc(out, '\n');
}

static void check_damage(void *ctx, const struct store_damage *damage)
{
	struct check *check = ctx;

	check->damage_cnt++;
	check->damage_bytes += damage->bytes;
	if (check->json)
		damage_json(&check->writer, damage);
	else
		damage_text(check, damage);
}

static void kept_json_begin(struct check *check)
{
	json_writer_end(&check->writer, ']');
	json_writer_newline(&check->writer);
	json_writer_member_begin(&check->writer, "kept", '[');
}

/* A damaged file that compaction has kept. The path consists of digits and our words. */
static void check_kept(struct check *check, const struct segment_file *file, uint64_t bytes)
{
	char path[SEGMENT_STORE_PATH_BYTES];
	struct json_writer *writer = &check->writer;

	segment_store_path(check->event, file, path);
	check->kept_files++;
	check->kept_bytes += bytes;
	if (check->json) {
		json_writer_newline(writer);
		json_writer_begin(writer, '{');
		json_writer_member_string(writer, "file", path);
		json_writer_member_u64(writer, "bytes", bytes);
		json_writer_end(writer, '}');
	} else {
		strbuf_printf(&check->out,
			      "%s: damaged, %" PRIu64
			      " bytes, kept: what could be read of it is merged\n",
			      path, bytes);
	}
}

/* The size of the files. A file that vanishes meanwhile does not count. */
static int check_files(struct check *check)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	char path[SEGMENT_PATH_BYTES];
	__cleanup_fd int fd = segment_tree_open(check->dir, check->event);
	int err;

	if (fd < 0)
		return fd;
	err = segment_tree_list_all(fd, &list);
	for (size_t i = 0; i < list.cnt; i++) {
		struct stat st;

		segment_path(&list.files[i], path);
		if (fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW)) {
			if (errno == ENOENT)
				continue;
			return -errno;
		}
		if (!S_ISREG(st.st_mode))
			continue;
		if (list.files[i].is_damaged) {
			check_kept(check, &list.files[i], (uint64_t)st.st_size);
			continue;
		}
		check->files++;
		check->day_files += list.files[i].is_day;
		check->bytes += (uint64_t)st.st_size;
	}
	return err;
}

/* ---- the report ---- */

static double bytes_per_sample(const struct check *check)
{
	return (double)check->bytes / (double)check->samples;
}

static void totals_json(struct check *check)
{
	struct json_writer *writer = &check->writer;

	json_writer_end(writer, ']');
	json_writer_newline(writer);
	json_writer_member_u64(writer, "files", check->files);
	json_writer_member_u64(writer, "day_files", check->day_files);
	json_writer_member_u64(writer, "bytes", check->bytes);
	json_writer_member_u64(writer, "windows", check->windows);
	json_writer_member_u64(writer, "samples", check->samples);
	json_writer_member_u64(writer, "over_budget_windows", check->over_budget);
	json_writer_key(writer, "bytes_per_sample");
	if (check->samples)
		json_writer_decimal(writer, bytes_per_sample(check));
	else
		json_writer_null(writer);
	if (check->windows) {
		info_json_time(writer, "first", check->first_unix_ns);
		info_json_time(writer, "last", check->last_unix_ns);
	}
	json_writer_member_u64(writer, "damage_bytes", check->damage_bytes);
	json_writer_member_u64(writer, "kept_bytes", check->kept_bytes);
	json_writer_end(writer, '}');
	strbuf_putc(&check->out, '\n');
}

static void totals_text(struct check *check)
{
	struct strbuf *out = &check->out;

	strbuf_printf(out,
		      "%" PRIu64 " file%s (%" PRIu64 " of them days), %" PRIu64 " bytes, %" PRIu64
		      " window%s, %" PRIu64 " sample%s",
		      check->files, info_plural(check->files), check->day_files, check->bytes,
		      check->windows, info_plural(check->windows), check->samples,
		      info_plural(check->samples));
	if (check->samples)
		strbuf_printf(out, ", %.2f bytes per sample", bytes_per_sample(check));
	if (check->windows) {
		strbuf_puts(out, "\nfrom ");
		info_append_local_time(out, check->first_unix_ns);
		strbuf_puts(out, " to ");
		info_append_local_time(out, check->last_unix_ns);
	}
	if (check->over_budget)
		strbuf_printf(out,
			      "\n%" PRIu64
			      " window%s cut because their container is over its budget",
			      check->over_budget, check->over_budget == 1 ? " was" : "s were");
	if (check->kept_files)
		strbuf_printf(out,
			      "\n%" PRIu64 " damaged file%s, %" PRIu64
			      " bytes, %s kept as *.damaged until retention deletes them",
			      check->kept_files, info_plural(check->kept_files), check->kept_bytes,
			      check->kept_files == 1 ? "is" : "are");
	if (!check->damage_cnt) {
		strbuf_puts(out, "\nnothing is damaged\n");
		return;
	}
	strbuf_printf(out,
		      "\n%" PRIu64 " damaged place%s, %" PRIu64
		      " bytes; everything else is intact and is read\n",
		      check->damage_cnt, info_plural(check->damage_cnt), check->damage_bytes);
}

static void begin_json(struct check *check)
{
	struct json_writer *writer = &check->writer;

	json_writer_begin(writer, '{');
	json_writer_member_string(writer, "format", "jbpf-store-check");
	json_writer_member_u64(writer, "version", 1);
	json_writer_member_string(writer, "store", check->dir);
	json_writer_member_begin(writer, "damage", '[');
}

/* Every file of the event. */
static int check_event(struct check *check)
{
	const struct store_visitor visitor = {
		.ctx = check,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = true,
		.checks_all = true,
		.window = check_window,
		.damage = check_damage,
	};
	struct store_source *reader;
	int err = store_source__open(check->dir, check->event, &reader);

	if (err)
		return err;
	err = store_source__visit(reader, 0, UINT64_MAX, &visitor);
	store_source__free(reader);
	return err;
}

/* All damage first, then all files that were kept. */
static int check_run(struct check *check, uint32_t events)
{
	int err = 0;

	if (check->json)
		begin_json(check);
	for (int i = 0; i < EVENT_CNT && !err; i++) {
		check->event = (enum event)i;
		if (events & EVENT_BIT(i))
			err = check_event(check);
	}
	if (!err && check->json)
		kept_json_begin(check);
	for (int i = 0; i < EVENT_CNT && !err; i++) {
		check->event = (enum event)i;
		if (events & EVENT_BIT(i))
			err = check_files(check);
	}
	if (err)
		return err;
	if (check->json)
		totals_json(check);
	else
		totals_text(check);
	return strbuf_error(&check->out);
}

int store_check(const char *dir, bool json)
{
	struct check check = { .dir = dir, .json = json, .first_unix_ns = UINT64_MAX };
	struct store_source *reader = NULL;
	int code = CMD_EXIT_FAILED;
	uint32_t events;
	int err = store_events(dir, &events);

	/* It says why when there is none, or none that can be opened. */
	if ((err || !events) && cmd_store_open(dir, &reader))
		return CMD_EXIT_FAILED;
	store_source__free(reader);
	check.writer.out = &check.out;
	if (!err)
		err = check_run(&check, events);
	if (err)
		pr_err("the store in '%s' cannot be checked: %s\n", dir, errstr(err));
	else
		code = cmd_write(NULL, &check.out);
	if (code == CMD_EXIT_DONE && check.damage_cnt)
		code = CMD_EXIT_FAILED;
	strbuf_release(&check.out);
	return code;
}
