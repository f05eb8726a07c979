// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to the parser process; see parser.h. One at a time: send, hand over debug files that are
 * asked for, take the answer, and check it. A parser that breaks any rule is killed: it is the
 * same program and knows the rules.
 */
#include "symbols/parser/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "symbols/elf/demangle.h"
#include "symbols/elf/elf_symtab_wire.h"
#include "user/files/opener.h"
#include "symbols/parser/parser_internal.h"
#include "symbols/parser/parser_rests.h"
#include "user/sandbox/parser_sandbox.h"
#include "symbols/perfmap/perfmap_wire.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define PARSER_ERRNO_MAX      4095
#define PARSER_WHAT_MAX_BYTES 95 /* of a name in a message */
#define PARSER_MAX_LIBJVMS    16u

/*
 * An answer of parser__libjvm(), by the file, its place in memory, and the account that paid for
 * it: an account whose file took the process over could give a lie about a file that others have,
 * too.
 */
struct parsed_libjvm {
	uint64_t account_id;
	struct stat file; /* st_ino 0 = free */
	uint64_t start;
	uint64_t end;
	uint64_t file_offset;
	struct vm_symbols symbols;
};

struct parser {
	struct parser_process process;
	struct parser_stats stats; /* without the numbers of `process` */
	uint64_t last_id;
	bool was_starved; /* the last request got too little CPU time, */
	bool has_stalled; /* and did not even want it */
	uint64_t rest_ns; /* of a file that was not read in time */
	struct parser_rests rests;
	struct account *account;    /* whose input comes next; a user of it */
	struct opener *opener;	    /* borrowed */
	uint64_t served_account_id; /* whose input the process has seen */
	bool has_served;
	bool has_grown; /* the process took much memory for its last input */
	struct parsed_libjvm libjvms[PARSER_MAX_LIBJVMS]; /* a ring */
	size_t next_libjvm;
};

/* One request. The message is the request first and the answer then. */
struct parser_call {
	struct parser_message message;
	const char *what; /* path or name, for the log; may hold any bytes */
	const char *path; /* with `roots`: debug files may be asked for */
	const struct debug_file_roots *roots;
	int file_fd; /* -1 = none */
	bool has_reply;
	int reply_fd;
	void *reply;
	size_t reply_len;
};

int parser__open_with(const struct child_starter *starter, const struct parser_limits *limits,
		      struct opener *opener, struct parser **out)
{
	struct parser *parser = calloc(1, sizeof(*parser));
	int err;

	if (!parser)
		return -ENOMEM;
	parser->opener = opener;
	parser->rest_ns = limits->rest_ns;
	parser_process_init(&parser->process, starter, limits);
	err = parser_process_start(&parser->process);
	if (err) {
		parser__free(parser);
		return err;
	}
	*out = parser;
	return 0;
}

int parser__open(const struct child_starter *starter, struct opener *opener, struct parser **out)
{
	return parser__open_with(starter, &parser_limits_default, opener, out);
}

void parser__free(struct parser *parser)
{
	if (!parser)
		return;
	(void)helper_end(&parser->process.helper, NULL);
	account__put(parser->account);
	free(parser);
}

void parser__forget_process(struct parser *parser)
{
	parser_process_forget(&parser->process);
	parser->has_served = false;
	parser->stats.cpu_ns = 0; /* on the other's bill */
}

void parser__stats(const struct parser *parser, struct parser_stats *out)
{
	*out = parser->stats;
	out->pid = parser->process.helper.pid;
	out->renewal_cnt = parser->process.renewal_cnt;
	out->restart_cnt = parser->process.helper.start_cnt ?
				   parser->process.helper.start_cnt - 1 - out->renewal_cnt :
				   0;
	out->sandbox = parser->process.sandbox;
}

struct opener *parser__opener(const struct parser *parser)
{
	return parser->opener;
}

void parser__charge(struct parser *parser, struct account *account)
{
	opener__charge(parser->opener, account);
	if (parser->account == account)
		return;
	account__put(parser->account);
	parser->account = account__ref(account);
}

/* ---- failures ---- */

static void failure_text(int err, int status, bool is_final, char *out, size_t len)
{
	if (err == -ENOMEM)
		snprintf(out, len, "it takes more than %llu MiB of memory",
			 PARSER_SANDBOX_MEMORY_BYTES >> 20);
	else if (err == -ETIMEDOUT)
		snprintf(out, len,
			 is_final ? "it takes too long" :
				    "the host is too busy, or what has the file does not answer");
	else if (err == -EBADMSG)
		snprintf(out, len, "the answer makes no sense");
	else if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		snprintf(out, len, "the parser was killed (as by the kernel when memory is short)");
	else if (status >= 0 && WIFSIGNALED(status))
		snprintf(out, len, "the parser was ended by signal %d (%s)", WTERMSIG(status),
			 WTERMSIG(status) == SIGSYS ? "a forbidden system call" :
						      strsignal(WTERMSIG(status)));
	else
		snprintf(out, len, "the parser ended: %s", errstr(err));
}

/* Counts and says it. With `status` -1 the parser goes on. -ENOTRECOVERABLE, or -EAGAIN. */
static int parser_note_failure(struct parser *parser, const char *what, int err, int status,
			       bool is_final)
{
	const char *owner = account__name(parser->account);
	char why[128];

	failure_text(err, status, is_final, why, sizeof(why));
	parser->stats.failure_cnt++;
	account__note_failure(parser->account, clock_boot_ns());
	account__note_cut(parser->account, ACCOUNT_CUT_FAILED, 1);
	pr_warn_limited("parser: '%.*s' of '%s' cannot be parsed: %s; it %s (%llu so far)\n",
			PARSER_WHAT_MAX_BYTES, what, *owner ? owner : "an unknown cgroup", why,
			is_final ? "stays without names" : "is tried again later",
			(unsigned long long)parser->stats.failure_cnt);
	return is_final ? -ENOTRECOVERABLE : -EAGAIN;
}

/* It had ended before: the kernel, when memory is short, or a person sent SIGKILL, but not the input. */
static bool was_killed(int err, int status)
{
	return (err == -EPIPE || err == -ECONNRESET) && status >= 0 && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

/*
 * The parser broke a rule, died or hangs. One that was killed, or did not get the CPU or the pages of
 * the file that it needed, says nothing about the input: it may be tried again, as often as its account
 * may fail. But one that cannot even be ended waits for a server that may never answer (a disk's reader can be:
 * folio_wait_locked_killable() in include/linux/pagemap.h), and each further attempt would leave another one.
 */
static int parser_fail(struct parser *parser, const char *what, int err)
{
	bool is_final = err != -ETIMEDOUT || !parser->was_starved;
	int status = helper_end(&parser->process.helper, NULL);

	is_final = is_final || (parser->has_stalled && status < 0);
	is_final = is_final && !was_killed(err, status);
	parser->has_served = false;
	return parser_note_failure(parser, what, err, status, is_final);
}

/* ---- debug files ---- */

/* The file that the message asks for. False: it may not ask for that. */
static bool wanted_read(const struct parser_message *message, struct build_id *id,
			char name[NAME_MAX + 1], struct debug_file_wanted *out)
{
	size_t len = (size_t)message->text_len;

	if (message->numbers[0] >= DEBUG_FILE_PLACE_CNT ||
	    message->numbers[1] > DEBUG_FILE_IN_HOST || len == 0)
		return false;
	*out = (struct debug_file_wanted){
		.place = (enum debug_file_place)message->numbers[0],
		.root = (enum debug_file_root)message->numbers[1],
		.id = id,
	};
	*id = (struct build_id){ .len = 0 };
	if (out->place == DEBUG_FILE_BY_BUILD_ID) {
		if (len > BUILD_ID_MAX_BYTES)
			return false;
		memcpy(id->bytes, message->text, len);
		id->len = len;
		return true;
	}
	if (len > NAME_MAX)
		return false;
	memcpy(name, message->text, len);
	name[len] = '\0';
	out->link_name = debug_file_link_name(name, len + 1);
	return out->link_name && strlen(name) == len;
}

static int parser_hand_over(struct parser *parser, const struct parser_call *call)
{
	struct parser_message answer;
	struct debug_file_wanted wanted;
	char name[NAME_MAX + 1];
	struct build_id id;
	uint64_t size = 0;

	if (!wanted_read(&call->message, &id, name, &wanted))
		return -EBADMSG;

	__cleanup_fd int fd = debug_file_open(call->roots, call->path, &wanted, &size);

	memset(&answer, 0, offsetof(struct parser_message, text));
	answer.kind = PARSER_MESSAGE_FILE;
	answer.id = call->message.id;
	answer.err = fd < 0 ? fd : 0;
	answer.numbers[0] = size;
	return parser_message_send(parser->process.helper.socket_fd, &answer, &fd, fd >= 0);
}

/* ---- calls ---- */

static int parser_send(struct parser *parser, const struct parser_call *call)
{
	int fds[PARSER_MAX_FDS] = { call->file_fd, call->reply_fd };
	size_t fd_cnt = call->file_fd < 0 ? 0 : call->reply_fd < 0 ? 1 : 2;
	int err = parser_process_start(&parser->process);

	if (!err)
		err = parser_message_send(parser->process.helper.socket_fd, &call->message, fds,
					  fd_cnt);
	if (err != -EPIPE && err != -ECONNRESET)
		return err;
	/* It has ended before, for reasons that are not this request's. */
	(void)helper_end(&parser->process.helper, NULL);
	err = parser_process_start(&parser->process);
	return err ? err :
		     parser_message_send(parser->process.helper.socket_fd, &call->message, fds,
					 fd_cnt);
}

/* Before the process is ended, if it has to be. */
static void parser_note_memory(struct parser *parser, const struct parser_call *call)
{
	uint64_t bytes;

	if (call->file_fd < 0)
		return;
	bytes = parser_process_peak_bytes(&parser->process);
	account__note_reading(parser->account, bytes);
	parser->has_grown = bytes > ACCOUNT_TOLD_READING_BYTES;
}

/* Until the answer is there, in call->message. 0, or an error for which the parser must be killed. */
static int parser_converse(struct parser *parser, struct parser_call *call)
{
	struct helper_watch watch =
		helper_watch_begin(&parser->process.helper, &parser->process.limits);
	uint64_t id = call->message.id;
	size_t wanted_cnt = 0;
	uint64_t cpu_ns;
	int err = 0;

	while (!err) {
		err = parser_process_receive(&parser->process, &watch, &call->message);
		if (err)
			break;
		if (call->message.id != id)
			err = -EBADMSG;
		else if (call->message.kind == PARSER_MESSAGE_DONE)
			break;
		else if (call->message.kind != PARSER_MESSAGE_WANTS || !call->roots ||
			 ++wanted_cnt > DEBUG_FILE_MAX_WANTED)
			err = -EBADMSG;
		else
			err = parser_hand_over(parser, call);
	}
	parser_note_memory(parser, call);
	cpu_ns = clock_process_ns(parser->process.helper.pid);
	/* One that has ended may have no clock any more. */
	cpu_ns = cpu_ns > watch.cpu_begin_ns ? cpu_ns - watch.cpu_begin_ns : 0;
	parser->stats.cpu_ns += cpu_ns;
	parser->was_starved = cpu_ns < watch.limits->max_cpu_ns / 2;
	parser->has_stalled = watch.stalled_ticks >= watch.limits->max_stalled_ticks;
	if (err == -ETIMEDOUT && parser->was_starved && call->file_fd >= 0)
		parser_rests_note(&parser->rests, account__id(parser->account), call->file_fd,
				  clock_boot_ns(), parser->rest_ns);
	account__spend(parser->account, cpu_ns, clock_boot_ns());
	if (!err && (call->message.err > 0 || call->message.err < -PARSER_ERRNO_MAX))
		err = -EBADMSG;
	return err;
}

/*
 * A copy: whoever parsed may go on writing. F_SEAL_WRITE would end that, too, but waits until each CPU
 * has emptied its batch of new pages (memfd_wait_for_pins() in mm/memfd.c), for seconds where one is busy.
 */
static int reply_read(struct parser_call *call)
{
	uint64_t len = call->message.numbers[0];
	struct stat st;
	ssize_t got;

	if (fstat(call->reply_fd, &st) || len == 0 || len > PARSER_SANDBOX_FILE_BYTES ||
	    (uint64_t)st.st_size != len)
		return -EBADMSG;
	call->reply = malloc((size_t)len);
	if (!call->reply)
		return -ENOMEM;
	got = fs_read_at(call->reply_fd, call->reply, (size_t)len, 0);
	if (got < 0)
		return (int)got;
	call->reply_len = (size_t)got;
	return call->reply_len == len ? 0 : -EBADMSG;
}

static void call_release(struct parser_call *call)
{
	free(call->reply);
	if (call->reply_fd >= 0)
		close(call->reply_fd);
	call->reply = NULL;
	call->reply_fd = -1;
}

static void call_init(struct parser_call *call, uint32_t kind, const char *what, int file_fd)
{
	memset(call, 0, offsetof(struct parser_call, message.text));
	memset(&call->what, 0, sizeof(*call) - offsetof(struct parser_call, what));
	call->message.kind = kind;
	call->what = what;
	call->file_fd = file_fd;
	call->reply_fd = -1;
}

/* To parse the file of this path, of so many bytes. */
static void call_init_file(struct parser_call *call, uint32_t kind, const char *path, int fd,
			   uint64_t size)
{
	call_init(call, kind, path, fd);
	call->path = path;
	call->message.numbers[0] = size;
	call->has_reply = true;
}

/*
 * Makes the process one that has seen no input, or only that of the same account, and whose peak
 * memory is not that of a large file before.
 */
static void parser_be_fresh(struct parser *parser)
{
	uint64_t id = account__id(parser->account);

	if (parser->has_served && (parser->served_account_id != id || parser->has_grown))
		parser_process_renew(&parser->process);
	parser->has_grown = false;
	parser->served_account_id = id;
	parser->has_served = true;
}

/* False: its account has had enough, or its file rests. */
static bool call_is_affordable(const struct parser *parser, const struct parser_call *call)
{
	bool is_name = call->message.kind == PARSER_MESSAGE_DEMANGLE;
	uint64_t now_ns = clock_boot_ns();

	if (account__may_read(parser->account, now_ns))
		return call->file_fd < 0 ||
		       !parser_rests_has(&parser->rests, account__id(parser->account),
					 call->file_fd, now_ns);
	if (!is_name)
		account__note_cut(parser->account, ACCOUNT_CUT_FILES, 1);
	return false;
}

/* 0 and the answer, -EAGAIN, -ENOTRECOVERABLE, or the error that the parser's work gave. */
static int parser_call(struct parser *parser, struct parser_call *call)
{
	int err;

	if (!call_is_affordable(parser, call))
		return -EAGAIN;
	parser_be_fresh(parser);
	if (call->has_reply) {
		call->reply_fd = memfd_create("jbpf-parsed", MFD_CLOEXEC);
		if (call->reply_fd < 0)
			return -errno;
	}
	call->message.id = ++parser->last_id;
	err = parser_send(parser, call);
	if (err) {
		pr_debug("parser: it cannot be reached: %s\n", errstr(err));
		return -EAGAIN;
	}
	parser->stats.request_cnt++;
	err = parser_converse(parser, call);
	if (err)
		return parser_fail(parser, call->what, err);
	err = call->message.err;
	if (err == -ENOMEM || err == -EAGAIN || err == -ENOTRECOVERABLE)
		return parser_note_failure(parser, call->what, -ENOMEM, -1, true);
	if (err || !call->has_reply)
		return err;
	err = reply_read(call);
	return err == -EBADMSG ? parser_fail(parser, call->what, err) : err;
}

static int file_size(int fd, uint64_t *size_out)
{
	struct stat st;
	int err = container_file_stat(fd, &st);

	if (err)
		return err;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	*size_out = (uint64_t)st.st_size;
	return 0;
}

/* ---- ELF ---- */

static void call_set_text(struct parser_call *call, const char *text, size_t len)
{
	if (len > PARSER_TEXT_BYTES)
		len = PARSER_TEXT_BYTES;
	memcpy(call->message.text, text, len);
	call->message.text_len = len;
}

int parser__elf(struct parser *parser, int fd, const char *path,
		const struct debug_file_roots *roots, struct elf_object *out)
{
	struct elf_symtab *symtab;
	struct parser_call call;
	uint64_t size = 0;
	int err = file_size(fd, &size);

	if (err)
		return err;
	call_init_file(&call, PARSER_MESSAGE_ELF, path, fd, size);
	call.roots = roots;
	err = parser_call(parser, &call);
	if (!err && call.message.numbers[1] > 1)
		err = parser_fail(parser, path, -EBADMSG);
	if (!err)
		err = elf_symtab_decode(call.reply, call.reply_len, &symtab);
	if (err == -EBADMSG)
		err = parser_fail(parser, path, err);
	if (!err) {
		out->symtab = symtab;
		out->is_hotspot = call.message.numbers[1] == 1;
	}
	call_release(&call);
	return err;
}

/* ---- libjvm ---- */

static bool stat_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static const struct vm_symbols *libjvm_known(const struct parser *parser, const struct stat *file,
					     const struct libjvm_mapping *mapping)
{
	for (size_t i = 0; i < PARSER_MAX_LIBJVMS; i++) {
		const struct parsed_libjvm *known = &parser->libjvms[i];

		if (known->file.st_ino && known->account_id == account__id(parser->account) &&
		    stat_is_same(&known->file, file) && known->start == mapping->map.start &&
		    known->end == mapping->map.end && known->file_offset == mapping->map.offset)
			return &known->symbols;
	}
	return NULL;
}

static void libjvm_remember(struct parser *parser, const struct stat *file,
			    const struct libjvm_mapping *mapping, const struct vm_symbols *symbols)
{
	parser->libjvms[parser->next_libjvm++ % PARSER_MAX_LIBJVMS] = (struct parsed_libjvm){
		.account_id = account__id(parser->account),
		.file = *file,
		.start = mapping->map.start,
		.end = mapping->map.end,
		.file_offset = mapping->map.offset,
		.symbols = *symbols,
	};
}

int parser__libjvm(struct parser *parser, int fd, const struct libjvm_mapping *mapping,
		   struct vm_symbols *out)
{
	const struct vm_symbols *known;
	struct parser_call call;
	struct stat file;
	uint64_t size = 0;
	int err = file_size(fd, &size);

	if (err)
		return err == -ENOEXEC ? -ENOTSUP : err;
	err = container_file_stat(fd, &file);
	if (err)
		return err;
	known = libjvm_known(parser, &file, mapping);
	if (known) {
		*out = *known;
		return 0;
	}
	call_init(&call, PARSER_MESSAGE_LIBJVM, mapping->path, fd);
	call.message.numbers[0] = size;
	call.message.numbers[1] = mapping->map.start;
	call.message.numbers[2] = mapping->map.end;
	call.message.numbers[3] = mapping->map.offset;
	err = parser_call(parser, &call);
	if (err)
		return err;
	memcpy(out->addresses, call.message.numbers, sizeof(out->addresses));
	libjvm_remember(parser, &file, mapping, out);
	return 0;
}

/* Ends a call whose answer was taken with `err`: one that makes no sense is the parser's failure. */
static int call_end(struct parser *parser, struct parser_call *call, int err)
{
	if (err == -EBADMSG)
		err = parser_fail(parser, call->what, err);
	call_release(call);
	return err;
}

/* ---- unwind tables ---- */

/* The answer, if it is a table. */
static int unwind_take(struct parser_call *call, struct unwind_table *out)
{
	const uint64_t *numbers = call->message.numbers;
	struct unwind_table table = {
		.words = call->reply,
		.word_cnt = (uint32_t)(call->reply_len / sizeof(*table.words)),
		.address = numbers[1],
		.page_cnt = (uint32_t)numbers[2],
		.row_cnt = (uint32_t)numbers[3],
	};

	if (call->reply_len % sizeof(*table.words) ||
	    call->reply_len > JBPF_UNWIND_MAX_WORDS * sizeof(*table.words) ||
	    numbers[2] > UINT32_MAX || numbers[3] > UINT32_MAX || !unwind_table_is_valid(&table))
		return -EBADMSG;
	call->reply = NULL;
	*out = table;
	return 0;
}

int parser__unwind(struct parser *parser, int fd, const char *path,
		   const struct debug_file_roots *roots, struct unwind_table *out)
{
	struct parser_call call;
	uint64_t size = 0;
	int err = file_size(fd, &size);

	if (err)
		return err;
	call_init_file(&call, PARSER_MESSAGE_UNWIND, path, fd, size);
	call.roots = roots;
	err = parser_call(parser, &call);
	if (!err)
		err = unwind_take(&call, out);
	return call_end(parser, &call, err);
}

/* ---- perf maps ---- */

int parser__perfmap(struct parser *parser, int fd, struct perfmap **out,
		    struct perfmap_stats *stats)
{
	struct parser_call call;
	uint64_t size = 0;
	int err = file_size(fd, &size);

	if (err)
		return err == -ENOEXEC ? -EINVAL : err;
	call_init(&call, PARSER_MESSAGE_PERFMAP, "perf map", fd);
	call.message.numbers[0] = size;
	call.has_reply = true;
	err = parser_call(parser, &call);
	if (!err)
		err = perfmap_decode(call.reply, call.reply_len, out, stats);
	return call_end(parser, &call, err);
}

/* ---- containers ---- */

int parser__container(struct parser *parser, int fd, enum container_json_kind kind, const char *id,
		      struct container_json *out)
{
	struct parser_call call;
	uint64_t size = 0;
	int err = file_size(fd, &size);

	if (!err && size > PARSER_CONTAINER_MAX_BYTES)
		err = -EFBIG;
	if (err)
		return err;
	call_init(&call, PARSER_MESSAGE_CONTAINER, "a user's containers", fd);
	call.message.numbers[0] = size;
	call.message.numbers[1] = kind;
	call.has_reply = true;
	call_set_text(&call, id, strlen(id));
	err = parser_call(parser, &call);
	if (!err && (call.reply_len != sizeof(*out) || !container_json_is_sound(call.reply)))
		err = parser_fail(parser, call.what, -EBADMSG);
	if (!err)
		memcpy(out, call.reply, sizeof(*out));
	call_release(&call);
	return err;
}

/* ---- names ---- */

int parser__demangle(struct parser *parser, const char *raw, size_t len, struct strbuf *out)
{
	size_t trimmed_len = demangle_trim(raw, len);
	struct parser_call call;
	int err;

	/* Without a look into the name there is nothing to be afraid of. */
	if (trimmed_len > DEMANGLE_MAX_RAW_BYTES || !demangle_is_mangled(raw, trimmed_len))
		return demangle_native(raw, len, out);
	call_init(&call, PARSER_MESSAGE_DEMANGLE, "a C++ or Rust name", -1);
	call_set_text(&call, raw, trimmed_len);
	err = parser_call(parser, &call);
	if (!err && (call.message.text_len == 0 ||
		     memchr(call.message.text, '\0', (size_t)call.message.text_len)))
		err = parser_fail(parser, call.what, -EBADMSG);
	if (!err)
		strbuf_append(out, call.message.text, (size_t)call.message.text_len);
	else
		strbuf_append(out, raw, trimmed_len);
	if (strbuf_error(out))
		return strbuf_error(out);
	return err == -EAGAIN ? err : 0;
}
