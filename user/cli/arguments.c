// SPDX-License-Identifier: Apache-2.0
/* The common part of command lines; see arguments.h. */
#include "user/cli/arguments.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/util/parse.h"

/* Returns what fits before the end of `why`. */
static size_t write_why(struct arguments *arguments, const char *format, va_list args)
{
	int len = vsnprintf(arguments->why, arguments->why_len, format, args);

	if (len < 0)
		return 0;
	return (size_t)len < arguments->why_len ? (size_t)len : arguments->why_len;
}

int arguments_refuse(struct arguments *arguments, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)write_why(arguments, format, args);
	va_end(args);
	return -EINVAL;
}

int arguments_refuse_see_help(struct arguments *arguments, const char *format, ...)
{
	va_list args;
	size_t len;

	va_start(args, format);
	len = write_why(arguments, format, args);
	va_end(args);
	(void)snprintf(arguments->why + len, arguments->why_len - len, "; see %s --help",
		       arguments->program);
	return -EINVAL;
}

const char *arguments_name(const struct arguments *arguments, int id,
			   char text[static ARGUMENT_NAME_BYTES])
{
	for (const struct option *option = arguments->options; option->name; option++) {
		if (option->val == id) {
			(void)snprintf(text, ARGUMENT_NAME_BYTES, "--%s", option->name);
			return text;
		}
	}
	(void)snprintf(text, ARGUMENT_NAME_BYTES, "-%c", id);
	return text;
}

static int refuse_unknown(struct arguments *arguments, int id, const char *argument)
{
	char name[ARGUMENT_NAME_BYTES];

	if (id == ':')
		return arguments_refuse_see_help(arguments, "%s wants a value",
						 arguments_name(arguments, optopt, name));
	if (optopt > UINT8_MAX)
		return arguments_refuse_see_help(arguments, "%s takes no value",
						 arguments_name(arguments, optopt, name));
	if (optopt)
		return arguments_refuse_see_help(arguments, "there is no option -%c", optopt);
	return arguments_refuse_see_help(arguments, "there is no option %s", argument);
}

int arguments_walk(struct arguments *arguments, int argc, char **argv)
{
	char name[ARGUMENT_NAME_BYTES];
	int id;

	optind = 0; /* glibc: begin anew */
	opterr = 0;
	while ((id = getopt_long(argc, argv, arguments->letters, arguments->options, NULL)) != -1) {
		int err;

		if (id == '?' || id == ':')
			return refuse_unknown(arguments, id, argv[optind - 1]);
		if (arguments->seen[id] && id != arguments->repeatable)
			return arguments_refuse_see_help(arguments, "%s is given twice",
							 arguments_name(arguments, id, name));
		arguments->seen[id] = true;
		err = arguments->take(arguments->ctx, id, optarg);
		if (err)
			return err;
	}
	return 0;
}

int arguments_take_time(struct arguments *arguments, const char *option, const char *value,
			uint64_t now_unix_ns, uint64_t *unix_ns_out)
{
	if (parse_time_ns(value, now_unix_ns, unix_ns_out) == 0)
		return 0;
	return arguments_refuse_see_help(
		arguments,
		"%s: '%s' is no time; write 90s, 15m, 1h, 2d, 2026-11-21T13:00:00Z or @EPOCH",
		option, value);
}

bool arguments_is_selector(int id)
{
	return id >= ARGUMENT_CONTAINER && id < ARGUMENT_ID_END;
}

int arguments_take_selector(struct arguments *arguments, int id, const char *value,
			    struct selection *out)
{
	switch (id) {
	case ARGUMENT_CONTAINER:
		out->container = value;
		return 0;
	case ARGUMENT_POD:
		out->pod = value;
		return 0;
	case ARGUMENT_NAMESPACE:
		out->namespace = value;
		return 0;
	case ARGUMENT_SERVICE:
		out->service = value;
		return 0;
	case ARGUMENT_COMM:
		out->comm = value;
		return 0;
	case ARGUMENT_CGROUP:
		out->cgroup = value;
		return 0;
	case ARGUMENT_PID:
		if (parse_u32_range(value, 1, INT32_MAX, &out->pid))
			return arguments_refuse_see_help(arguments, "--pid: '%s' is no process id",
							 value);
		return 0;
	default:
		if (select_kind_parse(value, &out->kind))
			return arguments_refuse_see_help(
				arguments, "--kind: '%s' is not one of java, kernel, native",
				value);
		return 0;
	}
}
