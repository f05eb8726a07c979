// SPDX-License-Identifier: Apache-2.0
/*
 * See store_state.h. A new file takes the old one's place by its renaming. It is not synced: after a power cut
 * jbpfd writes another one, and what is left of this one is found out by its checksum. So is a file that
 * is just being written over.
 */
#include "user/store/store_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/store/format/crc32c.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/parse.h"

#define TEMPORARY_NAME ".state.tmp"
#define MAGIC	       "# jbpf-state "
#define VERSION	       "1 "
#define CRC_CHARS      8u
#define STAT_BLOCK     512u /* st_blocks: stat(3type) */
#define READ_TRIES     5
#define READ_AGAIN_NS  (2 * (long)CLOCK_NS_PER_MS)
#define FRACTION_CHARS 9u
#define FRESH_WINDOWS  3
#define FRESH_MIN_NS   (30 * CLOCK_NS_PER_S)

/* ---- writing ---- */

/* The time, and the lines that are no comments: all that the checksum is of. */
static void render_body(const struct strbuf *metrics, uint64_t now_unix_ns, struct strbuf *body)
{
	struct lines lines = lines_init(metrics->data, metrics->len);
	struct line line;

	strbuf_printf(body, "%" PRIu64 "\n", now_unix_ns);
	while (lines_next(&lines, &line)) {
		if (line.len && *line.at != '#') {
			strbuf_append(body, line.at, line.len);
			strbuf_putc(body, '\n');
		}
	}
}

static int render(const struct strbuf *metrics, uint64_t now_unix_ns, struct strbuf *text)
{
	__cleanup_strbuf struct strbuf body = STRBUF_INIT;
	int err;

	render_body(metrics, now_unix_ns, &body);
	err = strbuf_error(&body);
	if (err)
		return err;
	strbuf_printf(text, MAGIC VERSION "%08" PRIx32 " ", crc32c(body.data, body.len));
	strbuf_add(text, &body);
	err = strbuf_error(text);
	return err || text->len <= STORE_STATE_BYTES_MAX ? err : -E2BIG;
}

static int replace(int dir_fd, const struct strbuf *text)
{
	__cleanup_fd int fd = openat(dir_fd, TEMPORARY_NAME,
				     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK |
					     O_NOCTTY | O_CLOEXEC,
				     0640);
	int err;

	if (fd < 0)
		return -errno;
	err = fs_write_all(fd, text->data, text->len);
	/* Network file systems may say it here. */
	if (close(take_fd(&fd)) && !err)
		err = -errno;
	if (!err && renameat(dir_fd, TEMPORARY_NAME, dir_fd, STORE_STATE_NAME))
		err = -errno;
	if (err)
		(void)unlinkat(dir_fd, TEMPORARY_NAME, 0);
	return err;
}

/* Where the new state needs no block that the file does not have. */
static int write_over(int dir_fd, const struct strbuf *text)
{
	__cleanup_fd int fd = openat(dir_fd, STORE_STATE_NAME,
				     O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_blocks * STAT_BLOCK < text->len)
		return -ENOSPC;
	err = fs_write_all(fd, text->data, text->len);
	return !err && ftruncate(fd, (off_t)text->len) ? -errno : err;
}

int store_state_write(const char *dir, const struct strbuf *metrics, uint64_t now_unix_ns)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	__cleanup_fd int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = dir_fd < 0 ? -errno : render(metrics, now_unix_ns, &text);

	if (err)
		return err;
	err = replace(dir_fd, &text);
	return err == -ENOSPC || err == -EDQUOT ? write_over(dir_fd, &text) : err;
}

void store_state_remove(const char *dir)
{
	__cleanup_fd int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd >= 0)
		(void)unlinkat(dir_fd, STORE_STATE_NAME, 0);
}

/* ---- reading ---- */

struct field {
	const char *name;
	size_t offset;
	bool is_time; /* seconds with nine decimals; else a count */
};

static const struct field fields[] = {
	{ "process_start_time_seconds", offsetof(struct store_state, start_unix_ns), true },
	{ "jbpf_config_window_seconds", offsetof(struct store_state, window_ns), true },
	{ "process_cpu_seconds_total", offsetof(struct store_state, cpu_ns), true },
	{ "process_resident_memory_bytes", offsetof(struct store_state, resident_bytes), false },
	{ "jbpf_windows_written_total", offsetof(struct store_state, windows_written), false },
	{ "jbpf_windows_failed_total", offsetof(struct store_state, windows_failed), false },
	{ "jbpf_unsampled_cpus", offsetof(struct store_state, unsampled_cpus), false },
};

static bool parse_seconds(const char *text, size_t len, uint64_t *ns)
{
	const char *dot = memchr(text, '.', len);
	size_t whole_len = dot ? (size_t)(dot - text) : len;
	uint64_t whole, fraction;

	if (!dot || len - whole_len - 1 != FRACTION_CHARS ||
	    parse_u64_n(text, whole_len, 10, &whole) ||
	    parse_u64_n(dot + 1, FRACTION_CHARS, 10, &fraction) ||
	    whole >= UINT64_MAX / CLOCK_NS_PER_S)
		return false;
	*ns = whole * CLOCK_NS_PER_S + fraction;
	return true;
}

/* What is behind `prefix` in the line; NULL = it begins otherwise. */
static const char *behind(const struct line *line, const char *prefix, size_t *len)
{
	size_t prefix_len = strlen(prefix);

	if (line->len < prefix_len || memcmp(line->at, prefix, prefix_len) != 0)
		return NULL;
	*len = line->len - prefix_len;
	return line->at + prefix_len;
}

/* A number that is none leaves its field as it is. */
static void take_line(const struct line *line, struct store_state *out)
{
	size_t len;
	const char *text = behind(line, "jbpf_build_info{version=\"", &len);

	if (text) {
		const char *quote = memchr(text, '"', len);

		(void)snprintf(out->version, sizeof(out->version), "%.*s",
			       quote ? (int)(quote - text) : 0, text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value;

		text = behind(line, fields[i].name, &len);
		if (!text || !len || *text != ' ')
			continue;
		if (fields[i].is_time ? parse_seconds(text + 1, len - 1, &value) :
					parse_u64_n(text + 1, len - 1, 10, &value) == 0)
			memcpy((char *)out + fields[i].offset, &value, sizeof(value));
		return;
	}
}

static int parse(const char *text, size_t len, struct store_state *out)
{
	static const char begin[] = MAGIC VERSION;
	const size_t magic_len = strlen(MAGIC), begin_len = strlen(begin);
	struct store_state state = { 0 };
	struct lines lines;
	struct line line;
	uint64_t crc;

	if (len < magic_len || memcmp(text, MAGIC, magic_len) != 0)
		return -EBADMSG;
	if (len < begin_len || memcmp(text, begin, begin_len) != 0)
		return -EPROTONOSUPPORT;
	text += begin_len;
	len -= begin_len;
	if (len <= CRC_CHARS || text[CRC_CHARS] != ' ' || parse_u64_n(text, CRC_CHARS, 16, &crc))
		return -EBADMSG;
	text += CRC_CHARS + 1;
	len -= CRC_CHARS + 1;
	lines = lines_init(text, len);
	if (crc32c(text, len) != crc || !lines_next(&lines, &line) ||
	    parse_u64_n(line.at, line.len, 10, &state.written_unix_ns))
		return -EBADMSG;
	while (lines_next(&lines, &line))
		take_line(&line, &state);
	*out = state;
	return 0;
}

static int read_once(int dir_fd, struct store_state *out)
{
	__cleanup_fd int fd = openat(dir_fd, STORE_STATE_NAME,
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EBADMSG : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	err = fs_read_fd(fd, STORE_STATE_BYTES_MAX, &text);
	if (err)
		return err == -EFBIG ? -EBADMSG : err;
	return text.len ? parse(text.data, text.len, out) : -EBADMSG;
}

int store_state_read(const char *dir, struct store_state *out)
{
	static const struct timespec wait = { .tv_nsec = READ_AGAIN_NS };
	__cleanup_fd int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = dir_fd < 0 ? -errno : read_once(dir_fd, out);

	/* It may just be written over. */
	for (int i = 1; err == -EBADMSG && i < READ_TRIES; i++) {
		(void)nanosleep(&wait, NULL);
		err = read_once(dir_fd, out);
	}
	return err;
}

bool store_state_is_fresh(const struct store_state *state, uint64_t now_unix_ns)
{
	uint64_t wait_ns = state->window_ns < UINT64_MAX / FRESH_WINDOWS ?
				   state->window_ns * FRESH_WINDOWS :
				   UINT64_MAX;

	if (wait_ns < FRESH_MIN_NS)
		wait_ns = FRESH_MIN_NS;
	/* Ahead by more: the clock was set back, and nobody has written since. */
	return (now_unix_ns > state->written_unix_ns ?
			now_unix_ns - state->written_unix_ns :
			state->written_unix_ns - now_unix_ns) <= wait_ns;
}
