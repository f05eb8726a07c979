/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the stacks of a process are walked, file by file, and which tables the whole host has: what
 * the label `unwind` of a window says. It is text of words NAME=VALUE with one blank between them, as
 * FORMAT.md has them; it changes seldom, so that windows of one process keep their labels. No I/O.
 */
#ifndef JBPF_MODEL_UNWIND_FACTS_H
#define JBPF_MODEL_UNWIND_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/stack_end.h"
#include "user/util/strbuf.h"

#define UNWIND_FACTS_FILES	4u  /* that are named; the others are counted */
#define UNWIND_FACTS_NAME_BYTES 64u /* longer names are cut */

/* Why a file has no table. The words reach disk and JSON: append only. */
enum unwind_why {
	UNWIND_WHY_UNKNOWN = 0,	   /* a word of a later version */
	UNWIND_WHY_NO_INFORMATION, /* it has no rules, as musl */
	UNWIND_WHY_LARGE,	   /* more than a table may have */
	UNWIND_WHY_DAMAGED,	   /* its rules make no sense */
	UNWIND_WHY_UNREADABLE,	   /* it could not be read, so far */
	UNWIND_WHY_SHARE,	   /* its container has as many as are left for all others */
	UNWIND_WHY_FULL,	   /* all tables are in use */
	UNWIND_WHY_KERNEL,	   /* the kernel did not take it */
	UNWIND_WHY_CNT,
};

/* How frames of compiled Java are found. */
enum unwind_java {
	UNWIND_JAVA_NONE = 0, /* it is no JVM, or nothing is known yet */
	UNWIND_JAVA_FP,	      /* by frame pointers, which the JVM keeps */
	UNWIND_JAVA_SIZES,    /* by the sizes of its frames */
	UNWIND_JAVA_UNKNOWN,  /* it keeps none, and the sizes are not to be had */
};

enum unwind_by {
	UNWIND_BY_UNKNOWN = 0, /* windows of an older version; or not yet */
	UNWIND_BY_RULES,       /* tables, where there are some */
	UNWIND_BY_FP, /* frame pointers alone: so it was asked for, or the host has no more */
};

struct unwind_facts {
	enum unwind_by by;
	enum unwind_java java;
	uint32_t table_cnt; /* files that have one */
	uint32_t fp_cnt;    /* files without, whose code keeps frame pointers */
	struct {
		char name[UNWIND_FACTS_NAME_BYTES];
		enum unwind_why why;
	} without[UNWIND_FACTS_FILES];
	uint32_t without_cnt; /* that are named */
	uint32_t more_cnt;    /* others */
	struct {
		char name[UNWIND_FACTS_NAME_BYTES];
		enum stack_end end;
	} ends[UNWIND_FACTS_FILES]; /* files in which stacks ended for want of a rule, and how */
	uint32_t end_cnt;
};

/* "no_information", "large", ...; "unknown" beyond the enum. */
const char *unwind_why_name(enum unwind_why why);
/* For people: "it has no unwind information"; it follows the name of the file. */
const char *unwind_why_text(enum unwind_why why);
/* "frame_pointers", "frame_sizes", "unknown"; "" when it is no JVM. */
const char *unwind_java_name(enum unwind_java java);
/* "rules", "frame_pointers"; "" when it is not known. */
const char *unwind_by_name(enum unwind_by by);

/* Writes the label; errors are the buffer's. */
void unwind_facts_append(const struct unwind_facts *facts, struct strbuf *out);
/* Reads a label, or "". What is not known is left out. Names are foreign text. */
void unwind_facts_read(const char *text, struct unwind_facts *out);

/* Why a file has none; NULL: it is not among those that are named. */
const enum unwind_why *unwind_facts_why(const struct unwind_facts *facts, const char *name);

/* The host's: in host records. Sums since the process that names began. */
struct unwind_host {
	uint64_t table_cnt; /* now */
	uint64_t bytes;	    /* of the kernel's memory, now */
	uint64_t evicted;
	uint64_t leafs_proved;
	uint64_t leafs_refuted;		  /* samples */
	uint64_t refused[UNWIND_WHY_CNT]; /* times, by why */
};

void unwind_host_append(const struct unwind_host *host, struct strbuf *out);
void unwind_host_read(const char *text, struct unwind_host *out);

#endif
