// SPDX-License-Identifier: Apache-2.0
/* What a day came to; see daily_report.h. */
#include "user/daily/daily_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

static const char *const state_names[] = {
	[DAILY_STATE_FAILED] = "failed",
	[DAILY_STATE_REGRESSION] = "regression",
	[DAILY_STATE_QUIET] = "no regression",
	[DAILY_STATE_LEARNING] = "learning",
	[DAILY_STATE_NOT_COMPARED] = "not compared",
};

static const char *const alarm_names[] = {
	[DAILY_ALARM_REGRESSION] = "regression",
	[DAILY_ALARM_STEP] = "step",
	[DAILY_ALARM_CREEP] = "creep",
};

static const char page_head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<style>\n"
	"body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }\n"
	"table { border-collapse: collapse }\n"
	"th, td { text-align: left; vertical-align: top; padding: .3em 1.2em .3em 0;"
	" border-bottom: 1px solid #ddd }\n"
	"td.number { text-align: right }\n"
	".regression { color: #a40000; font-weight: bold }\n"
	".aside { color: #666 }\n"
	"ul { margin: 0; padding-left: 1.2em }\n"
	".spark { vertical-align: middle } .spark path { fill: none; stroke: currentColor }\n"
	".spark circle { fill: currentColor } nav a { margin-right: .8em; white-space: nowrap }\n"
	"@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b }\n"
	"  th, td { border-color: #444 } a { color: #8ab4f8 } .regression { color: #ff8a80 }\n"
	"  .aside { color: #999 } }\n"
	"</style>\n";

static void release_alarms(struct daily_alarm *alarms, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free(alarms[i].method);
		free(alarms[i].origin);
	}
	free(alarms);
}

void daily_outcome_release(struct daily_outcome *outcome)
{
	release_alarms(outcome->alarms, outcome->alarm_cnt);
	release_alarms(outcome->known, outcome->known_cnt);
	free(outcome->why);
	free(outcome->image_before);
	free(outcome->image_after);
	*outcome = (struct daily_outcome){ 0 };
}

int daily_outcome_say(struct daily_outcome *outcome, enum daily_state state, const char *format,
		      ...)
{
	va_list args;
	char *why = NULL;
	int len;

	va_start(args, format);
	len = vasprintf(&why, format, args);
	va_end(args);
	if (len < 0)
		return -ENOMEM;
	free(outcome->why);
	outcome->why = why;
	outcome->state = state;
	return 0;
}

const char *daily_state_name(enum daily_state state)
{
	return state < ARRAY_SIZE(state_names) ? state_names[state] : "";
}

/* ---- lines ---- */

static void put_since(const struct daily_alarm *alarm, struct strbuf *out)
{
	char date[DAILY_DATE_BYTES];

	daily_date_text(alarm->first_day, date);
	if (alarm->kind == DAILY_ALARM_STEP)
		strbuf_printf(out, " since %s", date);
	else
		strbuf_printf(out, " since %s (creep over %" PRIu32 " days)", date,
			      alarm->last_day - alarm->first_day + 1);
}

void daily_alarm_text(const struct daily_alarm *alarm, struct strbuf *out)
{
	strbuf_printf(out, "%s: %+.1f %%", alarm->method, 100 * alarm->change);
	if (alarm->kind != DAILY_ALARM_REGRESSION)
		put_since(alarm, out);
	else if (isfinite(alarm->low) && isfinite(alarm->high))
		strbuf_printf(out, " (%+.1f to %+.1f %%)", 100 * alarm->low, 100 * alarm->high);
	strbuf_printf(out, ", %.2f %% to %.2f %% of the %s, %s", 100 * alarm->share_before,
		      100 * alarm->share_after,
		      alarm->event == EVENT_CPU ? "CPU" : event_noun(alarm->event, true),
		      alarm->is_self ? "by itself" : "with what it calls");
	if (alarm->origin)
		strbuf_printf(out, ", from %s", alarm->origin);
}

/* What is said of a service besides its alarms. */
static void put_remark(const struct daily_outcome *outcome, struct strbuf *out)
{
	if (outcome->why)
		strbuf_puts(out, outcome->why);
	else if (outcome->state == DAILY_STATE_QUIET && isfinite(outcome->detectable))
		strbuf_printf(out, "%+.0f %% of a larger method would have been seen",
			      100 * outcome->detectable);
}

static bool has_new_image(const struct daily_outcome *outcome)
{
	return outcome->image_before && outcome->image_after &&
	       strcmp(outcome->image_before, outcome->image_after) != 0;
}

/* "SERVICE: TEXT", with everything that could move a cursor made inert. */
static void put_line(const struct daily_outcome *outcome, const struct strbuf *text,
		     struct strbuf *out)
{
	const char *name = outcome->service->name;

	escape_terminal(out, name, strlen(name));
	strbuf_puts(out, ": ");
	escape_terminal(out, strbuf_str(text), text->len);
	strbuf_fail(out, strbuf_error(text));
	strbuf_putc(out, '\n');
}

static void put_alarm_line(const struct daily_outcome *outcome, const struct daily_alarm *alarm,
			   const char *word, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_printf(&text, "%s: ", word);
	daily_alarm_text(alarm, &text);
	put_line(outcome, &text, out);
}

static void put_state_line(const struct daily_outcome *outcome, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	__cleanup_strbuf struct strbuf remark = STRBUF_INIT;

	strbuf_puts(&text, daily_state_name(outcome->state));
	put_remark(outcome, &remark);
	if (remark.len)
		strbuf_puts(&text, ": ");
	strbuf_add(&text, &remark);
	put_line(outcome, &text, out);
}

int daily_report_lines(const struct daily_outcome *outcome, struct strbuf *out)
{
	size_t shown = outcome->alarm_cnt < DAILY_ALARMS_SHOWN ? outcome->alarm_cnt :
								 DAILY_ALARMS_SHOWN;
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!outcome->alarm_cnt)
		put_state_line(outcome, out);
	for (size_t i = 0; i < shown; i++)
		put_alarm_line(outcome, &outcome->alarms[i], alarm_names[outcome->alarms[i].kind],
			       out);
	if (shown < outcome->alarm_cnt) {
		strbuf_printf(&text, "regression: and %zu more methods",
			      outcome->alarm_cnt - shown);
		put_line(outcome, &text, out);
	}
	strbuf_clear(&text);
	if (outcome->alarm_cnt && has_new_image(outcome)) {
		strbuf_printf(&text, "the image changed: %s before, %s after",
			      outcome->image_before, outcome->image_after);
		put_line(outcome, &text, out);
	}
	return strbuf_error(out);
}

/* ---- page ---- */

static void put_html(struct strbuf *out, const char *text)
{
	escape_html(out, text, strlen(text));
}

static void put_html_text(struct strbuf *out, const struct strbuf *text)
{
	strbuf_fail(out, strbuf_error(text));
	put_html(out, strbuf_str(text));
}

static void html_alarms(const struct daily_alarm *alarms, size_t cnt, const char *class,
			struct strbuf *out)
{
	size_t shown = cnt < DAILY_ALARMS_SHOWN ? cnt : DAILY_ALARMS_SHOWN;

	if (cnt)
		strbuf_printf(out, "<ul class=\"%s\">", class);
	for (size_t i = 0; i < shown; i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;

		daily_alarm_text(&alarms[i], &text);
		strbuf_printf(out, "<li>%s", class[0] == 'a' ? "known: " : "");
		put_html_text(out, &text);
		daily_spark_svg(alarms[i].shares, out);
		strbuf_puts(out, "</li>");
	}
	if (shown < cnt)
		strbuf_printf(out, "<li>and %zu more</li>", cnt - shown);
	if (cnt)
		strbuf_puts(out, "</ul>");
}

static void html_name(const struct daily_outcome *outcome, struct strbuf *out)
{
	if (outcome->has_page)
		strbuf_printf(out, "<a href=\"%s.html\">", outcome->service->file);
	put_html(out, outcome->service->title);
	if (outcome->has_page)
		strbuf_printf(out, "</a> <a class=\"aside\" href=\"%s.json\">json</a>",
			      outcome->service->file);
}

static void html_row(const struct daily_outcome *outcome, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf remark = STRBUF_INIT;

	strbuf_puts(out, "<tr><td>");
	html_name(outcome, out);
	strbuf_printf(out,
		      "</td><td class=\"%s\">%s</td><td class=\"number\">%" PRIu64
		      "</td><td class=\"number\">%" PRIu64 "</td><td>",
		      outcome->state == DAILY_STATE_REGRESSION ? "regression" : "aside",
		      daily_state_name(outcome->state), outcome->service->samples_before,
		      outcome->service->samples_after);
	put_remark(outcome, &remark);
	put_html_text(out, &remark);
	html_alarms(outcome->alarms, outcome->alarm_cnt, "regressions", out);
	html_alarms(outcome->known, outcome->known_cnt, "aside", out);
	if (has_new_image(outcome)) {
		strbuf_puts(out, "<div class=\"aside\">image: ");
		put_html(out, outcome->image_before);
		strbuf_puts(out, " before, ");
		put_html(out, outcome->image_after);
		strbuf_puts(out, " after</div>");
	}
	strbuf_puts(out, "</td></tr>\n");
}

/* "2026-11-20" or "2026-11-14 to 2026-11-20". */
static void put_days(const struct daily_date *first, const struct daily_date *last,
		     struct strbuf *out)
{
	if (first->number == last->number)
		strbuf_puts(out, last->text);
	else
		strbuf_printf(out, "%s to %s", first->text, last->text);
}

/* States in the order of their numbers: what needs a look comes first. */
static void html_rows(const struct daily_report *report, struct strbuf *out)
{
	for (int state = 0; state < (int)ARRAY_SIZE(state_names); state++)
		for (size_t i = 0; i < report->outcome_cnt; i++)
			if ((int)report->outcomes[i].state == state)
				html_row(&report->outcomes[i], out);
}

/* Days to go to; newer ones are behind "latest", which this page may not be for long. */
static void html_days(const struct daily_report *report, struct strbuf *out)
{
	strbuf_puts(out, "<nav class=\"aside\"><a href=\"../latest/index.html\">latest</a>");
	for (size_t i = 0; i < report->earlier_cnt; i++) {
		char date[DAILY_DATE_BYTES];

		daily_date_text(report->earlier[i], date);
		strbuf_printf(out, "<a href=\"../%s/index.html\">%s</a>", date, date);
	}
	strbuf_puts(out, "</nav>\n");
}

/* To the pages of the other events: those of CPU time lie above those of the others. */
static void html_events(const struct daily_report *report, struct strbuf *out)
{
	for (int i = 0; i < EVENT_CNT; i++) {
		enum event event = (enum event)i;
		bool is_cpu = event == EVENT_CPU;

		if (event == report->event || !(report->events & EVENT_BIT(event)))
			continue;
		strbuf_printf(out, "<p><a href=\"..%s/%s%slatest/index.html\">%s</a></p>\n",
			      report->event == EVENT_CPU ? "" : "/..",
			      is_cpu ? "" : event_name(event), is_cpu ? "" : "/",
			      event_title(event));
	}
}

int daily_report_html(const struct daily_report *report, struct strbuf *out)
{
	strbuf_printf(out, "%s<title>jbpf %s</title></head><body><main>\n<h1>", page_head,
		      report->after_last->text);
	if (report->event != EVENT_CPU)
		strbuf_printf(out, "%s: ", event_title(report->event));
	put_days(report->after_first, report->after_last, out);
	strbuf_puts(out, " against ");
	put_days(report->before_first, report->before_last, out);
	strbuf_puts(out, "</h1>\n");
	if (report->host) {
		strbuf_puts(out, "<p>Host ");
		put_html(out, report->host);
		strbuf_puts(out, "</p>\n");
	}
	html_days(report, out);
	html_events(report, out);
	strbuf_puts(out, "<table>\n<tr><th>service</th><th>result</th><th>samples before"
			 "</th><th>after</th><th>details</th></tr>\n");
	html_rows(report, out);
	strbuf_puts(out, "</table>\n");
	if (report->left_out)
		strbuf_printf(out, "<p>%zu more services were left out.</p>\n", report->left_out);
	strbuf_puts(out, "</main></body></html>\n");
	return strbuf_error(out);
}

/* ---- JSON ---- */

static void json_percent(struct json_writer *json, const char *key, double value)
{
	json_writer_key(json, key);
	if (isfinite(value))
		json_writer_decimal(json, 100 * value);
	else
		json_writer_null(json);
}

static void json_date(struct json_writer *json, const char *key, uint32_t day, bool is_known)
{
	char date[DAILY_DATE_BYTES];

	json_writer_key(json, key);
	if (!is_known) {
		json_writer_null(json);
		return;
	}
	daily_date_text(day, date);
	json_writer_string(json, date);
}

static void json_alarms(struct json_writer *json, const char *key, const struct daily_alarm *alarms,
			size_t cnt)
{
	json_writer_member_begin(json, key, '[');
	for (size_t i = 0; i < cnt; i++) {
		const struct daily_alarm *alarm = &alarms[i];
		bool is_dated = alarm->kind != DAILY_ALARM_REGRESSION;

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_member_string(json, "kind", alarm_names[alarm->kind]);
		json_writer_member_string(json, "method", alarm->method);
		json_writer_member_string(json, "origin", alarm->origin);
		json_writer_member_u64(json, "callers", alarm->caller_cnt);
		json_writer_member_string(json, "measure", alarm->is_self ? "self" : "total");
		json_percent(json, "change_percent", alarm->change);
		json_percent(json, "low_percent", alarm->low);
		json_percent(json, "high_percent", alarm->high);
		json_percent(json, "share_before_percent", alarm->share_before);
		json_percent(json, "share_after_percent", alarm->share_after);
		json_date(json, "since", alarm->first_day, is_dated);
		json_date(json, "settled", alarm->last_day, is_dated);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

static void json_page(struct json_writer *json, const struct daily_outcome *outcome,
		      const char *key)
{
	char name[DAILY_FILE_BYTES + 8];

	(void)snprintf(name, sizeof(name), "%s.%s", outcome->service->file, key);
	json_writer_member_string(json, key, outcome->has_page ? name : NULL);
}

static void json_outcome(struct json_writer *json, const struct daily_outcome *outcome)
{
	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_string(json, "name", outcome->service->name);
	json_writer_member_string(json, "key", outcome->service->key);
	json_writer_member_string(json, "title", outcome->service->title);
	json_writer_member_string(json, "state", daily_state_name(outcome->state));
	json_writer_member_string(json, "why", outcome->why);
	json_page(json, outcome, "html");
	json_page(json, outcome, "json");
	json_writer_member_u64(json, "samples_before", outcome->service->samples_before);
	json_writer_member_u64(json, "samples_after", outcome->service->samples_after);
	json_writer_member_string(json, "image_before", outcome->image_before);
	json_writer_member_string(json, "image_after", outcome->image_after);
	json_writer_member_u64(json, "history_pairs", outcome->history_pairs);
	json_percent(json, "detectable_percent", outcome->detectable);
	json_alarms(json, "alarms", outcome->alarms, outcome->alarm_cnt);
	json_alarms(json, "known_changes", outcome->known, outcome->known_cnt);
	json_writer_end(json, '}');
}

static void json_side(struct json_writer *json, const char *key, const struct daily_date *first,
		      const struct daily_date *last)
{
	json_writer_member_begin(json, key, '{');
	json_writer_member_string(json, "first_day", first->text);
	json_writer_member_string(json, "last_day", last->text);
	info_json_time(json, "since", first->since_unix_ns);
	info_json_time(json, "until", last->until_unix_ns);
	json_writer_end(json, '}');
}

int daily_report_json(const struct daily_report *report, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	size_t alarm_cnt = 0;

	for (size_t i = 0; i < report->outcome_cnt; i++)
		alarm_cnt += report->outcomes[i].alarm_cnt;
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-diff-days");
	json_writer_member_u64(&json, "version", 1);
	json_writer_member_string(&json, "date", report->after_last->text);
	json_writer_member_string(&json, "host", report->host);
	json_writer_member_string(&json, "event", event_name(report->event));
	json_side(&json, "before", report->before_first, report->before_last);
	json_side(&json, "after", report->after_first, report->after_last);
	json_writer_member_u64(&json, "alarms", alarm_cnt);
	json_writer_member_u64(&json, "services_left_out", report->left_out);
	json_writer_member_begin(&json, "services", '[');
	for (size_t i = 0; i < report->outcome_cnt; i++)
		json_outcome(&json, &report->outcomes[i]);
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}
