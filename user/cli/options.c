// SPDX-License-Identifier: Apache-2.0
/* The walk over a command line by its table; see options.h. */
#include "user/cli/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/names/near_name.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define LONG_ID_BASE 256 /* getopt's ids of long options; below are letters */
#define NAME_BYTES   40
#define WANTS_BYTES  256

/* ---- the table ---- */

/* From the end of a group to the next row. */
static void settle(struct option_place *place)
{
	while (place->row && !place->row->name)
		place->row = (++place->group)->rows;
}

struct option_place options_first(const struct option_table *table)
{
	struct option_place place = { .group = table->groups, .row = table->groups->rows };

	settle(&place);
	return place;
}

void options_step(struct option_place *place)
{
	place->row++;
	place->index++;
	settle(place);
}

struct option_place options_find(const struct option_table *table, const char *name)
{
	struct option_place place = options_first(table);

	while (place.row && strcmp(place.row->name, name) != 0)
		options_step(&place);
	return place;
}

uint32_t options_uses(const struct option_place *place)
{
	uint32_t uses = place->row->uses ? place->row->uses : place->group->uses;

	return uses ? uses : UINT32_MAX;
}

int option_word_index(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], word) == 0)
			return i;
	}
	return -EINVAL;
}

/* ---- refusals ---- */

/* Returns how much of it there is room for. */
static size_t write_why(struct option_walk *walk, const char *format, va_list args)
{
	int len = vsnprintf(walk->why, walk->why_len, format, args);

	if (len < 0)
		return 0;
	return (size_t)len < walk->why_len ? (size_t)len : walk->why_len;
}

int options_refuse(struct option_walk *walk, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)write_why(walk, format, args);
	va_end(args);
	return -EINVAL;
}

int options_refuse_see_help(struct option_walk *walk, const char *format, ...)
{
	va_list args;
	size_t len;

	va_start(args, format);
	len = write_why(walk, format, args);
	va_end(args);
	(void)snprintf(walk->why + len, walk->why_len - len, "; see %s --help",
		       walk->table->program);
	return -EINVAL;
}

int options_refuse_range(struct option_walk *walk, uint64_t since_unix_ns, uint64_t until_unix_ns)
{
	__cleanup_strbuf struct strbuf since = STRBUF_INIT, until = STRBUF_INIT;

	info_append_local_time(&since, since_unix_ns);
	info_append_local_time(&until, until_unix_ns);
	if (since_unix_ns > walk->now_unix_ns)
		return options_refuse(walk, "--since (%s) lies in the future", strbuf_str(&since));
	return options_refuse(walk, "--since (%s) must lie before --until (%s)", strbuf_str(&since),
			      strbuf_str(&until));
}

/* "--since", as the user would write it. */
static const char *name_of(const struct option_walk *walk, const struct option_row *row,
			   char text[static NAME_BYTES])
{
	(void)snprintf(text, NAME_BYTES, "%s%s", walk->is_file ? "" : "--", row->name);
	return text;
}

static void list_words(const char *const *words, char *text, size_t text_len)
{
	size_t len = (size_t)snprintf(text, text_len, "%s", words[1] ? "one of " : "");

	for (size_t i = 0; words[i] && len < text_len; i++)
		len += (size_t)snprintf(text + len, text_len - len, "%s%s", i ? ", " : "",
					words[i]);
}

/* What a value of the option is: behind "'x' is not". */
static const char *wants_of(const struct option_row *row, char text[static WANTS_BYTES])
{
	if (row->wants)
		return row->wants;
	if (row->words) {
		list_words(row->words, text, WANTS_BYTES);
		return text;
	}
	switch (row->kind) {
	case OPTION_KIND_NUMBER:
		(void)snprintf(text, WANTS_BYTES, "a number from %llu to %llu",
			       (unsigned long long)row->min, (unsigned long long)row->max);
		return text;
	case OPTION_KIND_DURATION:
		return "a duration, such as 90s, 15m, 1h30m or 2d";
	case OPTION_KIND_SIZE:
		return "a size, such as 512M or 5G";
	case OPTION_KIND_TIME:
		return "a time; write 15m, 1h30m or 2d back from now, 13:00, yesterday, "
		       "2026-11-21, 2026-11-21T13:00:00Z or @EPOCH";
	case OPTION_KIND_FILE:
	case OPTION_KIND_DIR:
	case OPTION_KIND_DIRS:
		return "a path";
	default:
		return "a value of this option";
	}
}

static int refuse_value(struct option_walk *walk, const char *value)
{
	char name[NAME_BYTES], wants[WANTS_BYTES];

	return options_refuse_see_help(walk, "%s: '%s' is not %s",
				       name_of(walk, walk->at.row, name), value,
				       wants_of(walk->at.row, wants));
}

/* ---- values ---- */

static int take_word(const struct option_row *row, const char *value, void *field)
{
	int index = option_word_index(row->words, value);
	unsigned int word;

	if (index < 0)
		return index;
	word = (unsigned int)index + (unsigned int)row->min;
	if (row->size == sizeof(bool))
		*(bool *)field = word;
	else
		memcpy(field, &word, sizeof(word));
	return 0;
}

static int take_duration(const struct option_row *row, const char *value, uint64_t *field)
{
	uint64_t ns;
	int err = parse_duration_ns(value, &ns);

	/* No time needs no unit. */
	if (err && strcmp(value, "0") == 0) {
		ns = 0;
		err = 0;
	}
	if (err)
		return err;
	if (row->max && (ns < row->min || ns > row->max))
		return -ERANGE;
	*field = ns;
	return 0;
}

static int take_text(const struct option_row *row, const char *value, const char **field)
{
	size_t len = strlen(value);

	if (len < row->min || (row->max && len > row->max))
		return -EINVAL;
	*field = value;
	return 0;
}

static int take_value(struct option_walk *walk, const char *value)
{
	const struct option_row *row = walk->at.row;
	void *field = (char *)walk->options + walk->at.group->offset + row->offset;

	switch (row->kind) {
	case OPTION_KIND_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_KIND_TEXT:
	case OPTION_KIND_FILE:
	case OPTION_KIND_DIR:
		return take_text(row, value, field);
	case OPTION_KIND_WORD:
		return take_word(row, value, field);
	case OPTION_KIND_NUMBER:
		return parse_u32_range(value, (uint32_t)row->min, (uint32_t)row->max, field);
	case OPTION_KIND_DURATION:
		return take_duration(row, value, field);
	case OPTION_KIND_SIZE:
		return parse_size_bytes(value, field);
	case OPTION_KIND_TIME:
		return parse_time_ns(value, walk->now_unix_ns, field);
	case OPTION_KIND_OWN:
	case OPTION_KIND_DIRS:
		return row->parse(walk, value);
	}
	return -EINVAL;
}

int options_take(struct option_walk *walk, const struct option_place *place, const char *value)
{
	char name[NAME_BYTES];

	walk->at = *place;
	if (walk->seen[place->index] && !place->row->repeats)
		return options_refuse_see_help(walk, "%s is given twice",
					       name_of(walk, place->row, name));
	walk->seen[place->index] = true;
	walk->why[0] = '\0';
	if (take_value(walk, value) == 0)
		return 0;
	return walk->why[0] ? -EINVAL : refuse_value(walk, value);
}

int options_parse_time(struct option_walk *walk, const char *value, uint64_t *unix_ns_out)
{
	static const struct option_row time = { .kind = OPTION_KIND_TIME };
	char name[NAME_BYTES], wants[WANTS_BYTES];

	if (parse_time_ns(value, walk->now_unix_ns, unix_ns_out) == 0)
		return 0;
	return options_refuse_see_help(walk, "%s: '%s' is not %s",
				       name_of(walk, walk->at.row, name), value,
				       wants_of(&time, wants));
}

/* ---- the walk ---- */

/* The table as getopt_long() wants it. */
struct getopt_table {
	struct option rows[OPTIONS_MAX + 1];
	char letters[1 + 2 * OPTIONS_MAX + 1];
};

static void make_getopt_table(const struct option_table *table, struct getopt_table *out)
{
	size_t len = 0;

	*out = (struct getopt_table){ 0 };
	out->letters[len++] = ':'; /* says what is missing */
	options_each(table, place)
	{
		bool has_value = place.row->kind != OPTION_KIND_FLAG;

		assert(place.index < OPTIONS_MAX);
		out->rows[place.index] = (struct option){
			.name = place.row->name,
			.has_arg = has_value ? required_argument : no_argument,
			.val = LONG_ID_BASE + (int)place.index,
		};
		if (!place.row->letter)
			continue;
		out->letters[len++] = place.row->letter;
		if (has_value)
			out->letters[len++] = ':';
	}
}

/* NULL row = the id is of no option. */
static struct option_place place_of(const struct option_table *table, int id)
{
	struct option_place place = options_first(table);

	while (place.row && id != LONG_ID_BASE + (int)place.index &&
	       !(place.row->letter && id == place.row->letter))
		options_step(&place);
	return place;
}

const struct option_row *options_nearest(const struct option_table *table, const char *name)
{
	const struct option_row *nearest = NULL;
	uint32_t least = NEAR_NAME_FAR;

	options_each(table, place)
	{
		if (near_name_is_nearer(name, place.row->name, &least))
			nearest = place.row;
	}
	return nearest;
}

/* "--cuontainer=x" */
static int refuse_long(struct option_walk *walk, const char *argument)
{
	const char *name = argument + strspn(argument, "-");
	const struct option_row *nearest;
	char typed[NAME_BYTES];

	(void)snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(name, "="), name);
	nearest = options_nearest(walk->table, typed);
	return nearest ? options_refuse_see_help(walk, "there is no option %s (did you mean --%s?)",
						 argument, nearest->name) :
			 options_refuse_see_help(walk, "there is no option %s", argument);
}

static int refuse_unknown(struct option_walk *walk, int id, const char *argument)
{
	struct option_place place = place_of(walk->table, optopt);
	char name[NAME_BYTES];

	if (place.row)
		return options_refuse_see_help(walk,
					       id == ':' ? "%s wants a value" : "%s takes no value",
					       name_of(walk, place.row, name));
	if (optopt)
		return options_refuse_see_help(walk, "there is no option -%c", optopt);
	return refuse_long(walk, argument);
}

int options_walk(struct option_walk *walk, int argc, char **argv)
{
	struct getopt_table table;
	int id;

	make_getopt_table(walk->table, &table);
	optind = 0; /* glibc: start again */
	opterr = 0;
	while ((id = getopt_long(argc, argv, table.letters, table.rows, NULL)) != -1) {
		struct option_place place = place_of(walk->table, id);
		int err;

		if (id == '?' || id == ':')
			return refuse_unknown(walk, id, argv[optind - 1]);
		err = options_take(walk, &place, optarg ? optarg : "");
		if (err)
			return err;
	}
	walk->operands = optind;
	return 0;
}

int options_walk_all(struct option_walk *walk, int argc, char **argv)
{
	int err = options_walk(walk, argc, argv);

	if (!err && walk->operands < argc)
		err = options_refuse_see_help(walk, "'%s' is not an option", argv[walk->operands]);
	return err;
}

int options_walk_command(struct option_walk *walk, int argc, char **argv, char ***command_out)
{
	int err = options_walk(walk, argc, argv);

	*command_out = NULL;
	if (err || walk->operands >= argc)
		return err;
	if (strcmp(argv[walk->operands - 1], "--") != 0)
		return options_refuse_see_help(walk, "'%s' is not an option; a command follows --",
					       argv[walk->operands]);
	*command_out = argv + walk->operands;
	return 0;
}

bool options_given(const struct option_walk *walk, const char *name)
{
	struct option_place place = options_find(walk->table, name);

	return place.row && walk->seen[place.index];
}

int options_check_use(struct option_walk *walk, size_t use)
{
	char name[NAME_BYTES];

	options_each(walk->table, place)
	{
		if (walk->seen[place.index] && !(options_uses(&place) & OPTION_USE(use)))
			return options_refuse_see_help(walk, "%s does not go with %s",
						       name_of(walk, place.row, name),
						       walk->table->uses[use].name);
	}
	return 0;
}
