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
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

struct check {
	const char *dir;
	bool json;
	struct strbuf out;
	struct json_writer writer; /* with json */
	int err;		   /* sticky, of printing */
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

	if (!check->err)
		check->err = escape_terminal(out, damage->path, strlen(damage->path));
	if (!check->err)
		check->err = strbuf_printf(out, ": byte %" PRIu64 ", %" PRIu64 " bytes: ",
					   damage->offset, damage->bytes);
	if (!check->err)
		check->err = escape_terminal(out, damage->what, strlen(damage->what));
	if (!check->err)
		check->err = strbuf_putc(out, '\n');
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
	json_writer_key(&check->writer, "kept");
	json_writer_begin(&check->writer, '[');
}

/* A damaged file that compaction has kept. The path consists of digits and our suffixes. */
static void check_kept(struct check *check, const char *path, uint64_t bytes)
{
	struct json_writer *writer = &check->writer;

	check->kept_files++;
	check->kept_bytes += bytes;
	if (check->json) {
		__cleanup_strbuf struct strbuf name = STRBUF_INIT;

		if (!check->err)
			check->err = strbuf_printf(&name, SEGMENT_TREE_DIR "/%s", path);
		json_writer_newline(writer);
		json_writer_begin(writer, '{');
		json_writer_member_string(writer, "file", strbuf_str(&name));
		json_writer_member_u64(writer, "bytes", bytes);
		json_writer_end(writer, '}');
	} else if (!check->err) {
		check->err = strbuf_printf(&check->out,
					   SEGMENT_TREE_DIR
					   "/%s: damaged, %" PRIu64
					   " bytes, kept: what could be read of it is merged\n",
					   path, bytes);
	}
}

/* The size of the files. A file that vanishes meanwhile does not count. */
static int check_files(struct check *check)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	char path[PATH_MAX];
	__cleanup_fd int fd = -1;
	int err = segment_tree_path(check->dir, path);

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = segment_tree_list_all(fd, &list);
	if (!err && check->json)
		kept_json_begin(check);
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
			check_kept(check, path, (uint64_t)st.st_size);
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

static int totals_json(struct check *check)
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
	return writer->err ? writer->err : strbuf_putc(&check->out, '\n');
}

static int totals_text(struct check *check)
{
	struct strbuf *out = &check->out;
	int err = strbuf_printf(out,
				"%" PRIu64 " files (%" PRIu64 " of them days), %" PRIu64
				" bytes, %" PRIu64 " windows, %" PRIu64 " samples",
				check->files, check->day_files, check->bytes, check->windows,
				check->samples);

	if (!err && check->samples)
		err = strbuf_printf(out, ", %.2f bytes per sample", bytes_per_sample(check));
	if (!err && check->windows)
		err = strbuf_puts(out, "\nfrom ");
	if (!err && check->windows)
		err = info_append_time(out, check->first_unix_ns);
	if (!err && check->windows)
		err = strbuf_puts(out, " to ");
	if (!err && check->windows)
		err = info_append_time(out, check->last_unix_ns);
	if (err)
		return err;
	if (check->over_budget)
		err = strbuf_printf(out,
				    "\n%" PRIu64
				    " windows were cut because their container is over its budget",
				    check->over_budget);
	if (!err && check->kept_files)
		err = strbuf_printf(out,
				    "\n%" PRIu64 " damaged files, %" PRIu64
				    " bytes, are kept as *.damaged until retention deletes them",
				    check->kept_files, check->kept_bytes);
	if (err)
		return err;
	if (!check->damage_cnt)
		return strbuf_puts(out, "\nnothing is damaged\n");
	return strbuf_printf(out,
			     "\n%" PRIu64 " damaged places, %" PRIu64
			     " bytes; everything else is intact and is read\n",
			     check->damage_cnt, check->damage_bytes);
}

static void begin_json(struct check *check)
{
	struct json_writer *writer = &check->writer;

	json_writer_begin(writer, '{');
	json_writer_member_string(writer, "format", "jbpf-store-check");
	json_writer_member_u64(writer, "version", 1);
	json_writer_member_string(writer, "store", check->dir);
	json_writer_key(writer, "damage");
	json_writer_begin(writer, '[');
}

static int check_run(struct check *check, struct store_reader *reader)
{
	const struct store_visitor visitor = {
		.ctx = check,
		.wants_lines = true,
		.wants_cells = true,
		.checks_all = true,
		.window = check_window,
		.damage = check_damage,
	};
	int err;

	if (check->json)
		begin_json(check);
	err = store_reader__visit(reader, 0, UINT64_MAX, &visitor);
	if (!err)
		err = check_files(check);
	if (!err)
		err = check->err;
	if (!err)
		err = check->json ? totals_json(check) : totals_text(check);
	return err;
}

int store_check(const char *dir, bool json)
{
	struct check check = { .dir = dir, .json = json, .first_unix_ns = UINT64_MAX };
	struct store_reader *reader;
	int code = CMD_EXIT_FAILED;
	int err;

	if (cmd_store_open(dir, &reader))
		return CMD_EXIT_FAILED;
	check.writer.out = &check.out;
	err = check_run(&check, reader);
	if (err)
		pr_err("the store in '%s' cannot be checked: %s\n", dir, errstr(err));
	else
		code = cmd_write(NULL, &check.out);
	if (code == CMD_EXIT_DONE && check.damage_cnt)
		code = CMD_EXIT_FAILED;
	store_reader__free(reader);
	strbuf_release(&check.out);
	return code;
}
