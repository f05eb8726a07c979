// SPDX-License-Identifier: Apache-2.0
/*
 * The narrowest process and place go into the title, all other selectors into the subtitle, so that
 * a picture in a ticket explains itself.
 */
#include "user/cli/selection_title.h"

#include <inttypes.h>

#include "user/output/output.h"
#include "user/util/cleanup.h"

/* Narrowest first: the first one given goes into the title. */
static const enum select_by places[] = {
	SELECT_BY_CONTAINER, SELECT_BY_POD,    SELECT_BY_SERVICE, SELECT_BY_IMAGE,
	SELECT_BY_NAMESPACE, SELECT_BY_CGROUP, SELECT_BY_HOST,
};

static bool is_given(const struct selection *selection, enum select_by by)
{
	return selection_get(selection, by, 0).pattern != NULL;
}

/* SELECT_BY_CNT = none. */
static enum select_by title_place(const struct selection *selection)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (is_given(selection, places[i]))
			return places[i];
	}
	return SELECT_BY_CNT;
}

/* "shop-1 or shop-2, not shop-3"; an empty pattern is of processes that have none. */
static void append_values(const struct selection *selection, enum select_by by, struct strbuf *out)
{
	struct select_more value = selection_get(selection, by, 0);

	for (size_t i = 1; value.pattern; i++) {
		const char *lead = i == 1 ? "" : value.leaves_out ? ", " : " or ";

		strbuf_printf(out, "%s%s%s", lead, value.leaves_out ? "not " : "",
			      *value.pattern ? value.pattern : OUTPUT_LABEL_NONE);
		value = selection_get(selection, by, i);
	}
}

void selection_title(enum event event, const struct selection *selection, struct strbuf *out)
{
	enum select_by place = title_place(selection);
	bool has_comm = is_given(selection, SELECT_BY_COMM);

	strbuf_printf(out, "%s of ", event_title(event));
	append_values(selection, SELECT_BY_COMM, out);
	if (selection->pid)
		strbuf_printf(out, "%sprocess %" PRIu32, has_comm ? ", " : "", selection->pid);
	if (!has_comm && !selection->pid && place == SELECT_BY_CNT)
		strbuf_puts(out, "all processes");
	if (place == SELECT_BY_CNT)
		return;
	strbuf_printf(out, "%s%s ", has_comm || selection->pid ? " in " : "",
		      select_by_name(place));
	append_values(selection, place, out);
}

static void append_part(struct strbuf *out, const char *name, const char *value)
{
	strbuf_printf(out, "%s%s %s", out->len ? ", " : "", name, value);
}

void selection_subtitle(const struct selection *selection, const char *const *by, size_t by_cnt,
			struct strbuf *out)
{
	static const char *const kinds[] = { "any", "java", "kernel", "native" };
	enum select_by place = title_place(selection);

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i] == place || !is_given(selection, places[i]))
			continue;
		append_part(out, select_by_name(places[i]), "");
		append_values(selection, places[i], out);
	}
	if (is_given(selection, SELECT_BY_THREAD)) {
		append_part(out, select_by_name(SELECT_BY_THREAD), "");
		append_values(selection, SELECT_BY_THREAD, out);
	}
	if (selection->kind != SELECT_KIND_ANY)
		append_part(out, "kind", kinds[selection->kind]);
	for (size_t i = 0; i < by_cnt; i++)
		append_part(out, "by", by[i]);
}
