/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about one stream (one process's life) in one window besides its stacks: time,
 * identity, labels, and the truth about losses. The recorder fills it, the store keeps it, the
 * selectors and `--list` read it. No I/O.
 *
 * Nothing here is owned: labels and text are borrowed from whoever filled it.
 */
#ifndef JBPF_MODEL_WINDOW_H
#define JBPF_MODEL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/model/process_life.h"
#include "user/model/stack_end.h"

/* Labels by which people select. Their names on disk are window_label_name(). */
enum window_label {
	WINDOW_LABEL_COMM = 0,
	WINDOW_LABEL_SERVICE,	/* pod's or container's name without run-specific parts */
	WINDOW_LABEL_NAMESPACE, /* Kubernetes */
	WINDOW_LABEL_POD,
	WINDOW_LABEL_POD_UID,
	WINDOW_LABEL_CONTAINER,	   /* name; the short id where no name is known */
	WINDOW_LABEL_CONTAINER_ID, /* 64 hex digits, as the runtime writes it */
	WINDOW_LABEL_RUNTIME,	   /* docker, containerd, crio, podman, systemd-nspawn, ... */
	WINDOW_LABEL_IMAGE,
	WINDOW_LABEL_CGROUP, /* path as the host sees it */
	WINDOW_LABEL_EXE,    /* path of the program inside its container */
	WINDOW_LABEL_JVM_VERSION,
	WINDOW_LABEL_JIT_PROBLEM,  /* one line: why JIT frames have no names */
	WINDOW_LABEL_JIT_FALLBACK, /* one line: why not the best source of names is in use */
	WINDOW_LABEL_OVER_BUDGET, /* one line: what was cut, and how much, because its cgroup used more than its share */
	WINDOW_LABEL_SOURCES, /* where the labels come from: "pod=kubelet container=docker ..." */
	WINDOW_LABEL_COST, /* one line: what its cgroup used up of jbpfd, where that is much; nothing was cut */
	WINDOW_LABEL_STORE_PROBLEM, /* one line, of a host record: what is not well with the store */
	WINDOW_LABEL_UNWIND, /* how its stacks are walked: unwind_facts.h; of a host record, too */
	WINDOW_LABEL_HOST, /* name of the host, or of the Kubernetes node; of a host record, too */
	WINDOW_LABEL_PASSES,	     /* of a host record of EVENT_OFF_CPU: pass_facts.h */
	WINDOW_LABEL_NAMING_PROBLEM, /* one line, of a host record: why naming does not go on */
	WINDOW_LABEL_CNT,
};

/* Reasons a sample or a part of it was lost, or is not to be kept; per host and window. Values reach disk: append only. */
enum window_loss {
	WINDOW_LOSS_COUNTS_FULL = 0,  /* samples */
	WINDOW_LOSS_NO_MAP = 1,	      /* samples: a BPF map was missing or refused the entry */
	WINDOW_LOSS_STACK_BUFFER = 2, /* stacks whose addresses did not reach user space */
	WINDOW_LOSS_NOTICES = 3,      /* process notices */
	WINDOW_LOSS_KERNEL_STACK = 4, /* kernel stacks */
	WINDOW_LOSS_STORE = 5,	      /* samples that could not be written (disk full) */
	WINDOW_LOSS_MEMORY = 6,	      /* samples dropped because jbpfd ran out of memory */
	WINDOW_LOSS_CELLS = 7, /* samples that are counted, but in no cell: when is not known */
	/* Samples of processes that do not want to be profiled: no loss. */
	WINDOW_LOSS_OPTED_OUT = 8,
	WINDOW_LOSS_UNDECIDED = 9, /* samples of processes that ended before it was known whether */
	/* Samples that are kept as "comm;[not named]": naming them failed or was given up. */
	WINDOW_LOSS_NOT_NAMED = 10,
	/* Samples that are kept with less of their stack: their cgroup is over its budget. */
	WINDOW_LOSS_CUT = 11,
	/* Samples that nothing named in time, of processes that may not want to be profiled. */
	WINDOW_LOSS_GIVEN_UP = 12,
	/* Samples of waiting threads, about so many: passes over them did not come when they were due. */
	WINDOW_LOSS_PASSES = 13,
	WINDOW_LOSS_CNT,
};

/* State of a JVM flag. Values reach disk. */
enum window_flag {
	WINDOW_FLAG_UNKNOWN = 0,
	WINDOW_FLAG_OFF = 1,
	WINDOW_FLAG_ON = 2,
};

/* What was counted in a window; adds up over windows. Nothing but uint64_t: see WINDOW_COUNT_CNT. */
struct window_counts {
	uint64_t samples;
	uint64_t unknown_frames;    /* frames without a name, times samples */
	uint64_t frames;	    /* all frames, times samples */
	uint64_t truncated_samples; /* stacks that do not reach a thread's first frame */
	uint64_t jit_frames;	    /* frames in JIT code, times samples */
	uint64_t unknown_jit_frames;
	uint64_t ambiguous_frames; /* JIT names that changed within the window: stale, not named */
	uint64_t inlined_frames;   /* of `frames`: inlined Java methods, times samples */
	uint64_t interpreted_frames;  /* of `frames`: interpreted Java methods, times samples */
	uint64_t jit_leaf_samples;    /* leaf in JIT code, and it could be told whether ... */
	uint64_t repaired_samples;    /* ... its caller was missing, and was put back, ... */
	uint64_t unrepaired_samples;  /* ... or was or may be missing and could not be put back */
	uint64_t ends[STACK_END_CNT]; /* of truncated_samples, why; none by STACK_END_ROOT */
	/*
	 * Of EVENT_OFF_CPU: how long its threads were ready and had no CPU, in ns, all together. Not
	 * sampled. 0 also where it is not known: struct pass_facts says whether the kernel has it.
	 */
	uint64_t run_delay_ns;
};

/* Its numbers, those of `ends` among them. */
#define WINDOW_COUNT_CNT (sizeof(struct window_counts) / sizeof(uint64_t))

struct window {
	/* Time. */
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME: tells a stepped clock from lost time */
	uint8_t boot_id[16];	/* /proc/sys/kernel/random/boot_id */
	uint32_t frequency_hz;	/* of EVENT_CPU; 0 of others */
	uint32_t cpu_cnt;	/* CPUs sampled */

	/* The stream: see window_stream_id(). All 0 in a host record. */
	uint32_t pid;
	uint32_t ns_pid;
	uint64_t process_start_ns; /* CLOCK_BOOTTIME */
	uint64_t cgroup_id;
	uint32_t exec_id;

	struct window_counts counts;
	uint64_t lost[WINDOW_LOSS_CNT]; /* only in a host record */

	/* Where JIT names come from. */
	uint32_t jit_source; /* enum jit_source of jvm_facts.h */
	uint32_t jit_age_ms; /* age of the map at the window's end; UINT32_MAX = none */
	uint32_t jit_entries;
	uint32_t attach_outcome;	 /* enum jvm_attach_outcome of jvm_facts.h: the last one */
	uint32_t attach_cnt;		 /* requests so far */
	uint32_t attach_command_ms;	 /* time the JVM spent on them so far */
	uint32_t preserve_frame_pointer; /* enum window_flag */
	uint32_t is_jvm;		 /* 0 or 1 */
	/* Who set the flag: enum hotspot_flag_origin of jvm_facts.h; 0 also when unknown. */
	uint32_t preserve_frame_pointer_origin;

	/* What a sample is, and how much of it. All 0 in old ones: ask window_period(). */
	uint32_t event;	      /* enum event, or one of a later jbpf */
	uint32_t period_unit; /* enum event_unit */
	uint64_t period;      /* what one sample stands for, in `period_unit` */

	/* Of windows that were merged into this one: see store.h. 0 = it is a single one. */
	uint32_t window_cnt;
	uint64_t recorded_ns; /* sum of their durations; duration_ns spans the gaps, too */

	/* Text of a struct source_lines; NULL = none, or not asked for. Borrowed like the labels. */
	const char *lines;
	uint64_t lines_len;

	/* Code of thread_counts.h for the text. NULL = not known, or not asked for. Borrowed. */
	const uint8_t *threads;
	uint64_t threads_len;

	/*
	 * Samples by time: see cells.h. NULL = not kept, or not asked for. Borrowed. They add up to
	 * counts.samples or less: see WINDOW_LOSS_CELLS.
	 */
	const uint8_t *cells;
	uint32_t cells_len;

	/* The same by stacks, for the text: see ticks.h. NULL also for windows that were merged. Borrowed. */
	const uint8_t *ticks;
	uint64_t ticks_len;

	/* NULL = not known; owner: whoever filled the window. */
	const char *labels[WINDOW_LABEL_CNT];
};

/* What a number is when windows are merged. */
enum window_field_kind {
	WINDOW_FIELD_TIME = 0, /* computed again */
	WINDOW_FIELD_TRACK,    /* the same in all windows of a track */
	WINDOW_FIELD_STATE,    /* as it was at the window's end */
	WINDOW_FIELD_COUNT,    /* adds up */
};

/* A number of struct window, by one name in ClickHouse and in JSON. */
struct window_field {
	const char *name;
	size_t offset; /* in struct window */
	size_t bytes;  /* 4 or 8 */
	enum window_field_kind kind;
	uint32_t commit_at; /* in open hours, within the fixed fields of a COMMIT record */
	uint32_t section;   /* in merged hours, enum rows_section; 0: in a form of its own */
	bool is_delta;	    /* there, as the difference to the row before */
};

#define WINDOW_FIELD_CNT	   37
#define WINDOW_FIELD_NOT_IN_COMMIT UINT32_MAX

/*
 * All numbers but losses and ends. ClickHouse's id of a track has those of one in this order: append only.
 * FORMAT.md's table is made of it.
 */
extern const struct window_field window_fields[WINDOW_FIELD_CNT];

/* A number of 4 or 8 bytes within a struct. */
uint64_t window_number_get(const void *within, size_t offset, size_t bytes);
/* false when the value is too large for it. */
bool window_number_set(void *within, size_t offset, size_t bytes, uint64_t value);

/* "comm", "service", ... */
const char *window_label_name(enum window_label label);
/* WINDOW_LABEL_CNT when there is no such label. */
enum window_label window_label_by_name(const char *name, unsigned long len);
const char *window_loss_name(enum window_loss loss);

/* When it ends, as Unix ns; UINT64_MAX when that would overflow. */
uint64_t window_end_unix_ns(const struct window *window);

/* How long was recorded, of one window or of a sum of several. */
uint64_t window_recorded_ns(const struct window *window);

/* What one sample stands for: ns of CPU time, faults, ...; 0 when it is not known. */
uint64_t window_period(const struct window *window);

struct stream_id window_stream_id(const struct window *window);
/* Labels are not looked at. */
bool window_is_same_stream(const struct window *a, const struct window *b);

/* Adds; sums saturate. */
void window_counts_add(struct window_counts *sum, const struct window_counts *counts);
/* The same of counts that are multiplied by `weight`. */
void window_counts_add_weighted(struct window_counts *sum, const struct window_counts *counts,
				uint64_t weight);

/* The samples of which nothing is left, by an array of losses as in a host record. */
uint64_t window_lost_samples(const uint64_t lost[WINDOW_LOSS_CNT]);

/* Label text or "". */
static inline const char *window_label(const struct window *window, enum window_label label)
{
	return window->labels[label] ? window->labels[label] : "";
}

#endif
