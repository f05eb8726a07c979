// SPDX-License-Identifier: Apache-2.0
/* See web_running.h. */
#include "user/web/web_running.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/live/running_reader.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

/* A packet that was checked when it came. */
struct told {
	void *bytes;
	size_t len;
};

struct web_running {
	const char *store_dir;
	struct running_reader reader;
	uint64_t asked_boot_ns;
	bool is_wanted;
	struct told told[WEB_RUNNING_SNAPSHOTS]; /* a ring */
	size_t first;
	size_t cnt;
	size_t bytes;
};

struct web_running *web_running__new(const char *store_dir)
{
	struct web_running *running = calloc(1, sizeof(*running));

	if (!running)
		return NULL;
	running->store_dir = store_dir;
	running_reader_init(&running->reader);
	return running;
}

static struct told *told_at(const struct web_running *running, size_t index)
{
	return (struct told *)&running->told[(running->first + index) % WEB_RUNNING_SNAPSHOTS];
}

static void drop_oldest(struct web_running *running)
{
	struct told *told = told_at(running, 0);

	running->bytes -= told->len;
	free(take_ptr(told->bytes));
	running->first = (running->first + 1) % WEB_RUNNING_SNAPSHOTS;
	running->cnt--;
}

static void forget(void *ctx)
{
	struct web_running *running = ctx;

	while (running->cnt)
		drop_oldest(running);
}

static int take(void *ctx, const struct packet *packet, const struct running_snapshot *snapshot)
{
	struct web_running *running = ctx;
	void *bytes = malloc(packet->len);

	(void)snapshot;
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, packet->bytes, packet->len);
	while (running->cnt && (running->cnt == WEB_RUNNING_SNAPSHOTS ||
				running->bytes + packet->len > WEB_RUNNING_BYTES))
		drop_oldest(running);
	*told_at(running, running->cnt++) = (struct told){ bytes, packet->len };
	running->bytes += packet->len;
	return 0;
}

static void hang_up(struct web_running *running)
{
	running_reader_release(&running->reader);
	running_reader_init(&running->reader);
	forget(running);
}

void web_running__free(struct web_running *running)
{
	if (!running)
		return;
	hang_up(running);
	free(running);
}

void web_running__step(struct web_running *running)
{
	const struct running_listener listener = { take, forget, running };

	if (!running->is_wanted)
		return;
	running->is_wanted = clock_boot_ns() - running->asked_boot_ns <
			     WEB_RUNNING_IDLE_S * CLOCK_NS_PER_S;
	/* Short of memory it forgets, and begins again. */
	if (!running->is_wanted ||
	    running_reader_step(&running->reader, running->store_dir, &listener))
		hang_up(running);
}

void web_running__ask(struct web_running *running)
{
	if (!running->store_dir)
		return;
	running->is_wanted = true;
	running->asked_boot_ns = clock_boot_ns();
	web_running__step(running);
}

int web_running__fd(const struct web_running *running)
{
	return running_reader_fd(&running->reader);
}

size_t web_running__count(const struct web_running *running)
{
	return running->cnt;
}

void web_running__get(const struct web_running *running, size_t index, struct running_snapshot *out)
{
	const struct told *told = told_at(running, index);

	if (running_snapshot_read(told->bytes, told->len, out))
		*out = (struct running_snapshot){ .events = NULL };
}

void web_running__why(const struct web_running *running, char *why, size_t why_len)
{
	if (running->store_dir)
		running_reader_why(&running->reader, why, why_len);
	else
		(void)snprintf(why, why_len,
			       "only what hosts have sent is shown, some minutes after it was");
}
