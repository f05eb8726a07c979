// SPDX-License-Identifier: Apache-2.0
/*
 * Methods by themselves tell what changed: their points add up to the change of the whole. Where
 * none of them is sure, methods with what they call do, of which the largest stands for the others.
 */
#include "user/output/diff/diff_sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "user/output/diff/diff_words.h"

#define LEAST_TOLD 0.0005 /* of all: less is 0.0 % as it is written */

/* What changed in one direction. */
struct sentence_part {
	uint32_t most; /* the surest and largest item, or DIFF_NONE */
	uint32_t cnt;
	double points; /* sum over items */
};

struct sentence {
	const struct diff_output *diff;
	struct sentence_part more;
	struct sentence_part less;
	uint32_t moved; /* methods that changed against each other */
};

static void add_item(const struct diff_row *rows, uint32_t item, struct sentence_part *part)
{
	part->points += rows[item].points.value;
	part->cnt++;
	if (part->most == DIFF_NONE ||
	    diff_words_sure_points(&rows[item]) > diff_words_sure_points(&rows[part->most]))
		part->most = item;
}

static void collect(struct sentence *sentence, enum diff_kind kind)
{
	const struct diff_result *result = sentence->diff->result;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(sentence->diff->catalog, &item_cnt);

	sentence->more = sentence->less = (struct sentence_part){ .most = DIFF_NONE };
	for (uint32_t i = 0; i < result->row_cnt && i < item_cnt; i++) {
		enum diff_verdict verdict = result->rows[i].verdict;

		if (items[i].kind != kind)
			continue;
		if (verdict == DIFF_VERDICT_UP || verdict == DIFF_VERDICT_NEW)
			add_item(result->rows, i, &sentence->more);
		else if (verdict == DIFF_VERDICT_DOWN || verdict == DIFF_VERDICT_GONE)
			add_item(result->rows, i, &sentence->less);
		sentence->moved += verdict == DIFF_VERDICT_MOVED;
	}
}

/* Callers hold what they call: only the largest counts. */
static void keep_largest(const struct diff_row *rows, struct sentence_part *part)
{
	if (part->most == DIFF_NONE)
		return;
	part->points = rows[part->most].points.value;
	part->cnt = 1;
}

/* "shop.Tax.of (+21.3 %)" and how many others. */
static void append_part(const struct diff_output *diff, const struct sentence_part *part,
			struct strbuf *out)
{
	struct diff_catalog_name name = diff_catalog__name(diff->catalog, part->most);

	strbuf_append(out, name.text, name.len);
	strbuf_puts(out, " (");
	diff_words_change(out, &diff->result->rows[part->most]);
	strbuf_putc(out, ')');
	if (part->cnt > 1)
		strbuf_printf(out, " and %" PRIu32 " other method%s", part->cnt - 1,
			      part->cnt == 2 ? "" : "s");
}

/* What changed adds up to nothing: neither slower nor faster. */
static void append_balance(const struct sentence *sentence, struct strbuf *out)
{
	const struct diff_output *diff = sentence->diff;

	strbuf_printf(out, " %s about as much %s for the same work: more in ",
		      diff->event == EVENT_CPU ? "needs" : "has", diff_words_event(diff));
	append_part(diff, &sentence->more, out);
	strbuf_puts(out, "; less in ");
	append_part(diff, &sentence->less, out);
}

static void append_change(const struct sentence *sentence, struct strbuf *out)
{
	const struct diff_output *diff = sentence->diff;
	double net = sentence->more.points + sentence->less.points;
	bool is_more = net > 0;
	const struct sentence_part *first = is_more ? &sentence->more : &sentence->less;
	const struct sentence_part *second = is_more ? &sentence->less : &sentence->more;
	bool is_cpu = diff->event == EVENT_CPU;

	if (is_cpu)
		strbuf_puts(out, is_more ? " got slower: it needs " : " got faster: it needs ");
	else
		strbuf_puts(out, " has ");
	strbuf_printf(out, "%.1f %% %s %s for the same work, mostly ", 100 * fabs(net),
		      is_more ? "more" : "less", diff_words_event(diff));
	append_part(diff, first, out);
	if (second->most != DIFF_NONE) {
		strbuf_puts(out, is_more ? "; less in " : "; more in ");
		append_part(diff, second, out);
	}
}

/* "CPU of service shop" is a title; what got slower is the service. */
static const char *subject(const struct diff_output *diff)
{
	static const char of[] = " of ";
	const char *event = event_title(diff->event);
	const char *title = diff->title ? diff->title : "";
	size_t len = strlen(event);

	if (strncmp(title, event, len) == 0 && strncmp(title + len, of, strlen(of)) == 0)
		title += len + strlen(of);
	return *title ? title : "What was compared";
}

/* "a.B.c went from 1.00 % to 37.00 %" */
static void append_share(const struct diff_output *diff, uint32_t item, const char *verb,
			 struct strbuf *out)
{
	const struct diff_row *row = &diff->result->rows[item];
	struct diff_catalog_name name = diff_catalog__name(diff->catalog, item);

	strbuf_append(out, name.text, name.len);
	strbuf_printf(out, " %sfrom %.2f %% to %.2f %%", verb, 100 * row->share_a,
		      100 * row->share_b);
}

/* What differs most, by itself, in each direction; no word of why. */
static void append_shares(const struct diff_output *diff, struct strbuf *out)
{
	const struct diff_row *rows = diff->result->rows;
	uint32_t up = DIFF_NONE, down = DIFF_NONE, item_cnt;
	const struct diff_item *items = diff_catalog__items(diff->catalog, &item_cnt);

	for (uint32_t i = 0; i < diff->result->row_cnt && i < item_cnt; i++) {
		double points = rows[i].share_b - rows[i].share_a;

		if (items[i].kind != DIFF_KIND_METHOD_SELF)
			continue;
		if (points > 0 && (up == DIFF_NONE || points > rows[up].share_b - rows[up].share_a))
			up = i;
		if (points < 0 &&
		    (down == DIFF_NONE || points < rows[down].share_b - rows[down].share_a))
			down = i;
	}
	if (up == DIFF_NONE && down == DIFF_NONE) {
		strbuf_puts(out, ": every method has the same share in both.");
		return;
	}
	strbuf_puts(out, ": ");
	if (up != DIFF_NONE)
		append_share(diff, up, "went ", out);
	if (up != DIFF_NONE && down != DIFF_NONE)
		strbuf_puts(out, ", ");
	if (down != DIFF_NONE)
		append_share(diff, down, up == DIFF_NONE ? "went " : "", out);
	strbuf_puts(out, " of the samples.");
}

/* What changed, of a comparison that is judged. */
static struct sentence collect_all(const struct diff_output *diff)
{
	struct sentence sentence = { .diff = diff };

	collect(&sentence, DIFF_KIND_METHOD_SELF);
	if (!sentence.more.cnt && !sentence.less.cnt && !sentence.moved) {
		collect(&sentence, DIFF_KIND_METHOD_TOTAL);
		keep_largest(diff->result->rows, &sentence.more);
		keep_largest(diff->result->rows, &sentence.less);
	}
	return sentence;
}

static bool is_balanced(const struct sentence *sentence)
{
	return sentence->more.cnt && sentence->less.cnt &&
	       fabs(sentence->more.points + sentence->less.points) < LEAST_TOLD;
}

bool diff_sentence_says_more(const struct diff_output *diff)
{
	struct sentence sentence;

	if (diff_words_is_of_files(diff) || !diff_words_is_judged(diff))
		return false;
	sentence = collect_all(diff);
	return !is_balanced(&sentence) && sentence.more.points + sentence.less.points > 0;
}

void diff_sentence(const struct diff_output *diff, struct strbuf *out)
{
	struct sentence sentence;

	strbuf_puts(out, subject(diff));
	if (diff_words_is_of_files(diff)) {
		append_shares(diff, out);
		return;
	}
	if (!diff_words_is_judged(diff)) {
		strbuf_puts(out, ": too little is known to tell a change from chance.");
		return;
	}
	sentence = collect_all(diff);
	if (is_balanced(&sentence))
		append_balance(&sentence, out);
	else if (sentence.more.cnt || sentence.less.cnt)
		append_change(&sentence, out);
	else if (sentence.moved)
		strbuf_puts(out, ": work moved between methods, and as a whole stayed the same");
	else
		strbuf_puts(out, ": no method changed by more than chance can do");
	strbuf_putc(out, '.');
}
