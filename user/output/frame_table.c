// SPDX-License-Identifier: Apache-2.0
/*
 * A frame is looked up by its text, suffix and all; only what is new is taken apart and escaped. So
 * a day's stacks cost one hash per frame.
 */
#include "user/output/frame_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/output/escape.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define NO_NAME	   "[unknown]"
#define FIRST	   64  /* elements of an array */
#define FRONT_MARK ';' /* in front of the key of a frame that is no code; no frame has one inside */

struct frame_table {
	struct strtab *texts;		  /* id = the frame's number */
	struct frame_table_frame *frames; /* per text */
	size_t frame_cap;
	struct strtab *functions; /* "file\0name" */
	struct strtab *methods;	  /* whose files are known; as the lines name them */
	struct strbuf files;	  /* "Cart.java\0" each */
	size_t *method_files;	  /* per method, offset in files; SIZE_MAX = classes disagree */
	size_t method_cap;
	uint32_t *stack; /* of the last call */
	size_t stack_cap;
	struct strbuf scratch;
};

/* ---- files of methods ---- */

static int add_method(struct frame_table *table, const struct source_line *row)
{
	uint32_t known = strtab__count(table->methods), id;
	int err = strtab__intern(table->methods, row->name, row->name_len, &id);
	size_t at = table->files.len;

	escape_terminal(&table->files, row->file, row->file_len);
	strbuf_putc(&table->files, '\0');
	if (!err)
		err = strbuf_error(&table->files);
	if (err)
		return err;
	if (id == known) {
		err = vec_room(table->method_files, id, table->method_cap, FIRST);
		if (!err)
			table->method_files[id] = at;
		return err;
	}
	/* Two classes of one name, in two libraries: which one a frame is of cannot be told. */
	if (table->method_files[id] != SIZE_MAX &&
	    strcmp(table->files.data + table->method_files[id], table->files.data + at) != 0)
		table->method_files[id] = SIZE_MAX;
	strbuf_truncate(&table->files, at);
	return 0;
}

static int add_methods(struct frame_table *table, struct source_lines *lines)
{
	int err = source_lines__sort(lines);
	size_t cnt = source_lines__count(lines);

	for (size_t i = 0; !err && i < cnt; i++) {
		struct source_line row = source_lines__get(lines, i);

		if (row.kind != FRAME_KIND_NATIVE && row.kind != FRAME_KIND_KERNEL)
			err = add_method(table, &row);
	}
	return err;
}

static const char *method_file(const struct frame_table *table, const char *name, size_t len)
{
	uint32_t id = strtab__find(table->methods, name, len);

	if (id == STRTAB_NONE || table->method_files[id] == SIZE_MAX)
		return "";
	return table->files.data + table->method_files[id];
}

/* ---- life ---- */

int frame_table__open(struct source_lines *lines, struct frame_table **out)
{
	struct frame_table *table = calloc(1, sizeof(*table));
	int err = -ENOMEM;

	if (!table)
		return err;
	table->texts = strtab__new();
	table->functions = strtab__new();
	table->methods = strtab__new();
	if (table->texts && table->functions && table->methods)
		err = lines ? add_methods(table, lines) : 0;
	if (err)
		frame_table__free(table);
	else
		*out = table;
	return err;
}

void frame_table__free(struct frame_table *table)
{
	if (!table)
		return;
	strtab__free(table->texts);
	strtab__free(table->functions);
	strtab__free(table->methods);
	strbuf_release(&table->files);
	strbuf_release(&table->scratch);
	free(table->frames);
	free(table->method_files);
	free(table->stack);
	free(table);
}

/* ---- frames ---- */

static const char *frame_file(const struct frame_table *table, const struct stack_frame *frame,
			      bool is_front)
{
	if (is_front)
		return FRAME_TABLE_FILE_FRONT;
	switch (frame->kind) {
	case FRAME_KIND_NATIVE:
		return "";
	case FRAME_KIND_KERNEL:
		return FRAME_TABLE_FILE_KERNEL;
	default:
		return method_file(table, frame->name, frame->name_len);
	}
}

static int add_function(struct frame_table *table, const struct stack_frame *frame, bool is_front,
			uint32_t *id_out)
{
	struct strbuf *key = &table->scratch;
	int err;

	strbuf_clear(key);
	strbuf_puts(key, frame_file(table, frame, is_front));
	strbuf_putc(key, '\0');
	if (frame->name_len == 0)
		strbuf_puts(key, NO_NAME);
	escape_terminal(key, frame->name, frame->name_len);
	err = strbuf_error(key);
	return err ? err : strtab__intern(table->functions, key->data, key->len, id_out);
}

/* The process "java" is not the function "java". */
static int intern_text(struct frame_table *table, const struct stack_frame *frame, bool is_front,
		       uint32_t *id_out)
{
	struct strbuf *key = &table->scratch;
	int err;

	if (!is_front)
		return strtab__intern(table->texts, frame->text, frame->text_len, id_out);
	strbuf_clear(key);
	strbuf_putc(key, FRONT_MARK);
	strbuf_append(key, frame->text, frame->text_len);
	err = strbuf_error(key);
	return err ? err : strtab__intern(table->texts, key->data, key->len, id_out);
}

static int add_frame(struct frame_table *table, const struct stack_frame *frame, bool is_front,
		     uint32_t *id_out)
{
	uint32_t known = strtab__count(table->texts), function;
	int err = intern_text(table, frame, is_front, id_out);

	if (err || *id_out < known)
		return err;
	err = vec_room(table->frames, known, table->frame_cap, FIRST);
	if (!err)
		err = add_function(table, frame, is_front, &function);
	if (!err)
		table->frames[known] = (struct frame_table_frame){
			.function = function,
			.kind = frame->kind,
			.is_front = is_front,
		};
	return err;
}

int frame_table__add_stack(struct frame_table *table, const char *text, size_t len,
			   size_t front_cnt, const uint32_t **frames_out, size_t *cnt_out)
{
	struct stack_frame frame;
	size_t cnt = 0;
	int err = 0;

	while (!err && stack_text_next(&text, &len, &frame)) {
		err = vec_room(table->stack, cnt, table->stack_cap, FIRST);
		if (!err)
			err = add_frame(table, &frame, cnt < front_cnt, &table->stack[cnt]);
		cnt++;
	}
	if (err)
		return err;
	*frames_out = table->stack;
	*cnt_out = cnt;
	return 0;
}

uint32_t frame_table__count(const struct frame_table *table)
{
	return strtab__count(table->texts);
}

struct frame_table_frame frame_table__frame(const struct frame_table *table, uint32_t frame)
{
	return table->frames[frame];
}

uint32_t frame_table__function_count(const struct frame_table *table)
{
	return strtab__count(table->functions);
}

struct frame_table_function frame_table__function(const struct frame_table *table,
						  uint32_t function)
{
	const char *file = strtab__get(table->functions, function, NULL);

	return (struct frame_table_function){ .name = file + strlen(file) + 1, .file = file };
}
