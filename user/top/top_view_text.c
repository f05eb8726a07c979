// SPDX-License-Identifier: Apache-2.0
/* The words around the tables; see top_view.h. */
#include "user/top/top_view.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "user/model/event_view.h"
#include "user/model/jvm_facts.h"
#include "user/util/clock.h"

static const char java_suffix[] = "_[j]";

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

const char *top_view_unit(enum event event)
{
	if (event == EVENT_CPU)
		return "CORES";
	return event_unit(event) == EVENT_UNIT_NANOSECONDS ? "THREADS" : "PER SEC";
}

const char *top_view_share(const struct top_host *host, enum event event)
{
	return top_share_is_of_selection(host, event) ? "SHARE%" : "HOST%";
}

int top_view_decimals(enum event event)
{
	return event_unit(event) == EVENT_UNIT_NANOSECONDS ? 2 : 0;
}

void top_view_append_frame(struct strbuf *out, const char *name)
{
	size_t len = strlen(name);
	size_t suffix_len = sizeof(java_suffix) - 1;

	if (len > suffix_len && strcmp(name + len - suffix_len, java_suffix) == 0)
		len -= suffix_len;
	strbuf_append(out, name, len);
}

static void append_waits(struct strbuf *out, const struct top_host *host, enum event event,
			 double amount)
{
	strbuf_printf(out, "%.2f threads waiting", amount);
	if (host->waits_for_work)
		strbuf_printf(out, " (%.2f for work not shown)",
			      top_amount(host, event, host->waits_for_work));
}

void top_view_append_load(struct strbuf *out, const struct top_content *content, enum event event)
{
	const struct top_host *host = &content->rows.host;
	uint64_t samples = host->is_selection ? host->selected : host->samples;
	double amount = top_amount(host, event, samples);
	bool is_waits = event_has_waits(event);

	if (!host->end_unix_ns)
		strbuf_puts(out, "no samples yet");
	else if (event == EVENT_CPU)
		strbuf_printf(out, "%.2f of %" PRIu32 " core%s (%.1f %%)", amount, host->cpu_cnt,
			      host->cpu_cnt == 1 ? "" : "s", 100 * top_share(host, event, samples));
	else if (is_waits)
		append_waits(out, host, event, amount);
	else
		strbuf_printf(out, "%.0f %s/s", amount, event_noun(event, true));
	if (host->end_unix_ns && host->is_selection && !is_waits)
		strbuf_printf(out, ", all of the host %.*f", event == EVENT_CPU ? 2 : 0,
			      top_amount(host, event, host->samples));
}

void top_view_append_time(struct strbuf *out, const struct top_host *host, uint64_t now_unix_ns)
{
	time_t end_s = (time_t)(host->end_unix_ns / CLOCK_NS_PER_S);
	uint64_t age_ns = now_unix_ns > host->end_unix_ns ? now_unix_ns - host->end_unix_ns : 0;
	bool is_old = age_ns > 12 * 3600 * CLOCK_NS_PER_S;
	struct tm parts;
	char text[64];

	if (!host->end_unix_ns)
		return;
	if (!localtime_r(&end_s, &parts) ||
	    !strftime(text, sizeof(text), is_old ? "%Y-%m-%d %H:%M:%S %Z" : "%H:%M:%S %Z", &parts))
		strcpy(text, "?");
	strbuf_printf(out, "%.0f s until %s", (double)host->span_ns / CLOCK_NS_PER_S, text);
	if (age_ns >= CLOCK_NS_PER_S)
		strbuf_printf(out, ", %.0f s ago", (double)(age_ns / CLOCK_NS_PER_S));
}

void top_view_append_named_time(struct strbuf *out, const struct top_rows *rows,
				uint64_t now_unix_ns)
{
	if (!rows->host.is_running)
		return;
	strbuf_puts(out, "stacks: ");
	if (rows->named.end_unix_ns)
		top_view_append_time(out, &rows->named, now_unix_ns);
	else
		strbuf_puts(out, "none before the window has ended");
}

void top_view_append_hottest_title(struct strbuf *out, const struct top_rows *rows)
{
	time_t end_s = (time_t)(rows->named.end_unix_ns / CLOCK_NS_PER_S);
	char text[32] = "?";
	struct tm parts;

	if (!rows->host.is_running)
		strbuf_puts(out, "HOTTEST METHOD");
	else if (!rows->named.end_unix_ns)
		strbuf_puts(out, "HOTTEST METHOD, none yet");
	else if (localtime_r(&end_s, &parts) && strftime(text, sizeof(text), "%H:%M:%S", &parts))
		strbuf_printf(out, "HOTTEST UNTIL %s", text);
}

void top_view_append_row_facts(struct strbuf *out, const struct top_row *row)
{
	static const char *const flags[] = { "", ", frame pointers off", ", frame pointers on" };
	const struct window_counts *counts = &row->counts;
	uint64_t cut = counts->truncated_samples;
	uint64_t whole = counts->samples > cut ? counts->samples - cut : 0;
	const char *names = jit_source_name(row->jit_source);

	if (row->is_jvm) {
		strbuf_printf(out, "Java %s%s", row->jvm_version,
			      row->preserve_frame_pointer < 3 ? flags[row->preserve_frame_pointer] :
								"");
		if (*names)
			strbuf_printf(out, ", names from %s", names);
		strbuf_puts(out, ", ");
	}
	if (counts->samples)
		strbuf_printf(out, "unknown frames %.1f %%, stacks whole %.1f %%",
			      percent(counts->unknown_frames, counts->frames),
			      percent(whole, counts->samples));
	if (row->process_cnt != 1)
		strbuf_printf(out, "%s%zu processes", counts->samples ? ", " : "",
			      row->process_cnt);
}

void top_view_append_problems(struct strbuf *out, const struct top_content *content,
			      const struct top_facts *facts)
{
	const struct top_row *row = content->row;
	const char *lead = "";

	if (facts->note) {
		strbuf_puts(out, facts->note);
		lead = "; ";
	}
	if (row && *row->problem) {
		strbuf_printf(out, "%s%s", lead, row->problem);
		lead = "; ";
	}
	if (content->rows.host.lost)
		strbuf_printf(out, "%sthe host lost %" PRIu64 " sample%s", lead,
			      content->rows.host.lost, content->rows.host.lost == 1 ? "" : "s");
}
