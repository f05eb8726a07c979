/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles for the tests of the writers. Include after cmocka. Names are what a hostile process
 * could be called; what a writer makes of them must be inert.
 */
#ifndef JBPF_TESTS_UNIT_OUTPUT_PROFILES_H
#define JBPF_TESTS_UNIT_OUTPUT_PROFILES_H

#include <stdio.h>
#include <string.h>

#include "user/model/profile.h"
#include "user/output/output.h"

#define HOSTILE_NAMES                                                                        \
	"</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "-->", "]]>",  \
		"\"quoted\" \\back\\slash\\", "'single' & amp", "line\xe2\x80\xa8separator", \
		"\x1b[31mred\x1b]0:title\x07", "\xf0\x9f\x98\x80", "\xe2\x80\xaereversed",   \
		"not utf-8 \xff\xc0\x80", "{{data}}", "$&$1", "%s%n", "\x01\x02\x7f\xc2\x9b"

static const struct output_info output_profiles_info = {
	.title = "java in <shop> & \"co\"",
	.subtitle = "pod=a\x1b[2Jb",
	.since_unix_ns = 1795267200ull * 1000000000,
	.until_unix_ns = 1795267800ull * 1000000000,
	.frequency_hz = 100,
	.lost_samples = 7,
	.counts.unknown_frames = 1,
	.counts.frames = 50,
	.counts.truncated_samples = 1,
	.counts.ends = { [STACK_END_MAX_DEPTH] = 1 },
	.counts.jit_frames = 40,
	.counts.unknown_jit_frames = 2,
	.counts.ambiguous_frames = 3,
	.counts.inlined_frames = 4,
	.counts.interpreted_frames = 5,
	.counts.jit_leaf_samples = 6,
	.counts.repaired_samples = 7,
	.counts.unrepaired_samples = 8,
	.stream_cnt = 2,
};

static inline struct profile *profile_of(const char *folded)
{
	struct profile *profile = profile__new();
	size_t bad_cnt = 0;

	assert_non_null(profile);
	assert_int_equal(profile__add_folded(profile, folded, strlen(folded), &bad_cnt), 0);
	assert_int_equal(bad_cnt, 0);
	return profile;
}

/* Stacks by thread, for info.has_threads: a_[j] has two, b;c one and one that is not known. */
#define PROFILE_OF_THREADS                                 \
	"java;a_[j]\1main 2\njava;a_[j]\1pool-# 3\n"       \
	"java;b;c\1[unknown thread] 1\njava;b;c\1main 4\n" \
	"java;b\1GC Thread## 5\n"

/* One stack per hostile name, the name in the middle and as the leaf: 1, 2, 3, ... samples. */
static inline struct profile *profile_hostile(void)
{
	static const char *const names[] = { HOSTILE_NAMES };
	struct profile *profile = profile__new();

	assert_non_null(profile);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char stack[256];
		int len = snprintf(stack, sizeof(stack), "%s;%s;%s_[j]", names[i], names[i],
				   names[i]);

		assert_true(len > 0 && (size_t)len < sizeof(stack));
		assert_int_equal(profile__add(profile, stack, (size_t)len, i + 1), 0);
	}
	return profile;
}

/* "java;f0;f1;..." with `depth` frames below the process. */
static inline struct profile *profile_deep(size_t depth)
{
	struct profile *profile = profile__new();
	struct strbuf stack = STRBUF_INIT;

	assert_non_null(profile);
	strbuf_puts(&stack, "java");
	for (size_t i = 0; i < depth; i++)
		strbuf_printf(&stack, ";f%zu", i);
	assert_int_equal(profile__add(profile, stack.data, stack.len, 5), 0);
	strbuf_release(&stack);
	return profile;
}

/* `cnt` distinct stacks that fan out; stack i has 1 + i % 10 samples. */
static inline struct profile *profile_wide(size_t cnt)
{
	struct profile *profile = profile__new();

	assert_non_null(profile);
	for (size_t i = 0; i < cnt; i++) {
		char stack[128];
		int len = snprintf(stack, sizeof(stack),
				   "java;run_[0];pkg.A%zu.m_[j];pkg.B%zu.m_[i];leaf%zu", i % 7,
				   i % 1000, i);

		assert_int_equal(profile__add(profile, stack, (size_t)len, 1 + i % 10), 0);
	}
	return profile;
}

#endif
