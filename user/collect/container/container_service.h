/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a workload that stays the same from day to day, whatever is restarted. Pure. */
#ifndef JBPF_CONTAINER_CONTAINER_SERVICE_H
#define JBPF_CONTAINER_CONTAINER_SERVICE_H

#include <stddef.h>

/* What is known; NULL or "" where nothing is. */
struct container_service_hints {
	const char *label; /* what the owner calls it: compose service, app label */
	const char *pod;
	const char *container; /* a real name, not a shortened id */
	const char *image;
	const char *unit;
};

/*
 * "" when nothing is known; cut at out_len - 1. Returns what it was made of, as a constant: "label",
 * "pod", "container", "image", "unit" or "".
 */
const char *container_service_derive(const struct container_service_hints *hints, char *out,
				     size_t out_len);

#endif
