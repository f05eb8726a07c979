// SPDX-License-Identifier: Apache-2.0
/*
 * The narrowest process and place go into the title, all other selectors into the subtitle, so that
 * a picture in a ticket explains itself.
 */
#include "user/cli/selection_title.h"

#include <inttypes.h>

#include "user/util/cleanup.h"

struct named {
	const char *name;
	const char *value; /* NULL = not given */
};

#define PLACES_CNT 5

/* Narrowest first: the first one given goes into the title. */
static void places_of(const struct selection *selection, struct named *out)
{
	out[0] = (struct named){ "container", selection->container };
	out[1] = (struct named){ "pod", selection->pod };
	out[2] = (struct named){ "service", selection->service };
	out[3] = (struct named){ "namespace", selection->namespace };
	out[4] = (struct named){ "cgroup", selection->cgroup };
}

static const struct named *title_place(const struct named *places)
{
	for (size_t i = 0; i < PLACES_CNT; i++) {
		if (places[i].value)
			return &places[i];
	}
	return NULL;
}

int selection_title(const struct selection *selection, struct strbuf *out)
{
	struct named places[PLACES_CNT];
	const struct named *place;
	int err = strbuf_puts(out, "CPU of ");

	places_of(selection, places);
	place = title_place(places);
	if (!err && selection->comm)
		err = strbuf_puts(out, selection->comm);
	if (!err && selection->pid)
		err = strbuf_printf(out, "%sprocess %" PRIu32, selection->comm ? ", " : "",
				    selection->pid);
	if (!err && !selection->comm && !selection->pid && !place)
		err = strbuf_puts(out, "all processes");
	if (!err && place)
		err = strbuf_printf(out, "%s%s %s", selection->comm || selection->pid ? " in " : "",
				    place->name, place->value);
	return err;
}

static int append_part(struct strbuf *out, const char *name, const char *value)
{
	return strbuf_printf(out, "%s%s %s", out->len ? ", " : "", name, value);
}

int selection_subtitle(const struct selection *selection, const char *const *by, size_t by_cnt,
		       struct strbuf *out)
{
	static const char *const kinds[] = { "any", "java", "kernel", "native" };
	struct named places[PLACES_CNT];
	const struct named *place;
	int err = 0;

	places_of(selection, places);
	place = title_place(places);
	for (size_t i = 0; !err && i < PLACES_CNT; i++) {
		if (places[i].value && &places[i] != place)
			err = append_part(out, places[i].name, places[i].value);
	}
	if (!err && selection->kind != SELECT_KIND_ANY)
		err = append_part(out, "kind", kinds[selection->kind]);
	for (size_t i = 0; !err && i < by_cnt; i++)
		err = append_part(out, "by", by[i]);
	return err;
}
