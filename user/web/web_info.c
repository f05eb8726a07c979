// SPDX-License-Identifier: Apache-2.0
/* See web_info.h. */
#include "user/web/web_info.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/cli/cmd_store.h"
#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/cli/option_groups.h"
#include "user/model/event_view.h"
#include "user/output/json_writer.h"
#include "user/remote/remote_url.h"
#include "user/source/clickhouse_source.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/version.h"

struct info_options {
	struct option_stores stores; /* one, or --from */
};

static const struct option_row rows[] = {
	{ OPTION_ROW_STORES(struct info_options, stores) },
	{ OPTION_ROW_FROM(struct info_options, stores) },
	{ .name = NULL },
};

static const struct option_group groups[] = { { .rows = rows }, { .rows = NULL } };

static const struct option_table table = { .program = "jbpf-web", .groups = groups };

/* And the views of these. */
static void write_events(uint32_t events, struct json_writer *json)
{
	json_writer_member_begin(json, "events", '[');
	for (int event = 0; event < EVENT_VIEW_END; event++) {
		uint32_t sources = event_sources((enum event)event);

		if ((events & sources) != sources)
			continue;
		json_writer_begin(json, '{');
		json_writer_member_string(json, "name", event_name((enum event)event));
		json_writer_member_string(json, "title", event_title((enum event)event));
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

/* What there is to be asked for. */
struct info {
	const char *store; /* NULL with `from` */
	const char *from;  /* the server's URL, for people */
	uint32_t events;
	struct cmd_store_range range;
};

/* Of the first event: CPU time, if it was sampled. */
static enum event first_event(const struct info *info)
{
	int event = 0;

	while (!(info->events & EVENT_BIT(event)))
		event++;
	return (enum event)event;
}

static int read_range(struct store_source *source, struct info *info)
{
	int err = cmd_store_range(source, &info->range);

	if (err)
		pr_err("the store in '%s' cannot be read: %s\n", store_source__name(source),
		       store_source__failure(source, err));
	return err;
}

static int read_store(struct info *info)
{
	struct store_source *source;
	int err = store_events(info->store, &info->events);

	if (!err && !info->events)
		err = -ENOENT;
	if (!err)
		err = store_source__open(info->store, first_event(info), &source);
	if (err) {
		pr_err("the store in '%s' cannot be read: %s\n", info->store, errstr(err));
		return err;
	}
	err = read_range(source, info);
	store_source__free(source);
	if (!err && info->range.is_first_unsure) {
		pr_err("the store in '%s' cannot be read: %s\n", info->store, errstr(EIO));
		err = -EIO;
	}
	return err;
}

/* A server's URL without the names of files, which are this host's. */
static int put_public_url(const char *url, struct strbuf *out)
{
	__cleanup_remote_url struct remote_url parts = { 0 };
	char why[256];
	int err = remote_url_parse(url, &parts, why, sizeof(why));

	if (err)
		return err;
	free(take_ptr(parts.ca_file));
	remote_url_write(&parts, parts.password_file ? "FILE" : NULL, out);
	return strbuf_error(out);
}

static int read_server(const char *url, struct info *info)
{
	struct store_source *source;
	char why[768];
	int err = clickhouse_source_events(url, &info->events, why, sizeof(why));

	if (!err && !info->events) {
		(void)snprintf(why, sizeof(why), "%s has no samples yet: jbpf push sends them",
			       info->from);
		err = -ENOENT;
	}
	if (!err)
		err = clickhouse_source__open(url, first_event(info), &source, why, sizeof(why));
	if (err) {
		pr_err("--from: %s\n", why);
		return err;
	}
	err = read_range(source, info);
	store_source__free(source);
	return err;
}

static int write_info(const struct info *info, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	char host[HOST_NAME_MAX + 1] = "";
	bool is_default = info->store && strcmp(info->store, STORE_DEFAULT_DIR) == 0;

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-web-info");
	json_writer_member_string(&json, "version", jbpf_version);
	json_writer_member_string(&json, "host", host);
	if (info->from)
		json_writer_member_string(&json, "from", info->from);
	else
		json_writer_member_string(&json, "store", info->store);
	json_writer_member_bool(&json, "default_store", is_default);
	json_writer_member_number(&json, "now", (double)(clock_unix_ns() / CLOCK_NS_PER_S));
	json_writer_member_number(&json, "first",
				  (double)(info->range.first_unix_ns / CLOCK_NS_PER_S));
	json_writer_member_number(&json, "last",
				  (double)(info->range.last_unix_ns / CLOCK_NS_PER_S));
	write_events(info->events, &json);
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}

static int answer(const struct option_stores *stores, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf from = STRBUF_INIT;
	struct info info = { .store = option_stores_first(stores) };
	int err;

	if (stores->from) {
		err = put_public_url(stores->from, &from);
		info.store = NULL;
		info.from = strbuf_str(&from);
		if (!err)
			err = read_server(stores->from, &info);
	} else {
		err = read_store(&info);
	}
	if (!err) {
		err = write_info(&info, out);
		if (err)
			pr_err("%s\n", errstr(err));
	}
	return err;
}

int web_info_run(int argc, char **argv)
{
	struct info_options options = { .stores.cnt = 0 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char why[256];
	struct option_walk walk = {
		.table = &table,
		.options = &options,
		.why = why,
		.why_len = sizeof(why),
	};

	if (options_walk_all(&walk, argc, argv)) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (answer(&options.stores, &out))
		return CMD_EXIT_FAILED;
	return cmd_write(NULL, &out);
}
