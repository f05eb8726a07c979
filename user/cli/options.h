/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command: one table, a row per option. From the rows come the walk over the command
 * line with its one-line refusals, --help (option_usage.h), and by `make docs` the man page's synopsis and
 * list of options and the completions of bash and zsh (tests/tools/docs/).
 *
 * The room of what commands share. In: a command line and a table. Out: the command's struct of options,
 * which borrows from the command line, or one line of refusal.
 */
#ifndef JBPF_CLI_OPTIONS_H
#define JBPF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define OPTIONS_MAX 64 /* rows of a table */

/* How the value of an option is read, and the type of the field that it is written to. */
enum option_kind {
	OPTION_KIND_FLAG = 0, /* there is no value; bool: true */
	OPTION_KIND_TEXT,   /* const char *, borrowed; `min` bytes or more, up to `max` unless 0 */
	OPTION_KIND_FILE,   /* the same; names a file */
	OPTION_KIND_DIR,    /* the same; names a directory */
	OPTION_KIND_WORD,   /* an enum or bool: the place of the word among `words`, plus `min` */
	OPTION_KIND_NUMBER, /* uint32_t, within [min, max] */
	OPTION_KIND_DURATION, /* uint64_t, nanoseconds; within [min, max] unless max is 0 */
	OPTION_KIND_SIZE,     /* uint64_t, bytes */
	OPTION_KIND_TIME,     /* uint64_t, Unix nanoseconds */
	OPTION_KIND_OWN,      /* `parse` reads it; `words` are for people and completion */
	OPTION_KIND_DIRS,     /* the same; names a directory */
};

struct option_walk;

struct option_row {
	const char *name; /* "output" is --output; NULL ends the rows */
	char letter;	  /* 'o': -o is the same; 0 = none */
	enum option_kind kind;
	bool repeats;		  /* it may be given again */
	const char *metavar;	  /* of the value: "FILE" */
	const char *help;	  /* a phrase without full stop */
	const char *fallback;	  /* value without the option, for people; NULL = none */
	const char *const *words; /* the values that there are, ends with NULL; NULL = any */
	const char *wants;	  /* in refusals: "'x' is not WANTS"; NULL = by the kind */
	size_t offset;		  /* of the field: see OPTION_FIELD */
	size_t size;
	uint64_t min, max; /* words: the number of the first; OWN: what `parse` makes of them */
	/*
	 * 0; -EINVAL, after options_refuse() when it knows better words than `wants`. What it needs
	 * is in `walk`.
	 */
	int (*parse)(struct option_walk *walk, const char *value);
	uint32_t uses;	 /* OPTION_USE() of those that it goes with; 0 = the group's */
	uint32_t needed; /* and of those that are not possible without it */
};

/* The field of a row: offset and size. */
#define OPTION_FIELD(type, field) \
	.offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)

struct option_group {
	const char *title;	       /* NULL = they follow the group before without a break */
	const struct option_row *rows; /* NULL ends the groups */
	size_t offset;		       /* of the struct that the rows' fields are in */
	const char *word;	       /* in a synopsis one word stands for all rows; NULL = no */
	bool is_aside;		       /* not in a synopsis at all */
	uint32_t uses;		       /* of the rows that say nothing else; 0 = all */
};

/* A way to use the command, of those that do not go together. */
struct option_use {
	const char *name;     /* in refusals: "--x does not go with NAME"; NULL ends the uses */
	const char *verb;     /* "check": its first argument; NULL = none */
	const char *operands; /* behind the options: "BEFORE AFTER"; NULL = none */
};
#define OPTION_USE(use) (1u << (use))

struct option_table {
	const char *program;		   /* "jbpf-dump" */
	const char *summary;		   /* sentences; a line break is kept */
	const struct option_group *groups; /* ends with one without rows */
	const struct option_use *uses;	   /* NULL = there is one use */
	const char *notes;		   /* below the options, as the summary */
};

/* A row and where it stands. */
struct option_place {
	const struct option_group *group;
	const struct option_row *row; /* NULL = there is no more */
	size_t index;		      /* over all groups */
};
struct option_place options_first(const struct option_table *table);
void options_step(struct option_place *place);
#define options_each(table, place)                                                  \
	for (struct option_place place = options_first(table); (place).row != NULL; \
	     options_step(&(place)))

/* The row of that name, without dashes; NULL row = there is none. */
struct option_place options_find(const struct option_table *table, const char *name);
/* The row whose name is nearest to one that there is not; NULL = none is near. */
const struct option_row *options_nearest(const struct option_table *table, const char *name);
/* Bits of the uses that the option goes with. */
uint32_t options_uses(const struct option_place *place);

/* One source of options: a command line, or a config file. Zero what is not listed first. */
struct option_walk {
	const struct option_table *table;
	void *options;	      /* the command's struct, which the groups' offsets are of */
	uint64_t now_unix_ns; /* times are relative to it */
	char *why;	      /* one line for the user */
	size_t why_len;
	bool is_file; /* names are written without dashes */

	struct option_place at; /* whose value is read */
	bool seen[OPTIONS_MAX]; /* which were given, by index */
	int operands;		/* after the walk: index in argv of the first that is no option */
};

/* All options of the command line; argv is sorted as getopt_long(3) does. 0 or -EINVAL. */
__must_check int options_walk(struct option_walk *walk, int argc, char **argv);
/* The same, of a command that takes nothing but options. */
__must_check int options_walk_all(struct option_walk *walk, int argc, char **argv);
/* The same, but a program and its arguments may follow "--": then *command_out, else NULL; in argv, which ends with NULL. */
__must_check int options_walk_command(struct option_walk *walk, int argc, char **argv,
				      char ***command_out);
/* One option and its value. 0 or -EINVAL. */
__must_check int options_take(struct option_walk *walk, const struct option_place *place,
			      const char *value);

/* Was it given? A name that the table does not know never was. */
bool options_given(const struct option_walk *walk, const char *name);
/* Refuses what was given but does not go with the use. 0 or -EINVAL. */
__must_check int options_check_use(struct option_walk *walk, size_t use);

/* A time as in --since, for an option of kind OWN. 0 or -EINVAL with the reason in `why`. */
__must_check int options_parse_time(struct option_walk *walk, const char *value,
				    uint64_t *unix_ns_out);
/* Place of the word among `words`, or -EINVAL. */
__must_check int option_word_index(const char *const *words, const char *word);

/* Writes why. Always -EINVAL. */
__must_check int options_refuse(struct option_walk *walk, const char *format, ...)
	__printf_like(2, 3);
/* The same, and where to read more: "...; see jbpf-dump --help". */
__must_check int options_refuse_see_help(struct option_walk *walk, const char *format, ...)
	__printf_like(2, 3);
/* Refuses times of --since and --until that do not follow each other. Always -EINVAL. */
__must_check int options_refuse_range(struct option_walk *walk, uint64_t since_unix_ns,
				      uint64_t until_unix_ns);

#endif
