/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of ours hangs while it reads another's memory: which file does it wait for? The kernel
 * says in which call it is, with its arguments (/proc/PID/syscall), and what the other has mapped there.
 * Asked once it hangs, so that reading costs nothing.
 *
 * A process of its own looks: one that waits for the other's mappings waits for whoever is changing
 * them (mmap_lock), though a signal ends that. The link to the namer starts it and waits for nothing.
 *
 * In: pids. Out: a path, as the kernel shows it: foreign text.
 */
#ifndef JBPF_NAMER_HANG_PLACE_H
#define JBPF_NAMER_HANG_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/sandbox/launcher.h"
#include "user/util/attributes.h"

#define HANG_PLACE_BYTES 192u /* a longer path keeps its end */

/* Which process hangs, and over which one. */
struct hang_question {
	uint32_t hanging; /* our process */
	uint32_t over;	  /* whose memory it reads */
	uint64_t start_ns;
};

/* "" when it cannot be told: it is in another call, or what it reads is no file, or of another process. */
void hang_place_find(int proc_fd, const struct hang_question *question, char out[HANG_PLACE_BYTES]);

/* The launcher's child: LAUNCHER_LOOKER. */
int hang_place_main(const struct launcher_child *child);

/* The sampler's end; zero-initialise. */
struct hang_look {
	pid_t pid; /* 0 = nobody looks just now */
	int fd;
	uint64_t end_ns; /* CLOCK_BOOTTIME; it is ended then */
};

/* Nothing of it may be running. 0 or -errno. */
__must_check int hang_look_start(struct hang_look *look, struct launcher *launcher,
				 const struct hang_question *question, uint64_t now_ns);
/* True: it is over, and this is the answer; "" = not known. Waits for nothing. */
bool hang_look_take(struct hang_look *look, struct launcher *launcher, uint64_t now_ns,
		    char out[HANG_PLACE_BYTES]);

#endif
