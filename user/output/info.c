// SPDX-License-Identifier: Apache-2.0
/* Parts of struct output_info as text. Times are UTC: pictures travel between hosts. */
#include "user/output/info.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "user/output/escape.h"
#include "user/util/clock.h"

int info_append_time(struct strbuf *out, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / CLOCK_NS_PER_S);
	char text[sizeof("2147483647-12-31T23:59:59Z")];
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return strbuf_puts(out, "?");
	return strbuf_puts(out, text);
}

void info_json_time(struct json_writer *json, const char *key, uint64_t unix_ns)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = info_append_time(&text, unix_ns);

	json_writer_member_string(json, key, strbuf_str(&text));
	if (!json->err)
		json->err = err;
}

/* "90s", "10m", "1h 5m", "2d 3h": the two largest units. */
static int info_append_duration(struct strbuf *out, uint64_t ns)
{
	static const struct {
		uint64_t seconds;
		char letter;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	uint64_t left = (ns + CLOCK_NS_PER_S / 2) / CLOCK_NS_PER_S;
	int shown = 0;
	int err = 0;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && shown < 2 && !err; i++) {
		uint64_t cnt = left / units[i].seconds;

		left %= units[i].seconds;
		if (cnt == 0 && !(units[i].seconds == 1 && shown == 0)) {
			shown += shown > 0;
			continue;
		}
		err = strbuf_printf(out, "%s%" PRIu64 "%c", shown ? " " : "", cnt, units[i].letter);
		shown++;
	}
	return err;
}

int info_append_range(struct strbuf *out, const struct output_info *info)
{
	int err;

	if (info->until_unix_ns == 0)
		return 0;
	err = info_append_time(out, info->since_unix_ns);
	if (!err)
		err = strbuf_puts(out, " to ");
	if (!err)
		err = info_append_time(out, info->until_unix_ns);
	if (err || info->until_unix_ns <= info->since_unix_ns)
		return err;
	err = strbuf_puts(out, " (");
	if (!err)
		err = info_append_duration(out, info->until_unix_ns - info->since_unix_ns);
	if (!err)
		err = strbuf_putc(out, ')');
	return err;
}

int info_append_samples(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	int err = strbuf_printf(out, "%" PRIu64 " sample%s", samples, samples == 1 ? "" : "s");

	if (!err && info->frequency_hz)
		err = strbuf_printf(out, ", %.2f CPU seconds at %" PRIu32 " Hz",
				    (double)samples / info->frequency_hz, info->frequency_hz);
	if (!err && info->stream_cnt)
		err = strbuf_printf(out, ", %zu stream%s", info->stream_cnt,
				    info->stream_cnt == 1 ? "" : "s");
	return err;
}

int info_append_losses(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	return strbuf_printf(out,
			     "unknown frames %.2f %%, truncated stacks %.2f %%, "
			     "lost samples %" PRIu64,
			     info_percent(info->counts.unknown_frames, info->counts.frames),
			     info_percent(info->counts.truncated_samples, samples),
			     info->lost_samples);
}

static int append_line(struct strbuf *out, const char *text)
{
	int err;

	if (!text || !*text)
		return 0;
	err = escape_terminal(out, text, strlen(text));
	return err ? err : strbuf_putc(out, '\n');
}

int info_append_header(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	size_t before;
	int err = append_line(out, info->title);

	if (!err)
		err = append_line(out, info->subtitle);
	before = out->len;
	if (!err)
		err = info_append_range(out, info);
	if (!err && out->len > before)
		err = strbuf_putc(out, '\n');
	if (!err)
		err = info_append_samples(out, info, samples);
	if (!err)
		err = strbuf_putc(out, '\n');
	if (!err)
		err = info_append_losses(out, info, samples);
	return err ? err : strbuf_puts(out, "\n\n");
}

void info_add_window(struct output_info *info, const struct window *window)
{
	window_counts_add(&info->counts, &window->counts);
}

double info_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}
