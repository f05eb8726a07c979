// SPDX-License-Identifier: Apache-2.0
/*
 * Drives the HotSpot pieces from the shell, for end-to-end tests: what is known about a JVM from
 * outside, and attaching to it.
 *
 *     attach_tool vm PID        version, flags
 *     attach_tool attach PID    asks for a perf map; exits 0 when one was written
 *     attach_tool confined PID  the same, as confined as jbpfd's children, after it said so and read a line
 *     attach_tool remove PID    removes it again
 *
 * Prints KEY=VALUE lines on stdout.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "tests/unit/parse_here.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/role_sandbox.h"
#include "user/collect/attach/jvm_attach.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/host/proc_stat.h"

#define CHILD_GRACE_MS	  500	/* for the child to tidy up after its own deadline */
#define REMOVE_TIMEOUT_MS 60000 /* as on a busy host */

static int run_vm(int proc_fd, uint32_t pid)
{
	static const char *const flags[] = { "DisableAttachMechanism", "PreserveFramePointer",
					     "ReduceSignalUsage", "UseCompressedOops" };
	uint64_t start_ns = clock_monotonic_ns();
	struct hotspot_vm *vm;
	int err = hotspot_vm__open(proc_fd, pid, parser_here(), NULL, &vm);

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

static int wait_for_report(int fd, uint32_t timeout_ms, struct jvm_attach_report *report)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	if (poll(&wait, 1, (int)timeout_ms + CHILD_GRACE_MS) == 0)
		return -ETIMEDOUT;
	return read(fd, report, sizeof(*report)) == sizeof(*report) ? 0 : -EPIPE;
}

struct started_job {
	const struct jvm_attach_job *job;
	int report_fd;
};

static int job_main(int none, const void *ctx)
{
	const struct started_job *started = ctx;

	(void)none;
	return jvm_attach_main(started->job, started->report_fd);
}

/* As jbpfd's launcher does it, but waits. */
static int run_job(const struct jvm_attach_job *job, struct jvm_attach_report *report)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	__cleanup_fd int read_fd = fds[0];
	__cleanup_fd int write_fd = fds[1];
	const struct started_job started = { .job = job, .report_fd = write_fd };
	pid_t child;
	int err = child_process_start(job_main, &started, NULL, &child);

	if (err)
		return err;
	close(take_fd(&write_fd));
	err = wait_for_report(read_fd, job->timeout_ms, report);
	(void)child_process_end(child, CHILD_WAITS_FOREVER);
	return err;
}

static void ask(const struct jvm_attach_request *request, struct jvm_attach_result *result)
{
	struct jvm_attach_job job = {
		.pid = request->pid,
		.timeout_ms = request->timeout_ms,
		.start_ns = request->start_ns,
	};
	struct jvm_attach_request opened = *request;
	struct jvm_attach_report report = { 0 };

	opened.vm_err =
		hotspot_vm__open(request->proc_fd, request->pid, parser_here(), NULL, &opened.vm);
	*result = (struct jvm_attach_result){ .outcome = jvm_attach_check(&opened, &job.feature) };
	hotspot_vm__free(opened.vm);
	if (result->outcome != JVM_ATTACH_OK)
		return;

	int err = run_job(&job, &report);

	*result = report.result;
	if (err)
		*result = (struct jvm_attach_result){
			.outcome = err == -ETIMEDOUT ? JVM_ATTACH_TIMEOUT : JVM_ATTACH_ERROR,
		};
}

static int run_attach(int proc_fd, uint32_t pid, uint32_t timeout_ms)
{
	struct jvm_attach_request request = {
		.proc_fd = proc_fd,
		.pid = pid,
		.timeout_ms = timeout_ms,
	};
	uint64_t start_ns = clock_monotonic_ns();
	struct jvm_attach_result result;
	int err = proc_stat_start_ns(proc_fd, pid, &request.start_ns);

	if (err) {
		printf("error=%s\n", errstr(err));
		return 1;
	}
	ask(&request, &result);
	printf("outcome=%s\nwall_ms=%u\ncommand_ms=%u\nmap_existed=%d\nlistener_started=%d\n",
	       jvm_attach_outcome_name(result.outcome),
	       (uint32_t)((clock_monotonic_ns() - start_ns) / CLOCK_NS_PER_MS), result.command_ms,
	       result.map_existed, result.listener_started);
	return result.outcome != JVM_ATTACH_OK;
}

static int run_confined(int proc_fd, uint32_t pid, uint32_t timeout_ms)
{
	int err = role_sandbox_launcher(true);

	if (err) {
		printf("error=%s\n", errstr(err));
		return 1;
	}
	printf("confined=1\n");
	(void)fflush(stdout);
	if (getchar() == EOF)
		return 1;
	return run_attach(proc_fd, pid, timeout_ms);
}

static int run_remove(int proc_fd, uint32_t pid)
{
	struct jvm_attach_job job = {
		.pid = pid,
		.timeout_ms = REMOVE_TIMEOUT_MS,
		.removes = true,
	};
	struct jvm_attach_report report = { 0 };
	int err = proc_stat_start_ns(proc_fd, pid, &job.start_ns);

	if (!err)
		err = run_job(&job, &report);
	if (!err)
		err = report.err;
	printf("error=%s\n", err ? errstr(err) : "none");
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t timeout_ms = 5000;
	uint32_t pid;

	if (proc_fd < 0 || argc < 3 || parse_u32_range(argv[2], 1, UINT32_MAX, &pid) ||
	    (argc > 3 && parse_u32_range(argv[3], 1, UINT32_MAX, &timeout_ms))) {
		fprintf(stderr, "usage: attach_tool vm|attach|confined|remove PID [TIMEOUT_MS]\n");
		return 2;
	}
	if (strcmp(argv[1], "vm") == 0)
		return run_vm(proc_fd, pid);
	if (strcmp(argv[1], "attach") == 0)
		return run_attach(proc_fd, pid, timeout_ms);
	if (strcmp(argv[1], "confined") == 0)
		return run_confined(proc_fd, pid, timeout_ms);
	if (strcmp(argv[1], "remove") == 0)
		return run_remove(proc_fd, pid);
	return 2;
}
