// SPDX-License-Identifier: Apache-2.0
/*
 * Selectors of any text against labels of any text. Selectors together match when each does alone;
 * a label selects itself, a cgroup all that is below it, a container the id it is the beginning of;
 * times overlap as 128-bit arithmetic says.
 *
 * Input: four times (8 bytes each), two pids (1 each), then lines: selectors container, pod, namespace, service, comm,
 * cgroup (one that is empty is not given), then the labels, in their order.
 */
#include <fnmatch.h>

#include "tests/fuzz/fuzz.h"
#include "user/model/select.h"

#define SELECTORS 6

static const char **selector(struct selection *selection, size_t idx)
{
	const char **const selectors[SELECTORS] = { &selection->container, &selection->pod,
						    &selection->namespace, &selection->service,
						    &selection->comm,	   &selection->cgroup };

	return selectors[idx];
}

static void check_together(struct selection *all, const struct window *window)
{
	bool wanted = !all->pid || all->pid == window->pid;

	for (size_t i = 0; i < SELECTORS; i++) {
		struct selection one = { .kind = SELECT_KIND_ANY };

		*selector(&one, i) = *selector(all, i);
		wanted = wanted && selection_matches(&one, window);
	}
	must(selection_matches(all, window) == wanted);
}

/* What a user named is only meant by a pattern that says so, or by one for everything. */
static bool means(const char *pattern, const char *label, bool named_by_users)
{
	if (named_by_users && strncmp(label, "user:", 5) == 0 &&
	    strncmp(pattern, "user:", 5) != 0 && strcmp(pattern, "*") != 0)
		return false;
	return strcmp(pattern, label) == 0 || (*label && fnmatch(pattern, label, 0) == 0);
}

/* A selector of one kind, and what the labels say about it. */
static void check_alone(const struct selection *all, const struct window *window)
{
	static const struct {
		size_t selector;
		enum window_label label;
		bool named_by_users;
	} rows[] = { { 2, WINDOW_LABEL_NAMESPACE, true },
		     { 3, WINDOW_LABEL_SERVICE, true },
		     { 4, WINDOW_LABEL_COMM, false } };
	struct selection copy = *all;

	for (size_t i = 0; i < 3; i++) {
		const char *pattern = *selector(&copy, rows[i].selector);
		const char *label = window_label(window, rows[i].label);
		struct selection one = { .kind = SELECT_KIND_ANY };

		if (!pattern)
			continue;
		*selector(&one, rows[i].selector) = pattern;
		must(selection_matches(&one, window) ==
		     means(pattern, label, rows[i].named_by_users));
	}
}

static void check_itself(const struct window *window)
{
	static const enum window_label labels[SELECTORS] = {
		WINDOW_LABEL_CONTAINER, WINDOW_LABEL_POD,  WINDOW_LABEL_NAMESPACE,
		WINDOW_LABEL_SERVICE,	WINDOW_LABEL_COMM, WINDOW_LABEL_CGROUP,
	};
	const char *id = window_label(window, WINDOW_LABEL_CONTAINER_ID);
	struct selection one;

	for (size_t i = 0; i < SELECTORS; i++) {
		const char *label = window_label(window, labels[i]);

		one = (struct selection){ .kind = SELECT_KIND_ANY };
		*selector(&one, i) = label;
		/* A path below where cgroups are mounted means the cgroup. */
		if (i != 5 || strncmp(label, "/sys/fs/cgroup", 14) != 0)
			must(selection_matches(&one, window));
	}
	if (strlen(id) >= 6 && strspn(id, "0123456789abcdef") == strlen(id)) {
		char *prefix = strndup(id, 6);

		must(prefix);
		one = (struct selection){ .container = prefix };
		must(selection_matches(&one, window));
		free(prefix);
	}
}

/* A path selects what is below it, and not what only begins like it. */
static void check_cgroup(const char *path, struct window window)
{
	struct selection selection = { .cgroup = path };
	char *below = NULL;
	size_t len = strlen(path);

	if (path[0] != '/' || strpbrk(path, "*?[\\") || strncmp(path, "/sys/fs/cgroup", 14) == 0)
		return;
	while (len && path[len - 1] == '/')
		len--;
	must(asprintf(&below, "%.*s/x", (int)len, path) > 0);
	window.labels[WINDOW_LABEL_CGROUP] = below;
	must(selection_matches(&selection, &window));
	below[len] = 'x';
	must(!len || !selection_matches(&selection, &window));
	free(below);
}

static void check_times(const struct selection *selection, const struct window *window)
{
	unsigned __int128 end = (unsigned __int128)window->start_unix_ns +
				(window->duration_ns ? window->duration_ns : 1);

	/* There is no time behind the last one. */
	if (end > UINT64_MAX)
		end = UINT64_MAX;
	must(selection_covers(selection, window) ==
	     (window->start_unix_ns < selection->until_unix_ns && end > selection->since_unix_ns));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };
	struct selection selection = { .since_unix_ns = fuzz_uint(&input, 8),
				       .until_unix_ns = fuzz_uint(&input, 8) };
	struct window window = { .start_unix_ns = fuzz_uint(&input, 8),
				 .duration_ns = fuzz_uint(&input, 8) };
	char *texts[SELECTORS + WINDOW_LABEL_CNT];

	window.pid = fuzz_u8(&input) % 4;
	selection.pid = fuzz_u8(&input) % 4;
	for (size_t i = 0; i < SELECTORS; i++) {
		texts[i] = fuzz_text(&input, '\n');
		*selector(&selection, i) = *texts[i] ? texts[i] : NULL;
	}
	for (size_t i = 0; i < WINDOW_LABEL_CNT; i++) {
		char *text = fuzz_text(&input, '\n');

		texts[SELECTORS + i] = text;
		window.labels[i] = *text ? text : NULL;
	}
	/* Patterns are their user's own; many stars take long. */
	if (len < 512) {
		check_together(&selection, &window);
		check_alone(&selection, &window);
		check_itself(&window);
		check_cgroup(texts[5], window);
	}
	check_times(&selection, &window);
	for (size_t i = 0; i < SELECTORS + WINDOW_LABEL_CNT; i++)
		free(texts[i]);
	return 0;
}
