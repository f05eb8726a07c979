// SPDX-License-Identifier: Apache-2.0
/*
 * See unwind_facts.h. Names of files are foreign: every byte that could end a word is written as
 * '%' and two hex digits.
 */
#include "user/model/unwind_facts.h"

#include <inttypes.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define NAME_PUNCTUATION "._+-@~,()[]#" /* of files' names, which stands for itself */

static const char *const why_names[UNWIND_WHY_CNT] = {
	[UNWIND_WHY_UNKNOWN] = "unknown",
	[UNWIND_WHY_NO_INFORMATION] = "no_information",
	[UNWIND_WHY_LARGE] = "large",
	[UNWIND_WHY_DAMAGED] = "damaged",
	[UNWIND_WHY_UNREADABLE] = "unreadable",
	[UNWIND_WHY_SHARE] = "share",
	[UNWIND_WHY_FULL] = "full",
	[UNWIND_WHY_KERNEL] = "kernel",
};

static const char *const why_texts[UNWIND_WHY_CNT] = {
	[UNWIND_WHY_UNKNOWN] = "has no unwind table",
	[UNWIND_WHY_NO_INFORMATION] = "has no unwind information",
	[UNWIND_WHY_LARGE] = "has more unwind information than a table holds",
	[UNWIND_WHY_DAMAGED] = "has unwind information that makes no sense",
	[UNWIND_WHY_UNREADABLE] = "could not be read",
	[UNWIND_WHY_SHARE] = "has no table: its container holds its share of them",
	[UNWIND_WHY_FULL] = "has no table: all room for them is in use",
	[UNWIND_WHY_KERNEL] = "has a table that the kernel did not take",
};

static const char *const java_names[] = {
	[UNWIND_JAVA_NONE] = "",
	[UNWIND_JAVA_FP] = "frame_pointers",
	[UNWIND_JAVA_SIZES] = "frame_sizes",
	[UNWIND_JAVA_UNKNOWN] = "unknown",
};

static const char *const by_names[] = {
	[UNWIND_BY_UNKNOWN] = "",
	[UNWIND_BY_RULES] = "rules",
	[UNWIND_BY_FP] = "frame_pointers",
};

const char *unwind_why_name(enum unwind_why why)
{
	return (size_t)why < ARRAY_SIZE(why_names) ? why_names[why] : "unknown";
}

const char *unwind_why_text(enum unwind_why why)
{
	return why_texts[(size_t)why < ARRAY_SIZE(why_texts) ? why : UNWIND_WHY_UNKNOWN];
}

const char *unwind_java_name(enum unwind_java java)
{
	return (size_t)java < ARRAY_SIZE(java_names) ? java_names[java] : "unknown";
}

const char *unwind_by_name(enum unwind_by by)
{
	return (size_t)by < ARRAY_SIZE(by_names) ? by_names[by] : "";
}

/* ---- words ---- */

struct word {
	const char *name;
	size_t name_len;
	const char *value;
	size_t value_len;
};

/* Takes the next word of *at; false: no more. One without '=' has a name alone. */
static bool word_next(const char **at, struct word *out)
{
	const char *begin = *at + strspn(*at, " ");
	size_t len = strcspn(begin, " ");
	const char *equals = memchr(begin, '=', len);

	if (!len)
		return false;
	*at = begin + len;
	*out = (struct word){ .name = begin, .name_len = len, .value = *at };
	if (equals) {
		out->name_len = (size_t)(equals - begin);
		out->value = equals + 1;
		out->value_len = len - out->name_len - 1;
	}
	return true;
}

static bool is_text(const char *bytes, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(bytes, text, len) == 0;
}

/* Which of the names it is; 0 also for none. */
static int find_name(const char *const *names, size_t cnt, const char *bytes, size_t len)
{
	for (size_t i = 1; i < cnt; i++)
		if (names[i] && is_text(bytes, len, names[i]))
			return (int)i;
	return 0;
}

static uint64_t word_number(const struct word *word)
{
	uint64_t number;

	return parse_u64_n(word->value, word->value_len, 10, &number) ? 0 : number;
}

/* Cuts the part in front of ':' off. False: there is none. */
static bool word_split(struct word *word, const char **head, size_t *head_len)
{
	const char *colon = memchr(word->value, ':', word->value_len);

	if (!colon)
		return false;
	*head = word->value;
	*head_len = (size_t)(colon - word->value);
	word->value += *head_len + 1;
	word->value_len -= *head_len + 1;
	return true;
}

static void read_name(const struct word *word, char *out)
{
	const char *at = word->value, *end = at + word->value_len;
	size_t len = 0;

	while (at < end && len + 1 < UNWIND_FACTS_NAME_BYTES) {
		uint64_t byte;

		if (*at == '%' && end - at >= 3 && parse_u64_n(at + 1, 2, 16, &byte) == 0 && byte) {
			out[len++] = (char)byte;
			at += 3;
		} else {
			out[len++] = *at++;
		}
	}
	out[len] = '\0';
}

/* ---- of a process ---- */

void unwind_facts_append(const struct unwind_facts *facts, struct strbuf *out)
{
	strbuf_printf(out, "by=%s", unwind_by_name(facts->by));
	if (facts->java)
		strbuf_printf(out, " java=%s", unwind_java_name(facts->java));
	strbuf_printf(out, " tables=%u fp=%u", facts->table_cnt, facts->fp_cnt);
	for (uint32_t i = 0; i < facts->without_cnt; i++) {
		strbuf_printf(out, " none=%s:", unwind_why_name(facts->without[i].why));
		strbuf_put_encoded(out, facts->without[i].name, NAME_PUNCTUATION);
	}
	if (facts->more_cnt)
		strbuf_printf(out, " more=%u", facts->more_cnt);
	for (uint32_t i = 0; i < facts->end_cnt; i++) {
		strbuf_printf(out, " ends=%s:", stack_end_name(facts->ends[i].end));
		strbuf_put_encoded(out, facts->ends[i].name, NAME_PUNCTUATION);
	}
}

static void read_without(struct word *word, struct unwind_facts *out)
{
	const char *why;
	size_t why_len;

	if (!word_split(word, &why, &why_len) || out->without_cnt >= UNWIND_FACTS_FILES)
		return;
	out->without[out->without_cnt].why =
		(enum unwind_why)find_name(why_names, ARRAY_SIZE(why_names), why, why_len);
	read_name(word, out->without[out->without_cnt++].name);
}

static void read_end(struct word *word, struct unwind_facts *out)
{
	const char *name;
	size_t name_len;

	if (!word_split(word, &name, &name_len) || out->end_cnt >= UNWIND_FACTS_FILES)
		return;
	for (int i = STACK_END_ROOT + 1; i < STACK_END_CNT; i++) {
		if (!is_text(name, name_len, stack_end_name((enum stack_end)i)))
			continue;
		out->ends[out->end_cnt].end = (enum stack_end)i;
		read_name(word, out->ends[out->end_cnt++].name);
		return;
	}
}

void unwind_facts_read(const char *text, struct unwind_facts *out)
{
	struct word word;

	*out = (struct unwind_facts){ .by = UNWIND_BY_UNKNOWN };
	while (word_next(&text, &word)) {
		if (is_text(word.name, word.name_len, "by"))
			out->by = (enum unwind_by)find_name(by_names, ARRAY_SIZE(by_names),
							    word.value, word.value_len);
		else if (is_text(word.name, word.name_len, "java"))
			out->java = (enum unwind_java)find_name(java_names, ARRAY_SIZE(java_names),
								word.value, word.value_len);
		else if (is_text(word.name, word.name_len, "tables"))
			out->table_cnt = (uint32_t)word_number(&word);
		else if (is_text(word.name, word.name_len, "fp"))
			out->fp_cnt = (uint32_t)word_number(&word);
		else if (is_text(word.name, word.name_len, "none"))
			read_without(&word, out);
		else if (is_text(word.name, word.name_len, "ends"))
			read_end(&word, out);
		else if (is_text(word.name, word.name_len, "more"))
			out->more_cnt = (uint32_t)word_number(&word);
	}
}

const enum unwind_why *unwind_facts_why(const struct unwind_facts *facts, const char *name)
{
	for (uint32_t i = 0; i < facts->without_cnt; i++)
		if (strcmp(facts->without[i].name, name) == 0)
			return &facts->without[i].why;
	return NULL;
}

/* ---- of the host ---- */

static const char *const host_names[] = { "tables", "bytes", "evicted", "leafs_proved",
					  "leafs_refuted" };

static uint64_t *host_field(struct unwind_host *host, size_t index)
{
	uint64_t *const fields[ARRAY_SIZE(host_names)] = { &host->table_cnt, &host->bytes,
							   &host->evicted, &host->leafs_proved,
							   &host->leafs_refuted };

	return fields[index];
}

void unwind_host_append(const struct unwind_host *host, struct strbuf *out)
{
	struct unwind_host copy = *host;

	for (size_t i = 0; i < ARRAY_SIZE(host_names); i++)
		strbuf_printf(out, "%s%s=%" PRIu64, i ? " " : "", host_names[i],
			      *host_field(&copy, i));
	for (int i = 0; i < UNWIND_WHY_CNT; i++)
		if (host->refused[i])
			strbuf_printf(out, " refused=%s:%" PRIu64,
				      unwind_why_name((enum unwind_why)i), host->refused[i]);
}

static void read_refused(struct word *word, struct unwind_host *out)
{
	const char *why;
	size_t why_len;

	if (word_split(word, &why, &why_len))
		out->refused[find_name(why_names, ARRAY_SIZE(why_names), why, why_len)] +=
			word_number(word);
}

void unwind_host_read(const char *text, struct unwind_host *out)
{
	struct word word;

	*out = (struct unwind_host){ 0 };
	while (word_next(&text, &word)) {
		if (is_text(word.name, word.name_len, "refused"))
			read_refused(&word, out);
		for (size_t i = 0; i < ARRAY_SIZE(host_names); i++)
			if (is_text(word.name, word.name_len, host_names[i]))
				*host_field(out, i) = word_number(&word);
	}
}
