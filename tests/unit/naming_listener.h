/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of naming in this process: a listener that takes nothing, of which a test replaces what it
 * wants to see.
 */
#ifndef JBPF_TESTS_UNIT_NAMING_LISTENER_H
#define JBPF_TESTS_UNIT_NAMING_LISTENER_H

#include "tests/unit/parse_here.h"
#include "user/collect/naming/naming.h"
#include "user/sandbox/launcher.h"

/* It starts nobody. */
static inline struct launcher *dead_launcher(void)
{
	static struct launcher *launcher;

	if (!launcher)
		launcher = launcher__from_fd(-1);
	return launcher;
}

static inline void ignore_met(void *ctx, const struct window *window)
{
	(void)ctx;
	(void)window;
}

static inline void ignore_hotspot(void *ctx, const struct naming_hotspot *hotspot)
{
	(void)ctx;
	(void)hotspot;
}

static inline void ignore_leaf_rule(void *ctx, const struct naming_leaf_rule *rule)
{
	(void)ctx;
	(void)rule;
}

static inline void ignore_code_range(void *ctx, const struct naming_code_range *range)
{
	(void)ctx;
	(void)range;
}

static inline void ignore_opt_out(void *ctx, const struct naming_opt_out *opt_out)
{
	(void)ctx;
	(void)opt_out;
}

static inline void ignore_account(void *ctx, const struct naming_account *account)
{
	(void)ctx;
	(void)account;
}

/* Takes streams, and nothing else. */
static inline struct naming_listener
naming_listener(int (*stream)(void *ctx, const struct window *window, const char *text, size_t len))
{
	return (struct naming_listener){
		.stream = stream,
		.met = ignore_met,
		.code_range = ignore_code_range,
		.hotspot = ignore_hotspot,
		.leaf_rule = ignore_leaf_rule,
		.opt_out = ignore_opt_out,
		.account = ignore_account,
	};
}

#endif
