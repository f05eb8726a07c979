/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses became those of BPF programs or trampolines, or ceased to be: the place of one that is gone is
 * used again, so a name from /proc/kallsyms holds for a sample only if nothing changed there in between. The
 * kernel reports each change as a PERF_RECORD_KSYMBOL (since 5.1) to events on the CPU that makes it. Here
 * is such an event on each CPU, with a ring of two pages.
 *
 * A program's record is written after its symbol is there and before it can run, and when it is unloaded
 * before its memory is free (bpf_prog_load(), bpf_prog_put_deferred() in kernel/bpf/syscall.c).
 *
 * In: the CPUs that are online. Out: changes. The probe has one, beside its events.
 */
#ifndef JBPF_HOST_KSYMBOL_WATCH_H
#define JBPF_HOST_KSYMBOL_WATCH_H

#include <stddef.h>
#include <stdint.h>

#define KSYMBOL_CHANGES_MAX 256u

struct ksymbol_change {
	uint64_t start;
	uint64_t end;	  /* exclusive */
	uint64_t boot_ns; /* CLOCK_BOOTTIME */
};

struct ksymbol_changes {
	uint64_t until_boot_ns; /* nothing else changed until then; 0: not known */
	uint64_t cnt;
	struct ksymbol_change items[KSYMBOL_CHANGES_MAX];
};

struct ksymbol_watch;

/* Watches no CPU yet. NULL only when memory is short. */
struct ksymbol_watch *ksymbol_watch__new(void);
void ksymbol_watch__free(struct ksymbol_watch *watch); /* NULL is fine */

/* These are the CPUs now, ascending. Where one came, went or was away since the last call anything may have changed. */
void ksymbol_watch__follow(struct ksymbol_watch *watch, const uint32_t *cpus, size_t cnt);

/*
 * What changed since the last call; where it is not known what, that is one change of all addresses. Call
 * ksymbol_watch__follow() before it.
 */
void ksymbol_watch__take(struct ksymbol_watch *watch, struct ksymbol_changes *out);
/* Anything may have changed until then. */
void ksymbol_changes_are_all(struct ksymbol_changes *changes);

#endif
