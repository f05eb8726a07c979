// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles with names of any bytes through every writer, each result read by somebody else: JSON,
 * speedscope and the data of the page by jansson, pprof by the tests' own reader, the picture by a
 * strict reader of XML; tables by the eye of a terminal. The page, without the three places where
 * names belong, is byte by byte the page of a harmless profile. And no format loses samples.
 *
 * Input: writers (a bit each), rate and number of labels (1 byte each), title, subtitle, text of
 * source lines, each up to a byte 1, then folded text.
 */
#include "tests/fuzz/fuzz_page.h"

/* What the reader of pprof says of itself with cmocka. */
#define assert_true(claim)		  must(claim)
#define assert_int_equal(a, b)		  must((uint64_t)(a) == (uint64_t)(b))
#define assert_in_range(value, low, high) must((value) >= (low) && (value) <= (high))
#define assert_string_equal(a, b)	  must(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b)	  must(strcmp(a, b) != 0)
#define assert_non_null(pointer)	  must((pointer) != NULL)
#define fail_msg(...)			  abort()

#include "tests/unit/pprof_reader.h"
#include "user/output/output.h"
#include "user/util/cleanup.h"

#define DEPTH_MAX 8 /* of elements in a picture */

static const struct output_label labels[] = { { "container", false }, { "pid", true } };

static char *reference_page;

/* ---- the page ---- */

static void check_html(struct profile *profile, const struct output_info *info)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	char *skeleton;
	json_t *json;

	must(output_html(profile, info, &out) == 0);
	skeleton = page_skeleton(&out, &json);
	must(strcmp(skeleton, reference_page) == 0);
	must(page_json_number(json, "samples") == (double)profile__sample_count(profile));
	json_decref(json);
	free(skeleton);
}

/* ---- the picture ---- */

static bool is_one_of(const char *name, size_t len, const char *const *names)
{
	for (; *names; names++) {
		if (strlen(*names) == len && memcmp(*names, name, len) == 0)
			return true;
	}
	return false;
}

/* Attributes up to ">" or "/>"; returns what is behind. */
static const char *check_attributes(const char *at, bool *is_empty)
{
	static const char *const names[] = { "xmlns", "width", "height", "viewBox",
					     "role",  "id",    "class",	 "aria-labelledby",
					     "fill",  "x",     "y",	 NULL };

	while (*at == ' ') {
		size_t len = strcspn(++at, "= <>\"");

		must(is_one_of(at, len, names) && at[len] == '=' && at[len + 1] == '"');
		at += len + 2;
		len = strcspn(at, "\"");
		page_check_text(at, len);
		must(at[len] == '"');
		at += len + 1;
	}
	*is_empty = *at == '/';
	at += *is_empty;
	must(*at == '>');
	return at + 1;
}

static void check_xml(const char *at)
{
	static const char *const names[] = { "svg", "title", "style", "rect", "text", "g", NULL };
	static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n";
	const char *open[DEPTH_MAX];
	size_t depth = 0, len;

	must(strncmp(at, head, strlen(head)) == 0);
	at += strlen(head);
	while (*at) {
		bool is_end = at[1] == '/', is_empty = false;

		must(*at == '<');
		at += 1 + is_end;
		len = strcspn(at, " />\n");
		must(is_one_of(at, len, names));
		if (is_end) {
			must(depth && strncmp(open[--depth], at, len) == 0 && at[len] == '>');
			at += len + 1;
		} else {
			must(depth < DEPTH_MAX);
			open[depth++] = at;
			at = check_attributes(at + len, &is_empty);
			depth -= is_empty;
		}
		len = strcspn(at, "<");
		page_check_text(at, len);
		/* Only line breaks behind the end. */
		must(depth || strspn(at, "\n") == len);
		at += len;
	}
	must(depth == 0);
}

static void check_svg(struct profile *profile, const struct output_info *info)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	must(output_svg(profile, info, &out) == 0);
	must(strlen(strbuf_str(&out)) == out.len);
	check_xml(strbuf_str(&out));
}

/* ---- the others ---- */

static void check_json(struct profile *profile, const struct output_info *info)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	const json_t *stacks, *stack, *frame;
	double samples = 0;
	size_t i, j;
	json_t *json;

	must(output_json(profile, info, &out) == 0);
	json = page_read_json(strbuf_str(&out), out.len);
	stacks = json_object_get(json, "stacks");
	must(json_array_size(stacks) == profile__stack_count(profile));
	json_array_foreach(stacks, i, stack)
	{
		samples += page_json_number(stack, "count");
		json_array_foreach(json_object_get(stack, "frames"), j, frame)
		{
			must(json_is_string(json_object_get(frame, "name")));
			must(json_is_string(json_object_get(frame, "kind")));
		}
	}
	/* Each of these numbers was rounded to 53 bits. */
	must(page_json_number(json, "samples") <= samples * (1 + 1e-9));
	must(json_array_size(json_object_get(json, "lines")) ==
	     (info->lines ? source_lines__count(info->lines) : 0));
	json_decref(json);
}

static void check_speedscope(struct profile *profile, const struct output_info *info)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	const json_t *frames, *only, *samples, *sample, *index;
	size_t i, j;
	json_t *json;

	must(output_speedscope(profile, info, &out) == 0);
	json = page_read_json(strbuf_str(&out), out.len);
	frames = json_object_get(json_object_get(json, "shared"), "frames");
	only = json_array_get(json_object_get(json, "profiles"), 0);
	samples = json_object_get(only, "samples");
	must(json_is_array(frames) && json_is_array(samples));
	must(json_array_size(samples) == profile__stack_count(profile));
	must(json_array_size(json_object_get(only, "weights")) == json_array_size(samples));
	json_array_foreach(samples, i, sample)
	{
		json_array_foreach(sample, j, index)
			must(json_number_value(index) < (double)json_array_size(frames));
	}
	json_decref(json);
}

static void check_pprof(struct profile *profile, const struct output_info *info)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT, text __cleanup_strbuf = STRBUF_INIT;
	uint64_t samples = 0, wanted = 0;
	struct pprof_read read;

	must(output_pprof(profile, info, &out) == 0);
	read = pprof_read(out.data, out.len);
	pprof_folded(&read, &text);
	must(fuzz_is_clean(strbuf_str(&text), text.len, "\n"));
	must(PPROF_CNT(&read, samples, struct pprof_sample) == profile__stack_count(profile));
	for (size_t i = 0; i < profile__stack_count(profile); i++) {
		uint64_t count = profile__stack(profile, i).count;

		wanted += count < INT64_MAX ? count : INT64_MAX;
		samples += *PPROF_AT(PPROF_AT(&read, samples, struct pprof_sample, i), values,
				     uint64_t, 0);
	}
	must(samples == wanted);
	pprof_release(&read);
}

static void check_tables(struct profile *profile, const struct output_info *info, size_t limit)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	must(output_top(profile, info, TREE_ORDER_SELF, limit, &out) == 0);
	if (info->lines)
		must(output_lines(profile, info, limit, &out) == 0);
	must(fuzz_is_clean(strbuf_str(&out), out.len, "\n"));
	/* What turns a line around, or moves what follows. */
	must(!memmem(strbuf_str(&out), out.len, "\xe2\x80\xae", 3));
	must(!memmem(strbuf_str(&out), out.len, "\xe2\x80\xa8", 3));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	static const struct output_info info = { .title = "title" };
	struct profile *profile = profile__new();
	json_t *json;

	(void)argc;
	(void)argv;
	must(profile && profile__add(profile, "java;run", 8, 1) == 0);
	must(output_html(profile, &info, &out) == 0);
	reference_page = page_skeleton(&out, &json);
	json_decref(json);
	profile__free(profile);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };
	uint8_t writers = fuzz_u8(&input);
	struct output_info info = { .frequency_hz = fuzz_u8(&input), .labels = labels };
	struct profile *profile = profile__new();
	struct source_lines *lines = source_lines__new(0);
	char *title, *subtitle, *lines_text;
	size_t bad_cnt = 0;

	info.label_cnt = fuzz_u8(&input) % (ARRAY_SIZE(labels) + 1);
	title = fuzz_text(&input, 1);
	subtitle = fuzz_text(&input, 1);
	lines_text = fuzz_text(&input, 1);
	info.title = title;
	info.subtitle = subtitle;
	info.since_unix_ns = 1795267200ull * 1000000000;
	info.until_unix_ns = info.since_unix_ns + 600ull * 1000000000;
	info.counts.frames = len;
	must(profile && lines);
	must(source_lines__add_text(lines, lines_text, strlen(lines_text), &bad_cnt) == 0);
	if (source_lines__count(lines))
		info.lines = lines;
	must(profile__add_folded(profile, (const char *)input.at, input.left, &bad_cnt) == 0);
	if (writers & 1)
		check_json(profile, &info);
	if (writers & 2)
		check_speedscope(profile, &info);
	if (writers & 4)
		check_pprof(profile, &info);
	if (writers & 8)
		check_tables(profile, &info, len % 4);
	if (writers & 16)
		check_svg(profile, &info);
	if (writers & 32)
		check_html(profile, &info);
	profile__free(profile);
	source_lines__free(lines);
	free(title);
	free(subtitle);
	free(lines_text);
	return 0;
}
