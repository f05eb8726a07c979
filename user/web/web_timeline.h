/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time line: how much of an event each group (service, pod, ...) had in each step of time. Pure:
 * windows are added, JSON comes out; WEB-API.md describes it.
 */
#ifndef JBPF_WEB_WEB_TIMELINE_H
#define JBPF_WEB_WEB_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define WEB_TIMELINE_STEPS_MAX	2000
#define WEB_TIMELINE_SERIES_MAX 12   /* drawn one by one, the heaviest; the others are a sum */
#define WEB_TIMELINE_GROUPS_MAX 4096 /* that are told apart; more are in "others" from the first */
#define WEB_TIMELINE_STARTS_MAX 200

struct web_timeline_options {
	uint64_t since_unix_ns; /* a multiple of the step since 1970 */
	uint64_t until_unix_ns;
	uint64_t step_ns;
	enum event event;
	enum window_label by; /* WINDOW_LABEL_CNT: one series of all */
	size_t series_max;    /* 0: WEB_TIMELINE_SERIES_MAX */
	bool is_without_idle; /* the caller leaves out threads that wait for work; only reported here */
};

struct web_timeline;

/* A step of the list of round ones, so that there are not too many of them. Pure. */
uint64_t web_timeline_step(uint64_t range_ns);

/* NULL when memory is short. since < until, and at most WEB_TIMELINE_STEPS_MAX steps. */
struct web_timeline *web_timeline__new(const struct web_timeline_options *options);
void web_timeline__free(struct web_timeline *timeline); /* NULL is fine */

/* A stream's window, or a host record (pid 0). 0 or -ENOMEM. */
__must_check int web_timeline__add(struct web_timeline *timeline, const struct window *window);

/* Some stream, wanted or not, has a window up to this end; the time after the last such end is in no window. */
void web_timeline__note_end(struct web_timeline *timeline, const struct window *window);

/* 0 or -ENOMEM. */
__must_check int web_timeline__json(struct web_timeline *timeline, struct strbuf *out);

#endif
