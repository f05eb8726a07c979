// SPDX-License-Identifier: Apache-2.0
/* Lists of frames, and what their names say; see symbols.h and symbols_frames.h. */
#include "symbols/symbols_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/vec.h"

void answer_unknown(uint32_t name, struct answer *out)
{
	out->name = name;
	out->frame_kind = FRAME_KIND_NATIVE;
	out->is_unknown = true;
}

int answer_placeholder(struct name_table *names, const char *text, struct answer *out)
{
	uint32_t id;
	int err = name_table__plain(names, text, strlen(text), &id);

	if (!err)
		answer_unknown(id, out);
	return err;
}

void frame_list_release(struct frame_list *list)
{
	free(list->items);
	*list = (struct frame_list){ 0 };
}

int frame_list_push(struct frame_list *list, const struct frame *frame)
{
	if (vec_room(list->items, list->cnt, list->cap, 128))
		return -ENOMEM;
	list->items[list->cnt++] = *frame;
	return 0;
}

int frame_list_add(struct frame_list *list, const struct name_table *names,
		   const struct answer *answer)
{
	struct frame frame = {
		.name = name_table__text(names, answer->name),
		.kind = (enum frame_kind)answer->frame_kind,
		.is_unknown = answer->is_unknown || name_table__is_unknown(names, answer->name),
	};

	return frame_list_push(list, &frame);
}

bool symbols_is_thread_root(const char *name)
{
	static const char *const roots[] = { "_start",
					     "start_thread",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3",
					     "__clone_internal",
					     "thread_start",
					     "thread_start_C",
					     "_start_c",
					     "__libc_start_call_main",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "libc_start_main_stage2",
					     "__pthread_start",
					     "[vthread]" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strcmp(name, roots[i]) == 0)
			return true;
	return strncmp(name, "__libc_start_main", strlen("__libc_start_main")) == 0;
}

bool symbols_reaches_root(const struct frame *frames, size_t cnt)
{
	static const char *const c_libraries[] = { "libc.so.6", "libc-2.", "ld-musl-" };
	const char *outermost;

	if (cnt == 0)
		return false;
	outermost = frames[cnt - 1].name;
	if (symbols_is_thread_root(outermost))
		return true;
	if (cnt < 2 || strcmp(frames[cnt - 2].name, "main") != 0)
		return false;
	/* "[libc.so.6]", or "libc.so.6+0x2724a": main's caller has no symbol in a stripped one. */
	outermost += outermost[0] == '[';
	for (size_t i = 0; i < sizeof(c_libraries) / sizeof(c_libraries[0]); i++)
		if (strncmp(outermost, c_libraries[i], strlen(c_libraries[i])) == 0)
			return true;
	return false;
}
