// SPDX-License-Identifier: Apache-2.0
/* See unmatched.h. */
#include "user/cli/unmatched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/names/near_name.h"
#include "user/output/escape.h"
#include "user/util/cleanup.h"

#define NAMES_SHOWN_MAX 5

static enum window_label label_of(enum select_by by)
{
	static const enum window_label labels[SELECT_BY_CNT] = {
		WINDOW_LABEL_CONTAINER, WINDOW_LABEL_POD,  WINDOW_LABEL_NAMESPACE,
		WINDOW_LABEL_SERVICE,	WINDOW_LABEL_COMM, WINDOW_LABEL_CGROUP,
		WINDOW_LABEL_IMAGE,	WINDOW_LABEL_HOST,
	};

	return labels[by];
}

static bool has_match(const struct streams *streams, enum select_by by, const char *pattern)
{
	for (size_t i = 0; i < streams->cnt; i++) {
		if (select_by_matches(by, pattern, &streams->items[i].latest))
			return true;
	}
	return false;
}

/* The first selector that takes in, but takes nothing; NULL pattern = each alone matches something. */
static struct select_more find_unmatched(const struct selection *selection,
					 const struct streams *streams)
{
	for (int by = 0; by < SELECT_BY_CNT; by++) {
		for (size_t i = 0;; i++) {
			struct select_more more = selection_get(selection, (enum select_by)by, i);

			if (!more.pattern || more.leaves_out)
				break;
			if (!has_match(streams, more.by, more.pattern))
				return more;
		}
	}
	return (struct select_more){ 0 };
}

int hint_names_compare(const void *left, const void *right)
{
	const struct hint_name *a = left, *b = right;

	if (a->near != b->near)
		return a->near < b->near ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Names of the label, each once: the nearest first, then the busiest. `names` has room for a stream each. */
static size_t collect_names(const struct streams *streams, const struct select_more *wanted,
			    struct hint_name *names)
{
	size_t cnt = 0;

	for (size_t i = 0; i < streams->cnt; i++) {
		const struct stream *stream = &streams->items[i];
		const char *name = stream->latest.labels[label_of(wanted->by)];
		size_t at = 0;

		/* Equal texts are one: they were interned. */
		while (at < cnt && names[at].name != name)
			at++;
		if (!name || !*name)
			continue;
		if (at == cnt)
			names[cnt++] =
				(struct hint_name){ .name = name,
						    .near = near_name(wanted->pattern, name) };
		names[at].samples += stream->counts.samples;
	}
	qsort(names, cnt, sizeof(*names), hint_names_compare);
	return cnt;
}

int hint_names_append(const char *by, const char *wanted, const struct hint_name *names, size_t cnt,
		      const char *see, struct strbuf *out)
{
	bool any_near = cnt && names[0].near != NEAR_NAME_FAR;
	size_t shown = 0;

	strbuf_printf(out, "no %s '", by);
	escape_terminal(out, wanted, strlen(wanted));
	strbuf_puts(out, any_near ? "'; did you mean " : "' in that time, which has ");
	if (!cnt)
		strbuf_puts(out, "none at all");
	for (; shown < cnt && shown < NAMES_SHOWN_MAX; shown++) {
		if (any_near && names[shown].near == NEAR_NAME_FAR)
			break;
		strbuf_puts(out, !shown ? "'" : any_near ? " or '" : ", '");
		escape_terminal(out, names[shown].name, strlen(names[shown].name));
		strbuf_putc(out, '\'');
	}
	if (any_near)
		strbuf_putc(out, '?');
	else if (shown < cnt)
		strbuf_printf(out, " and %zu more%s%s", cnt - shown, *see ? "; see " : "", see);
	return strbuf_error(out);
}

int unmatched_hint(const struct selection *selection, const struct streams *streams,
		   const char *see, struct strbuf *out)
{
	struct select_more wanted = find_unmatched(selection, streams);
	__cleanup_free struct hint_name *names = NULL;

	if (!wanted.pattern)
		return 0;
	names = calloc(streams->cnt + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	return hint_names_append(select_by_name(wanted.by), wanted.pattern, names,
				 collect_names(streams, &wanted, names), see, out);
}
