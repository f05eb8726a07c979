// SPDX-License-Identifier: Apache-2.0
/*
 * Folded text on stdin through one of jbpf's writers to stdout: lets tests and people look at a
 * writer without a daemon. What is set by options is made up, what is counted is real.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "user/output/output.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

static int read_all(FILE *file, struct strbuf *out)
{
	char chunk[65536];
	size_t len;

	while ((len = fread(chunk, 1, sizeof(chunk), file)) > 0)
		strbuf_append(out, chunk, len);
	return ferror(file) ? -EIO : strbuf_error(out);
}

static int write_as(const char *format, struct profile *profile, const struct output_info *info,
		    struct strbuf *out)
{
	if (strcmp(format, "folded") == 0)
		return output_folded(profile, out);
	if (strcmp(format, "top") == 0)
		return output_top(profile, info, TREE_ORDER_SELF, 0, out);
	if (strcmp(format, "json") == 0)
		return output_json(profile, info, out);
	if (strcmp(format, "svg") == 0)
		return output_svg(profile, info, out);
	if (strcmp(format, "html") == 0)
		return output_html(profile, info, out);
	if (strcmp(format, "pprof") == 0)
		return output_pprof(profile, info, out);
	if (strcmp(format, "speedscope") == 0)
		return output_speedscope(profile, info, out);
	return -EINVAL;
}

static void set_event(struct output_info *info, enum event event)
{
	info->event = event;
	info->period = event_default_period(event);
}

static int usage(void)
{
	fprintf(stderr, "usage: fold2out [-t TITLE] [-s SUBTITLE] [-f HZ] [-l LOST] [-e EVENT] "
			"[-o OWN] [-L LINES] folded|top|json|svg|html|pprof|speedscope\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	struct output_info info = {
		.title = "profile",
		.subtitle = "",
		.since_unix_ns = 1795267200 * CLOCK_NS_PER_S,
		.until_unix_ns = 1795267800 * CLOCK_NS_PER_S,
		.stream_cnt = 1,
	};
	struct profile *profile = profile__new();
	const char *lines = "";
	size_t bad_line_cnt = 0;
	int option;
	int err;

	while ((option = getopt(argc, argv, "t:s:f:l:e:o:L:")) != -1) {
		uint64_t number = 0;

		if ((option == 'f' || option == 'l') && parse_u64(optarg, &number) != 0)
			return usage();
		if (option == 't')
			info.title = optarg;
		else if (option == 's')
			info.subtitle = optarg;
		else if (option == 'L')
			lines = optarg;
		else if (option == 'o')
			info.own = optarg;
		else if (option == 'e' && event_by_name(optarg, strlen(optarg)) != EVENT_CNT)
			set_event(&info, event_by_name(optarg, strlen(optarg)));
		else if (option == 'f')
			info.frequency_hz = (uint32_t)number;
		else if (option == 'l')
			info.lost_samples = number;
		else
			return usage();
	}
	info.is_selection = *info.subtitle != '\0';
	info.lines = source_lines__new(0);
	if (optind + 1 != argc || !profile || !info.lines)
		return usage();
	err = source_lines__add_text(info.lines, lines, strlen(lines), &bad_line_cnt);
	if (!err)
		err = read_all(stdin, &text);
	if (!err)
		err = profile__add_folded(profile, strbuf_str(&text), text.len, &bad_line_cnt);
	if (!err)
		err = write_as(argv[optind], profile, &info, &out);
	if (!err && fwrite(strbuf_str(&out), 1, out.len, stdout) != out.len)
		err = -EIO;
	profile__free(profile);
	source_lines__free(info.lines);
	if (err)
		fprintf(stderr, "fold2out: %s\n", strerror(-err));
	else if (bad_line_cnt)
		fprintf(stderr, "fold2out: %zu lines skipped\n", bad_line_cnt);
	return err ? 1 : 0;
}
