// SPDX-License-Identifier: Apache-2.0
/* Which service ran which images, and when; see compare_images.h. */
#include "user/compare/compare_images.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/select.h"
#include "user/model/window.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define HINT_IMAGES_MAX	   5
#define HINT_COLLECTED_MAX 20000 /* streams looked at */
#define SAFE_CHARACTERS              \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789._-/:@+"

struct image {
	const char *service;
	const char *name;
	uint64_t first_unix_ns;
	uint64_t samples;
};

/* Zero-initialise; `items` is the owner's to free. */
struct images {
	struct image *items;
	size_t cnt;
	size_t cap;
};

static struct image *find(const struct images *images, const char *service, const char *name)
{
	for (size_t i = 0; i < images->cnt; i++)
		if (strcmp(images->items[i].service, service) == 0 &&
		    strcmp(images->items[i].name, name) == 0)
			return &images->items[i];
	return NULL;
}

static int add_stream(struct images *images, const struct stream *stream)
{
	const char *service = window_label(&stream->latest, WINDOW_LABEL_SERVICE);
	const char *name = window_label(&stream->latest, WINDOW_LABEL_IMAGE);
	struct image *image = find(images, service, name);

	if (!*name)
		return 0;
	if (image) {
		image->samples += stream->counts.samples;
		if (stream->first_unix_ns < image->first_unix_ns)
			image->first_unix_ns = stream->first_unix_ns;
		return 0;
	}
	if (vec_room(images->items, images->cnt, images->cap, 16))
		return -ENOMEM;
	images->items[images->cnt++] = (struct image){
		.service = service,
		.name = name,
		.first_unix_ns = stream->first_unix_ns,
		.samples = stream->counts.samples,
	};
	return 0;
}

static int add_streams(struct images *images, const struct streams *streams)
{
	int err = 0;

	for (size_t i = 0; !err && i < streams->cnt; i++)
		err = add_stream(images, &streams->items[i]);
	return err;
}

/* How many images a service has. */
static size_t count_of(const struct images *images, const char *service)
{
	size_t cnt = 0;

	for (size_t i = 0; i < images->cnt; i++)
		cnt += strcmp(images->items[i].service, service) == 0;
	return cnt;
}

/* ---- the note ---- */

/* Labels are hostile; what goes into a command that people paste must be harmless as it stands. */
static bool is_safe(const char *text)
{
	return *text && *text != '-' && strspn(text, SAFE_CHARACTERS) == strlen(text);
}

/* The images of a service that were first seen last and before that. */
static void last_two(const struct images *images, const char *service, const struct image **older,
		     const struct image **newer)
{
	*older = NULL;
	*newer = NULL;
	for (size_t i = 0; i < images->cnt; i++) {
		const struct image *image = &images->items[i];

		if (strcmp(image->service, service) != 0)
			continue;
		if (!*newer || image->first_unix_ns >= (*newer)->first_unix_ns) {
			*older = *newer;
			*newer = image;
		} else if (!*older || image->first_unix_ns >= (*older)->first_unix_ns) {
			*older = image;
		}
	}
}

static int note_service(const struct diff_cmd_options *options, const struct images *images,
			const char *service, struct compare_notes *notes)
{
	__cleanup_strbuf struct strbuf times = STRBUF_INIT;
	const struct image *older, *newer;
	int err;

	last_two(images, service, &older, &newer);
	if (!older || !is_safe(older->name) || !is_safe(newer->name) || !is_safe(service))
		return 0;
	strbuf_puts(&times, "--since ");
	info_append_time(&times, options->selection.since_unix_ns);
	strbuf_puts(&times, " --until ");
	info_append_time(&times, options->selection.until_unix_ns);
	err = strbuf_error(&times);
	if (err)
		return err;
	return compare_notes_add(
		notes,
		"service %s ran two images within a side; to compare them: --service %s "
		"--before-image %s --after-image %s %s",
		service, service, older->name, newer->name, strbuf_str(&times));
}

/* The first service of a side that ran two images, or NULL. */
static const char *mixed_service(const struct images *side)
{
	for (size_t i = 0; i < side->cnt; i++)
		if (*side->items[i].service && count_of(side, side->items[i].service) > 1)
			return side->items[i].service;
	return NULL;
}

int compare_images_note(const struct diff_cmd_options *options, const struct streams *before,
			const struct streams *after, struct compare_notes *notes)
{
	struct images a = { 0 }, b = { 0 }, both = { 0 };
	const char *service = NULL;
	int err = add_streams(&a, before);

	if (!err)
		err = add_streams(&b, after);
	if (!err)
		err = add_streams(&both, before);
	if (!err)
		err = add_streams(&both, after);
	if (!err) {
		service = mixed_service(&a);
		service = service ? service : mixed_service(&b);
	}
	if (service)
		err = note_service(options, &both, service, notes);
	free(a.items);
	free(b.items);
	free(both.items);
	return err;
}

/* ---- the hint ---- */

struct hint {
	const struct selection *selection;
	struct streams streams;
	int err;
};

/* Refuses every window, so that no text is decoded. */
static bool collect(void *ctx, const struct window *window)
{
	struct hint *hint = ctx;

	if (window->pid && window->counts.samples && hint->streams.cnt < HINT_COLLECTED_MAX &&
	    !hint->err && selection_covers(hint->selection, window) &&
	    selection_matches(hint->selection, window))
		hint->err = streams_add(&hint->streams, window);
	return false;
}

static int image_order(const void *a, const void *b)
{
	const struct image *left = a;
	const struct image *right = b;

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void append_images(const struct images *images, struct strbuf *out)
{
	for (size_t i = 0; i < images->cnt && i < HINT_IMAGES_MAX; i++) {
		const struct image *image = &images->items[i];

		strbuf_puts(out, i ? ", " : "that time has images ");
		escape_terminal(out, image->name, strlen(image->name));
		if (*image->service) {
			strbuf_puts(out, " (service ");
			escape_terminal(out, image->service, strlen(image->service));
			strbuf_putc(out, ')');
		}
	}
	if (images->cnt > HINT_IMAGES_MAX)
		strbuf_printf(out, " and %zu more", images->cnt - HINT_IMAGES_MAX);
}

int compare_images_hint(struct store_source *reader, const struct diff_cmd_options *options,
			struct strbuf *out)
{
	struct hint hint = { .selection = &options->selection };
	struct images images = { 0 };
	const struct store_visitor visitor = { .ctx = &hint, .want = collect };
	int err = store_source__visit(reader, options->selection.since_unix_ns,
				      options->selection.until_unix_ns, &visitor);

	if (!err)
		err = hint.err;
	if (!err)
		err = add_streams(&images, &hint.streams);
	if (!err && images.cnt) {
		qsort(images.items, images.cnt, sizeof(*images.items), image_order);
		append_images(&images, out);
		err = strbuf_error(out);
	}
	free(images.items);
	streams_release(&hint.streams);
	return err;
}
