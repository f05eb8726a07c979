// SPDX-License-Identifier: Apache-2.0
/* The walk over a command line by a table, and --help from the same table. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/cli/option_usage.h"
#include "user/util/cleanup.h"

#define ARGS_MAX 8
#define NOW_NS	 1700000000000000000ull
#define HOUR_NS	 3600000000000ull

enum colour { COLOUR_RED = 1, COLOUR_GREEN = 2 };

struct inner {
	uint32_t number;
	uint64_t duration_ns, bytes, time_ns;
};

struct sample {
	const char *name;
	enum colour colour;
	bool is_dark;
	bool is_loud;
	struct inner inner;
	int pair_cnt;
	struct option_info info;
};

static int take_pair(struct option_walk *walk, const char *value)
{
	struct sample *sample = walk->options;

	if (strcmp(value, "full") == 0)
		return options_refuse(walk, "--%s: no room for more", walk->at.row->name);
	if (!strchr(value, ','))
		return -EINVAL;
	sample->pair_cnt++;
	return 0;
}

enum { USE_SHOW, USE_PLAY };

static const struct option_use uses[] = {
	[USE_SHOW] = { .name = "show", .verb = "show", .operands = "FILE" },
	[USE_PLAY] = { .name = "play", .verb = "play" },
	{ .name = NULL },
};

static const char *const colour_words[] = { "red", "green", NULL };
static const char *const shade_words[] = { "light", "dark", NULL };

static const struct option_row text_rows[] = {
	{ .name = "name",
	  .letter = 'n',
	  .kind = OPTION_KIND_FILE,
	  .metavar = "NAME",
	  .help = "its name",
	  .fallback = "none",
	  .min = 1,
	  OPTION_FIELD(struct sample, name) },
	{ .name = "colour",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "COLOUR",
	  .help = "its colour",
	  .words = colour_words,
	  .min = COLOUR_RED,
	  .needed = OPTION_USE(USE_SHOW),
	  .uses = OPTION_USE(USE_SHOW),
	  OPTION_FIELD(struct sample, colour) },
	{ .name = "shade",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "SHADE",
	  .help = "its shade, of which there are fewer than a painter would like: they are a matter "
		  "of the light that falls in, and of the hour",
	  .words = shade_words,
	  .uses = OPTION_USE(USE_SHOW),
	  OPTION_FIELD(struct sample, is_dark) },
	{ .name = "loud", .help = "be heard", OPTION_FIELD(struct sample, is_loud) },
	{ .name = NULL },
};

static const struct option_row number_rows[] = {
	{ .name = "number",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "its number",
	  .min = 2,
	  .max = 9,
	  OPTION_FIELD(struct inner, number) },
	{ .name = "duration",
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "D",
	  .help = "its length",
	  .min = HOUR_NS,
	  .max = 2 * HOUR_NS,
	  OPTION_FIELD(struct inner, duration_ns) },
	{ .name = "bytes",
	  .kind = OPTION_KIND_SIZE,
	  .metavar = "SIZE",
	  .help = "its size",
	  OPTION_FIELD(struct inner, bytes) },
	{ .name = "time",
	  .kind = OPTION_KIND_TIME,
	  .metavar = "TIME",
	  .help = "its time",
	  OPTION_FIELD(struct inner, time_ns) },
	{ .name = "pair",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "A,B",
	  .help = "two of them",
	  .wants = "a pair",
	  .parse = take_pair },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = text_rows },
	{ .title = "Numbers:", .rows = number_rows, .offset = offsetof(struct sample, inner) },
	{ OPTION_GROUP_INFO(struct sample, info) },
	{ .rows = NULL },
};

static const struct option_table table = {
	.program = "sample",
	.summary = "Is a sample.\nAnd no more.",
	.groups = groups,
	.uses = uses,
	.notes = "Exit codes: none.",
};

static struct option_walk walk_with(struct sample *sample, char *why, size_t why_len)
{
	return (struct option_walk){
		.table = &table,
		.options = sample,
		.now_unix_ns = NOW_NS,
		.why = why,
		.why_len = why_len,
	};
}

static int walk_args(struct option_walk *walk, const char *const *args)
{
	static char *argv[ARGS_MAX + 2] = { (char *)"sample" };
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)(uintptr_t)args[argc - 1];
	argv[argc] = NULL;
	return options_walk(walk, argc, argv);
}

static void every_kind_goes_to_its_field(void **state)
{
	static const char *const first[] = { "-nfile", "--colour",   "green",  "--shade=dark",
					     "--loud", "--number=9", "--help", NULL };
	static const char *const second[] = { "--duration=90m", "--bytes", "2K",  "--time=1h",
					      "--pair=a,b",	"--pair",  "c,d", NULL };
	struct sample sample = { 0 };
	char why[256];
	struct option_walk walk = walk_with(&sample, why, sizeof(why));

	(void)state;
	assert_int_equal(walk_args(&walk, first), 0);
	assert_string_equal(sample.name, "file");
	assert_int_equal(sample.colour, COLOUR_GREEN);
	assert_true(sample.is_dark && sample.is_loud && sample.info.help && !sample.info.version);
	assert_int_equal(sample.inner.number, 9);
	assert_true(options_given(&walk, "name") && !options_given(&walk, "pair") &&
		    !options_given(&walk, "nonsense"));

	assert_int_equal(walk_args(&walk, second), 0);
	assert_int_equal(sample.inner.duration_ns, HOUR_NS * 3 / 2);
	assert_int_equal(sample.inner.bytes, 2048);
	assert_int_equal(sample.inner.time_ns, NOW_NS - HOUR_NS);
	assert_int_equal(sample.pair_cnt, 2);
}

static void a_name_may_be_cut_short_and_operands_stand_anywhere(void **state)
{
	static const char *const args[] = { "show", "--num", "3", "--", "--loud", NULL };
	struct sample sample = { 0 };
	char why[256];
	struct option_walk walk = walk_with(&sample, why, sizeof(why));

	(void)state;
	assert_int_equal(walk_args(&walk, args), 0);
	assert_int_equal(sample.inner.number, 3);
	assert_false(sample.is_loud);
	assert_int_equal(walk.operands, 4);
}

static void what_is_wrong_is_refused_in_one_line(void **state)
{
#define HELP "; see sample --help"
	static const struct {
		const char *args[ARGS_MAX];
		const char *why;
	} cases[] = {
		{ { "--nonsense" }, "there is no option --nonsense" HELP },
		{ { "--nmae=x" }, "there is no option --nmae=x (did you mean --name?)" HELP },
		{ { "-x" }, "there is no option -x" HELP },
		{ { "--n", "1" }, "there is no option --n" HELP }, /* --name or --number? */
		{ { "-n" }, "--name wants a value" HELP },
		{ { "--name" }, "--name wants a value" HELP },
		{ { "--loud=yes" }, "--loud takes no value" HELP },
		{ { "-na", "--name=b" }, "--name is given twice" HELP },
		{ { "--loud", "--loud" }, "--loud is given twice" HELP },
		{ { "--name=" }, "--name: '' is not a path" HELP },
		{ { "--colour=blue" }, "--colour: 'blue' is not one of red, green" HELP },
		{ { "--number=1" }, "--number: '1' is not a number from 2 to 9" HELP },
		{ { "--number=10" }, "--number: '10' is not a number from 2 to 9" HELP },
		{ { "--number=-3" }, "--number: '-3' is not a number from 2 to 9" HELP },
		{ { "--duration=1m" },
		  "--duration: '1m' is not a duration, such as 90s, 15m, 1h30m or 2d" HELP },
		{ { "--duration=3h" },
		  "--duration: '3h' is not a duration, such as 90s, 15m, 1h30m or 2d" HELP },
		{ { "--bytes=2X" }, "--bytes: '2X' is not a size, such as 512M or 5G" HELP },
		{ { "--time=soon" },
		  "--time: 'soon' is not a time; write 15m, 1h30m or 2d back from now, 13:00, yesterday, "
		  "2026-11-21, 2026-11-21T13:00:00Z or @EPOCH" HELP },
		{ { "--pair=a" }, "--pair: 'a' is not a pair" HELP },
		{ { "--pair=full" }, "--pair: no room for more" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sample sample = { .inner.number = 7, .inner.duration_ns = 8 };
		char why[256] = "";
		struct option_walk walk = walk_with(&sample, why, sizeof(why));

		assert_int_equal(walk_args(&walk, cases[i].args), -EINVAL);
		assert_string_equal(why, cases[i].why);
		assert_int_equal(sample.inner.number, 7);
		assert_int_equal(sample.inner.duration_ns, 8);
	}
}

static void a_refusal_is_cut_to_its_room(void **state)
{
	static const char *const args[] = { "--nonsense", NULL };
	struct sample sample = { 0 };
	char why[16];
	struct option_walk walk = walk_with(&sample, why, sizeof(why));

	(void)state;
	memset(why, 'w', sizeof(why));
	assert_int_equal(walk_args(&walk, args), -EINVAL);
	assert_string_equal(why, "there is no opt");
}

static void options_of_another_use_are_refused(void **state)
{
	static const char *const args[] = { "--loud", "--shade=dark", NULL };
	struct sample sample = { 0 };
	char why[256] = "";
	struct option_walk walk = walk_with(&sample, why, sizeof(why));

	(void)state;
	assert_int_equal(walk_args(&walk, args), 0);
	assert_int_equal(options_check_use(&walk, USE_SHOW), 0);
	assert_int_equal(options_check_use(&walk, USE_PLAY), -EINVAL);
	assert_string_equal(why, "--shade does not go with play; see sample --help");
}

static void a_file_has_names_without_dashes(void **state)
{
	struct option_place number = options_find(&table, "number");
	struct sample sample = { 0 };
	char why[256] = "";
	struct option_walk walk = walk_with(&sample, why, sizeof(why));

	(void)state;
	walk.is_file = true;
	assert_int_equal(options_take(&walk, &number, "5"), 0);
	assert_int_equal(sample.inner.number, 5);
	assert_int_equal(options_take(&walk, &number, "6"), -EINVAL);
	assert_string_equal(why, "number is given twice; see sample --help");
	assert_null(options_find(&table, "nonsense").row);
}

static void help_is_made_from_the_table(void **state)
{
	static const char expected[] =
		"usage: sample show --colour COLOUR [--shade SHADE] [OPTION]... FILE\n"
		"       sample play [OPTION]...\n"
		"Is a sample.\n"
		"And no more.\n"
		"\n"
		"  -n, --name NAME      its name (none)\n"
		"      --colour COLOUR  its colour: red, green\n"
		"      --shade SHADE    its shade, of which there are fewer than a painter would like: they are a\n"
		"                       matter of the light that falls in, and of the hour: light, dark\n"
		"      --loud           be heard\n"
		"\n"
		"Numbers:\n"
		"      --number N       its number\n"
		"      --duration D     its length\n"
		"      --bytes SIZE     its size\n"
		"      --time TIME      its time\n"
		"      --pair A,B       two of them; may be repeated\n"
		"      --help           print this help\n"
		"      --version        print the version\n"
		"\n"
		"Exit codes: none.\n";
	__cleanup_strbuf struct strbuf help = STRBUF_INIT;

	(void)state;
	assert_int_equal(option_usage_put(&table, &help), 0);
	assert_string_equal(strbuf_str(&help), expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_goes_to_its_field),
		cmocka_unit_test(a_name_may_be_cut_short_and_operands_stand_anywhere),
		cmocka_unit_test(what_is_wrong_is_refused_in_one_line),
		cmocka_unit_test(a_refusal_is_cut_to_its_room),
		cmocka_unit_test(options_of_another_use_are_refused),
		cmocka_unit_test(a_file_has_names_without_dashes),
		cmocka_unit_test(help_is_made_from_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
