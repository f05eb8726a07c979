// SPDX-License-Identifier: Apache-2.0
/*
 * Serving requests inside the sandbox. Nothing is kept from one request to the next, nothing is
 * logged and nothing can be opened: the profiler is asked for further files. A failure here is an
 * error of the request, or the end of this process.
 */
#include "symbols/parser/parser_child.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "symbols/elf/demangle.h"
#include "symbols/elf/elf_object.h"
#include "symbols/elf/elf_symtab_wire.h"
#include "symbols/elf/libjvm.h"
#include "user/sandbox/parser_sandbox.h"
#include "symbols/parser/parser_wire.h"
#include "symbols/perfmap/perfmap_wire.h"
#include "symbols/unwind/unwind_table.h"
#include "user/util/cleanup.h"
#include "user/host/container_json.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define CHILD_SOCKET 0 /* where parser_sandbox_enter() leaves it */

struct child {
	struct parser_message request;
	struct parser_message answer;
	int file_fd;
	int reply_fd;
	uint64_t reply_len;
};

static int reply_write(void *ctx, const void *bytes, size_t len)
{
	struct child *child = ctx;
	int err = fs_write_all(child->reply_fd, bytes, len);

	if (!err)
		child->reply_len += len;
	return err;
}

/* ---- requests to the profiler ---- */

static int child_open_debug(void *ctx, const struct debug_file_wanted *wanted, uint64_t *size_out)
{
	struct child *child = ctx;
	struct parser_message message;
	int fds[PARSER_MAX_FDS];
	size_t fd_cnt, len;
	const void *text;
	int err;

	len = wanted->place == DEBUG_FILE_BY_BUILD_ID ? wanted->id->len : strlen(wanted->link_name);
	text = wanted->place == DEBUG_FILE_BY_BUILD_ID ? (const void *)wanted->id->bytes :
							 wanted->link_name;
	memset(&message, 0, offsetof(struct parser_message, text));
	message.kind = PARSER_MESSAGE_WANTS;
	message.id = child->request.id;
	message.numbers[0] = wanted->place;
	message.numbers[1] = wanted->root;
	message.text_len = len;
	memcpy(message.text, text, len);
	err = parser_message_send(CHILD_SOCKET, &message, NULL, 0);
	if (!err)
		err = parser_message_receive(CHILD_SOCKET, 0, &message, fds, &fd_cnt);
	if (err)
		_exit(1);
	/* Without a descriptor err says why; zero would be a lie. */
	if (fd_cnt != 1)
		return message.err ? message.err : -ENOENT;
	*size_out = message.numbers[0];
	return fds[0];
}

/* ---- requests ---- */

static int serve_elf(struct child *child)
{
	const struct debug_file_opener opener = { .open = child_open_debug, .ctx = child };
	const struct wire_sink sink = { .write = reply_write, .ctx = child };
	struct elf_object object;
	int err;

	err = elf_object_read(child->file_fd, child->request.numbers[0], &opener, &object);
	if (err)
		return err;
	err = elf_symtab__encode(object.symtab, &sink);
	child->answer.numbers[0] = child->reply_len;
	child->answer.numbers[1] = object.is_hotspot;
	elf_symtab__free(object.symtab);
	return err;
}

static int serve_libjvm(struct child *child)
{
	struct libjvm_mapping mapping;
	struct vm_symbols symbols;
	struct elf_file file;
	int err = elf_file_open_sized(child->file_fd, child->request.numbers[0], &file);

	mapping.path[0] = '\0';
	mapping.map.start = child->request.numbers[1];
	mapping.map.end = child->request.numbers[2];
	mapping.map.offset = child->request.numbers[3];
	if (err == -ENOEXEC)
		err = -ENOTSUP;
	if (!err)
		err = libjvm_symbols_file(&file, &mapping, &symbols);
	elf_file_release(&file);
	_Static_assert(VM_SYMBOL_CNT <= PARSER_MAX_NUMBERS, "addresses fit into a message");
	if (!err)
		memcpy(child->answer.numbers, symbols.addresses, sizeof(symbols.addresses));
	return err;
}

static int serve_perfmap(struct child *child)
{
	const struct wire_sink sink = { .write = reply_write, .ctx = child };
	struct perfmap_stats stats = { 0 };
	struct perfmap *map;
	int err = perfmap_read(child->file_fd, child->request.numbers[0], &map, &stats);

	if (err)
		return err;
	err = perfmap__encode(map, &stats, &sink);
	child->answer.numbers[0] = child->reply_len;
	perfmap__free(map);
	return err;
}

static int serve_container(struct child *child)
{
	const struct wire_sink sink = { .write = reply_write, .ctx = child };
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct container_json json;
	int err = fs_read_fd(child->file_fd, PARSER_CONTAINER_MAX_BYTES, &text);

	if (err)
		return err;
	child->request.text[child->request.text_len] = '\0';
	container_json_read((enum container_json_kind)child->request.numbers[1], strbuf_str(&text),
			    text.len, child->request.text, &json);
	err = wire_sink_write(&sink, &json, sizeof(json));
	child->answer.numbers[0] = child->reply_len;
	return err;
}

static int serve_unwind(struct child *child)
{
	const struct debug_file_opener opener = { .open = child_open_debug, .ctx = child };
	const struct wire_sink sink = { .write = reply_write, .ctx = child };
	struct unwind_table table = { 0 };
	struct elf_file file;
	int err = elf_file_open_sized(child->file_fd, child->request.numbers[0], &file);

	if (!err)
		err = unwind_table_find(&file, &opener, &table);
	elf_file_release(&file);
	if (!err)
		err = wire_sink_write(&sink, table.words, table.word_cnt * sizeof(*table.words));
	child->answer.numbers[0] = child->reply_len;
	child->answer.numbers[1] = table.address;
	child->answer.numbers[2] = table.page_cnt;
	child->answer.numbers[3] = table.row_cnt;
	unwind_table_release(&table);
	return err;
}

static int serve_demangle(struct child *child)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	int err = demangle_native(child->request.text, (size_t)child->request.text_len, &out);

	if (err)
		return err;
	if (out.len > PARSER_TEXT_BYTES)
		return -EMSGSIZE;
	child->answer.text_len = out.len;
	memcpy(child->answer.text, strbuf_str(&out), out.len);
	return 0;
}

static int child_serve(struct child *child, size_t fd_cnt)
{
	switch (child->request.kind) {
	case PARSER_MESSAGE_ELF:
		return fd_cnt == 2 ? serve_elf(child) : -EINVAL;
	case PARSER_MESSAGE_LIBJVM:
		return fd_cnt == 1 ? serve_libjvm(child) : -EINVAL;
	case PARSER_MESSAGE_PERFMAP:
		return fd_cnt == 2 ? serve_perfmap(child) : -EINVAL;
	case PARSER_MESSAGE_CONTAINER:
		return fd_cnt == 2 ? serve_container(child) : -EINVAL;
	case PARSER_MESSAGE_UNWIND:
		return fd_cnt == 2 ? serve_unwind(child) : -EINVAL;
	case PARSER_MESSAGE_DEMANGLE:
		return serve_demangle(child);
	default:
		return -EINVAL;
	}
}

static int child_request(struct child *child)
{
	int fds[PARSER_MAX_FDS] = { -1, -1 };
	size_t fd_cnt = 0;
	int err = parser_message_receive(CHILD_SOCKET, 0, &child->request, fds, &fd_cnt);

	if (err)
		return err;
	memset(&child->answer, 0, offsetof(struct parser_message, text));
	child->file_fd = fds[0];
	child->reply_fd = fds[1];
	child->reply_len = 0;
	err = child_serve(child, fd_cnt);
	for (size_t i = 0; i < fd_cnt; i++)
		close(fds[i]);
	if (err)
		memset(&child->answer, 0, offsetof(struct parser_message, text));
	child->answer.kind = PARSER_MESSAGE_DONE;
	child->answer.id = child->request.id;
	child->answer.err = err;
	return parser_message_send(CHILD_SOCKET, &child->answer, NULL, 0);
}

int parser_child_main(int socket_fd)
{
	struct child child;
	uint32_t features = 0;
	int err;

	container_json_prepare();
	err = parser_sandbox_enter(&socket_fd, PARSER_SANDBOX_ALL, &features);
	/* No message says so: the socket may not be where it should be. */
	if (err)
		return -err & 0xff;
	memset(&child.answer, 0, offsetof(struct parser_message, text));
	child.answer.kind = PARSER_MESSAGE_READY;
	child.answer.numbers[0] = features;
	err = parser_message_send(CHILD_SOCKET, &child.answer, NULL, 0);
	while (!err)
		err = child_request(&child);
	return err == -EPIPE ? 0 : -err & 0xff;
}
