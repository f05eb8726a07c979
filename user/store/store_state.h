/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the jbpfd that writes a store knows of itself: the file DIR/state, replaced with each window, also
 * with one that could not be written, and removed when jbpfd ends in order. It lies beside the profiles so that who may read these may read it,
 * and jbpfd needs no right for it that it does not have.
 *
 * Its lines are jbpfd's metrics (user/serve/METRICS.md) in the text of Prometheus, without HELP and TYPE,
 * below one that has a version, a checksum and the time: FORMAT.md. Written by the one who holds the
 * store's lock, read by anybody. Nothing is remembered between calls.
 */
#ifndef JBPF_STORE_STORE_STATE_H
#define JBPF_STORE_STORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define STORE_STATE_NAME	  "state"
#define STORE_STATE_BYTES_MAX	  (256u * 1024)
#define STORE_STATE_VERSION_BYTES 64u

/* What readers use of it. A number that is not in the file is 0. */
struct store_state {
	uint64_t written_unix_ns;
	uint64_t start_unix_ns; /* when jbpfd was started */
	uint64_t window_ns;
	uint64_t cpu_ns; /* since the start */
	uint64_t resident_bytes;
	uint64_t windows_written;
	uint64_t windows_failed;
	uint64_t unsampled_cpus;		 /* that came online later */
	char version[STORE_STATE_VERSION_BYTES]; /* as the file has it: to be escaped */
};

/*
 * Replaces the state; comments in `metrics` are left out. On a full disk the file is written over where it
 * lies. 0, or -errno: readers find the old state, or at worst a damaged one.
 */
__must_check int store_state_write(const char *dir, const struct strbuf *metrics,
				   uint64_t now_unix_ns);

void store_state_remove(const char *dir);

/*
 * 0, -ENOENT: there is none, -EPROTONOSUPPORT: it is of another version, -EBADMSG: it is damaged, or no such
 * file, or -errno. `out` is whole with 0 only.
 */
__must_check int store_state_read(const char *dir, struct store_state *out);

/* Was it written so lately that its jbpfd runs? For three windows, and at least half a minute. */
bool store_state_is_fresh(const struct store_state *state, uint64_t now_unix_ns);

#endif
