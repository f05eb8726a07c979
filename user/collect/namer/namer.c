// SPDX-License-Identifier: Apache-2.0
/*
 * See namer.h. namer_loop() waits for packets and for due work. While a window is named, do_news()
 * reads notices between two streams, and windows that arrive are put aside. A work note says which
 * process it is looking into, so that the sampler knows which one to blame (namer_link.h). After a
 * window it may copy itself (namer_copy.h); the copy goes on from be_copy() when it is wanted.
 */
#include "user/collect/namer/namer.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "user/collect/namer/namer_copy.h"
#include "user/collect/naming/naming.h"
#include "user/collect/naming/naming_map.h"
#include "user/collect/naming/naming_wire.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/role_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define NAMER_NAME     "jbpfd-namer" /* at most 15 bytes */
#define WHY_BYTES      512
#define MMAP_THRESHOLD (128 * 1024)

/*
 * The cost of a copy, now and as pages are written to, is well spent when it saves much work: it
 * must be a small part of the CPU time that was used since the last one. One is made after a window
 * when the last is old enough, and after each window for as long since a JVM was met: it compiles
 * most of its code then.
 */
#define COPY_REST_NS (30 * CLOCK_NS_PER_S)
#define COPY_WORTH   50

/* What is sampled meanwhile waits for so long, and for the parsing of one file, at most. */
#define UNWIND_ROUND_NS (50 * CLOCK_NS_PER_MS)

#define MAP_PACKET_BYTES (256u << 10)

struct namer {
	struct packet_stream stream;
	struct naming *naming;
	struct launcher *launcher;
	struct work_note *note;
	bool wants_copy; /* a window was named, and a copy is due */
	bool is_new; /* a copy that was woken, and has not heard of all that it must name first */
	bool ended_part;	/* a part was named, and a copy is due before the next packet */
	uint64_t copied_ns;	/* CLOCK_BOOTTIME of the last copy; 0 = there was none */
	uint64_t copied_cpu_ns; /* CPU time used by then */
	uint64_t copy_cost_ns;	/* of it for that copy */
	uint64_t met_jvm_ns;
	bool is_naming;	       /* a window: those that come meanwhile wait */
	int err;	       /* of the conversation: the end */
	struct strbuf waiting; /* windows and changes that came while one was named: packets */
};

/* ---- to the sampler ---- */

static void say(struct namer *namer, uint32_t kind, const void *bytes, size_t len)
{
	int err = packet_stream_put_bytes(&namer->stream, kind, bytes, len);

	if (!err)
		err = packet_stream_flush_all(&namer->stream);
	if (err && !namer->err)
		namer->err = err;
}

static int say_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct namer *namer = ctx;
	int err = naming_stream_put(&namer->stream, window, text, len);

	if (err)
		return err;
	err = packet_stream_flush_all(&namer->stream);
	if (err)
		namer->err = err;
	return err;
}

static void say_met(void *ctx, const struct window *window)
{
	struct namer *namer = ctx;
	int err = naming_met_put(&namer->stream, window);

	if (!err)
		err = packet_stream_flush_all(&namer->stream);
	if (err && !namer->err)
		namer->err = err;
}

static void say_code_range(void *ctx, const struct naming_code_range *range)
{
	struct namer *namer = ctx;

	if (range->is_first)
		namer->met_jvm_ns = clock_boot_ns();
	say(ctx, NAMING_CODE_RANGE, range, sizeof(*range));
}

static void say_hotspot(void *ctx, const struct naming_hotspot *hotspot)
{
	say(ctx, NAMING_HOTSPOT, hotspot, sizeof(*hotspot));
}

static void say_leaf_rule(void *ctx, const struct naming_leaf_rule *rule)
{
	say(ctx, NAMING_LEAF_RULE, rule, sizeof(*rule));
}

static void say_opt_out(void *ctx, const struct naming_opt_out *opt_out)
{
	say(ctx, NAMING_OPT_OUT, opt_out, sizeof(*opt_out));
}

static void say_account(void *ctx, const struct naming_account *account)
{
	say(ctx, NAMING_ACCOUNT, account, sizeof(*account));
}

static void say_unwind_table(void *ctx, const struct naming_unwind_id *id,
			     const struct unwind_table *table)
{
	struct namer *namer = ctx;
	int err = naming_unwind_table_put(&namer->stream, id, table);

	if (!err)
		err = packet_stream_flush_all(&namer->stream);
	if (err && !namer->err)
		namer->err = err;
}

static void say_unwind_drop(void *ctx, const struct naming_unwind_id *id)
{
	say(ctx, NAMING_UNWIND_DROP, id, sizeof(*id));
}

static void say_space(void *ctx, const struct naming_space *space)
{
	say(ctx, NAMING_SPACE, space, sizeof(*space));
}

/* ---- from the sampler ---- */

static bool is_copy_due(const struct namer *namer, uint64_t now_ns)
{
	uint64_t used_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - namer->copied_cpu_ns;

	if (!namer->copied_ns || now_ns - namer->met_jvm_ns < COPY_REST_NS)
		return true;
	return now_ns - namer->copied_ns >= COPY_REST_NS &&
	       used_ns >= COPY_WORTH * namer->copy_cost_ns;
}

/*
 * A part comes first of all to one that was woken, which was copied before. What it took the time to read
 * for that, from those that do not hang, the next one would have to read again, and again.
 */
static bool is_part_worth_copy(const struct namer *namer, uint64_t now_ns)
{
	return now_ns - namer->copied_ns >= COPY_WORTH * namer->copy_cost_ns;
}

static void do_window(struct namer *namer, const struct packet *packet)
{
	__cleanup_free void *bytes = malloc(packet->len ? packet->len : 1);
	struct naming_batch batch;
	struct naming_end end;
	int err;

	if (!bytes) {
		namer->err = -ENOMEM;
		return;
	}
	/* More packets are read while it is named. */
	memcpy(bytes, packet->bytes, packet->len);
	err = naming_batch_read(bytes, packet->len, &batch);
	if (err) {
		namer->err = err;
		return;
	}
	namer->is_naming = true;
	naming__window(namer->naming, &batch, &end);
	namer->is_naming = false;
	end.window_id = batch.head.window_id;
	end.goes_on = batch.head.goes_on;
	naming_batch_release(&batch);
	say(namer, NAMING_END, &end, sizeof(end));
	namer->is_new = namer->is_new && end.goes_on;
	namer->wants_copy = is_copy_due(namer, clock_boot_ns());
	namer->ended_part = end.goes_on && is_part_worth_copy(namer, clock_boot_ns());
	log_limits_report(clock_boot_ns());
}

static void do_stacks(struct namer *namer, const struct packet *packet)
{
	const struct naming_prefetch_interval interval = {
		.interval_ns = naming__prefetch(namer->naming, packet->bytes, packet->len),
	};

	say(namer, NAMING_PREFETCH_INTERVAL, &interval, sizeof(interval));
}

/* Keeps a packet for later, as it is. */
static void put_aside(struct namer *namer, const struct packet *packet)
{
	const uint64_t head[2] = { packet->kind, packet->len };
	static const char zeros[8];

	if (strbuf_reserve(&namer->waiting, sizeof(head) + packet->len + sizeof(zeros))) {
		namer->err = -ENOMEM;
		return;
	}
	strbuf_append(&namer->waiting, head, sizeof(head));
	strbuf_append(&namer->waiting, packet->bytes, packet->len);
	strbuf_append(&namer->waiting, zeros, -packet->len & 7);
}

static void do_unwind(struct namer *namer, const struct packet *packet)
{
	struct naming_unwind head;
	const uint32_t *ids;
	int err = naming_unwind_read(packet->bytes, packet->len, &head, &ids);

	if (err)
		namer->err = err;
	else
		naming__begin_unwind(namer->naming, &head, ids);
}

/* Ranges of code on their way to a command. */
struct code {
	struct namer *namer;
	struct strbuf records;
};

static int say_code(struct code *code)
{
	say(code->namer, NAMING_MAP_CODE, code->records.data, code->records.len);
	strbuf_clear(&code->records);
	return code->namer->err;
}

static int add_code(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	struct code *code = ctx;
	int err = naming_map_code_put(&code->records, start, len, name);

	if (!err && code->records.len >= MAP_PACKET_BYTES)
		err = say_code(code);
	return err;
}

static void do_map(struct namer *namer, const struct naming_map *question)
{
	struct code code = { .namer = namer };
	struct naming_map_answer answer;

	naming__map(namer->naming, question, add_code, &code, &answer);
	if (code.records.len)
		(void)say_code(&code);
	strbuf_release(&code.records);
	say(namer, NAMING_MAP_END, &answer, sizeof(answer));
}

#define EXPECT(packet, type) ((packet)->len == sizeof(type) ? (const type *)(packet)->bytes : NULL)

static void do_packet(struct namer *namer, const struct packet *packet)
{
	const struct naming_options *options;
	const struct naming_banned *banned;
	const struct jbpf_notice *notice;
	const struct naming_unwind_id *id;
	const struct naming_map *map;
	const struct ksymbol_changes *ksymbols;

	switch (packet->kind) {
	case NAMING_AWAKE:
		options = EXPECT(packet, struct naming_options);
		if (options && naming__awake(namer->naming, options))
			namer->err = -ENOMEM;
		break;
	case NAMING_NOTICE:
		notice = EXPECT(packet, struct jbpf_notice);
		namer->is_new = false; /* parts come before */
		if (notice)
			naming__notice(namer->naming, notice);
		break;
	case NAMING_BANNED:
		banned = EXPECT(packet, struct naming_banned);
		if (banned)
			naming__ban(namer->naming, banned);
		break;
	case NAMING_OPTIONS:
		options = EXPECT(packet, struct naming_options);
		if (namer->is_naming)
			put_aside(namer, packet);
		else if (options && naming__change(namer->naming, options))
			namer->err = -ENOMEM;
		break;
	case NAMING_UNWIND:
		do_unwind(namer, packet);
		break;
	case NAMING_UNWIND_REFUSED:
		id = EXPECT(packet, struct naming_unwind_id);
		if (id)
			naming__refuse_unwind(namer->naming, id);
		break;
	case NAMING_MAP:
		map = EXPECT(packet, struct naming_map);
		if (map)
			do_map(namer, map);
		break;
	case NAMING_KSYMBOLS:
		ksymbols = naming_ksymbols_read(packet->bytes, packet->len);
		if (namer->is_naming)
			put_aside(namer, packet);
		else if (ksymbols)
			naming__note_ksymbols(namer->naming, ksymbols);
		break;
	case NAMING_STACKS:
	case NAMING_WINDOW:
		/* Stacks are for reading ahead: for this window it is too late. */
		if (namer->is_naming)
			put_aside(namer, packet);
		else if (packet->kind == NAMING_STACKS)
			do_stacks(namer, packet);
		else
			do_window(namer, packet);
		break;
	default:
		namer->err = -EBADMSG;
	}
}

/* All that has arrived, to the end of a part after which a copy is due. */
static void do_arrived(struct namer *namer)
{
	struct packet packet;
	int err = 0;

	while (!namer->err && !namer->ended_part &&
	       packet_stream_next(&namer->stream, &packet, &err))
		do_packet(namer, &packet);
	if (err && !namer->err)
		namer->err = err;
}

static void read_more(struct namer *namer)
{
	int err = packet_stream_fill(&namer->stream);

	if (err && err != -EAGAIN && !namer->err)
		namer->err = err;
}

/* Between two streams of a window: processes that were just sampled first may not live for long. */
static void do_news(void *ctx)
{
	struct namer *namer = ctx;

	read_more(namer);
	do_arrived(namer);
	naming__tick(namer->naming);
}

/* Windows that came while one was named; each may take so long that more come. */
static void do_waiting(struct namer *namer)
{
	while (namer->waiting.len && !namer->err) {
		struct strbuf waiting = namer->waiting;

		namer->waiting = (struct strbuf)STRBUF_INIT;
		for (size_t at = 0; at < waiting.len && !namer->err;) {
			const uint64_t *head = (const uint64_t *)(const void *)(waiting.data + at);
			const struct packet packet = { .kind = (uint32_t)head[0],
						       .bytes = head + 2,
						       .len = (size_t)head[1] };

			do_packet(namer, &packet);
			at += 2 * sizeof(*head) + ((packet.len + 7) & ~(size_t)7);
		}
		strbuf_release(&waiting);
	}
}

/* In the copy, which goes on from here when it is wanted. */
static void be_copy(struct namer *namer, int socket_fd)
{
	/* First of all: as long as the copy has these sockets, too, its maker's end is not seen. */
	packet_stream_release(&namer->stream);
	naming__become_copy(namer->naming);
	packet_stream_init(&namer->stream, socket_fd, PACKET_MAX_BYTES);
	namer_copy_sleep(socket_fd);
	(void)prctl(PR_SET_NAME, NAMER_NAME);
	work_note__on(namer->note, NULL);
	namer->is_new = true;
	say(namer, NAMING_READY, NULL, 0);
}

/* True: this is the copy, and it is wanted. */
static bool copy_self(struct namer *namer)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int socket_fd;
	int err = namer_copy_make(namer->launcher, &socket_fd);

	namer->wants_copy = err == -EBUSY;
	namer->copied_ns = err ? 0 : clock_boot_ns();
	namer->copied_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	namer->copy_cost_ns = namer->copied_cpu_ns - begin_ns;
	if (err > 0)
		be_copy(namer, socket_fd);
	else if (err && err != -EBUSY)
		pr_debug("namer: no copy: %s\n", errstr(err));
	return err > 0;
}

/*
 * Nothing is in the middle of anything now. Without a copy the next one starts with nothing: one that
 * is woken copies itself first of all, since what it meets next may hang it, too. True: this is one.
 */
static bool make_copy(struct namer *namer)
{
	bool is_copy = false;

	namer->ended_part = false;
	while (copy_self(namer) && !namer->err)
		is_copy = true;
	return is_copy;
}

/* Tables are built a little at a time, and while nothing else is to be done. */
static void build_unwind(struct namer *namer)
{
	uint64_t begin_ns = clock_monotonic_ns();

	while (!namer->err && naming__build_unwind(namer->naming)) {
		struct pollfd more = { .fd = namer->stream.fd, .events = POLLIN };

		if (clock_monotonic_ns() - begin_ns >= UNWIND_ROUND_NS || poll(&more, 1, 0) > 0)
			return;
	}
}

static int wait_timeout_ms(const struct namer *namer)
{
	uint64_t due_ns = naming__due_boot_ns(namer->naming), now_ns = clock_boot_ns();

	if (due_ns == UINT64_MAX)
		return -1;
	return due_ns <= now_ns ? 0 : (int)((due_ns - now_ns) / CLOCK_NS_PER_MS) + 1;
}

static void namer_loop(struct namer *namer)
{
	while (!namer->err) {
		struct pollfd wait = { .fd = namer->stream.fd, .events = POLLIN };
		bool is_woken = false;

		work_note__idle(namer->note);
		if (poll(&wait, 1, namer->is_new ? -1 : wait_timeout_ms(namer)) < 0 &&
		    errno != EINTR)
			return;
		work_note__on(namer->note, NULL);
		if (wait.revents)
			read_more(namer);
		do_arrived(namer);
		while (namer->ended_part && !namer->err && !is_woken) {
			is_woken = make_copy(namer);
			if (!is_woken)
				do_arrived(namer);
		}
		/* A copy is told whom to leave alone before it does anything. */
		if (is_woken)
			continue;
		do_waiting(namer);
		/* What is due of itself may be about one that hangs it: those that wait come first. */
		if (namer->is_new)
			continue;
		naming__tick(namer->naming);
		build_unwind(namer);
		if (namer->wants_copy && !namer->err)
			(void)make_copy(namer);
	}
}

static int namer_open(struct namer *namer, const struct launcher_child *child, int kallsyms_fd)
{
	char why[WHY_BYTES];
	const struct naming_config config = {
		.jit = (enum jit_mode)child->numbers[NAMER_JIT],
		.proc = "/proc",
		.keeps_parameters = child->numbers[NAMER_KEEPS_PARAMETERS] != 0,
		.ignores_opt_out = child->numbers[NAMER_IGNORES_OPT_OUT] != 0,
		.wants_ticks = child->numbers[NAMER_WANTS_TICKS] != 0,
		.launcher = namer->launcher,
		.note = namer->note,
		.kallsyms_fd = kallsyms_fd,
		.listener = {
			.ctx = namer,
			.stream = say_stream,
			.code_range = say_code_range,
			.hotspot = say_hotspot,
			.leaf_rule = say_leaf_rule,
			.met = say_met,
			.opt_out = say_opt_out,
			.account = say_account,
			.unwind_table = say_unwind_table,
			.unwind_drop = say_unwind_drop,
			.space = say_space,
			.pause = do_news,
		},
	};
	int err = namer->launcher ? naming__open(&config, &namer->naming, why, sizeof(why)) :
				    -ENOMEM;

	if (err && namer->launcher)
		pr_err("%s\n", why);
	return err;
}

int namer__main(const struct launcher_child *child)
{
	const struct namer_context *context = child->ctx;
	struct namer namer = { .note = context->note };
	int socket_fd = child->socket_fd, launcher_fd = child->launcher_fd;
	int kallsyms_fd = context->kallsyms_fd;
	int *const kept[] = { &socket_fd, &launcher_fd, &kallsyms_fd };
	const struct child_options options = {
		.name = NAMER_NAME,
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
		.ends_first = true,
	};
	int err = child_process_become(&options);

	(void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
	(void)mallopt(M_TRIM_THRESHOLD, MMAP_THRESHOLD);
	log_set_level((enum log_level)child->numbers[NAMER_LOG_LEVEL]);
	if (!err)
		err = role_sandbox_namer();
	if (err)
		return -err & 0xff;
	packet_stream_init(&namer.stream, socket_fd, PACKET_MAX_BYTES);
	work_note__on(namer.note, NULL);
	namer.launcher = launcher__from_fd(launcher_fd);
	err = namer_open(&namer, child, kallsyms_fd < 0 ? 0 : kallsyms_fd);
	if (err)
		return -err & 0xff;
	say(&namer, NAMING_READY, NULL, 0);
	namer_loop(&namer);
	return namer.err == -EPIPE ? 0 : -namer.err & 0xff;
}
