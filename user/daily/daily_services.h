/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of a store: what is compared with itself from day to day, and the names their files
 * get. A service is what carries the service label; what has none goes by its container's name;
 * processes outside of containers go by their program's name. Names are hostile: two services never
 * share a file, and no name leads out of the directory.
 */
#ifndef JBPF_DAILY_SERVICES_H
#define JBPF_DAILY_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/cmd_store.h"
#include "user/model/select.h"
#include "user/store/store_source.h"

#define DAILY_SERVICES_MAX 1000 /* the busiest are compared */
#define DAILY_FILE_BYTES   192	/* with NUL; suffixes of 40 bytes fit a file system's limit */

struct strtab;

struct daily_service {
	const char *key;	     /* who it is, to the series: "service=shop,namespace=prod" */
	const char *title;	     /* "service shop in namespace prod"; not yet escaped */
	const char *name;	     /* "shop"; the same */
	char file[DAILY_FILE_BYTES]; /* safe name without suffix: "shop@prod" */
	struct selection selection;  /* selects exactly it; texts live as long as the list */
	uint64_t samples_before;
	uint64_t samples_after;
};

/* Zero-initialise; end with daily_services_release(). */
struct daily_services {
	struct daily_service *items; /* by file name */
	size_t cnt;
	size_t cap;
	size_t left_out; /* past DAILY_SERVICES_MAX */
	struct strtab *texts;
	struct strtab *keys; /* id = index in items while windows are added */
};

/*
 * Adds a window that begins in [since, until), before or at and after `middle_unix_ns`. `base` is
 * what the command line selects. 0 or -ENOMEM.
 */
__must_check int daily_services_add(struct daily_services *services, const struct selection *base,
				    uint64_t middle_unix_ns, const struct window *window);

/* After the last window: names files, sorts, drops what is too much. 0 or -ENOMEM. */
__must_check int daily_services_finish(struct daily_services *services);

/* Indices of items, those with the fewest samples first; to be freed. NULL: no memory. */
size_t *daily_services_order(const struct daily_services *services);

void daily_services_release(struct daily_services *services);

/* All of that from a store; no text is decoded. 0 or -errno. */
__must_check int daily_services_list(struct store_source *reader, const struct selection *base,
				     uint64_t since_unix_ns, uint64_t middle_unix_ns,
				     uint64_t until_unix_ns, struct cmd_store_damage *damage,
				     struct daily_services *services);

#endif
