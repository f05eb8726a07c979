// SPDX-License-Identifier: Apache-2.0
/* See capabilities.h. The kernel's interface is two words of 32 bits per set, per thread. */
#include "user/sandbox/capabilities.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/util/cleanup.h"

#define CAPABILITY_MAX 64 /* bits of the kernel's sets */

static const char *const names[] = {
	[CAP_CHOWN] = "CAP_CHOWN",
	[CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "CAP_DAC_READ_SEARCH",
	[CAP_FOWNER] = "CAP_FOWNER",
	[CAP_FSETID] = "CAP_FSETID",
	[CAP_KILL] = "CAP_KILL",
	[CAP_SETGID] = "CAP_SETGID",
	[CAP_SETUID] = "CAP_SETUID",
	[CAP_SETPCAP] = "CAP_SETPCAP",
	[CAP_LINUX_IMMUTABLE] = "CAP_LINUX_IMMUTABLE",
	[CAP_NET_BIND_SERVICE] = "CAP_NET_BIND_SERVICE",
	[CAP_NET_BROADCAST] = "CAP_NET_BROADCAST",
	[CAP_NET_ADMIN] = "CAP_NET_ADMIN",
	[CAP_NET_RAW] = "CAP_NET_RAW",
	[CAP_IPC_LOCK] = "CAP_IPC_LOCK",
	[CAP_IPC_OWNER] = "CAP_IPC_OWNER",
	[CAP_SYS_MODULE] = "CAP_SYS_MODULE",
	[CAP_SYS_RAWIO] = "CAP_SYS_RAWIO",
	[CAP_SYS_CHROOT] = "CAP_SYS_CHROOT",
	[CAP_SYS_PTRACE] = "CAP_SYS_PTRACE",
	[CAP_SYS_PACCT] = "CAP_SYS_PACCT",
	[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
	[CAP_SYS_BOOT] = "CAP_SYS_BOOT",
	[CAP_SYS_NICE] = "CAP_SYS_NICE",
	[CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE",
	[CAP_SYS_TIME] = "CAP_SYS_TIME",
	[CAP_SYS_TTY_CONFIG] = "CAP_SYS_TTY_CONFIG",
	[CAP_MKNOD] = "CAP_MKNOD",
	[CAP_LEASE] = "CAP_LEASE",
	[CAP_AUDIT_WRITE] = "CAP_AUDIT_WRITE",
	[CAP_AUDIT_CONTROL] = "CAP_AUDIT_CONTROL",
	[CAP_SETFCAP] = "CAP_SETFCAP",
	[CAP_MAC_OVERRIDE] = "CAP_MAC_OVERRIDE",
	[CAP_MAC_ADMIN] = "CAP_MAC_ADMIN",
	[CAP_SYSLOG] = "CAP_SYSLOG",
	[CAP_WAKE_ALARM] = "CAP_WAKE_ALARM",
	[CAP_BLOCK_SUSPEND] = "CAP_BLOCK_SUSPEND",
	[CAP_AUDIT_READ] = "CAP_AUDIT_READ",
	[CAP_PERFMON] = "CAP_PERFMON",
	[CAP_BPF] = "CAP_BPF",
	[CAP_CHECKPOINT_RESTORE] = "CAP_CHECKPOINT_RESTORE",
};

int capabilities_read(struct capabilities *out)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, data))
		return -errno;
	*out = (struct capabilities){
		.effective = data[0].effective | (uint64_t)data[1].effective << 32,
		.permitted = data[0].permitted | (uint64_t)data[1].permitted << 32,
	};
	return 0;
}

static int capabilities_write(const struct capabilities *set)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = (uint32_t)set->effective, .permitted = (uint32_t)set->permitted },
		{ .effective = (uint32_t)(set->effective >> 32),
		  .permitted = (uint32_t)(set->permitted >> 32) },
	};

	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

uint64_t capabilities_bounding(void)
{
	uint64_t set = 0;

	/* -EINVAL: the kernel has no more of them. */
	for (unsigned long cap = 0; cap < CAPABILITY_MAX; cap++) {
		int is_in = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (is_in < 0)
			break;
		if (is_in)
			set |= CAPABILITY_BIT(cap);
	}
	return set;
}

/* Without CAP_SETPCAP the set stays as it is: only an execve() could make use of it. */
static int limit_bounding(uint64_t most)
{
	uint64_t excess = capabilities_bounding() & ~most;

	for (unsigned long cap = 0; cap < CAPABILITY_MAX; cap++) {
		if (excess & CAPABILITY_BIT(cap) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return errno == EPERM ? 0 : -errno;
	}
	return 0;
}

int capabilities_empty_bounding(void)
{
	return limit_bounding(0);
}

int capabilities_limit(const struct capabilities *most)
{
	struct capabilities held;
	int err = capabilities_read(&held);

	if (err)
		return err;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	held.permitted &= most->permitted;
	held.effective &= most->effective & held.permitted;
	err = limit_bounding(held.permitted);
	return err ? err : capabilities_write(&held);
}

int capabilities_raise(uint64_t set, struct capabilities *before)
{
	struct capabilities held, raised;
	int err = capabilities_read(&held);

	if (err)
		return err;
	raised = held;
	raised.effective |= set & held.permitted;
	err = capabilities_write(&raised);
	if (!err && before)
		*before = held;
	return err;
}

int capabilities_restore(const struct capabilities *before)
{
	struct capabilities held;
	int err = capabilities_read(&held);

	if (err)
		return err;
	held.effective = before->effective & held.permitted;
	return capabilities_write(&held);
}

const char *capabilities_name(unsigned int cap)
{
	return cap < ARRAY_SIZE(names) ? names[cap] : NULL;
}

int capabilities_append_names(uint64_t set, struct strbuf *out)
{
	bool is_first = true;

	if (!set)
		strbuf_puts(out, "none");
	for (unsigned int cap = 0; cap < CAPABILITY_MAX; cap++) {
		const char *name = capabilities_name(cap);

		if (!(set & CAPABILITY_BIT(cap)))
			continue;
		if (!is_first)
			strbuf_putc(out, ' ');
		is_first = false;
		if (name)
			strbuf_puts(out, name);
		else
			strbuf_printf(out, "%u", cap);
	}
	return strbuf_error(out);
}
