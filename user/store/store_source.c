// SPDX-License-Identifier: Apache-2.0
/* What commands read windows from; see store_source.h. */
#include "user/store/store_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

struct store_source {
	const struct store_source_ops *ops; /* NULL = a sum */
	void *ctx;
	char *name;
	struct store_source **parts; /* of a sum; owned */
	size_t part_cnt;
	size_t visited; /* the part that was visited last */
};

/* ---- one store ---- */

static int reader_visit(void *ctx, uint64_t since_unix_ns, uint64_t until_unix_ns,
			const struct store_visitor *visitor)
{
	return store_reader__visit(ctx, since_unix_ns, until_unix_ns, visitor);
}

static void reader_free(void *ctx)
{
	store_reader__free(ctx);
}

static const struct store_source_ops reader_ops = { .visit = reader_visit, .free = reader_free };

int store_source__open(const char *dir, enum event event, struct store_source **out)
{
	struct store_reader *reader;
	int err = store_reader__open_event(dir, event, &reader);

	if (err)
		return err;
	err = store_source__new(&reader_ops, reader, dir, out);
	if (err)
		store_reader__free(reader);
	return err;
}

/* ---- the sum of several ---- */

/* What the part's visitor needs to know. */
struct part_visit {
	const struct store_visitor *visitor;
	const char *name;
	int err; /* of a callback that cannot return one */
};

static bool part_want(void *ctx, const struct window *window)
{
	const struct store_visitor *visitor = ((struct part_visit *)ctx)->visitor;

	return !visitor->want || visitor->want(visitor->ctx, window);
}

static int part_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	const struct store_visitor *visitor = ((struct part_visit *)ctx)->visitor;

	return visitor->window ? visitor->window(visitor->ctx, window, text, len) : 0;
}

/* Paths are relative to their store, and equal in all of them. */
static void part_damage(void *ctx, const struct store_damage *damage)
{
	struct part_visit *visit = ctx;
	__cleanup_strbuf struct strbuf path = STRBUF_INIT;
	struct store_damage named = *damage;

	if (!visit->visitor->damage)
		return;
	strbuf_printf(&path, "%s/%s", visit->name, damage->path);
	if (strbuf_error(&path))
		visit->err = strbuf_error(&path);
	else
		named.path = strbuf_str(&path);
	visit->visitor->damage(visit->visitor->ctx, &named);
}

static int visit_parts(struct store_source *source, uint64_t since_unix_ns, uint64_t until_unix_ns,
		       const struct store_visitor *visitor)
{
	int err = 0;

	for (size_t i = 0; i < source->part_cnt && !err; i++) {
		struct part_visit visit = { .visitor = visitor,
					    .name = store_source__name(source->parts[i]) };
		struct store_visitor part = *visitor;

		part.ctx = &visit;
		part.want = part_want;
		part.window = part_window;
		part.damage = part_damage;
		source->visited = i;
		err = store_source__visit(source->parts[i], since_unix_ns, until_unix_ns, &part);
		if (!err)
			err = visit.err;
	}
	return err;
}

int store_source__join(struct store_source *const *parts, size_t cnt, struct store_source **out)
{
	struct store_source *source = calloc(1, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->parts = calloc(cnt, sizeof(struct store_source *));
	if (!source->parts) {
		free(source);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		source->parts[i] = parts[i];
	source->part_cnt = cnt;
	*out = source;
	return 0;
}

/* ---- any ---- */

int store_source__new(const struct store_source_ops *ops, void *ctx, const char *name,
		      struct store_source **out)
{
	struct store_source *source = calloc(1, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->name = strdup(name);
	if (!source->name) {
		free(source);
		return -ENOMEM;
	}
	source->ops = ops;
	source->ctx = ctx;
	*out = source;
	return 0;
}

void store_source__free(struct store_source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->part_cnt; i++)
		store_source__free(source->parts[i]);
	if (source->ops)
		source->ops->free(source->ctx);
	free(source->parts);
	free(source->name);
	free(source);
}

int store_source__visit(struct store_source *source, uint64_t since_unix_ns, uint64_t until_unix_ns,
			const struct store_visitor *visitor)
{
	if (!source->ops)
		return visit_parts(source, since_unix_ns, until_unix_ns, visitor);
	return source->ops->visit(source->ctx, since_unix_ns, until_unix_ns, visitor);
}

int store_source__range(struct store_source *source, uint64_t *first_unix_ns,
			uint64_t *last_unix_ns)
{
	if (!source->ops || !source->ops->range)
		return -EOPNOTSUPP;
	return source->ops->range(source->ctx, first_unix_ns, last_unix_ns);
}

const char *store_source__name(const struct store_source *source)
{
	return source->ops ? source->name : store_source__name(source->parts[source->visited]);
}

const char *store_source__failure(const struct store_source *source, int err)
{
	const char *failure;

	if (!source->ops)
		return store_source__failure(source->parts[source->visited], err);
	failure = source->ops->failure ? source->ops->failure(source->ctx) : NULL;
	return failure ? failure : errstr(err);
}

struct store_source *store_source__part(struct store_source *source, size_t index)
{
	if (!source->ops)
		return index < source->part_cnt ? source->parts[index] : NULL;
	return index ? NULL : source;
}
