// SPDX-License-Identifier: Apache-2.0
/* See daemon_probe.h. */
#include "user/daemon/daemon_probe.h"

#include <errno.h>

#include "user/serve/ask.h"
#include "user/util/log.h"

#define STATUS_OK 200

int daemon_probe(const struct daemon_options *options, FILE *out)
{
	const char *path = options->probe == DAEMON_PROBE_LIVE ? "/livez" : "/healthz";
	struct serve_address address;
	struct serve_answer answer;
	int err;

	if (!options->metrics || serve_address_parse(options->metrics, &address)) {
		pr_err("--probe wants --metrics ADDRESS, or a config file that has it: it asks who serves them\n");
		return -EINVAL;
	}
	err = serve_ask(&address, path, &answer);
	if (err) {
		pr_err("--metrics %s does not answer: %s\n", options->metrics, errstr(err));
		return err;
	}
	if (fprintf(out, "%s\n", answer.line) < 0 || fflush(out))
		return -EIO;
	return answer.status == STATUS_OK ? 0 : -EAGAIN;
}
