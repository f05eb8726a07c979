// SPDX-License-Identifier: Apache-2.0
/* See walk_text.h. */
#include "user/cli/walk_text.h"

#include <inttypes.h>

#include "user/model/unwind_facts.h"
#include "user/output/info.h"

static void append_by(const struct unwind_facts *facts, struct strbuf *out)
{
	if (facts->by == UNWIND_BY_FP) {
		strbuf_puts(out, "walked by frame pointers alone");
		return;
	}
	strbuf_printf(out, "walked by the tables of %" PRIu32 " file%s", facts->table_cnt,
		      info_plural(facts->table_cnt));
	if (facts->fp_cnt)
		strbuf_printf(out, " and the frame pointers of %" PRIu32, facts->fp_cnt);
}

static void append_java(enum unwind_java java, struct strbuf *out)
{
	switch (java) {
	case UNWIND_JAVA_FP:
		strbuf_puts(out, "; Java by frame pointers");
		break;
	case UNWIND_JAVA_SIZES:
		strbuf_puts(out, "; Java by the sizes of its frames");
		break;
	case UNWIND_JAVA_UNKNOWN:
		strbuf_puts(out, "; compiled Java not at all");
		break;
	case UNWIND_JAVA_NONE:
		break;
	}
}

void walk_text_append(const struct window *window, struct strbuf *out)
{
	struct unwind_facts facts;

	unwind_facts_read(window_label(window, WINDOW_LABEL_UNWIND), &facts);
	if (facts.by == UNWIND_BY_UNKNOWN)
		return;
	append_by(&facts, out);
	append_java(facts.java, out);
	for (uint32_t i = 0; i < facts.without_cnt; i++)
		strbuf_printf(out, "%s%s (%s)", i ? ", " : "; without: ", facts.without[i].name,
			      unwind_why_text(facts.without[i].why));
	if (facts.more_cnt)
		strbuf_printf(out, " and %" PRIu32 " more", facts.more_cnt);
	for (uint32_t i = 0; i < facts.end_cnt; i++)
		strbuf_printf(out, "%s%s (%s)", i ? ", " : "; stacks ended in ", facts.ends[i].name,
			      stack_end_name(facts.ends[i].end));
}

static void json_file(struct json_writer *json, const char *file, const char *why)
{
	json_writer_begin(json, '{');
	json_writer_member_string(json, "file", file);
	json_writer_member_string(json, "why", why);
	json_writer_end(json, '}');
}

static void json_without(struct json_writer *json, const struct unwind_facts *facts)
{
	json_writer_member_begin(json, "without_table", '[');
	for (uint32_t i = 0; i < facts->without_cnt; i++)
		json_file(json, facts->without[i].name, unwind_why_name(facts->without[i].why));
	json_writer_end(json, ']');
}

static void json_ends(struct json_writer *json, const struct unwind_facts *facts)
{
	json_writer_member_begin(json, "ended_in", '[');
	for (uint32_t i = 0; i < facts->end_cnt; i++)
		json_file(json, facts->ends[i].name, stack_end_name(facts->ends[i].end));
	json_writer_end(json, ']');
}

void walk_text_json(struct json_writer *json, const struct window *window)
{
	struct unwind_facts facts;

	unwind_facts_read(window_label(window, WINDOW_LABEL_UNWIND), &facts);
	json_writer_key(json, "walk");
	if (facts.by == UNWIND_BY_UNKNOWN) {
		json_writer_null(json);
		return;
	}
	json_writer_begin(json, '{');
	json_writer_member_string(json, "by", unwind_by_name(facts.by));
	json_writer_member_string(json, "java", unwind_java_name(facts.java));
	json_writer_member_u64(json, "files_with_table", facts.table_cnt);
	json_writer_member_u64(json, "files_by_frame_pointers", facts.fp_cnt);
	json_writer_member_u64(json, "files_without_table",
			       (uint64_t)facts.without_cnt + facts.more_cnt);
	json_without(json, &facts);
	json_ends(json, &facts);
	json_writer_end(json, '}');
}

/* ---- of the host ---- */

void walk_text_append_host(const char *label, struct strbuf *out)
{
	struct unwind_host host;
	const char *lead = "; refused: ";

	if (!*label)
		return;
	unwind_host_read(label, &host);
	strbuf_printf(out,
		      "unwind tables on this host: %" PRIu64
		      ", %.1f MiB; leaf rules proved: %" PRIu64
		      ", samples with a wrong caller cut: %" PRIu64,
		      host.table_cnt, (double)host.bytes / (1 << 20), host.leafs_proved,
		      host.leafs_refuted);
	if (host.evicted)
		strbuf_printf(out, "; evicted: %" PRIu64, host.evicted);
	for (int i = 0; i < UNWIND_WHY_CNT; i++) {
		if (!host.refused[i])
			continue;
		strbuf_printf(out, "%s%s %" PRIu64, lead, unwind_why_name((enum unwind_why)i),
			      host.refused[i]);
		lead = ", ";
	}
	strbuf_putc(out, '\n');
}

void walk_text_json_host(struct json_writer *json, const char *label)
{
	struct unwind_host host;

	json_writer_key(json, "unwind");
	if (!*label) {
		json_writer_null(json);
		return;
	}
	unwind_host_read(label, &host);
	json_writer_begin(json, '{');
	json_writer_member_u64(json, "tables", host.table_cnt);
	json_writer_member_u64(json, "bytes", host.bytes);
	json_writer_member_u64(json, "evicted", host.evicted);
	json_writer_member_u64(json, "leafs_proved", host.leafs_proved);
	json_writer_member_u64(json, "leafs_refuted", host.leafs_refuted);
	json_writer_member_begin(json, "refused", '{');
	for (int i = UNWIND_WHY_NO_INFORMATION + 1; i < UNWIND_WHY_CNT; i++)
		json_writer_member_u64(json, unwind_why_name((enum unwind_why)i), host.refused[i]);
	json_writer_end(json, '}');
	json_writer_end(json, '}');
}
