// SPDX-License-Identifier: Apache-2.0
/*
 * See namer_link.h. A namer's life, as namer_link__tick() leads it:
 *
 *            start_namer(), wake_copy()           it hangs, or the conversation broke
 *     none ----------------------------> is up ---------------------------------------> broken
 *      ^                                                                                  |
 *      +---------- end_namer(): killed, its work banned as the table of falls says --------+
 *
 * It hangs when its work note (work_note.h) and its CPU time stood still for too many ticks.
 */
#include "user/collect/namer/namer_link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/files/opener_child.h"
#include "symbols/parser/parser_child.h"
#include "user/collect/naming/ban_list.h"
#include "user/collect/naming/jvm_ask.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/helper.h"
#include "user/sandbox/launcher.h"
#include "user/sandbox/role_sandbox.h"
#include "user/collect/namer/hang_place.h"
#include "user/collect/namer/namer.h"
#include "user/collect/namer/namer_link_internal.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/naming/work_note.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"

/* Its socket says when it ends; work that it begins by itself is watched that much later. */
#define IDLE_TICK_NS	 (10 * CLOCK_NS_PER_S)
#define RETRY_NS	 CLOCK_NS_PER_S
#define START_BURST	 16u
#define START_REFILL_NS	 (5 * CLOCK_NS_PER_S)
#define READY_TIMEOUT_NS (20 * CLOCK_NS_PER_S)
#define READY_POLL_MS	 100
#define TOLD_HUNG	 2u /* by name; the others are counted */
#define STRIKE_NS	 (600 * CLOCK_NS_PER_S)
#define LOOK_TICK_NS	 (50 * CLOCK_NS_PER_MS)
#define HUNG_LOOK_NS	 (10 * CLOCK_NS_PER_S) /* between looks at one of them */
#define STREAM_MAX_BYTES (64u << 20)	       /* one stream's text and lines, with room */

/*
 * A namer that was killed and has not ended, since what it waits for does not let go. Until it has,
 * nothing of its culprit is looked into: so one container has one of them, however long it may be.
 */
struct hung {
	pid_t pid; /* 0 = free place */
	struct ban who;
	struct work work;	      /* over whom it hangs */
	bool is_looked_at;	      /* what it waits for was asked */
	char place[HANG_PLACE_BYTES]; /* which is this file; "" = not known */
};

/* How a namer fell. */
enum fall_kind {
	FALL_FAILED = 0, /* crashed, ended, or broke a rule */
	FALL_KILLED,	 /* by somebody else, mostly because memory was short */
	FALL_NO_MEMORY,	 /* here, for its answer */
	FALL_HUNG,
};

enum fall_blame {
	BLAMES_NOBODY = 0,
	BLAMES_SECOND, /* nobody the first time, the account when that comes again */
	BLAMES_FIRST,  /* the process, and when that comes again its account */
};

/*
 * What follows. A copy has the tables of its maker, in which may be what that one crashed of. What is
 * banned is as large as the proof: a kill by somebody else proves nothing.
 */
static const struct fall_rule {
	const char *what; /* for the log; NULL: its wait status, or what broke, says it */
	bool copy_goes_on;
	bool is_slow; /* it took the time that tells: the next start is not one of the budget */
	enum fall_blame blames;
} fall_rules[] = {
	/* what, copy_goes_on, is_slow, blames */
	[FALL_FAILED] = { NULL, false, false, BLAMES_FIRST },
	[FALL_KILLED] = { "was killed (as by the kernel when memory is short)", true, false,
			  BLAMES_SECOND },
	[FALL_NO_MEMORY] = { NULL, true, false, BLAMES_NOBODY },
	[FALL_HUNG] = { "hung", true, true, BLAMES_FIRST },
};

struct namer_link {
	struct namer_link_options options;
	struct launcher_options launcher_options;
	struct namer_context context;
	struct launcher *launcher;
	struct packet_stream stream;
	pid_t pid;	     /* 0 = none */
	int broken;	     /* why it is to be replaced; 0 = it is not */
	enum fall_kind fall; /* of the last one */
	bool is_copy;	     /* it is one */
	struct ban_list bans;
	struct ban_list strikes; /* over whom a namer ended; each until it is forgotten */
	struct hung hung[LAUNCHER_MAX_HANGING];
	uint64_t next_hung_ns; /* CLOCK_BOOTTIME: when they are looked at */
	struct hang_look look; /* at what one of them waits for: */
	pid_t looked_at;
	/* As the last tick saw it. */
	struct work work;
	uint64_t sequence;
	uint64_t cpu_ns;
	uint32_t stalled_ticks;
	char hung_state;       /* as in /proc/PID/stat */
	uint64_t next_tick_ns; /* CLOCK_BOOTTIME */
	bool was_busy;
	struct start_budget budget;
	uint64_t start_cnt;
	uint64_t ban_cnt;
	bool is_orphan; /* the launcher has ended */
};

/* ---- starting ---- */

static int parser_main(const struct launcher_child *child)
{
	return parser_child_main(child->socket_fd);
}

static int opener_main(const struct launcher_child *child)
{
	return opener_child_main(child->socket_fd);
}

static int confine_launcher(void *ctx)
{
	const struct namer_context *context = ctx;

	return role_sandbox_launcher(context->attaches);
}

static int send_ban(struct namer_link *link, const struct ban *ban)
{
	const struct naming_banned banned = {
		.account = ban->account,
		.start_ns = ban->start_ns,
		.until_boot_ns = ban->until_boot_ns,
		.pid = ban->pid,
	};

	return packet_stream_put_bytes(&link->stream, NAMING_BANNED, &banned, sizeof(banned));
}

static int send_bans(struct namer_link *link, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; i < BAN_LIST_MAX && !err; i++) {
		const struct ban *ban = &link->bans.bans[i];

		if (ban->cnt && ban->until_boot_ns > now_ns)
			err = send_ban(link, ban);
	}
	return err;
}

/* This is the namer from now on; takes the socket over. */
static void use_namer(struct namer_link *link, int socket_fd)
{
	packet_stream_release(&link->stream);
	packet_stream_init(&link->stream, socket_fd, STREAM_MAX_BYTES);
	link->start_cnt++;
	link->broken = 0;
	link->stalled_ticks = 0;
	link->cpu_ns = 0;
	link->is_copy = false;
}

static int start_namer(struct namer_link *link, uint64_t now_ns)
{
	const uint64_t numbers[LAUNCHER_NUMBERS] = {
		[NAMER_JIT] = link->options.jit,
		[NAMER_IGNORES_OPT_OUT] = link->options.ignores_opt_out,
		[NAMER_WANTS_TICKS] = link->options.wants_ticks,
		[NAMER_LOG_LEVEL] = log_level(),
		[NAMER_KEEPS_PARAMETERS] = link->options.keeps_parameters,
	};
	int socket_fd;
	int err = launcher__start(link->launcher, LAUNCHER_NAMER, numbers, &socket_fd, &link->pid);

	if (err) {
		link->pid = 0;
		return err;
	}
	use_namer(link, socket_fd);
	return send_bans(link, now_ns);
}

static struct naming_options present_options(const struct namer_link *link)
{
	return (struct naming_options){
		.jit = link->options.jit,
		.ignores_opt_out = link->options.ignores_opt_out,
		.wants_ticks = link->options.wants_ticks,
		.log_level = log_level(),
		.keeps_parameters = link->options.keeps_parameters,
	};
}

/* The copy that the last namer made of itself (namer_copy.h) goes on. -ENOENT: there is none. */
static int wake_copy(struct namer_link *link, uint64_t now_ns)
{
	const struct naming_options options = present_options(link);
	int socket_fd;
	int err = launcher__take_copy(link->launcher, &socket_fd, &link->pid);

	if (err) {
		link->pid = 0;
		return err;
	}
	use_namer(link, socket_fd);
	link->is_copy = true;
	err = packet_stream_put_bytes(&link->stream, NAMING_AWAKE, &options, sizeof(options));
	if (!err)
		err = send_bans(link, now_ns);
	if (err) {
		(void)launcher__end(link->launcher, link->pid);
		packet_stream_release(&link->stream);
		link->pid = 0;
	}
	return err;
}

/* The first one must work: an error of it would be one of all that follow. */
static int await_ready(struct namer_link *link)
{
	uint64_t end_ns = clock_monotonic_ns() + READY_TIMEOUT_NS;
	struct packet packet;
	int err = -EAGAIN;

	while (err == -EAGAIN && clock_monotonic_ns() < end_ns) {
		struct pollfd wait = { .fd = link->stream.fd, .events = POLLIN };

		(void)poll(&wait, 1, READY_POLL_MS);
		err = packet_stream_fill(&link->stream);
		if (!err && !packet_stream_next(&link->stream, &packet, &err) && !err)
			err = -EAGAIN;
	}
	if (err == -EAGAIN)
		return -ETIMEDOUT;
	if (!err && packet.kind != NAMING_READY)
		err = -EBADMSG;
	if (err == -EPIPE) {
		int exit_err = child_process_err(launcher__end(link->launcher, link->pid));

		if (exit_err)
			err = exit_err;
	}
	return err;
}

static int link_prepare(struct namer_link *link, const struct namer_link_options *options,
			const launcher_main_fn *programs)
{
	link->options = *options;
	link->stream.fd = -1;
	link->budget =
		(struct start_budget){ .burst = START_BURST, .interval_ns = START_REFILL_NS };
	link->context = (struct namer_context){
		.note = work_note__new(),
		.kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC),
		.attaches = options->attaches,
	};
	link->launcher_options = (struct launcher_options){
		.confine = confine_launcher,
		.ctx = &link->context,
		.kept_fd = &link->context.kallsyms_fd,
	};
	memcpy(link->launcher_options.programs, programs, sizeof(link->launcher_options.programs));
	return link->context.note ? 0 : -ENOMEM;
}

int namer_link_open_with(const struct namer_link_options *options, const launcher_main_fn *programs,
			 struct namer_link **out, char *why, size_t why_len)
{
	struct namer_link *link = calloc(1, sizeof(*link));
	int err = link ? link_prepare(link, options, programs) : -ENOMEM;

	if (!err)
		err = launcher__open(&link->launcher_options, &link->launcher);
	if (!err)
		err = start_namer(link, clock_boot_ns());
	if (!err)
		err = await_ready(link);
	if (err) {
		snprintf(why, why_len, "the process that names cannot be started: %s",
			 err == -EAGAIN ? "no more processes can be started" : errstr(err));
		namer_link__free(link);
		return err;
	}
	*out = link;
	return 0;
}

int namer_link__open(const struct namer_link_options *options, struct namer_link **out, char *why,
		     size_t why_len)
{
	static const launcher_main_fn programs[LAUNCHER_KIND_CNT] = {
		[LAUNCHER_NAMER] = namer__main,	     [LAUNCHER_PARSER] = parser_main,
		[LAUNCHER_OPENER] = opener_main,     [LAUNCHER_ATTACH] = jvm_ask_child_main,
		[LAUNCHER_LOOKER] = hang_place_main,
	};

	return namer_link_open_with(options, programs, out, why, why_len);
}

void namer_link__free(struct namer_link *link)
{
	if (!link)
		return;
	packet_stream_release(&link->stream);
	if (link->look.pid)
		close(link->look.fd);
	launcher__free(link->launcher);
	work_note__free(link->context.note);
	if (link->context.kallsyms_fd >= 0)
		close(link->context.kallsyms_fd);
	free(link);
}

struct packet_stream *namer_link__stream(struct namer_link *link)
{
	return &link->stream;
}

bool namer_link__is_up(const struct namer_link *link)
{
	return link->pid && !link->broken;
}

int namer_link__change(struct namer_link *link, const struct namer_link_options *options,
		       bool forgets)
{
	struct naming_options told;

	link->options = *options;
	told = present_options(link);
	told.forgets = forgets;
	return packet_stream_put_bytes(&link->stream, NAMING_OPTIONS, &told, sizeof(told));
}

void namer_link__give_up(struct namer_link *link, uint64_t window_id)
{
	work_note__give_up(link->context.note, window_id);
}

void namer_link__broke(struct namer_link *link, int err)
{
	if (!link->broken)
		link->broken = err;
}

/* ---- watching ---- */

/* True: it has been at the same for too long without doing anything. */
static bool hangs(struct namer_link *link)
{
	bool is_busy = false;
	uint64_t cpu_ns, sequence;
	int state;

	sequence = work_note__read(link->context.note, &link->work, &is_busy);
	cpu_ns = clock_process_ns(link->pid);
	if (!is_busy || sequence != link->sequence || cpu_ns != link->cpu_ns) {
		link->sequence = sequence;
		link->cpu_ns = cpu_ns;
		link->stalled_ticks = 0;
		return false;
	}
	if (++link->stalled_ticks < NAMER_LINK_HANGS_TICKS)
		return false;
	state = launcher__state(link->launcher, link->pid);
	/*
	 * R: it waits for a CPU; T, t: it was stopped. A zombie has closed its socket. The launcher
	 * takes its time on a host where the namer had no CPU: it may have run until it answered.
	 */
	if ((state == 'D' || state == 'S') && clock_process_ns(link->pid) == cpu_ns) {
		link->hung_state = (char)state;
		return true;
	}
	link->stalled_ticks = 0;
	return false;
}

/* For the log. */
struct fall {
	char what[64];
	const struct ban *ban; /* NULL: no process is to blame */
	uint32_t pid;	       /* who was worked on; 0 = nobody */
};

/* Where the note has no name: no process may be there any more, or be seen (hidepid). */
static void read_comm(struct work *work)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (!*work->comm && !fs_read_filef(AT_FDCWD, WORK_COMM_BYTES, &text,
					   "/proc/%" PRIu32 "/comm", work->id.pid))
		(void)snprintf(work->comm, WORK_COMM_BYTES, "%.*s",
			       (int)strcspn(strbuf_str(&text), "\n"), strbuf_str(&text));
}

/* "process 12 (java) of /shop", what of it is known. */
static void put_who(struct strbuf *out, const struct work *work)
{
	strbuf_printf(out, "process %" PRIu32, work->id.pid);
	if (*work->comm)
		strbuf_printf(out, " (%s)", work->comm);
	if (*work->owner)
		strbuf_printf(out, " of %s", work->owner);
}

static enum fall_kind fall_of(const struct namer_link *link, int status)
{
	if (link->broken == -ETIME)
		return FALL_HUNG;
	if (link->broken == -ENOMEM)
		return FALL_NO_MEMORY;
	/* Not by the launcher: it had ended before that was asked to end it. */
	if (link->broken == -EPIPE && status >= 0 && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGKILL)
		return FALL_KILLED;
	return FALL_FAILED;
}

/* True: one ended over this account, or where none is known over this process, not long ago. */
static bool strike(struct namer_link *link, const struct ban *who, uint64_t now_ns)
{
	bool is_second =
		ban_list_find(&link->strikes, who->account, who->pid, who->start_ns, now_ns);
	struct ban until = *who;

	until.until_boot_ns = now_ns + STRIKE_NS;
	ban_list_put(&link->strikes, &until);
	return is_second;
}

/* Of an account over which one hangs for ever there must be no second one. */
static void ban_culprit(struct namer_link *link, int status, struct fall *fall, uint64_t now_ns)
{
	enum fall_blame blames = fall_rules[link->fall].blames;
	struct work *work = &link->work;
	struct ban who = { .account = work->account,
			   .start_ns = work->id.start_ns,
			   .pid = work->id.pid };
	bool is_second;

	if (!work->id.pid || blames == BLAMES_NOBODY)
		return;
	fall->pid = work->id.pid;
	read_comm(work);
	is_second = strike(link, &who, now_ns);
	if (blames == BLAMES_SECOND && !is_second)
		return;
	if (status >= 0 && !is_second)
		who.account = 0;
	fall->ban = ban_list_add(&link->bans, &who, now_ns);
	link->ban_cnt++;
}

static void report(const struct namer_link *link, const struct fall *fall, const char *next,
		   uint64_t now_ns)
{
	__cleanup_strbuf struct strbuf who = STRBUF_INIT;
	const struct ban *ban = fall->ban;

	put_who(&who, &link->work);
	if (link->fall == FALL_HUNG)
		strbuf_printf(&who, " (state %c)", link->hung_state);
	if (!ban && fall->pid)
		pr_warn("namer: the process that names %s at work on %s, which is not blamed for that; %s\n",
			fall->what, strbuf_str(&who), next);
	else if (!ban)
		pr_warn("namer: the process that names %s; %s\n", fall->what, next);
	else
		pr_warn("namer: the process that names %s over %s; for %" PRIu64
			" s nothing of it%s is read, and its frames have no names; %s\n",
			fall->what, strbuf_str(&who),
			(uint64_t)((ban->until_boot_ns - now_ns) / CLOCK_NS_PER_S),
			ban->account ? ", and of its container," : "", next);
}

/* It does not end, though it was killed. */
static void remember_hung(struct namer_link *link, pid_t pid, const struct fall *fall)
{
	size_t i = 0;

	while (i < LAUNCHER_MAX_HANGING && link->hung[i].pid)
		i++;
	if (i == LAUNCHER_MAX_HANGING)
		return;
	link->hung[i] = (struct hung){ .pid = pid, .who = *fall->ban, .work = link->work };
}

static bool has_ended(const struct namer_link *link, const struct hung *hung)
{
	return launcher__state(link->launcher, hung->pid) == 0;
}

/* Bans of those over which one hangs do not end before it has. */
static void hold_bans(struct namer_link *link, uint64_t now_ns)
{
	if (now_ns < link->next_hung_ns)
		return;
	link->next_hung_ns = now_ns + HUNG_LOOK_NS;
	for (size_t i = 0; i < LAUNCHER_MAX_HANGING; i++) {
		struct hung *hung = &link->hung[i];
		const struct ban *ban;

		if (!hung->pid)
			continue;
		if (has_ended(link, hung)) {
			*hung = (struct hung){ 0 };
			continue;
		}
		ban = ban_list_find(&link->bans, hung->who.account, hung->who.pid,
				    hung->who.start_ns, now_ns);
		if (ban && ban->until_boot_ns > now_ns + 2 * HUNG_LOOK_NS)
			continue;
		hung->who.cnt = ban ? ban->cnt : hung->who.cnt;
		hung->who.until_boot_ns = now_ns + BAN_FIRST_NS;
		ban_list_put(&link->bans, &hung->who);
		/* One that is not told now is told with all bans when the next one begins. */
		if (namer_link__is_up(link))
			(void)send_ban(link, &hung->who);
	}
}

static void report_place(const struct hung *hung)
{
	__cleanup_strbuf struct strbuf who = STRBUF_INIT;

	put_who(&who, &hung->work);
	if (*hung->place)
		pr_warn("namer: what hangs over %s waits for its file %s: end the server of that file, or the container\n",
			strbuf_str(&who), hung->place);
}

/* What those that hang wait for, one after the other. */
static void look_at_hung(struct namer_link *link, uint64_t now_ns)
{
	char place[HANG_PLACE_BYTES];
	pid_t looked = link->look.pid ? link->looked_at : 0;

	if (looked && !hang_look_take(&link->look, link->launcher, now_ns, place))
		return;
	for (size_t i = 0; i < LAUNCHER_MAX_HANGING; i++) {
		struct hung *hung = &link->hung[i];
		const struct hang_question question = {
			.hanging = (uint32_t)hung->pid,
			.over = hung->work.id.pid,
			.start_ns = hung->work.id.start_ns,
		};

		if (looked && hung->pid == looked) {
			memcpy(hung->place, place, sizeof(place));
			report_place(hung);
		}
		if (!hung->pid || hung->is_looked_at || link->look.pid)
			continue;
		hung->is_looked_at = true;
		/* Where nobody can look, who hangs over whom is told without it. */
		if (!hang_look_start(&link->look, link->launcher, &question, now_ns))
			link->looked_at = hung->pid;
	}
}

static void end_namer(struct namer_link *link, struct fall *fall, uint64_t now_ns)
{
	bool is_busy;
	int status;

	(void)work_note__read(link->context.note, &link->work, &is_busy);
	status = launcher__end(link->launcher, link->pid);
	link->fall = fall_of(link, status);
	if (fall_rules[link->fall].what)
		snprintf(fall->what, sizeof(fall->what), "%s", fall_rules[link->fall].what);
	else if (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		snprintf(fall->what, sizeof(fall->what), "ended by signal %d", WTERMSIG(status));
	else
		snprintf(fall->what, sizeof(fall->what), "ended (%s)", errstr(link->broken));
	ban_culprit(link, status, fall, now_ns);
	if (status < 0 && fall->ban)
		remember_hung(link, link->pid, fall);
	/* The next one may end before it writes a note: the process of this one is not to blame then. */
	work_note__idle(link->context.note);
	link->pid = 0;
	packet_stream_release(&link->stream);
}

/* 0, or -errno: there is none now, and a later tick tries again. */
static int start_next(struct namer_link *link, const char **how_out, uint64_t now_ns)
{
	const struct fall_rule *rule = &fall_rules[link->fall];
	int err;

	*how_out = "another one is started later";
	/* Not one that could not be started at once. */
	if (!(link->broken && rule->is_slow) && !start_budget_take(&link->budget, now_ns))
		return -EAGAIN;
	*how_out = "its copy goes on, with all names that were known";
	err = rule->copy_goes_on ? wake_copy(link, now_ns) : -ENOENT;
	if (!err)
		return 0;
	*how_out = "another one was started, which reads all names again";
	err = start_namer(link, now_ns);
	link->is_orphan = err == -EPIPE;
	if (!err)
		return 0;
	pr_warn_limited(
		"namer: the process that names cannot be started again: %s; samples are counted but not named\n",
		errstr(err));
	*how_out = "there is none now";
	return err;
}

bool namer_link__tick(struct namer_link *link, uint64_t now_ns)
{
	struct fall fall = { 0 };
	bool is_busy = false;
	struct work work;
	const char *how;
	int err;

	hold_bans(link, now_ns);
	look_at_hung(link, now_ns);
	(void)work_note__read(link->context.note, &work, &is_busy);
	/* One that has begun to work is looked at from now on. */
	if (now_ns < link->next_tick_ns && !link->broken && (link->was_busy || !is_busy))
		return false;
	if (link->pid && !link->broken && hangs(link))
		link->broken = -ETIME;
	link->was_busy = is_busy;
	link->next_tick_ns = now_ns + (is_busy ? NAMER_LINK_TICK_NS : IDLE_TICK_NS);
	if (link->pid && !link->broken)
		return false;
	if (link->pid)
		end_namer(link, &fall, now_ns);
	link->was_busy = false;
	err = start_next(link, &how, now_ns);
	if (*fall.what)
		report(link, &fall, how, now_ns);
	if (err) {
		link->next_tick_ns = now_ns + RETRY_NS;
		link->broken = 0; /* there is none that could be */
	}
	return err == 0;
}

int namer_link__log_fd(const struct namer_link *link)
{
	return launcher__log_fd(link->launcher);
}

void namer_link__relay(struct namer_link *link)
{
	launcher__relay(link->launcher);
}

bool namer_link__is_copy(const struct namer_link *link)
{
	return link->is_copy;
}

uint64_t namer_link__due_boot_ns(const struct namer_link *link, uint64_t now_ns)
{
	bool is_busy = false;
	uint64_t due_ns = link->next_tick_ns;
	struct work work;

	if (link->broken)
		return now_ns;
	if (link->look.pid)
		return now_ns + LOOK_TICK_NS < due_ns ? now_ns + LOOK_TICK_NS : due_ns;
	/* It may have begun to work by itself. */
	(void)work_note__read(link->context.note, &work, &is_busy);
	if (is_busy && due_ns > now_ns + NAMER_LINK_TICK_NS)
		due_ns = now_ns + NAMER_LINK_TICK_NS;
	/* It has finished the work that the next tick was for. */
	if (!is_busy && link->was_busy)
		due_ns += IDLE_TICK_NS - NAMER_LINK_TICK_NS;
	return due_ns;
}

bool namer_link__has_launcher(const struct namer_link *link)
{
	return !link->is_orphan;
}

void namer_link__hanging(const struct namer_link *link, char *out, size_t len)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint32_t cnt = 0;

	*out = '\0';
	for (size_t i = 0; i < LAUNCHER_MAX_HANGING; i++) {
		const struct hung *hung = &link->hung[i];

		if (!hung->pid || has_ended(link, hung) || ++cnt > TOLD_HUNG)
			continue;
		strbuf_puts(&text, cnt == 1 ? "" : ", ");
		if (*hung->place)
			strbuf_printf(&text, "%s, a file of ", hung->place);
		put_who(&text, &hung->work);
	}
	if (!cnt || strbuf_error(&text))
		return;
	if (cnt > TOLD_HUNG)
		strbuf_printf(&text, " and %u more", cnt - TOLD_HUNG);
	snprintf(
		out, len,
		"%u process%s of jbpf's hang%s in the kernel, and end%s when what is waited for answers: over %s",
		cnt, cnt == 1 ? "" : "es", cnt == 1 ? "s" : "", cnt == 1 ? "s" : "",
		strbuf_str(&text));
}

void namer_link__stats(const struct namer_link *link, struct namer_link_stats *out)
{
	*out = (struct namer_link_stats){
		.launcher_pid = launcher__pid(link->launcher),
		.namer_pid = link->pid,
		.restart_cnt = link->start_cnt ? link->start_cnt - 1 : 0,
		.ban_cnt = link->ban_cnt,
	};
}
