// SPDX-License-Identifier: Apache-2.0
/* See pass_facts.h. */
#include "user/model/pass_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

static const char *const names[] = { "passes",	 "threads", "cpu_ppm",	"put_off",
				     "restarts", "unread",  "run_delay" };

static uint64_t *field(struct pass_facts *facts, size_t index)
{
	uint64_t *const fields[ARRAY_SIZE(names)] = { &facts->passes,	    &facts->threads,
						      &facts->cpu_ppm,	    &facts->put_off,
						      &facts->restarts,	    &facts->unread,
						      &facts->has_run_delay };

	return fields[index];
}

void pass_facts_append(const struct pass_facts *facts, struct strbuf *out)
{
	struct pass_facts copy = *facts;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		strbuf_printf(out, "%s%s=%" PRIu64, i ? " " : "", names[i], *field(&copy, i));
}

/* A word of a later version is passed over. */
static bool read_word(const char *word, size_t len, struct pass_facts *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t name_len = strlen(names[i]);

		if (len > name_len && memcmp(word, names[i], name_len) == 0 &&
		    word[name_len] == '=') {
			*field(out, i) = strtoull(word + name_len + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

bool pass_facts_read(const char *text, struct pass_facts *out)
{
	bool is_said = false;

	*out = (struct pass_facts){ 0 };
	while (*text) {
		size_t len = strcspn(text, " ");

		is_said |= read_word(text, len, out);
		text += len;
		text += strspn(text, " ");
	}
	return is_said;
}
