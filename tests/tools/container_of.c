// SPDX-License-Identifier: Apache-2.0
/*
 * Says which container a process of this host is in, as jbpfd finds it; for tests and for people
 * who wonder about a label. Reads "PID [CGROUP_ID]" lines on stdin, so that one resolver with its
 * cache answers all of them, and prints one line of KEY=VALUE words each.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/parse_here.h"
#include "user/collect/container/container.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"

static void answer(struct container_resolver *resolver, uint32_t pid, uint64_t cgroup_id)
{
	const struct container_sight sight = { .pid = pid, .cgroup_id = cgroup_id };
	struct container_info info = { 0 };
	int err = container_resolver__lookup(resolver, &sight, &info);

	printf("err=%d id=%s name=%s image=%s runtime=%s pod=%s service=%s cgroup=%s\n", err,
	       info.id, info.name, info.image, info.runtime, info.pod, info.service,
	       info.cgroup_path);
	fflush(stdout);
	container_info_release(&info);
}

int main(void)
{
	struct container_resolver_options options = { .cgroup_root = "/sys/fs/cgroup",
						      .parser = parser_here(),
						      .accounts = accounts__new() };
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct container_resolver *resolver = NULL;
	char line[128];
	int err;

	options.proc_fd = proc_fd;
	options.root_fd = root_fd;
	err = options.accounts ? container_resolver__new(&options, &resolver) : -ENOMEM;
	if (err) {
		fprintf(stderr, "container_of: %s\n", strerror(-err));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		uint32_t pid = 0;
		uint64_t cgroup_id = 0;

		if (sscanf(line, "%" SCNu32 " %" SCNu64, &pid, &cgroup_id) < 1)
			continue;
		answer(resolver, pid, cgroup_id);
	}
	container_resolver__free(resolver);
	accounts__free(options.accounts);
	return 0;
}
