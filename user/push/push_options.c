// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf push. */
#include "user/push/push_options.h"

#include <errno.h>
#include <stdlib.h>

#include "user/remote/remote_url.h"
#include "user/store/store.h"
#include "user/util/clock.h"

#define DEFAULT_STATE	    "/var/lib/jbpf-push"
#define DEFAULT_INTERVAL_NS (60 * CLOCK_NS_PER_S)

enum push_use { PUSH_USE_SEND, PUSH_USE_INIT };

static const struct option_use uses[] = {
	[PUSH_USE_SEND] = { .name = "sending", .operands = "URL" },
	[PUSH_USE_INIT] = { .name = "--init", .operands = "URL" },
	{ .name = NULL },
};

static const struct option_row rows[] = {
	{ OPTION_ROW_STORE(struct push_options, store), .uses = OPTION_USE(PUSH_USE_SEND) },
	{ .name = "once",
	  .kind = OPTION_KIND_FLAG,
	  .help = "send what is complete by now, and end",
	  .uses = OPTION_USE(PUSH_USE_SEND),
	  OPTION_FIELD(struct push_options, once) },
	{ .name = "interval",
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "T",
	  .help = "how often it looks for complete minutes",
	  .fallback = "60s",
	  .min = CLOCK_NS_PER_S,
	  .max = 3600 * CLOCK_NS_PER_S,
	  .wants = "a duration from 1s to 1h",
	  .uses = OPTION_USE(PUSH_USE_SEND),
	  OPTION_FIELD(struct push_options, interval_ns) },
	{ .name = "state",
	  .kind = OPTION_KIND_DIR,
	  .metavar = "DIR",
	  .help = "where it keeps how far it came; one for each store and server is made in it",
	  .fallback = "$STATE_DIRECTORY or " DEFAULT_STATE,
	  .min = 1,
	  .uses = OPTION_USE(PUSH_USE_SEND),
	  OPTION_FIELD(struct push_options, state) },
	{ .name = "metrics",
	  .kind = OPTION_KIND_FILE,
	  .metavar = "OUT",
	  .help = "write lag, rows, drops and bytes to this file, as the node exporter's textfile collector reads them",
	  .min = 1,
	  .uses = OPTION_USE(PUSH_USE_SEND),
	  OPTION_FIELD(struct push_options, metrics) },
	{ .name = "init",
	  .kind = OPTION_KIND_FLAG,
	  .help = "make the tables in the database of ClickHouse, or the columns that they lack, and end; what is there stays",
	  .uses = OPTION_USE(PUSH_USE_INIT),
	  .needed = OPTION_USE(PUSH_USE_INIT),
	  OPTION_FIELD(struct push_options, init) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_INFO(struct push_options, info) },
	{ .rows = NULL },
};

const struct option_table push_option_table = {
	.program = "jbpf-push",
	.summary =
		"Sends the store to a ClickHouse server, to a receiver of OpenTelemetry's profiles or to "
		"Pyroscope, minute by minute, for ever or --once. The URL is " REMOTE_URL_FORM
		", or " REMOTE_URL_FORM_OTLP ", or " REMOTE_URL_FORM_PYROSCOPE
		" (without TLS otlp+http://, pyroscope+http://).\n"
		"\n"
		"What ClickHouse gets twice counts once; to receivers of OTLP a profile has the same id "
		"again; Pyroscope adds up, and gets twice what it took and could not confirm. It "
		"may be killed at any moment, and goes on where the server has confirmed. The store is only read. While the server is away the "
		"store is the queue.",
	.groups = groups,
	.uses = uses,
	.notes =
		"Exit codes: 0 all that is complete was sent, or the tables are there; 1 failed; 2 "
		"wrong usage.",
};

int push_options_parse(int argc, char **argv, struct push_options *out, char *why, size_t why_len)
{
	struct option_walk walk = {
		.table = &push_option_table,
		.options = out,
		.why = why,
		.why_len = why_len,
	};
	const char *state = getenv("STATE_DIRECTORY");
	int err;

	*out = (struct push_options){
		.store = STORE_DEFAULT_DIR,
		.state = state && *state ? state : DEFAULT_STATE,
		.interval_ns = DEFAULT_INTERVAL_NS,
	};
	err = options_walk(&walk, argc, argv);
	if (err || out->info.help || out->info.version)
		return err;
	if (walk.operands == argc)
		return options_refuse_see_help(&walk, "where to? a URL is missing");
	if (walk.operands + 1 < argc)
		return options_refuse_see_help(&walk, "'%s' is too much", argv[walk.operands + 1]);
	out->url = argv[walk.operands];
	if (!remote_url_is_one(out->url) && !remote_url_is_otlp(out->url) &&
	    !remote_url_is_pyroscope(out->url))
		return options_refuse(
			&walk,
			"'%s' is the URL of no receiver that is known; it begins with "
			"clickhouse://, otlp+https://, otlp+http://, pyroscope+https:// "
			"or pyroscope+http://",
			out->url);
	return options_check_use(&walk, out->init ? PUSH_USE_INIT : PUSH_USE_SEND);
}
