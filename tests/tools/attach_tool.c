// SPDX-License-Identifier: Apache-2.0
/*
 * Drives the HotSpot pieces from the shell, for end-to-end tests: what is known about a JVM from
 * outside, and attaching to it.
 *
 *     attach_tool vm PID               version, flags
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "symbols/hotspot_vm.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/parse.h"

static int run_vm(int proc_fd, uint32_t pid)
{
	static const char *const flags[] = { "DisableAttachMechanism", "PreserveFramePointer",
					     "ReduceSignalUsage", "UseCompressedOops" };
	uint64_t start_ns = clock_monotonic_ns();
	struct hotspot_vm *vm;
	int err = hotspot_vm__open(proc_fd, pid, &vm);

	if (err) {
		printf("error=%s\n", errstr(err));
		return 1;
	}
	printf("version=%s\nfeature=%d\n", hotspot_vm__version(vm),
	       hotspot_vm__feature_version(vm));
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		enum hotspot_flag_origin origin;
		bool value;

		err = hotspot_vm__bool_flag(vm, flags[i], &value, &origin);
		if (err)
			printf("%s=error %s\n", flags[i], errstr(err));
		else
			printf("%s=%d origin=%d\n", flags[i], value, (int)origin);
	}
	printf("us=%llu\n", (unsigned long long)(clock_monotonic_ns() - start_ns) / 1000);
	hotspot_vm__free(vm);
	return 0;
}

int main(int argc, char **argv)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t pid;

	if (proc_fd < 0 || argc < 3 || parse_u32_range(argv[2], 1, UINT32_MAX, &pid)) {
		fprintf(stderr, "usage: attach_tool vm PID\n");
		return 2;
	}
	if (strcmp(argv[1], "vm") == 0)
		return run_vm(proc_fd, pid);
	return 2;
}
