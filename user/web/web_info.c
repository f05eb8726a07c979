// SPDX-License-Identifier: Apache-2.0
/* See web_info.h. */
#include "user/web/web_info.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "user/cli/cmd_store.h"
#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/cli/option_groups.h"
#include "user/model/event_view.h"
#include "user/output/json_writer.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/version.h"

struct info_options {
	const char *store;
};

static const struct option_row rows[] = {
	{ OPTION_ROW_STORE(struct info_options, store) },
	{ .name = NULL },
};

static const struct option_group groups[] = { { .rows = rows }, { .rows = NULL } };

static const struct option_table table = { .program = "jbpf-web", .groups = groups };

/* And the views of these. */
static void write_events(uint32_t events, struct json_writer *json)
{
	json_writer_key(json, "events");
	json_writer_begin(json, '[');
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

/* Of the first event: CPU time, if it was sampled. */
static int read_events(const char *store, uint32_t *events, struct cmd_store_range *range)
{
	struct store_source *reader;
	int event = 0;
	int err = store_events(store, events);

	if (err || !*events)
		return err ? err : -ENOENT;
	while (!(*events & EVENT_BIT(event)))
		event++;
	err = store_source__open(store, (enum event)event, &reader);
	if (err)
		return err;
	err = cmd_store_range(reader, range);
	store_source__free(reader);
	return !err && range->is_first_unsure ? -EIO : err;
}

static int write_info(const char *store, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	char host[HOST_NAME_MAX + 1] = "";
	struct cmd_store_range range;
	uint32_t events;
	int err = read_events(store, &events, &range);

	if (err)
		return err;
	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-web-info");
	json_writer_member_string(&json, "version", jbpf_version);
	json_writer_member_string(&json, "host", host);
	json_writer_member_string(&json, "store", store);
	json_writer_member_bool(&json, "default_store", strcmp(store, STORE_DEFAULT_DIR) == 0);
	json_writer_member_number(&json, "now", (double)(clock_unix_ns() / CLOCK_NS_PER_S));
	json_writer_member_number(&json, "first", (double)(range.first_unix_ns / CLOCK_NS_PER_S));
	json_writer_member_number(&json, "last", (double)(range.last_unix_ns / CLOCK_NS_PER_S));
	write_events(events, &json);
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}

int web_info_run(int argc, char **argv)
{
	struct info_options options = { .store = STORE_DEFAULT_DIR };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char why[256];
	struct option_walk walk = {
		.table = &table,
		.options = &options,
		.why = why,
		.why_len = sizeof(why),
	};
	int err = options_walk_all(&walk, argc, argv);

	if (err) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	err = write_info(options.store, &out);
	if (err) {
		pr_err("the store in '%s' cannot be read: %s\n", options.store, errstr(err));
		return CMD_EXIT_FAILED;
	}
	return cmd_write(NULL, &out);
}
