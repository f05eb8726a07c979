// SPDX-License-Identifier: Apache-2.0
/*
 * Names of a window's labels and losses. The label names reach disk and JSON: append, never rename.
 */
#include "user/model/window.h"

#include <stddef.h>
#include <string.h>

#include "user/util/cleanup.h"

static const char *const label_names[WINDOW_LABEL_CNT] = {
	[WINDOW_LABEL_COMM] = "comm",
	[WINDOW_LABEL_SERVICE] = "service",
	[WINDOW_LABEL_NAMESPACE] = "namespace",
	[WINDOW_LABEL_POD] = "pod",
	[WINDOW_LABEL_POD_UID] = "pod_uid",
	[WINDOW_LABEL_CONTAINER] = "container",
	[WINDOW_LABEL_CONTAINER_ID] = "container_id",
	[WINDOW_LABEL_RUNTIME] = "runtime",
	[WINDOW_LABEL_IMAGE] = "image",
	[WINDOW_LABEL_CGROUP] = "cgroup",
	[WINDOW_LABEL_EXE] = "exe",
	[WINDOW_LABEL_JVM_VERSION] = "jvm_version",
	[WINDOW_LABEL_JIT_PROBLEM] = "jit_problem",
	[WINDOW_LABEL_JIT_FALLBACK] = "jit_fallback",
};

static const char *const loss_names[WINDOW_LOSS_CNT] = {
	[WINDOW_LOSS_COUNTS_FULL] = "counts_full",
	[WINDOW_LOSS_NO_MAP] = "no_map",
	[WINDOW_LOSS_STACK_BUFFER] = "stack_buffer",
	[WINDOW_LOSS_NOTICES] = "notices",
	[WINDOW_LOSS_KERNEL_STACK] = "kernel_stack",
	[WINDOW_LOSS_STORE] = "store",
	[WINDOW_LOSS_MEMORY] = "memory",
};

const char *window_label_name(enum window_label label)
{
	return (size_t)label < ARRAY_SIZE(label_names) ? label_names[label] : "unknown";
}

enum window_label window_label_by_name(const char *name, unsigned long len)
{
	for (size_t i = 0; i < ARRAY_SIZE(label_names); i++) {
		if (strlen(label_names[i]) == len && memcmp(label_names[i], name, len) == 0)
			return (enum window_label)i;
	}
	return WINDOW_LABEL_CNT;
}

const char *window_loss_name(enum window_loss loss)
{
	return (size_t)loss < ARRAY_SIZE(loss_names) ? loss_names[loss] : "unknown";
}
