// SPDX-License-Identifier: Apache-2.0
/* Budgets and bills of containers; see account.h. */
#include "user/util/account.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNTS_BUCKETS 1024u
#define NS_PER_S	 1000000000ull

struct pool_limits {
	size_t max_bytes;	 /* of all accounts */
	size_t guaranteed_bytes; /* of one, in a full pool */
};

static const struct pool_limits pools[ACCOUNT_POOL_CNT] = {
	[ACCOUNT_POOL_NAMES] = { 64u << 20, 1u << 20 },
	[ACCOUNT_POOL_MAPS] = { 192u << 20, 8u << 20 },
	[ACCOUNT_POOL_TABLES] = { SIZE_MAX / 4, 0 }, /* object_cache.c drops tables, takes all */
};

/* Credit that comes back with time; below 0 it is a debt. */
struct bucket {
	int64_t credit_ns;
	uint64_t filled_ns; /* up to when */
};

struct account {
	struct account *next; /* in its bucket */
	struct accounts *accounts;
	char *name;
	uint64_t id;
	size_t user_cnt;
	bool is_host; /* the host's own: no limits, nothing is counted */
	struct bucket cpu;
	struct bucket work;
	struct bucket failures; /* in ns of time that each takes to be forgotten */
	size_t held[ACCOUNT_POOL_CNT];
	uint32_t hanging_cnt;
	/* Of this window. */
	size_t text_bytes;
	uint64_t spent_ns;
	uint64_t worked_ns;
	/* CPU time of windows before, less what one may use up without being mentioned. */
	uint64_t busy_ns;
	uint64_t stack_bytes;
	uint64_t reading_bytes;
	uint64_t cuts[ACCOUNT_CUT_CNT];
};

struct accounts {
	struct account *buckets[ACCOUNTS_BUCKETS];
	size_t cnt;
	struct bucket cpu;
	uint32_t cpu_cnt;
	uint64_t window_ns;
	size_t text_bytes; /* that one may have whole */
	size_t held[ACCOUNT_POOL_CNT];
	size_t holder_cnt[ACCOUNT_POOL_CNT]; /* accounts that hold anything */
};

/* ---- the table ---- */

struct accounts *accounts__new(void)
{
	struct accounts *accounts = calloc(1, sizeof(*accounts));

	if (!accounts)
		return NULL;
	accounts->cpu.credit_ns = (int64_t)ACCOUNT_HOST_CPU_BURST_NS;
	accounts__scale(accounts, 1, 10 * NS_PER_S);
	return accounts;
}

void accounts__scale(struct accounts *accounts, uint32_t cpu_cnt, uint64_t window_ns)
{
	size_t bytes = (size_t)cpu_cnt * ACCOUNT_TEXT_BYTES_PER_CPU;

	if (bytes < ACCOUNT_TEXT_MIN_BYTES)
		bytes = ACCOUNT_TEXT_MIN_BYTES;
	accounts->cpu_cnt = cpu_cnt;
	accounts->window_ns = window_ns;
	accounts->text_bytes = bytes < ACCOUNT_TEXT_MAX_BYTES ? bytes : ACCOUNT_TEXT_MAX_BYTES;
}

static void account_free(struct account *account)
{
	account->accounts->cnt--;
	free(account->name);
	free(account);
}

void accounts__free(struct accounts *accounts)
{
	if (!accounts)
		return;
	for (size_t i = 0; i < ACCOUNTS_BUCKETS; i++)
		while (accounts->buckets[i]) {
			struct account *next = accounts->buckets[i]->next;

			account_free(accounts->buckets[i]);
			accounts->buckets[i] = next;
		}
	free(accounts);
}

struct account *accounts__find(const struct accounts *accounts, uint64_t id)
{
	struct account *account = accounts->buckets[id % ACCOUNTS_BUCKETS];

	while (account && account->id != id)
		account = account->next;
	return account;
}

struct account *accounts__get(struct accounts *accounts, uint64_t id, const char *name)
{
	struct account *account = accounts__find(accounts, id);

	if (account)
		return account__ref(account);
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->name = strdup(name);
	if (!account->name) {
		free(account);
		return NULL;
	}
	account->accounts = accounts;
	account->id = id;
	account->user_cnt = 1;
	account->cpu.credit_ns = (int64_t)ACCOUNT_CPU_BURST_NS;
	account->work.credit_ns = (int64_t)ACCOUNT_WORK_BURST_NS;
	account->failures.credit_ns =
		(int64_t)(ACCOUNT_FAILURES_BURST * ACCOUNT_FAILURES_INTERVAL_NS);
	account->next = accounts->buckets[id % ACCOUNTS_BUCKETS];
	accounts->buckets[id % ACCOUNTS_BUCKETS] = account;
	accounts->cnt++;
	return account;
}

struct account *account_of_host(void)
{
	static char name[] = "";
	static struct account host = { .name = name, .id = ACCOUNT_NONE, .is_host = true };

	return &host;
}

/* Has it limits, and a bill? */
static bool is_counted(const struct account *account)
{
	return account && !account->is_host;
}

struct account *account__ref(struct account *account)
{
	if (is_counted(account))
		account->user_cnt++;
	return account;
}

void account__put(struct account *account)
{
	if (is_counted(account))
		account->user_cnt--;
}

size_t accounts__count(const struct accounts *accounts)
{
	return accounts->cnt;
}

uint64_t account__id(const struct account *account)
{
	return account ? account->id : ACCOUNT_NONE;
}

const char *account__name(const struct account *account)
{
	return account ? account->name : "";
}

/* ---- time ---- */

/* `percent` of the time since it was filled last comes back. */
static void bucket_fill(struct bucket *bucket, uint64_t percent, uint64_t burst_ns, uint64_t now_ns)
{
	uint64_t since_ns =
		bucket->filled_ns && now_ns > bucket->filled_ns ? now_ns - bucket->filled_ns : 0;
	uint64_t missing_ns = (uint64_t)((int64_t)burst_ns - bucket->credit_ns);
	uint64_t back_ns = since_ns / 100 * percent;

	bucket->credit_ns += (int64_t)(back_ns < missing_ns ? back_ns : missing_ns);
	bucket->filled_ns = now_ns;
}

/* As long as all together have spent too much nobody gets more, but newcomers have their burst. */
static void account_fill(struct account *account, uint64_t now_ns)
{
	struct bucket *host = &account->accounts->cpu;
	uint64_t percent;

	bucket_fill(host, ACCOUNT_HOST_CPU_REFILL_PERCENT, ACCOUNT_HOST_CPU_BURST_NS, now_ns);
	percent = host->credit_ns > 0 ? ACCOUNT_CPU_REFILL_PERCENT : 0;
	bucket_fill(&account->cpu, percent, ACCOUNT_CPU_BURST_NS, now_ns);
	bucket_fill(&account->work,
		    ACCOUNT_WORK_REFILL_PERCENT + (uint64_t)account->accounts->cpu_cnt *
							  ACCOUNT_WORK_REFILL_PERCENT_PER_CPU,
		    ACCOUNT_WORK_BURST_NS, now_ns);
	bucket_fill(&account->failures, 100, ACCOUNT_FAILURES_BURST * ACCOUNT_FAILURES_INTERVAL_NS,
		    now_ns);
}

static bool account_may_fail(const struct account *account)
{
	return account->failures.credit_ns >= (int64_t)ACCOUNT_FAILURES_INTERVAL_NS;
}

bool account__may_read(struct account *account, uint64_t now_ns)
{
	if (!is_counted(account))
		return account;
	account_fill(account, now_ns);
	return account->cpu.credit_ns > 0 && account_may_fail(account);
}

static void bucket_spend(struct bucket *bucket, uint64_t ns)
{
	/* One request cannot take that long; a clock that jumped is no debt for life. */
	if (ns > 60 * NS_PER_S)
		ns = 60 * NS_PER_S;
	bucket->credit_ns -= (int64_t)ns;
}

void account__spend(struct account *account, uint64_t cpu_ns, uint64_t now_ns)
{
	if (!is_counted(account))
		return;
	account_fill(account, now_ns);
	bucket_spend(&account->cpu, cpu_ns);
	bucket_spend(&account->accounts->cpu, cpu_ns);
	account->spent_ns += cpu_ns;
}

void account__note_failure(struct account *account, uint64_t now_ns)
{
	if (!is_counted(account))
		return;
	account_fill(account, now_ns);
	bucket_spend(&account->failures, ACCOUNT_FAILURES_INTERVAL_NS);
}

/* ---- waiting ---- */

bool account__may_open(struct account *account, uint64_t now_ns)
{
	if (!is_counted(account))
		return account;
	account_fill(account, now_ns);
	if (account->hanging_cnt < ACCOUNT_MAX_HANGING && account_may_fail(account))
		return true;
	account->cuts[ACCOUNT_CUT_HANGING]++;
	return false;
}

void account__note_hanging(struct account *account)
{
	if (is_counted(account))
		account->hanging_cnt++;
}

void account__note_answered(struct account *account)
{
	if (is_counted(account) && account->hanging_cnt)
		account->hanging_cnt--;
}

/* ---- memory ---- */

int account__take(struct account *account, enum account_pool pool, size_t bytes)
{
	const struct pool_limits *limits = &pools[pool];
	struct accounts *accounts;
	size_t mine, all;

	if (!is_counted(account))
		return account || !bytes ? 0 : -EDQUOT;
	if (!bytes)
		return 0;
	accounts = account->accounts;
	all = accounts->held[pool];
	if (__builtin_add_overflow(account->held[pool], bytes, &mine))
		return -EDQUOT;
	/* What it holds already is not free for it, but is not others' either. */
	if (all > limits->max_bytes || mine > limits->max_bytes - all)
		if (mine > limits->guaranteed_bytes || all / 2 > limits->max_bytes)
			return -EDQUOT;
	accounts->holder_cnt[pool] += account->held[pool] == 0;
	account->held[pool] = mine;
	accounts->held[pool] += bytes;
	return 0;
}

void account__give(struct account *account, enum account_pool pool, size_t bytes)
{
	if (!is_counted(account))
		return;
	account->held[pool] -= bytes;
	account->accounts->held[pool] -= bytes;
	account->accounts->holder_cnt[pool] -= account->held[pool] == 0;
}

size_t account__held(const struct account *account, enum account_pool pool)
{
	return account ? account->held[pool] : 0;
}

bool account__is_over_share(const struct account *account, enum account_pool pool)
{
	const struct accounts *accounts;

	if (!is_counted(account))
		return false;
	accounts = account->accounts;
	return accounts->holder_cnt[pool] &&
	       account->held[pool] > accounts->held[pool] / accounts->holder_cnt[pool];
}

bool account__is_crowded(const struct account *account, enum account_pool pool)
{
	return is_counted(account) && account->accounts->held[pool] > pools[pool].max_bytes / 2;
}

size_t accounts__held(const struct accounts *accounts, enum account_pool pool)
{
	return accounts->held[pool];
}

/* ---- text ---- */

enum account_text account__text(const struct account *account)
{
	size_t whole, more;

	if (!is_counted(account))
		return account ? ACCOUNT_TEXT_WHOLE : ACCOUNT_TEXT_NOTHING;
	whole = account->accounts->text_bytes;
	more = account->text_bytes > whole ? account->text_bytes - whole : 0;
	if (account->text_bytes < whole)
		return ACCOUNT_TEXT_WHOLE;
	/* Half as much again in all. */
	if (more < whole / 4)
		return ACCOUNT_TEXT_SHORT_NAMES;
	if (more < whole / 4 + whole / 8)
		return ACCOUNT_TEXT_SHALLOW;
	return more < whole / 2 ? ACCOUNT_TEXT_LEAF : ACCOUNT_TEXT_NOTHING;
}

void account__add_text(struct account *account, size_t bytes)
{
	if (is_counted(account))
		account->text_bytes += bytes;
}

/* ---- the bill ---- */

void account__note_cut(struct account *account, enum account_cut cut, uint64_t cnt)
{
	if (is_counted(account))
		account->cuts[cut] += cnt;
}

uint64_t account__cut_cnt(const struct account *account, enum account_cut cut)
{
	return account ? account->cuts[cut] : 0;
}

uint64_t accounts__cut_cnt(const struct accounts *accounts, enum account_cut cut)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < ACCOUNTS_BUCKETS; i++)
		for (const struct account *account = accounts->buckets[i]; account;
		     account = account->next)
			cnt += account->cuts[cut];
	return cnt;
}

void account__usage(const struct account *account, struct account_usage *out)
{
	*out = (struct account_usage){
		.text_bytes = account->text_bytes,
		.text_max_bytes = account->accounts->text_bytes,
		.cpu_ns = account->spent_ns + account->worked_ns,
		.credit_ns = account->cpu.credit_ns,
		.stack_bytes = account->stack_bytes,
	};
	memcpy(out->held, account->held, sizeof(out->held));
}

void accounts__each(const struct accounts *accounts, account_fn fn, void *ctx)
{
	for (size_t i = 0; i < ACCOUNTS_BUCKETS; i++)
		for (const struct account *account = accounts->buckets[i]; account;
		     account = account->next)
			fn(ctx, account);
}

struct line {
	char *out;
	size_t len; /* room */
	size_t used;
};

static __attribute__((format(printf, 2, 3))) void line_add(struct line *line, const char *format,
							   ...)
{
	va_list arguments;
	int added;

	va_start(arguments, format);
	added = vsnprintf(line->out + line->used, line->len - line->used, format, arguments);
	va_end(arguments);
	if (added > 0)
		line->used += (size_t)added;
	if (line->used >= line->len)
		line->used = line->len - 1;
}

/* "1,234" */
static const char *grouped(uint64_t number, char out[32])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

void account__note_work(struct account *account, uint64_t cpu_ns)
{
	if (!is_counted(account))
		return;
	account->worked_ns += cpu_ns;
	bucket_spend(&account->work, cpu_ns);
}

bool account__may_work(struct account *account, uint64_t now_ns)
{
	if (!is_counted(account))
		return account;
	account_fill(account, now_ns);
	return account->work.credit_ns > 0;
}

void account__note_reading(struct account *account, uint64_t bytes)
{
	if (is_counted(account) && account->reading_bytes < bytes)
		account->reading_bytes = bytes;
}

void account__note_stacks(struct account *account, uint64_t bytes)
{
	if (is_counted(account))
		account->stack_bytes += bytes;
}

static void add_mib(struct line *line, const char *text, uint64_t bytes, uint64_t told_bytes)
{
	if (bytes > told_bytes)
		line_add(line, "%s%s%.1f MiB", line->used ? "; " : "", text,
			 (double)bytes / (1 << 20));
}

/* What it used up, where that is much or something was cut. */
static void add_usage(struct line *line, const struct account *account)
{
	const struct accounts *accounts = account->accounts;
	uint64_t told_bytes = (uint64_t)ACCOUNT_TOLD_BYTES_PER_CPU * accounts->cpu_cnt;
	uint64_t cpu_ns = account->spent_ns + account->worked_ns;

	uint64_t held_bytes = 0;

	for (size_t i = 0; i < ACCOUNT_POOL_CNT; i++)
		held_bytes += account->held[i];
	add_mib(line, "memory for its names, maps and tables: ", held_bytes, ACCOUNT_TOLD_BYTES);
	add_mib(line, "memory while one of its files was read: ", account->reading_bytes,
		ACCOUNT_TOLD_READING_BYTES);
	add_mib(line, "new stacks: ", account->stack_bytes, told_bytes);
	add_mib(line, "text: ", account->text_bytes, told_bytes);
	if ((cpu_ns && account->busy_ns + cpu_ns > ACCOUNT_TOLD_CPU_NS) ||
	    (line->used && cpu_ns >= NS_PER_S / 10))
		line_add(line, "%sCPU time of jbpfd for it: %.1f s", line->used ? "; " : "",
			 (double)cpu_ns / NS_PER_S);
}

static bool add_cuts(struct line *line, const struct account *account)
{
	static const char *const texts[ACCOUNT_CUT_CNT] = {
		[ACCOUNT_CUT_NAMES] = "frames without names: ",
		[ACCOUNT_CUT_SHORT_NAMES] = "samples with short names: ",
		[ACCOUNT_CUT_DEPTH] = "samples with their last frames only: ",
		[ACCOUNT_CUT_LEAF] = "samples with one frame or none: ",
		[ACCOUNT_CUT_FILES] = "files not read: ",
		[ACCOUNT_CUT_FAILED] = "files that the parser failed at: ",
		[ACCOUNT_CUT_MAPS] = "perf maps not kept: ",
		[ACCOUNT_CUT_HANGING] = "files not opened because others hang: ",
		[ACCOUNT_CUT_LOST] = "samples lost: ",
		[ACCOUNT_CUT_WORK] = "samples not named, as it takes too much CPU time: ",
	};
	char number[32];

	for (size_t i = 0; i < ACCOUNT_CUT_CNT; i++)
		if (account->cuts[i])
			line_add(line, "%s%s%s", line->used ? "; " : "", texts[i],
				 grouped(account->cuts[i], number));
	return line->used > 0;
}

void account__bill(const struct account *account, char *out, size_t len)
{
	struct line line = { .out = out, .len = len };

	out[0] = '\0';
	if (is_counted(account) && add_cuts(&line, account))
		add_usage(&line, account);
}

static bool is_cut(const struct account *account)
{
	for (size_t i = 0; i < ACCOUNT_CUT_CNT; i++)
		if (account->cuts[i])
			return true;
	return false;
}

void account__cost(const struct account *account, char *out, size_t len)
{
	struct line line = { .out = out, .len = len };

	out[0] = '\0';
	if (is_counted(account) && !is_cut(account))
		add_usage(&line, account);
}

/* ---- windows ---- */

/* Would a new one differ from it? */
static bool account_is_plain(const struct account *account)
{
	for (size_t i = 0; i < ACCOUNT_POOL_CNT; i++)
		if (account->held[i])
			return false;
	return !account->hanging_cnt && account->cpu.credit_ns == (int64_t)ACCOUNT_CPU_BURST_NS &&
	       account->work.credit_ns == (int64_t)ACCOUNT_WORK_BURST_NS &&
	       account->failures.credit_ns ==
		       (int64_t)(ACCOUNT_FAILURES_BURST * ACCOUNT_FAILURES_INTERVAL_NS);
}

static void account_age_usage(struct account *account)
{
	uint64_t free_ns = account->accounts->window_ns / 100 * ACCOUNT_TOLD_CPU_PERCENT;

	account->busy_ns += account->spent_ns + account->worked_ns;
	account->busy_ns -= account->busy_ns < free_ns ? account->busy_ns : free_ns;
	account->spent_ns = 0;
	account->worked_ns = 0;
}

void accounts__begin_window(struct accounts *accounts, uint64_t now_ns)
{
	for (size_t i = 0; i < ACCOUNTS_BUCKETS; i++) {
		struct account **at = &accounts->buckets[i];

		while (*at) {
			struct account *account = *at;

			account_fill(account, now_ns);
			account->text_bytes = 0;
			account_age_usage(account);
			account->stack_bytes = 0;
			account->reading_bytes = 0;
			memset(account->cuts, 0, sizeof(account->cuts));
			if (account->user_cnt || !account_is_plain(account)) {
				at = &account->next;
				continue;
			}
			*at = account->next;
			account_free(account);
		}
	}
}
