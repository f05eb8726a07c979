// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of struct output_info as text. Times are UTC where pictures and data travel between hosts, and
 * local in text for who asked.
 */
#include "user/output/info.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/model/event_view.h"
#include "user/model/stack_text.h"
#include "user/model/thread_counts.h"
#include "user/output/escape.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/saturate.h"

#define NS_PER_US	 1000u
#define NAME_COLUMNS_MIN 20
#define DIGITS_MAX	 9 /* behind the point of a second */
/* In longer ranges fractions are only noise of "10m ago". */
#define FRACTION_RANGE_NS (10 * CLOCK_NS_PER_S)

/* ".24", as far as there is one. */
static void append_fraction(struct strbuf *out, uint64_t unix_ns, int digits)
{
	char text[DIGITS_MAX + 2];
	size_t len = (size_t)digits + 1;

	(void)snprintf(text, sizeof(text), ".%09llu", unix_ns % CLOCK_NS_PER_S);
	while (text[len - 1] == '0')
		len--;
	if (len > 1)
		strbuf_append(out, text, len);
}

static void append_time(struct strbuf *out, uint64_t unix_ns, int digits)
{
	time_t seconds = (time_t)(unix_ns / CLOCK_NS_PER_S);
	char text[sizeof("2147483647-12-31T23:59:59")];
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts) == 0) {
		strbuf_puts(out, "?");
		return;
	}
	strbuf_puts(out, text);
	append_fraction(out, unix_ns, digits);
	strbuf_putc(out, 'Z');
}

void info_append_time(struct strbuf *out, uint64_t unix_ns)
{
	append_time(out, unix_ns, 0);
}

/* "CET", or "+01:00" when that name could not be read again. */
static void append_zone(struct strbuf *out, const struct tm *parts)
{
	const char *name = tzname[parts->tm_isdst > 0];
	long minutes = labs(parts->tm_gmtoff) / 60;

	if (isalpha((unsigned char)*name) && strcmp(name, parts->tm_zone) == 0)
		strbuf_puts(out, name);
	else
		strbuf_printf(out, "%c%02ld:%02ld", parts->tm_gmtoff < 0 ? '-' : '+', minutes / 60,
			      minutes % 60);
}

static void append_local_time(struct strbuf *out, uint64_t unix_ns, int digits)
{
	time_t seconds = (time_t)(unix_ns / CLOCK_NS_PER_S);
	char text[sizeof("2147483647-12-31 23:59:59")];
	struct tm parts;

	if (!localtime_r(&seconds, &parts) || strcmp(parts.tm_zone, "UTC") == 0 ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts) == 0) {
		append_time(out, unix_ns, digits);
		return;
	}
	strbuf_puts(out, text);
	append_fraction(out, unix_ns, digits);
	strbuf_putc(out, ' ');
	append_zone(out, &parts);
}

void info_append_local_time(struct strbuf *out, uint64_t unix_ns)
{
	append_local_time(out, unix_ns, 0);
}

static void json_time(struct json_writer *json, const char *key, uint64_t unix_ns, int digits)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	append_time(&text, unix_ns, digits);
	json_writer_member_text(json, key, &text);
}

void info_json_time(struct json_writer *json, const char *key, uint64_t unix_ns)
{
	json_time(json, key, unix_ns, 0);
}

static bool has_fractions(const struct output_info *info)
{
	return info->until_unix_ns - info->since_unix_ns < FRACTION_RANGE_NS;
}

void info_json_range(struct json_writer *json, const struct output_info *info)
{
	int digits = has_fractions(info) ? DIGITS_MAX : 0;

	json_time(json, "since", info->since_unix_ns, digits);
	json_time(json, "until", info->until_unix_ns, digits);
}

/* What is less than a second: "60ms", "300us". Is it? */
static bool append_short_duration(struct strbuf *out, uint64_t ns)
{
	uint64_t us = (ns + NS_PER_US / 2) / NS_PER_US;
	uint64_t ms = (ns + CLOCK_NS_PER_MS / 2) / CLOCK_NS_PER_MS;

	if (!ns || ms >= 1000)
		return false;
	if (us < 1000)
		strbuf_printf(out, "%" PRIu64 "us", us);
	else
		strbuf_printf(out, "%" PRIu64 "ms", ms);
	return true;
}

/* "60ms", "90s", "10m", "1h 5m", "2d 3h": the two largest units. */
static void info_append_duration(struct strbuf *out, uint64_t ns)
{
	static const struct {
		uint64_t seconds;
		char letter;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	uint64_t left = (ns + CLOCK_NS_PER_S / 2) / CLOCK_NS_PER_S;
	int shown = 0;

	if (append_short_duration(out, ns))
		return;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && shown < 2; i++) {
		uint64_t cnt = left / units[i].seconds;

		left %= units[i].seconds;
		if (cnt == 0 && !(units[i].seconds == 1 && shown == 0)) {
			shown += shown > 0;
			continue;
		}
		strbuf_printf(out, "%s%" PRIu64 "%c", shown ? " " : "", cnt, units[i].letter);
		shown++;
	}
}

/*
 * Is less recorded than was asked for? The window that runs now is not written yet, the first may begin
 * before the range.
 */
bool info_has_gap(const struct output_info *info)
{
	uint64_t asked_ns = info->until_unix_ns - info->since_unix_ns;
	uint64_t covered_ns = info->covered_ns + 2 * info->window_ns;

	return info->covered_ns && covered_ns < asked_ns;
}

void info_append_range(struct strbuf *out, const struct output_info *info)
{
	int digits = !has_fractions(info)					      ? 0 :
		     info->until_unix_ns - info->since_unix_ns < 10 * CLOCK_NS_PER_MS ? DIGITS_MAX :
											3;

	if (info->until_unix_ns == 0)
		return;
	append_local_time(out, info->since_unix_ns, digits);
	strbuf_puts(out, " to ");
	append_local_time(out, info->until_unix_ns, digits);
	if (info->until_unix_ns <= info->since_unix_ns)
		return;
	strbuf_puts(out, " (");
	info_append_duration(out, info->until_unix_ns - info->since_unix_ns);
	if (info_has_gap(info)) {
		strbuf_puts(out, ", of which ");
		info_append_duration(out, info->covered_ns);
		strbuf_puts(out, " were recorded");
	}
	strbuf_putc(out, ')');
}

uint64_t info_events(const struct output_info *info, uint64_t samples)
{
	uint64_t events;

	if (info->event == EVENT_CPU || __builtin_mul_overflow(samples, info->period, &events))
		return 0;
	return events;
}

double info_cores(const struct output_info *info, uint64_t samples)
{
	if (info->event != EVENT_CPU || !info->frequency_hz || !info->covered_ns)
		return -1;
	return (double)samples / info->frequency_hz /
	       ((double)info->covered_ns / (double)CLOCK_NS_PER_S);
}

static void append_events(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	uint64_t events = event_is_measured(info->event) ? 0 : info_events(info, samples);

	if (events && event_unit(info->event) == EVENT_UNIT_NANOSECONDS)
		strbuf_printf(out, ", %.2f seconds of %s, one sample for %.0f ms",
			      (double)events / CLOCK_NS_PER_S, event_noun(info->event, true),
			      (double)info->period / CLOCK_NS_PER_MS);
	else if (events)
		strbuf_printf(out, ", %s%" PRIu64 " %s, one sample for %" PRIu64,
			      info->period > 1 ? "about " : "", events,
			      event_noun(info->event, events != 1), info->period);
}

/* "1.250 seconds", "1.5 MiB": what counts of a measured event amount to. */
static void append_measured(struct strbuf *out, const struct output_info *info, uint64_t counts)
{
	double amount = (double)counts * (double)info->period;

	if (event_unit(info->event) == EVENT_UNIT_BYTES)
		strbuf_printf(out, "%.1f MiB", amount / (1 << 20));
	else
		strbuf_printf(out, "%.3f seconds", amount / CLOCK_NS_PER_S);
}

void info_append_amount(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	if (event_is_measured(info->event)) {
		append_measured(out, info, samples);
		strbuf_printf(out, " of %s", event_noun(info->event, true));
		return;
	}
	strbuf_printf(out, "%" PRIu64 " sample%s", samples, info_plural(samples));
}

static double wall_seconds(uint64_t counts)
{
	return (double)counts * EVENT_WALL_PERIOD_NS / (double)CLOCK_NS_PER_S;
}

/* Its counts are microseconds: nobody took so many samples. */
static void append_wall(struct strbuf *out, uint64_t counts)
{
	strbuf_printf(out, "%.2f seconds of wall-clock time, counts are microseconds",
		      wall_seconds(counts));
}

static void append_samples(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	info_append_amount(out, info, samples);
	if (event_is_measured(info->event))
		strbuf_printf(out, ", in %s",
			      event_unit(info->event) == EVENT_UNIT_BYTES ? "KiB" : "microseconds");
	if (info->frequency_hz)
		strbuf_printf(out, ", %.2f CPU seconds at %" PRIu32 " Hz",
			      (double)samples / info->frequency_hz, info->frequency_hz);
	if (info_cores(info, samples) >= 0)
		strbuf_printf(out, ", %.2f cores", info_cores(info, samples));
	append_events(out, info, samples);
}

uint64_t info_hidden_samples(const struct output_info *info)
{
	uint64_t sum = 0;

	for (int i = 0; i < WAITING_PLACE_CNT; i++)
		sum += info->hidden_samples[i];
	return sum;
}

static void append_thread_time(struct strbuf *out, const struct output_info *info, uint64_t counts)
{
	if (info->event == EVENT_WALL)
		strbuf_printf(out, "%.2f", wall_seconds(counts));
	else if (info->period)
		strbuf_printf(out, "%.2f",
			      (double)counts * (double)info->period / (double)CLOCK_NS_PER_S);
	else
		strbuf_printf(out, "%" PRIu64, counts);
}

/* The place with the most that is hidden, of those that are not told yet; WAITING_PLACE_CNT: there is none. */
static enum waiting_place next_hidden(const struct output_info *info, const bool *is_told)
{
	enum waiting_place best = WAITING_PLACE_CNT;

	for (int i = 0; i < WAITING_PLACE_CNT; i++) {
		uint64_t most = best < WAITING_PLACE_CNT ? info->hidden_samples[best] : 0;

		if (!is_told[i] && info->hidden_samples[i] > most)
			best = (enum waiting_place)i;
	}
	return best;
}

void info_append_hidden(struct strbuf *out, const struct output_info *info)
{
	bool is_told[WAITING_PLACE_CNT] = { false };
	const char *before = " of threads that wait for work (";
	enum waiting_place place;

	append_thread_time(out, info, info_hidden_samples(info));
	strbuf_puts(out, info->event == EVENT_WALL || info->period ? " seconds" : " samples");
	while ((place = next_hidden(info, is_told)) < WAITING_PLACE_CNT) {
		strbuf_printf(out, "%s%s ", before, waiting_place_name(place));
		append_thread_time(out, info, info->hidden_samples[place]);
		is_told[place] = true;
		before = ", ";
	}
	strbuf_putc(out, ')');
}

static void append_not_shown(struct strbuf *out, const struct output_info *info)
{
	if (!info_hidden_samples(info))
		return;
	strbuf_puts(out, ", not shown without --idle: ");
	info_append_hidden(out, info);
}

void info_append_samples(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	if (info->event == EVENT_WALL)
		append_wall(out, samples);
	else
		append_samples(out, info, samples);
	append_not_shown(out, info);
	if (info->stream_cnt)
		strbuf_printf(out, ", %zu process%s", info->stream_cnt,
			      info->stream_cnt == 1 ? "" : "es");
}

void info_append_losses(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	strbuf_printf(out, "unknown frames %.2f %%, truncated stacks %.2f %%%s, lost ",
		      info_percent(info->counts.unknown_frames, info->counts.frames),
		      info_truncated_percent(info, samples),
		      info->is_part ? " (whole processes)" : "");
	if (event_is_measured(info->event))
		append_measured(out, info, info->lost_samples);
	else
		strbuf_printf(out, "samples %" PRIu64, info->lost_samples);
	if (info->is_selection && info->lost_samples)
		strbuf_puts(out, " (whole host)");
}

/* The reason with the most samples that comes behind `last`, or STACK_END_ROOT: no more. */
static enum stack_end next_end(const struct window_counts *counts, enum stack_end last)
{
	enum stack_end best = STACK_END_ROOT;

	for (int i = STACK_END_ROOT + 1; i < STACK_END_CNT; i++) {
		uint64_t samples = counts->ends[i];
		bool is_behind = last == STACK_END_ROOT || samples < counts->ends[last] ||
				 (samples == counts->ends[last] && i > (int)last);

		if (samples && is_behind &&
		    (best == STACK_END_ROOT || samples > counts->ends[best]))
			best = (enum stack_end)i;
	}
	return best;
}

void info_append_ends(struct strbuf *out, const struct window_counts *counts)
{
	uint64_t cut = counts->truncated_samples;
	uint64_t whole = counts->samples > cut ? counts->samples - cut : 0;
	const char *lead = "; the rest: ";
	enum stack_end end = STACK_END_ROOT;

	strbuf_printf(out, "stacks whole %.1f %%", info_percent(whole, counts->samples));
	while ((end = next_end(counts, end)) != STACK_END_ROOT) {
		double percent = info_percent(counts->ends[end], counts->samples);

		if (percent < 0.05)
			strbuf_printf(out, "%s%s < 0.1 %%", lead, stack_end_name(end));
		else
			strbuf_printf(out, "%s%s %.1f %%", lead, stack_end_name(end), percent);
		lead = ", ";
	}
}

void info_json_counts(struct json_writer *json, const struct window_counts *counts)
{
	json_writer_member_u64(json, "frames", counts->frames);
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		const struct window_field *field = &window_fields[i];
		uint64_t value;

		/* Samples are a member of more objects, and a delay is only known of some events. */
		if (field->kind != WINDOW_FIELD_COUNT || strcmp(field->name, "samples") == 0 ||
		    strcmp(field->name, "frames") == 0)
			continue;
		value = window_number_get(counts, field->offset - offsetof(struct window, counts),
					  field->bytes);
		if (value || strcmp(field->name, "run_delay_ns") != 0)
			json_writer_member_u64(json, field->name, value);
	}
}

void info_json_ends(struct json_writer *json, const struct window_counts *counts)
{
	json_writer_member_begin(json, "truncated_by", '{');
	for (int i = STACK_END_ROOT + 1; i < STACK_END_CNT; i++) {
		if (counts->ends[i])
			json_writer_member_u64(json, stack_end_name((enum stack_end)i),
					       counts->ends[i]);
	}
	json_writer_end(json, '}');
}

static void append_line(struct strbuf *out, const char *text)
{
	if (!text || !*text)
		return;
	escape_terminal(out, text, strlen(text));
	strbuf_putc(out, '\n');
}

void info_append_header(struct strbuf *out, const struct output_info *info, uint64_t samples)
{
	size_t before;

	append_line(out, info->title);
	append_line(out, info->subtitle);
	before = out->len;
	info_append_range(out, info);
	if (out->len > before)
		strbuf_putc(out, '\n');
	info_append_samples(out, info, samples);
	strbuf_putc(out, '\n');
	info_append_losses(out, info, samples);
	strbuf_puts(out, "\n\n");
}

/* What a count stands for, of windows of the event as of views. */
static uint64_t period_of(const struct output_info *info, const struct window *window)
{
	if (info->event == EVENT_WALL)
		return EVENT_WALL_PERIOD_NS;
	return window->event == EVENT_CPU ? 0 : window->period;
}

void info_add_window(struct output_info *info, const struct window *window)
{
	uint64_t period = period_of(info, window);

	/* Windows of several periods have no number of events. */
	if (!info->counts.samples)
		info->period = period;
	else if (window->counts.samples && info->event != EVENT_CPU && info->period != period)
		info->period = 0;
	if (!event_is_view(info->event) && window->event < EVENT_CNT)
		info->event = (enum event)window->event;
	window_counts_add_weighted(&info->counts, &window->counts,
				   event_weight(info->event, window));
}

double info_truncated_percent(const struct output_info *info, uint64_t samples)
{
	uint64_t whole = info->counts.samples > samples ? info->counts.samples : samples;

	return info_percent(info->counts.truncated_samples, whole);
}

uint64_t info_event_bytes(enum event event)
{
	if (event_unit(event) == EVENT_UNIT_BYTES)
		return 1;
	/* Pages of x86 and of most arm64 kernels; a huge page is more. */
	return event == EVENT_PAGE_FAULTS || event == EVENT_MAJOR_FAULTS ? 4096 : 0;
}

size_t info_name_columns(const struct output_info *info, size_t used)
{
	if (!info->columns)
		return 0;
	return info->columns > used + NAME_COLUMNS_MIN ? info->columns - used : NAME_COLUMNS_MIN;
}

const char *info_plural(uint64_t cnt)
{
	return cnt == 1 ? "" : "s";
}

double info_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

const char *info_take_thread(const struct output_info *info, struct profile_stack *stack)
{
	const char *mark =
		info->has_threads ? memrchr(stack->text, STACK_TEXT_THREAD_MARK, stack->len) : NULL;

	if (!mark)
		return NULL;
	stack->len = (size_t)(mark - stack->text);
	return strcmp(mark + 1, THREAD_NAME_UNKNOWN) == 0 ? NULL : mark + 1;
}

size_t info_next_stack(const struct output_info *info, const struct profile *profile, size_t index,
		       struct profile_stack *sum)
{
	size_t cnt = profile__stack_count(profile);

	*sum = profile__stack(profile, index);
	(void)info_take_thread(info, sum);
	while (++index < cnt) {
		struct profile_stack next = profile__stack(profile, index);

		(void)info_take_thread(info, &next);
		if (next.len != sum->len || memcmp(next.text, sum->text, sum->len) != 0)
			break;
		sum->count = add_saturated(sum->count, next.count);
	}
	return index;
}

uint64_t info_period(const struct output_info *info)
{
	if (info->event == EVENT_CPU && info->frequency_hz)
		return (CLOCK_NS_PER_S + info->frequency_hz / 2) / info->frequency_hz;
	return info_events(info, 1);
}

/* The words are those of JSON. */
static const char *const tier_names[FRAME_KIND_CNT] = {
	[FRAME_KIND_JIT] = "jit",
	[FRAME_KIND_C1] = "c1",
	[FRAME_KIND_INTERPRETED] = "interpreted",
	[FRAME_KIND_INLINED] = "inlined",
};

/* The tier with the most samples that comes behind `last`; FRAME_KIND_NATIVE = none, or no last. */
static int next_tier(const uint64_t *tiers, int last)
{
	int best = FRAME_KIND_NATIVE;

	for (int i = FRAME_KIND_JIT; i < FRAME_KIND_CNT; i++) {
		uint64_t samples = tiers[i];
		bool is_behind = last == FRAME_KIND_NATIVE || samples < tiers[last] ||
				 (samples == tiers[last] && i > last);

		if (samples && is_behind && (best == FRAME_KIND_NATIVE || samples > tiers[best]))
			best = i;
	}
	return best;
}

enum frame_kind info_main_tier(const uint64_t tiers[static FRAME_KIND_CNT])
{
	return (enum frame_kind)next_tier(tiers, FRAME_KIND_NATIVE);
}

void info_append_tiers(struct strbuf *out, const uint64_t tiers[static FRAME_KIND_CNT],
		       uint64_t whole)
{
	const char *lead = "  [";
	int tier = FRAME_KIND_NATIVE;

	while ((tier = next_tier(tiers, tier)) != FRAME_KIND_NATIVE) {
		strbuf_printf(out, "%s%s", lead, tier_names[tier]);
		if (tiers[tier] < whole)
			strbuf_printf(out, " %.0f %%", info_percent(tiers[tier], whole));
		lead = ", ";
	}
	strbuf_putc(out, ']');
}
