// SPDX-License-Identifier: Apache-2.0
/*
 * The daily job around its statistics: days, services and the names of their files, the directory and
 * what is deleted from it, and what is said.
 */
#include <errno.h>
#include <math.h>

#include "tests/unit/store_testing.h"
#include "user/daily/daily_child.h"
#include "user/daily/daily_date.h"
#include "user/daily/daily_dir.h"
#include "user/daily/daily_report.h"
#include "user/daily/daily_services.h"
#include "user/util/cleanup.h"

#define NOON_NS TEST_NS /* 2026-11-21T12:00:00Z */

/* ---- days ---- */

static void use_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static void days_go_from_midnight_to_midnight(void **state)
{
	static const struct {
		const char *zone;
		uint32_t back;
		const char *date;
		uint64_t now_s;
		uint64_t since_s;
		uint32_t hours;
	} rows[] = {
		{ "UTC", 1, "2026-11-20", 1795262400, 1795132800, 24 },
		{ "UTC", 0, "2026-11-21", 1795262400, 1795219200, 24 },
		{ "UTC", 21, "2026-10-31", 1795262400, 1793404800, 24 },
		/* Clocks go back on 2026-10-25 and forward on 2026-03-29. */
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1, "2026-10-25", 1792980000, 1792879200, 25 },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1, "2026-03-29", 1774872000, 1774738800, 23 },
		{ "<+14>-14", 1, "2026-11-21", 1795262400, 1795168800, 24 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct daily_date date, before;

		use_zone(rows[i].zone);
		assert_int_equal(
			daily_date_before(rows[i].now_s * CLOCK_NS_PER_S, rows[i].back, &date), 0);
		assert_string_equal(date.text, rows[i].date);
		assert_int_equal(date.since_unix_ns, rows[i].since_s * CLOCK_NS_PER_S);
		assert_int_equal(date.until_unix_ns - date.since_unix_ns,
				 rows[i].hours * 3600 * CLOCK_NS_PER_S);
		assert_int_equal(daily_date_before(rows[i].now_s * CLOCK_NS_PER_S, rows[i].back + 1,
						   &before),
				 0);
		assert_int_equal(before.until_unix_ns, date.since_unix_ns);
		assert_int_equal(before.number + 1, date.number);
	}
	use_zone("UTC");
}

static void there_are_no_days_before_1970(void **state)
{
	struct daily_date date = { .number = 7 };

	(void)state;
	assert_int_equal(daily_date_before(86400 * CLOCK_NS_PER_S, 3, &date), -ERANGE);
	assert_int_equal(daily_date_before(86400 * CLOCK_NS_PER_S, UINT32_MAX, &date), -ERANGE);
	assert_int_equal(date.number, 7);
}

/* ---- services ---- */

struct labels {
	const char *service;
	const char *namespace;
	const char *container;
	const char *comm;
};

static struct window make_window(const struct labels *labels, uint64_t start_unix_ns,
				 uint64_t samples)
{
	struct window window = {
		.start_unix_ns = start_unix_ns,
		.duration_ns = WINDOW_NS,
		.pid = 17,
		.counts = { .samples = samples },
	};

	window.labels[WINDOW_LABEL_SERVICE] = labels->service;
	window.labels[WINDOW_LABEL_NAMESPACE] = labels->namespace;
	window.labels[WINDOW_LABEL_CONTAINER] = labels->container;
	window.labels[WINDOW_LABEL_COMM] = labels->comm;
	return window;
}

static void add(struct daily_services *services, const struct labels *labels,
		uint64_t start_unix_ns, uint64_t samples)
{
	const struct selection base = { 0 };
	struct window window = make_window(labels, start_unix_ns, samples);

	assert_int_equal(daily_services_add(services, &base, NOON_NS, &window), 0);
}

static const struct daily_service *find(const struct daily_services *services, const char *file)
{
	for (size_t i = 0; i < services->cnt; i++)
		if (strcmp(services->items[i].file, file) == 0)
			return &services->items[i];
	return NULL;
}

static void services_are_what_their_labels_say(void **state)
{
	struct daily_services services = { 0 };
	const struct daily_service *at;

	(void)state;
	add(&services, &(struct labels){ "shop", NULL, "shop-1", "java" }, NOON_NS - 1, 10);
	add(&services, &(struct labels){ "shop", NULL, "shop-2", "java" }, NOON_NS, 7);
	add(&services, &(struct labels){ "shop", "prod", "shop-3", "java" }, NOON_NS, 5);
	add(&services, &(struct labels){ NULL, NULL, "web", "nginx" }, NOON_NS - 5, 3);
	add(&services, &(struct labels){ NULL, NULL, NULL, "postgres" }, NOON_NS + 5, 2);
	add(&services, &(struct labels){ "idle", NULL, NULL, "java" }, NOON_NS, 0);
	assert_int_equal(daily_services_finish(&services), 0);
	assert_int_equal(services.cnt, 4);
	at = find(&services, "shop");
	assert_non_null(at);
	assert_int_equal(at->samples_before, 10);
	assert_int_equal(at->samples_after, 7);
	assert_string_equal(at->key, "service=shop");
	assert_string_equal(at->title, "service shop");
	at = find(&services, "shop@prod");
	assert_non_null(at);
	assert_string_equal(at->title, "service shop in namespace prod");
	assert_non_null(find(&services, "container+web"));
	assert_non_null(find(&services, "process+postgres"));
	daily_services_release(&services);
}

/* Each service's selection matches its own windows and those of no other one. */
static void a_selection_is_of_one_service_only(void **state)
{
	static const struct labels rows[] = {
		{ "shop", NULL, NULL, "java" },	     { "shop", "prod", NULL, "java" },
		{ "shop*", NULL, NULL, "java" },     { "*", NULL, NULL, "java" },
		{ "sho[p]", NULL, NULL, "java" },    { "a\\b", NULL, NULL, "java" },
		{ "shop", "p?od", NULL, "java" },    { NULL, NULL, "shop", "java" },
		{ NULL, NULL, "sh*", "java" },	     { NULL, NULL, NULL, "java" },
		{ NULL, NULL, NULL, "*" },	     { NULL, NULL, NULL, NULL },
		{ "a,namespace=b", NULL, NULL, "" }, { "a", "b", NULL, "" },
	};
	struct daily_services services = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(&services, &rows[i], NOON_NS, 1000 + i);
	assert_int_equal(daily_services_finish(&services), 0);
	assert_int_equal(services.cnt, ARRAY_SIZE(rows));
	for (size_t s = 0; s < services.cnt; s++) {
		size_t matched = 0;

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct window window = make_window(&rows[i], NOON_NS, 1);

			if (!selection_matches(&services.items[s].selection, &window))
				continue;
			matched++;
			assert_int_equal(services.items[s].samples_after, 1000 + i);
		}
		assert_int_equal(matched, 1);
	}
	daily_services_release(&services);
}

static bool is_safe(const char *file)
{
	if (!*file || *file == '.' || *file == '-' || strlen(file) >= DAILY_FILE_BYTES - 1)
		return false;
	return strspn(file,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@,") ==
	       strlen(file);
}

static void hostile_names_make_safe_and_different_files(void **state)
{
	char longest[2049];
	const struct labels rows[] = {
		{ "..", NULL, NULL, NULL },
		{ ".", NULL, NULL, NULL },
		{ "../../etc/passwd", NULL, NULL, NULL },
		{ "..%2f..%2fetc%2fpasswd", NULL, NULL, NULL },
		{ "/", NULL, NULL, NULL },
		{ "-rf", NULL, NULL, NULL },
		{ "a b", NULL, NULL, NULL },
		{ "a_b", NULL, NULL, NULL },
		{ "a\nb", NULL, NULL, NULL },
		{ "\x1b[2J", NULL, NULL, NULL },
		{ "<script>", NULL, NULL, NULL },
		{ "index", NULL, NULL, NULL },
		{ "summary", NULL, NULL, NULL },
		{ "\xff\xfe", NULL, NULL, NULL },
		{ "sch\xc3\xb6n", NULL, NULL, NULL },
		{ "shop@prod", NULL, NULL, NULL },
		{ "shop", "prod", NULL, NULL },
		{ "container+web", NULL, NULL, NULL },
		{ NULL, NULL, "web", NULL },
		{ "a-0123456789abcdef", NULL, NULL, NULL },
		{ "a", "..", NULL, NULL },
		{ longest, NULL, NULL, NULL },
		{ longest + 1, NULL, NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};
	struct daily_services services = { 0 };

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(&services, &rows[i], NOON_NS, 1);
	assert_int_equal(daily_services_finish(&services), 0);
	assert_int_equal(services.cnt, ARRAY_SIZE(rows));
	for (size_t i = 0; i < services.cnt; i++) {
		const struct daily_service *at = &services.items[i];

		assert_true(is_safe(at->file));
		assert_string_not_equal(at->file, "index");
		assert_string_not_equal(at->file, "summary");
		assert_true(strlen(at->key) <= 255);
		if (i) {
			assert_string_not_equal(at->file, at[-1].file);
			assert_string_not_equal(at->key, at[-1].key);
		}
	}
	assert_non_null(find(&services, "a_b"));
	assert_non_null(find(&services, "shop@prod"));
	daily_services_release(&services);
}

static void the_same_service_has_the_same_file_every_day(void **state)
{
	char files[2][DAILY_FILE_BYTES];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct daily_services services = { 0 };

		if (i)
			add(&services, &(struct labels){ "other", NULL, NULL, NULL }, NOON_NS, 9);
		add(&services, &(struct labels){ "strange name", NULL, NULL, NULL }, NOON_NS, 1);
		assert_int_equal(daily_services_finish(&services), 0);
		strcpy(files[i], services.items[i].file);
		daily_services_release(&services);
	}
	assert_string_equal(files[0], files[1]);
}

/* A selector as the command line has it. */
struct selector {
	enum select_by by;
	const char *value;
};

#define SELECTORS_MAX 4

static const struct daily_service *only_service(struct daily_services *services,
						const struct selection *base)
{
	const struct labels labels = { "shop", "prod", "c", "java" };
	struct window window = make_window(&labels, NOON_NS, 3);

	window.labels[WINDOW_LABEL_POD] = "p";
	window.labels[WINDOW_LABEL_CGROUP] = "/g";
	window.labels[WINDOW_LABEL_IMAGE] = "i:1";
	window.labels[WINDOW_LABEL_HOST] = "h";
	assert_int_equal(daily_services_add(services, base, NOON_NS, &window), 0);
	assert_int_equal(daily_services_finish(services), 0);
	assert_int_equal(services->cnt, 1);
	return &services->items[0];
}

/* A service and a namespace are taken whole or not at all: there the series is the same. */
static void selectors_that_change_the_profile_change_the_series(void **state)
{
	static const struct {
		struct selector selectors[SELECTORS_MAX];
		uint32_t pid;
		enum select_kind kind;
		const char *key_end;
	} rows[] = {
		{ .key_end = "" },
		{ { { SELECT_BY_SERVICE, "x" },
		    { SELECT_BY_SERVICE, "sh*" },
		    { SELECT_BY_SERVICE, "!y" } },
		  .key_end = "" },
		{ { { SELECT_BY_NAMESPACE, "x" },
		    { SELECT_BY_NAMESPACE, "p*" },
		    { SELECT_BY_NAMESPACE, "!y" } },
		  .key_end = "" },
		/* Series of an earlier jbpf go on. */
		{ { { SELECT_BY_CONTAINER, "c*" } }, .key_end = ",+container=c%2a" },
		{ { { SELECT_BY_CGROUP, "/g" },
		    { SELECT_BY_COMM, "java" },
		    { SELECT_BY_POD, "p" },
		    { SELECT_BY_CONTAINER, "c" } },
		  .pid = 17,
		  .kind = SELECT_KIND_JAVA,
		  .key_end = ",+container=c,+pod=p,+comm=java,+cgroup=%2fg,+pid=17,+kind=1" },
		{ { { SELECT_BY_IMAGE, "i:1" } }, .key_end = ",+image=i%3a1" },
		{ { { SELECT_BY_HOST, "h" } }, .key_end = ",+host=h" },
		{ { { SELECT_BY_CONTAINER, "x" }, { SELECT_BY_CONTAINER, "c" } },
		  .key_end = ",+container=x,+container=c" },
		{ { { SELECT_BY_CONTAINER, "!x" } }, .key_end = ",-container=x" },
		{ { { SELECT_BY_POD, "!x" }, { SELECT_BY_POD, "p" }, { SELECT_BY_POD, "!y" } },
		  .key_end = ",+pod=p,-pod=x,-pod=y" },
		{ { { SELECT_BY_HOST, "!x" }, { SELECT_BY_IMAGE, "!x" } },
		  .key_end = ",-image=x,-host=x" },
		{ { { SELECT_BY_COMM, "!x,-cgroup=y" } }, .key_end = ",-comm=x%2c-cgroup%3dy" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct selection base = { .pid = rows[i].pid, .kind = rows[i].kind };
		struct daily_services services = { 0 };
		const struct daily_service *at;
		char key[128];

		for (size_t k = 0; k < SELECTORS_MAX && rows[i].selectors[k].value; k++)
			assert_int_equal(selection_add(&base, rows[i].selectors[k].by,
						       rows[i].selectors[k].value),
					 0);
		at = only_service(&services, &base);
		(void)snprintf(key, sizeof(key), "service=shop,namespace=prod%s", rows[i].key_end);
		assert_string_equal(at->key, key);
		assert_int_equal(strcmp(at->file, "shop@prod") == 0, !*rows[i].key_end);
		assert_int_equal(at->selection.kind, rows[i].kind);
		daily_services_release(&services);
	}
}

static void the_busiest_services_are_kept(void **state)
{
	struct daily_services services = { 0 };

	(void)state;
	for (int i = 0; i < DAILY_SERVICES_MAX + 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "s%d", i);
		add(&services, &(struct labels){ name, NULL, NULL, NULL }, NOON_NS,
		    (uint64_t)i + 1);
	}
	assert_int_equal(daily_services_finish(&services), 0);
	assert_int_equal(services.cnt, DAILY_SERVICES_MAX);
	assert_int_equal(services.left_out, 20);
	assert_null(find(&services, "s19"));
	assert_non_null(find(&services, "s20"));
	daily_services_release(&services);
}

/* ---- time for all of them ---- */

static void whoever_has_most_samples_is_compared_last(void **state)
{
	static const struct {
		const char *name;
		uint64_t samples;
	} rows[] = { { "b", 7 }, { "a", 900 }, { "d", 1 }, { "c", 7 } };
	static const char wanted[] = "dcba";
	struct daily_services services = { 0 };
	size_t *order;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(&services, &(struct labels){ rows[i].name, NULL, NULL, NULL }, NOON_NS,
		    rows[i].samples);
	assert_int_equal(daily_services_finish(&services), 0);
	order = daily_services_order(&services);
	assert_non_null(order);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(services.items[order[i]].name[0], wanted[i]);
	free(order);
	daily_services_release(&services);
}

/* There is no store: it would fail with another reason. */
static void when_the_time_of_all_is_over_the_next_one_is_not_begun(void **state)
{
	const struct daily_service service = { .file = "shop", .name = "shop" };
	struct daily_budget budget = { .end_ns = clock_monotonic_ns(), .outcome_bytes = 1 };
	struct daily_outcome outcome;
	struct test_store store;
	struct daily_dir dir;
	const struct daily_job job = { .dir = &dir };

	(void)state;
	test_store_make(&store);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &dir), 0);
	assert_int_equal(daily_dir_begin(&dir, "2026-11-21"), 0);
	assert_int_equal(daily_child_run(&job, &service, &budget, &outcome), 0);
	assert_int_equal(outcome.state, DAILY_STATE_FAILED);
	assert_string_equal(outcome.why, "not begun: the others took the 110 minutes of a run");
	assert_ptr_equal(outcome.service, &service);
	daily_outcome_release(&outcome);
	daily_dir_close(&dir);
	test_store_remove(&store);
}

/* ---- the directory ---- */

static void write_text(struct daily_dir *dir, const char *name, const char *text)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	strbuf_puts(&buf, text);
	assert_int_equal(daily_dir_write(dir, name, &buf), 0);
}

static void run_day(struct daily_dir *dir, const char *date, const char *first, const char *second)
{
	assert_int_equal(daily_dir_begin(dir, date), 0);
	write_text(dir, first, "one");
	if (second)
		write_text(dir, second, "two");
	assert_int_equal(daily_dir_end(dir, date), 0);
}

static bool is_there(const struct test_store *store, const char *name)
{
	char path[256];

	return faccessat(AT_FDCWD, test_path(store, name, path), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void touch(const struct test_store *store, const char *name)
{
	char path[256];
	int fd = open(test_path(store, name, path), O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void a_second_run_replaces_what_the_first_wrote(void **state)
{
	struct test_store store;
	struct daily_dir dir, second;

	(void)state;
	test_store_make(&store);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &dir), 0);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &second), -EWOULDBLOCK);
	daily_dir_close(&second);
	run_day(&dir, "2026-11-20", "shop.html", "gone.html");
	touch(&store, "2026-11-20/mine.txt");
	run_day(&dir, "2026-11-20", "shop.html", NULL);
	assert_true(is_there(&store, "2026-11-20/shop.html"));
	assert_false(is_there(&store, "2026-11-20/gone.html"));
	assert_true(is_there(&store, "2026-11-20/mine.txt"));
	assert_true(is_there(&store, "latest/shop.html"));
	daily_dir_close(&dir);
	test_store_remove(&store);
}

/* Another process writes them, and may end before it has told which. */
static void what_is_not_kept_of_a_day_goes_at_its_end(void **state)
{
	struct test_store store;
	struct daily_dir dir, copy;

	(void)state;
	test_store_make(&store);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &dir), 0);
	assert_int_equal(daily_dir_begin(&dir, "2026-11-20"), 0);
	assert_int_equal(daily_dir_expect(&dir, "../a"), -EINVAL);
	assert_int_equal(daily_dir_keep(&dir, "../a"), -EINVAL);
	assert_int_equal(daily_dir_expect(&dir, "whole.html"), 0);
	assert_int_equal(daily_dir_expect(&dir, "half.html"), 0);
	assert_int_equal(daily_dir_expect(&dir, "none.html"), 0);
	copy = (struct daily_dir){ .day_fd = dir.day_fd };
	write_text(&copy, "whole.html", "one");
	write_text(&copy, "half.html", "two");
	assert_int_equal(daily_dir_keep(&dir, "whole.html"), 0);
	write_text(&dir, "index.html", "three");
	assert_int_equal(daily_dir_end(&dir, "2026-11-20"), 0);
	assert_true(is_there(&store, "2026-11-20/whole.html"));
	assert_true(is_there(&store, "2026-11-20/index.html"));
	assert_false(is_there(&store, "2026-11-20/half.html"));
	strbuf_release(&copy.names);
	/* They are on its list: the next run of the day takes what this one kept. */
	assert_int_equal(daily_dir_begin(&dir, "2026-11-20"), 0);
	assert_int_equal(daily_dir_end(&dir, "2026-11-20"), 0);
	assert_false(is_there(&store, "2026-11-20/whole.html"));
	daily_dir_close(&dir);
	test_store_remove(&store);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const names[] = { "", "..", ".files", "a/b", "/etc/x", "a\nb", "a b" };
	struct strbuf text = STRBUF_INIT;
	struct test_store store;
	struct daily_dir dir;

	(void)state;
	test_store_make(&store);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &dir), 0);
	assert_int_equal(daily_dir_begin(&dir, "2026-11-20"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(daily_dir_write(&dir, names[i], &text), -EINVAL);
	daily_dir_close(&dir);
	test_store_remove(&store);
}

static void only_old_days_and_own_files_are_deleted(void **state)
{
	struct test_store store;
	struct daily_dir dir;
	struct daily_date today;
	char path[256];

	(void)state;
	use_zone("UTC");
	test_store_make(&store);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &dir), 0);
	assert_int_equal(daily_date_before(NOON_NS, 1, &today), 0); /* 2026-11-20 */
	run_day(&dir, "2026-10-20", "a.html", NULL);
	run_day(&dir, "2026-10-21", "a.html", "b.html");
	run_day(&dir, "2026-10-22", "a.html", NULL);
	run_day(&dir, "2026-11-20", "a.html", NULL);
	touch(&store, "2026-10-20/notes.txt");
	touch(&store, "2026-10-21/b.html.tmp4711"); /* a crash while it was written */
	touch(&store, "2026-10-1");
	assert_int_equal(mkdir(test_path(&store, "2026-01-01", path), 0755), 0);
	touch(&store, "2026-01-01/a.html"); /* somebody else's: not listed */
	assert_int_equal(mkdir(test_path(&store, "2026-02-31", path), 0755), 0);
	assert_int_equal(daily_dir_retain(&dir, today.number, 30), 0);

	assert_true(is_there(&store, "2026-10-20/notes.txt"));
	assert_false(is_there(&store, "2026-10-20/a.html"));
	assert_false(is_there(&store, "2026-10-21"));
	assert_true(is_there(&store, "2026-10-22/a.html"));
	assert_true(is_there(&store, "2026-11-20/a.html"));
	assert_true(is_there(&store, "2026-10-1"));
	assert_true(is_there(&store, "2026-01-01/a.html"));
	assert_true(is_there(&store, "2026-02-31"));
	daily_dir_close(&dir);
	test_store_remove(&store);
}

static void a_hostile_list_deletes_nothing_elsewhere(void **state)
{
	struct test_store store;
	struct daily_dir dir;
	struct daily_date today;
	char path[256];
	FILE *list;

	(void)state;
	use_zone("UTC");
	test_store_make(&store);
	assert_int_equal(daily_dir_open(store.dir, DAILY_DIR_SERIES, &dir), 0);
	assert_int_equal(daily_date_before(NOON_NS, 1, &today), 0);
	run_day(&dir, "2026-01-02", "a.html", NULL);
	touch(&store, "victim");
	list = fopen(test_path(&store, "2026-01-02/.files", path), "w");
	assert_non_null(list);
	fputs("../victim\n/etc/hostname\n\n\n..\na.html", list);
	fclose(list);
	assert_int_equal(daily_dir_retain(&dir, today.number, 30), 0);
	assert_true(is_there(&store, "victim"));
	assert_false(is_there(&store, "2026-01-02"));
	/* A link that looks like a day is not followed. */
	assert_int_equal(symlinkat("series", dir.fd, "2026-01-03"), 0);
	touch(&store, "series/.files");
	assert_int_equal(daily_dir_retain(&dir, today.number, 30), 0);
	assert_true(is_there(&store, "series/.files"));
	daily_dir_close(&dir);
	test_store_remove(&store);
}

/* ---- what is said ---- */

static void alarms_say_what_changed_and_since_when(void **state)
{
	struct daily_alarm alarm = {
		.kind = DAILY_ALARM_CREEP,
		.method = (char *)"shop.Cart.add",
		.is_self = true,
		.change = 0.041,
		.low = NAN,
		.high = NAN,
		.share_before = 0.05,
		.share_after = 0.05205,
		.first_day = 20760,
		.last_day = 20764,
	};
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	(void)state;
	daily_alarm_text(&alarm, &text);
	assert_string_equal(strbuf_str(&text),
			    "shop.Cart.add: +4.1 % since 2026-11-03 (creep over 5 days), "
			    "5.00 % to 5.21 % of the CPU, by itself");
	strbuf_clear(&text);
	alarm.kind = DAILY_ALARM_REGRESSION;
	alarm.low = 0.03;
	alarm.high = 0.052;
	alarm.is_self = false;
	daily_alarm_text(&alarm, &text);
	assert_string_equal(strbuf_str(&text), "shop.Cart.add: +4.1 % (+3.0 to +5.2 %), "
					       "5.00 % to 5.21 % of the CPU, with what it calls");
}

static void names_cannot_break_out_of_what_is_written(void **state)
{
	static const char hostile[] = "\x1b[2J</script><b>\"&\n";
	struct daily_service service = {
		.key = hostile, .title = hostile, .name = hostile, .file = "x-0123456789abcdef"
	};
	struct daily_alarm alarm = { .method = (char *)hostile, .low = NAN, .high = NAN };
	struct daily_outcome outcome = {
		.service = &service,
		.state = DAILY_STATE_REGRESSION,
		.why = (char *)hostile,
		.has_page = true,
		.alarms = &alarm,
		.alarm_cnt = 1,
		.known = &alarm,
		.known_cnt = 1,
		.image_before = (char *)"old",
		.image_after = (char *)hostile,
		.detectable = NAN,
	};
	struct daily_date date = { .number = 20777, .text = "2026-11-20" };
	const struct daily_report report = {
		.before_first = &date,
		.before_last = &date,
		.after_first = &date,
		.after_last = &date,
		.outcomes = &outcome,
		.outcome_cnt = 1,
		.host = hostile,
		.earlier = (const uint32_t[]){ 20776, 20770 },
		.earlier_cnt = 2,
	};
	__cleanup_strbuf struct strbuf lines = STRBUF_INIT, html = STRBUF_INIT, json = STRBUF_INIT;

	(void)state;
	assert_int_equal(daily_report_lines(&outcome, &lines), 0);
	assert_null(strchr(strbuf_str(&lines), '\x1b'));
	assert_int_equal(daily_report_html(&report, &html), 0);
	assert_null(strchr(strbuf_str(&html), '\x1b'));
	assert_null(strstr(strbuf_str(&html), "<b>"));
	assert_null(strstr(strbuf_str(&html), "</script>"));
	assert_non_null(strstr(strbuf_str(&html), "href=\"x-0123456789abcdef.html\""));
	assert_non_null(strstr(strbuf_str(&html), "href=\"../2026-11-19/index.html\""));
	assert_non_null(strstr(strbuf_str(&html), "href=\"../latest/index.html\""));
	assert_int_equal(daily_report_json(&report, &json), 0);
	assert_null(strchr(strbuf_str(&json), '\x1b'));
	assert_null(strstr(strbuf_str(&json), "<b>"));
	assert_non_null(strstr(strbuf_str(&json), "\"state\":\"regression\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_go_from_midnight_to_midnight),
		cmocka_unit_test(there_are_no_days_before_1970),
		cmocka_unit_test(services_are_what_their_labels_say),
		cmocka_unit_test(a_selection_is_of_one_service_only),
		cmocka_unit_test(hostile_names_make_safe_and_different_files),
		cmocka_unit_test(the_same_service_has_the_same_file_every_day),
		cmocka_unit_test(selectors_that_change_the_profile_change_the_series),
		cmocka_unit_test(the_busiest_services_are_kept),
		cmocka_unit_test(whoever_has_most_samples_is_compared_last),
		cmocka_unit_test(when_the_time_of_all_is_over_the_next_one_is_not_begun),
		cmocka_unit_test(a_second_run_replaces_what_the_first_wrote),
		cmocka_unit_test(what_is_not_kept_of_a_day_goes_at_its_end),
		cmocka_unit_test(names_that_lead_elsewhere_are_refused),
		cmocka_unit_test(only_old_days_and_own_files_are_deleted),
		cmocka_unit_test(a_hostile_list_deletes_nothing_elsewhere),
		cmocka_unit_test(alarms_say_what_changed_and_since_when),
		cmocka_unit_test(names_cannot_break_out_of_what_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
