// SPDX-License-Identifier: Apache-2.0
/*
 * A made-up comparison through one of jbpf's writers to stdout: lets tests and people look at a
 * writer without a store. Stacks on stdin, one per line, are added to both sides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/diff_scene.h"
#include "user/util/parse.h"

#define EXTRA_MAX 1000

static const char *const scene_names[] = {
	[SCENE_HISTORY] = "history", [SCENE_PAIR] = "pair",	  [SCENE_SHORT] = "short",
	[SCENE_EMPTY] = "empty",     [SCENE_NOTHING] = "nothing",
};

static int write_as(const char *format, const struct diff_output *diff, size_t limit,
		    struct strbuf *out)
{
	if (strcmp(format, "table") == 0)
		return diff_output_table(diff, limit, out);
	if (strcmp(format, "json") == 0)
		return diff_output_json(diff, out);
	if (strcmp(format, "folded") == 0)
		return diff_output_folded(diff, out);
	if (strcmp(format, "html") == 0)
		return diff_output_html(diff, out);
	return -EINVAL;
}

static size_t read_extra(char **lines)
{
	size_t room = 0;
	size_t cnt = 0;
	ssize_t len;

	while (cnt < EXTRA_MAX && (len = getline(&lines[cnt], &room, stdin)) > 0) {
		lines[cnt][strcspn(lines[cnt], "\n")] = '\0';
		cnt += lines[cnt][0] != '\0';
		room = 0;
	}
	return cnt;
}

int main(int argc, char **argv)
{
	static char *extra[EXTRA_MAX + 1];
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	struct scene *scene = calloc(1, sizeof(*scene));
	uint64_t quiet_cnt = 60;
	uint64_t limit = 20;
	size_t kind = 0;
	int err;

	while (argc > 2 && kind < sizeof(scene_names) / sizeof(scene_names[0]) &&
	       strcmp(argv[1], scene_names[kind]) != 0)
		kind++;
	if (!scene || argc < 3 || argc > 5 || kind > SCENE_NOTHING ||
	    (argc > 3 && parse_u64(argv[3], &quiet_cnt)) ||
	    (argc > 4 && parse_u64(argv[4], &limit))) {
		fprintf(stderr, "usage: diff_page history|pair|short|empty|nothing "
				"table|json|folded|html [QUIET_STACKS [LIMIT]] < stacks\n");
		return 2;
	}
	scene->quiet_cnt = quiet_cnt;
	scene->extra_cnt = read_extra(extra);
	scene->extra = (const char *const *)extra;
	scene_make(scene, (enum scene_kind)kind);
	err = write_as(argv[2], &scene->output, limit, &out);
	if (!err && fwrite(strbuf_str(&out), 1, out.len, stdout) != out.len)
		err = -EIO;
	if (err)
		fprintf(stderr, "diff_page: %s\n", strerror(-err));
	scene_release(scene);
	for (size_t i = 0; i <= EXTRA_MAX; i++)
		free(extra[i]);
	free(scene);
	return err ? 1 : 0;
}
