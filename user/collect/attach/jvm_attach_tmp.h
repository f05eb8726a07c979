/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container's /tmp as far as attaching goes: socket, trigger and perf map of one JVM. All three
 * names lie in a directory that anybody in the container may write to, so everything is relative
 * to one O_PATH descriptor, nothing is followed, and kind and owner are checked each time.
 */
#ifndef JBPF_ATTACH_JVM_ATTACH_TMP_H
#define JBPF_ATTACH_JVM_ATTACH_TMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/collect/attach/jvm_attach.h"

struct jvm_tmp {
	int dir_fd; /* O_PATH of /tmp; borrowed */
	uid_t uid;  /* effective, of the JVM: it must own all three */
	char socket_name[32];
	char trigger_name[32];
	char map_name[32];
	bool has_socket;
	bool map_existed;
	struct stat map_before; /* when map_existed */
};

/* Names for the JVM's pid in its innermost pid namespace. */
void jvm_tmp_init(struct jvm_tmp *tmp, int dir_fd, uint32_t ns_pid, uid_t uid);

/*
 * Fills has_socket, map_existed, map_before. JVM_ATTACH_OK, or why nothing may be started:
 * JVM_ATTACH_TMP_NOT_WRITABLE, JVM_ATTACH_TMP_HOSTILE, JVM_ATTACH_ERROR.
 */
enum jvm_attach_outcome jvm_tmp_check(struct jvm_tmp *tmp);

/* With the JVM's ids: may it write here? JVM_ATTACH_OK or JVM_ATTACH_TMP_NOT_WRITABLE. */
enum jvm_attach_outcome jvm_tmp_check_writable(const struct jvm_tmp *tmp);

/* Is the socket there by now? 1, 0, or -ELOOP when something else has its name. */
__must_check int jvm_tmp_socket_appeared(const struct jvm_tmp *tmp);

/* O_PATH descriptor of the socket, to be connected to through /proc/self/fd. fd or -errno. */
__must_check int jvm_tmp_open_socket(const struct jvm_tmp *tmp);

/*
 * With the JVM's ids: the file by which the JVM knows that SIGQUIT means "attach". 0 made by us: to
 * be removed; -EEXIST: another attach is under way, its owner signals and removes it; -ELOOP: it is
 * there, but not as the JVM or its friends make it; else -errno.
 */
__must_check int jvm_tmp_make_trigger(const struct jvm_tmp *tmp);
void jvm_tmp_remove_trigger(const struct jvm_tmp *tmp);

/* After the command: JVM_ATTACH_OK when a new, whole map lies there, else JVM_ATTACH_NO_MAP. */
enum jvm_attach_outcome jvm_tmp_judge_map(const struct jvm_tmp *tmp);

/* With the JVM's ids. 0 (also when there is none), -EPERM when it is not a file of the JVM, -errno. */
__must_check int jvm_tmp_remove_map(const struct jvm_tmp *tmp);

#endif
