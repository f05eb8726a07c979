// SPDX-License-Identifier: Apache-2.0
/* See pyroscope_request.h. */
#include "user/remote/pyroscope_request.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "user/remote/window_row.h"
#include "user/util/cleanup.h"
#include "user/util/utf8.h"

#define MINUTE_S   60
#define NO_SERVICE "unknown"

const enum window_label pyroscope_labels[PYROSCOPE_LABEL_CNT] = {
	WINDOW_LABEL_HOST,	WINDOW_LABEL_NAMESPACE, WINDOW_LABEL_POD,
	WINDOW_LABEL_CONTAINER, WINDOW_LABEL_COMM,
};

/* Of each event: the sample type, and under which name it is shown: only that of CPU time may have "cpu". */
static const struct sample_type {
	const char *type, *shown;
} types[EVENT_CNT] = {
	[EVENT_CPU] = { "cpu", "cpu" },
	[EVENT_PAGE_FAULTS] = { "page_faults", "page_faults" },
	[EVENT_MAJOR_FAULTS] = { "major_faults", "major_faults" },
	[EVENT_CONTEXT_SWITCHES] = { "context_switches", "context_switches" },
	[EVENT_CPU_MIGRATIONS] = { "cpu_migrations", "migrations" },
	[EVENT_OFF_CPU] = { "off_cpu", "waiting" },
	[EVENT_SCHED] = { "sched", "sched" },
	[EVENT_ALLOC] = { "alloc", "alloc" },
};

static const struct sample_type *type_of(enum event event)
{
	static const struct sample_type of_later_jbpf = { "unknown", "unknown" };

	return (size_t)event < EVENT_CNT ? &types[event] : &of_later_jbpf;
}

const char *pyroscope_sample_type(enum event event)
{
	return type_of(event)->type;
}

/* ---- the query ---- */

static bool is_word(uint32_t code)
{
	return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
	       (code >= '0' && code <= '9') || code == '_' || code == '.' || code == '-';
}

static bool is_of_service(uint32_t code)
{
	return is_word(code) || code == '/';
}

static bool is_of_value(uint32_t code)
{
	return code != UTF8_BAD_BYTE && code >= ' ' && code != 0x7f && code != ',' && code != '}';
}

/* As a query has it: all but words as %XX. */
static void put_escaped(struct strbuf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (is_word(byte))
			strbuf_putc(out, text[i]);
		else
			strbuf_printf(out, "%%%02X", byte);
	}
}

static void put_text(struct strbuf *out, const char *text, bool (*is_good)(uint32_t code))
{
	size_t len = strlen(text);

	for (size_t at = 0; at < len;) {
		uint32_t code;
		size_t step = utf8_next(text + at, len - at, &code);

		if (at + step > PYROSCOPE_VALUE_MAX_BYTES)
			break;
		if (is_good(code))
			put_escaped(out, text + at, step);
		else
			strbuf_putc(out, '_');
		at += step;
	}
}

void pyroscope_query(struct strbuf *out, const struct window *window, uint32_t minute_unix_s)
{
	const char *service = window_row_service(window);
	const char *before = "{";

	strbuf_puts(out, "/ingest?name=");
	put_text(out, *service ? service : NO_SERVICE, is_of_service);
	for (size_t i = 0; i < ARRAY_SIZE(pyroscope_labels); i++) {
		const char *value = window_label(window, pyroscope_labels[i]);

		if (!*value)
			continue;
		put_escaped(out, before, strlen(before));
		strbuf_puts(out, window_label_name(pyroscope_labels[i]));
		put_escaped(out, "=", 1);
		put_text(out, value, is_of_value);
		before = ",";
	}
	if (*before == ',')
		put_escaped(out, "}", 1);
	strbuf_printf(out, "&from=%" PRIu32 "&until=%" PRIu32 "&spyName=jbpf", minute_unix_s,
		      minute_unix_s + MINUTE_S);
}

/* ---- the form ---- */

static void put_part(struct strbuf *body, const char *boundary, const char *name, const char *file,
		     const char *type)
{
	strbuf_printf(body,
		      "--%s\r\n"
		      "Content-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		      "Content-Type: %s\r\n\r\n",
		      boundary, name, file, type);
}

/* Two names: servers before 1.0 showed each as an application of its own, and added up equal ones. */
static void put_config(struct strbuf *body, enum event event)
{
	const struct sample_type *type = type_of(event);

	strbuf_printf(
		body,
		"{\"samples\":{\"units\":\"samples\",\"display-name\":\"%s_samples\","
		"\"aggregation\":\"sum\",\"sampled\":false},"
		"\"%s\":{\"units\":\"samples\",\"display-name\":\"%s\",\"aggregation\":\"sum\","
		"\"sampled\":false}}",
		type->shown, type->type, type->shown);
}

void pyroscope_form(const void *pprof, size_t len, enum event event, struct strbuf *body,
		    struct strbuf *content_type)
{
	XXH128_hash_t hash = XXH3_128bits(pprof, len);
	char boundary[sizeof("jbpf") + 2 * sizeof(hash)];

	(void)snprintf(boundary, sizeof(boundary), "jbpf%016" PRIx64 "%016" PRIx64, hash.high64,
		       hash.low64);
	strbuf_printf(content_type, "Content-Type: multipart/form-data; boundary=%s", boundary);
	put_part(body, boundary, "profile", "profile.pprof", "application/octet-stream");
	strbuf_append(body, pprof, len);
	strbuf_puts(body, "\r\n");
	put_part(body, boundary, "sample_type_config", "sample_type_config.json",
		 "application/json");
	put_config(body, event);
	strbuf_printf(body, "\r\n--%s--\r\n", boundary);
}
