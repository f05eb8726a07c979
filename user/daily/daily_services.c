// SPDX-License-Identifier: Apache-2.0
/*
 * Services by their labels. The key spells every label percent-encoded, so that it tells services
 * apart whatever they are called; file names are readable where the name allows it, and carry a hash
 * of the key where it does not.
 */
#include "user/daily/daily_services.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/compare/compare_load.h"
#include "user/store/series/series.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define FILE_PART_MAX 64 /* bytes of a name that appear in the file's */
#define HASH_DIGITS   16
#define KEY_TEXT_MAX  (SERIES_LABEL_MAX - 1 - HASH_DIGITS)

/* Besides letters and digits, what stands for itself: else a key encodes it, and a file has a '_'. */
#define PLAIN_PUNCTUATION "._-"

/* What a service goes by. */
enum service_class {
	SERVICE_CLASS_SERVICE = 0,
	SERVICE_CLASS_CONTAINER,
	SERVICE_CLASS_PROCESS,
};

static const char *const class_names[] = { "service", "container", "process" };

struct service_labels {
	enum service_class class;
	const char *name;
	const char *namespace;
};

static struct service_labels labels_of(const struct window *window)
{
	const char *service = window_label(window, WINDOW_LABEL_SERVICE);
	const char *container = window_label(window, WINDOW_LABEL_CONTAINER);
	struct service_labels labels = {
		.class = *service   ? SERVICE_CLASS_SERVICE :
			 *container ? SERVICE_CLASS_CONTAINER :
				      SERVICE_CLASS_PROCESS,
		.namespace = window_label(window, WINDOW_LABEL_NAMESPACE),
	};

	labels.name = *service	 ? service :
		      *container ? container :
				   window_label(window, WINDOW_LABEL_COMM);
	return labels;
}

/* ---- keys ---- */

static void put_label(struct strbuf *out, const char *label, const char *text)
{
	strbuf_printf(out, "%s%s=", out->len ? "," : "", label);
	strbuf_put_encoded(out, text, PLAIN_PUNCTUATION);
}

/*
 * Selectors that change what a service's profile is, as ",+image=..."; ",-image=..." leaves out. Those
 * of service and namespace only choose among services: all windows of one have the same of both.
 */
static void put_selectors(struct strbuf *out, const struct selection *base)
{
	for (int by = 0; by < SELECT_BY_CNT; by++) {
		struct select_more more;

		if (by == SELECT_BY_SERVICE || by == SELECT_BY_NAMESPACE)
			continue;
		for (size_t i = 0; (more = selection_get(base, (enum select_by)by, i)).pattern;
		     i++) {
			strbuf_printf(out, ",%c%s=", more.leaves_out ? '-' : '+',
				      select_by_name((enum select_by)by));
			strbuf_put_encoded(out, more.pattern, PLAIN_PUNCTUATION);
		}
	}
	if (base->pid)
		strbuf_printf(out, ",+pid=%" PRIu32, base->pid);
	if (base->kind)
		strbuf_printf(out, ",+kind=%d", (int)base->kind);
}

/* A key that would be too long ends in its own hash. */
static void make_key(const struct service_labels *labels, const struct selection *base,
		     struct strbuf *out)
{
	put_label(out, class_names[labels->class], labels->name);
	if (*labels->namespace)
		put_label(out, "namespace", labels->namespace);
	put_selectors(out, base);
	if (!strbuf_error(out) && out->len > SERIES_LABEL_MAX) {
		uint64_t hash = XXH3_64bits(out->data, out->len);

		strbuf_truncate(out, KEY_TEXT_MAX);
		strbuf_printf(out, "#%016" PRIx64, hash);
	}
}

/* ---- files ---- */

/* "index" and "summary" are the day's own. */
static bool is_reserved(const char *name)
{
	return strcmp(name, "index") == 0 || strcmp(name, "summary") == 0;
}

/* Does it end like a name that got a hash? */
static bool ends_in_hash(const char *name, size_t len)
{
	if (len < HASH_DIGITS + 1 || name[len - HASH_DIGITS - 1] != '-')
		return false;
	for (size_t i = len - HASH_DIGITS; i < len; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	return true;
}

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || strchr(PLAIN_PUNCTUATION, c) != NULL;
}

/* Appends the name made safe; false when something of it was lost. */
static bool put_safe(struct strbuf *out, const char *name)
{
	size_t len = strlen(name);
	bool is_whole = len > 0 && len <= FILE_PART_MAX && *name != '.' && *name != '-' &&
			!ends_in_hash(name, len);

	for (size_t i = 0; i < len && i < FILE_PART_MAX; i++) {
		bool is_good = is_plain(name[i]) && (i || isalnum((unsigned char)name[i]));

		is_whole = is_whole && is_good;
		strbuf_putc(out, is_good ? name[i] : '_');
	}
	return is_whole;
}

static int make_file(const struct service_labels *labels, const struct selection *base,
		     const char *key, char out[static DAILY_FILE_BYTES])
{
	__cleanup_strbuf struct strbuf file = STRBUF_INIT;
	__cleanup_strbuf struct strbuf selectors = STRBUF_INIT;
	bool is_whole;
	int err;

	/* '+' and '@' are in no plain name. */
	if (labels->class != SERVICE_CLASS_SERVICE)
		strbuf_printf(&file, "%s+", class_names[labels->class]);
	is_whole = put_safe(&file, labels->name);
	if (*labels->namespace) {
		strbuf_putc(&file, '@');
		is_whole = put_safe(&file, labels->namespace) && is_whole;
	}
	put_selectors(&selectors, base);
	strbuf_fail(&file, strbuf_error(&selectors));
	if (!is_whole || selectors.len || is_reserved(strbuf_str(&file)))
		strbuf_printf(&file, "-%016" PRIx64, (uint64_t)XXH3_64bits(key, strlen(key)));
	err = strbuf_error(&file);
	if (err)
		return err;
	/* At most 10 + 64 + 1 + 64 + 17 bytes. */
	(void)snprintf(out, DAILY_FILE_BYTES, "%s", strbuf_str(&file));
	return 0;
}

/* ---- the list ---- */

static int keep_text(struct daily_services *services, const char *text, const char **out)
{
	uint32_t id;
	int err = strtab__intern(services->texts, text, strlen(text), &id);

	if (!err)
		*out = strtab__get(services->texts, id, NULL);
	return err;
}

/* A pattern that matches this text only. */
static int keep_pattern(struct daily_services *services, const char *text, const char **out)
{
	__cleanup_strbuf struct strbuf pattern = STRBUF_INIT;
	int err;

	for (; *text; text++) {
		if (strchr("*?[\\", *text))
			strbuf_putc(&pattern, '\\');
		strbuf_putc(&pattern, *text);
	}
	err = strbuf_error(&pattern);
	return err ? err : keep_text(services, strbuf_str(&pattern), out);
}

static int make_selection(struct daily_services *services, const struct service_labels *labels,
			  const struct selection *base, struct selection *out)
{
	struct selection selection = *base;
	const char *name = NULL, *namespace = NULL;
	int err = keep_pattern(services, labels->name, &name);

	if (!err)
		err = keep_pattern(services, labels->namespace, &namespace);
	if (err)
		return err;
	selection_set(&selection, SELECT_BY_NAMESPACE, namespace);
	selection_set(&selection, SELECT_BY_SERVICE,
		      labels->class == SERVICE_CLASS_SERVICE ? name : "");
	if (labels->class == SERVICE_CLASS_CONTAINER)
		selection_set(&selection, SELECT_BY_CONTAINER, name);
	if (labels->class == SERVICE_CLASS_PROCESS) {
		selection_set(&selection, SELECT_BY_CONTAINER, "");
		selection_set(&selection, SELECT_BY_COMM, name);
	}
	*out = selection;
	return 0;
}

static int make_title(struct daily_services *services, const struct service_labels *labels,
		      const char **out)
{
	__cleanup_strbuf struct strbuf title = STRBUF_INIT;
	int err;

	strbuf_printf(&title, "%s %s", class_names[labels->class],
		      *labels->name ? labels->name : "without a name");
	if (*labels->namespace)
		strbuf_printf(&title, " in namespace %s", labels->namespace);
	err = strbuf_error(&title);
	return err ? err : keep_text(services, strbuf_str(&title), out);
}

static int make_service(struct daily_services *services, const struct service_labels *labels,
			const struct selection *base, const char *key, struct daily_service *out)
{
	struct daily_service service = { 0 };
	int err = keep_text(services, key, &service.key);

	if (!err)
		err = keep_text(services, labels->name, &service.name);
	if (!err)
		err = make_title(services, labels, &service.title);
	if (!err)
		err = make_file(labels, base, key, service.file);
	if (!err)
		err = make_selection(services, labels, base, &service.selection);
	if (!err)
		*out = service;
	return err;
}

/* Room and texts first: an id must not stay behind without its service. */
static int find_or_make(struct daily_services *services, const struct service_labels *labels,
			const struct selection *base, struct daily_service **out)
{
	__cleanup_strbuf struct strbuf key = STRBUF_INIT;
	struct daily_service service;
	uint32_t id;
	int err;

	make_key(labels, base, &key);
	err = strbuf_error(&key);
	if (err)
		return err;
	id = strtab__find(services->keys, key.data, key.len);
	if (id != STRTAB_NONE) {
		*out = &services->items[id];
		return 0;
	}
	if (vec_room(services->items, services->cnt, services->cap, 32))
		return -ENOMEM;
	err = make_service(services, labels, base, strbuf_str(&key), &service);
	if (!err)
		err = strtab__intern(services->keys, key.data, key.len, &id);
	if (err)
		return err;
	services->items[services->cnt] = service;
	*out = &services->items[services->cnt++];
	return 0;
}

int daily_services_add(struct daily_services *services, const struct selection *base,
		       uint64_t middle_unix_ns, const struct window *window)
{
	struct service_labels labels = labels_of(window);
	struct daily_service *service;
	int err;

	if (window->pid == 0 || window->counts.samples == 0 || !selection_matches(base, window))
		return 0;
	if (!services->texts)
		services->texts = strtab__new();
	if (!services->keys)
		services->keys = strtab__new();
	if (!services->texts || !services->keys)
		return -ENOMEM;
	err = find_or_make(services, &labels, base, &service);
	if (err)
		return err;
	if (window->start_unix_ns < middle_unix_ns)
		service->samples_before += window->counts.samples;
	else
		service->samples_after += window->counts.samples;
	return 0;
}

static int compare_busy(const void *a, const void *b)
{
	const struct daily_service *left = a;
	const struct daily_service *right = b;
	uint64_t samples_left = left->samples_before + left->samples_after;
	uint64_t samples_right = right->samples_before + right->samples_after;

	if (samples_left != samples_right)
		return (samples_left < samples_right) - (samples_left > samples_right);
	return strcmp(left->key, right->key);
}

static int compare_file(const void *a, const void *b)
{
	const struct daily_service *left = a;
	const struct daily_service *right = b;
	int order = strcmp(left->file, right->file);

	return order ? order : strcmp(left->key, right->key);
}

static int compare_calm(const void *a, const void *b, void *ctx)
{
	const struct daily_services *services = ctx;

	return compare_busy(&services->items[*(const size_t *)b],
			    &services->items[*(const size_t *)a]);
}

size_t *daily_services_order(const struct daily_services *services)
{
	size_t *order = reallocarray(NULL, services->cnt + 1, sizeof(*order));

	for (size_t i = 0; order && i < services->cnt; i++)
		order[i] = i;
	if (order && services->cnt)
		qsort_r(order, services->cnt, sizeof(*order), compare_calm, (void *)services);
	return order;
}

int daily_services_finish(struct daily_services *services)
{
	strtab__free(services->keys);
	services->keys = NULL;
	if (!services->cnt)
		return 0;
	qsort(services->items, services->cnt, sizeof(*services->items), compare_busy);
	if (services->cnt > DAILY_SERVICES_MAX) {
		services->left_out = services->cnt - DAILY_SERVICES_MAX;
		services->cnt = DAILY_SERVICES_MAX;
	}
	qsort(services->items, services->cnt, sizeof(*services->items), compare_file);
	/* Hashes can be made to meet; then a number keeps the files apart. ',' is in no other name. */
	for (size_t i = 1, same = 0; i < services->cnt; i++) {
		char *file = services->items[i].file;
		size_t len = strcspn(services->items[i - 1].file, ",");

		if (strlen(file) != len || strncmp(services->items[i - 1].file, file, len) != 0) {
			same = 0;
			continue;
		}
		(void)snprintf(file + len, DAILY_FILE_BYTES - len, ",%zu", ++same + 1);
	}
	return 0;
}

void daily_services_release(struct daily_services *services)
{
	free(services->items);
	strtab__free(services->texts);
	strtab__free(services->keys);
	*services = (struct daily_services){ 0 };
}

/* ---- from a store ---- */

struct service_walk {
	struct daily_services *services;
	const struct compare_load *what;
	uint64_t middle_unix_ns;
};

/* Of each window the labels are enough: no loader takes it, so no text is decoded. */
static int add_service(void *ctx, const struct window *window, struct compare_loader **out)
{
	const struct service_walk *walk = ctx;

	*out = NULL;
	if (window->start_unix_ns < walk->what->since_unix_ns ||
	    window->start_unix_ns >= walk->what->until_unix_ns)
		return 0;
	return daily_services_add(walk->services, walk->what->selection, walk->middle_unix_ns,
				  window);
}

int daily_services_list(struct store_source *reader, const struct selection *base,
			uint64_t since_unix_ns, uint64_t middle_unix_ns, uint64_t until_unix_ns,
			struct cmd_store_damage *damage, struct daily_services *services)
{
	const struct compare_load what = {
		.selection = base,
		.since_unix_ns = since_unix_ns,
		.until_unix_ns = until_unix_ns,
		.block_ns = STORE_DAY_ROW_NS,
	};
	struct service_walk walk = {
		.services = services,
		.what = &what,
		.middle_unix_ns = middle_unix_ns,
	};
	int err = compare_load_walk(reader, &what, add_service, &walk, damage);

	return err ? err : daily_services_finish(services);
}
