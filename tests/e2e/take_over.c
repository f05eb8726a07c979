// SPDX-License-Identifier: Apache-2.0
/*
 * Makes system calls in the place of a process that runs, as somebody would who took it over: with
 * its ids, its capabilities, its filters, its descriptors. Afterwards it goes on as if nothing had been.
 *
 *   take_over thread TID ADDRESS          ADDRESS: of a system call instruction in its memory, in hex
 *   take_over child TID ADDRESS CALL      its next child, once that has come back from system call CALL
 *
 * Says "ready PID" when it has it. Then a line per call, "CALL ARGUMENT..." (numbers), is answered by
 * its result, by "killed" when a filter ended the process for it, by "ended" when it ended otherwise, or
 * by "program" when it became another one. Children that a call starts are ended at once. The end of the input gives a thread back; a
 * child is ended.
 *
 * Exit code 0; 1 when it cannot; 3 on a processor for which this is not written.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

#define LIMIT_S	     600 /* nobody is held for longer, whatever happens */
#define KILLED	     "killed"
#define ENDED	     "ended"
#define CALL_STOP    (SIGTRAP | 0x80)
#define LINE_BYTES   512
#define CALL_NUMBERS 7 /* the call and its arguments */
#define TRACE_ALL                                                                                 \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACEEXEC)

struct victim {
	pid_t pid;
	uint64_t address;		/* of a system call instruction */
	struct user_regs_struct before; /* where it goes on */
	int signal;			/* that came meanwhile; 0 = none */
	const char *end; /* why there is nothing left to give back; NULL = it lives */
};

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "take_over: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long trace(enum __ptrace_request request, pid_t pid, uint64_t address, void *data)
{
	return ptrace(request, pid, (void *)(uintptr_t)address, data);
}

static void get_registers(const struct victim *victim, struct user_regs_struct *out)
{
	if (trace(PTRACE_GETREGS, victim->pid, 0, out))
		fail("reading registers");
}

static void set_registers(const struct victim *victim, struct user_regs_struct *wanted)
{
	if (trace(PTRACE_SETREGS, victim->pid, 0, wanted))
		fail("writing registers");
}

static int wait_stop(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			fail("waiting for it to stop");
	return status;
}

static int event_of(int status)
{
	return status >> 16;
}

static bool is_new_process(int status)
{
	int event = event_of(status);

	return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
	       event == PTRACE_EVENT_CLONE;
}

static pid_t new_process(pid_t pid)
{
	unsigned long child = 0;

	if (trace(PTRACE_GETEVENTMSG, pid, 0, &child))
		fail("asking for its child");
	return (pid_t)child;
}

/* It has not run yet. */
static void end_new_process(pid_t pid)
{
	int status = wait_stop(pid);

	if (!WIFSTOPPED(status))
		return;
	(void)kill(pid, SIGKILL);
	do
		status = wait_stop(pid);
	while (WIFSTOPPED(status));
}

static const char *end_of(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? KILLED : ENDED;
}

/* Lets it run to its next stop at a system call. False: there is none, victim->end says why. */
static bool run_to_call_stop(struct victim *victim)
{
	for (;;) {
		int status;

		if (trace(PTRACE_SYSCALL, victim->pid, 0, NULL))
			fail("letting it run");
		status = wait_stop(victim->pid);
		if (!WIFSTOPPED(status))
			victim->end = end_of(status);
		else if (event_of(status) == PTRACE_EVENT_EXEC)
			victim->end = "program";
		else if (is_new_process(status))
			end_new_process(new_process(victim->pid));
		else if (WSTOPSIG(status) == CALL_STOP)
			return true;
		else if (!event_of(status))
			victim->signal = WSTOPSIG(status);
		if (victim->end)
			return false;
	}
}

/* Where a signal would be delivered: only from there the kernel takes up the call it was in again. */
static void run_to_signal_stop(struct victim *victim)
{
	int status;

	if (trace(PTRACE_INTERRUPT, victim->pid, 0, NULL))
		fail("stopping it");
	do {
		if (trace(PTRACE_CONT, victim->pid, 0, NULL))
			fail("letting it run");
		status = wait_stop(victim->pid);
		if (!WIFSTOPPED(status))
			victim->end = end_of(status);
		else if (!event_of(status))
			victim->signal = WSTOPSIG(status);
	} while (!victim->end && event_of(status) != PTRACE_EVENT_STOP);
}

/* ---- getting hold of it ---- */

static void take_thread(struct victim *victim)
{
	int status;

	if (trace(PTRACE_SEIZE, victim->pid, 0, (void *)(uintptr_t)TRACE_ALL) ||
	    trace(PTRACE_INTERRUPT, victim->pid, 0, NULL))
		fail("attaching");
	status = wait_stop(victim->pid);
	if (!WIFSTOPPED(status)) {
		fprintf(stderr, "take_over: it has ended\n");
		exit(1);
	}
	get_registers(victim, &victim->before);
}

/* Its next child, which has not run yet; the thread itself goes on. */
static pid_t take_next_child(pid_t pid)
{
	pid_t child;
	int status;

	if (trace(PTRACE_SEIZE, pid, 0, (void *)(uintptr_t)TRACE_ALL))
		fail("attaching");
	puts("waiting");
	fflush(stdout);
	for (;;) {
		status = wait_stop(pid);
		if (!WIFSTOPPED(status)) {
			fprintf(stderr, "take_over: it ended without a child\n");
			exit(1);
		}
		if (is_new_process(status))
			break;
		(void)trace(PTRACE_CONT, pid, 0,
			    (void *)(intptr_t)(event_of(status) ? 0 : WSTOPSIG(status)));
	}
	child = new_process(pid);
	if (!WIFSTOPPED(wait_stop(child)) || trace(PTRACE_DETACH, pid, 0, NULL))
		fail("taking its child");
	return child;
}

/* Until it has come back from that call for the first time. */
static void run_through_call(struct victim *victim, uint64_t call)
{
	do {
		if (!run_to_call_stop(victim) || !run_to_call_stop(victim)) {
			fprintf(stderr, "take_over: the child ended before that call\n");
			exit(1);
		}
		get_registers(victim, &victim->before);
	} while (victim->before.orig_rax != call);
}

/* ---- calls ---- */

/* False: it did not come back from it. */
static bool make_call(struct victim *victim, const uint64_t numbers[CALL_NUMBERS], uint64_t *out)
{
	struct user_regs_struct wanted = victim->before;

	wanted.rip = victim->address;
	wanted.rax = numbers[0];
	wanted.orig_rax = (unsigned long long)-1; /* no call that is to be taken up again */
	wanted.rdi = numbers[1];
	wanted.rsi = numbers[2];
	wanted.rdx = numbers[3];
	wanted.r10 = numbers[4];
	wanted.r8 = numbers[5];
	wanted.r9 = numbers[6];
	set_registers(victim, &wanted);
	if (!run_to_call_stop(victim) || !run_to_call_stop(victim))
		return false;
	get_registers(victim, &wanted);
	*out = wanted.rax;
	return true;
}

static void call(struct victim *victim, const uint64_t numbers[CALL_NUMBERS])
{
	static const uint64_t harmless[CALL_NUMBERS] = { SYS_getpid };
	uint64_t result, unused;

	/* One that a filter ends comes back with the number of its call, and is not to come back again. */
	if (make_call(victim, numbers, &result) && result == numbers[0]) {
		run_to_signal_stop(victim);
		if (!victim->end)
			(void)make_call(victim, harmless, &unused);
	}
	if (victim->end)
		puts(victim->end);
	else
		printf("%lld\n", (long long)result);
	fflush(stdout);
}

static bool read_numbers(char *line, uint64_t numbers[CALL_NUMBERS])
{
	size_t cnt = 0;

	memset(numbers, 0, CALL_NUMBERS * sizeof(*numbers));
	for (char *word = strtok(line, " \n"); word && cnt < CALL_NUMBERS;
	     word = strtok(NULL, " \n"))
		numbers[cnt++] = strtoull(word, NULL, 0);
	return cnt > 0;
}

static void serve(struct victim *victim)
{
	char line[LINE_BYTES];

	printf("ready %d\n", victim->pid);
	fflush(stdout);
	while (!victim->end && fgets(line, sizeof(line), stdin)) {
		uint64_t numbers[CALL_NUMBERS];

		if (read_numbers(line, numbers))
			call(victim, numbers);
	}
}

static void give_back(struct victim *victim)
{
	run_to_signal_stop(victim);
	if (victim->end)
		return;
	set_registers(victim, &victim->before);
	(void)trace(PTRACE_DETACH, victim->pid, 0, (void *)(intptr_t)victim->signal);
}

static void end_victim(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (WIFSTOPPED(wait_stop(pid)))
		;
}

int main(int argc, char **argv)
{
	bool is_child = argc == 5 && strcmp(argv[1], "child") == 0;
	struct victim victim = { 0 };

	if (!is_child && (argc != 4 || strcmp(argv[1], "thread") != 0)) {
		fprintf(stderr, "usage: take_over thread TID ADDRESS | child TID ADDRESS CALL\n");
		return 1;
	}
	alarm(LIMIT_S);
	victim.pid = (pid_t)strtol(argv[2], NULL, 10);
	victim.address = strtoull(argv[3], NULL, 16);
	if (is_child) {
		victim.pid = take_next_child(victim.pid);
		run_through_call(&victim, strtoull(argv[4], NULL, 10));
	} else {
		take_thread(&victim);
	}
	serve(&victim);
	if (victim.end && (strcmp(victim.end, KILLED) == 0 || strcmp(victim.end, ENDED) == 0))
		return 0;
	if (is_child || victim.end)
		end_victim(victim.pid);
	else
		give_back(&victim);
	return 0;
}

#else

int main(void)
{
	fprintf(stderr, "take_over: not written for this processor\n");
	return 3;
}

#endif
