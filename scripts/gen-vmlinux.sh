#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes vmlinux/ARCH/vmlinux.h, trimmed to what the BPF programs use, out of a kernel's BTF.
# Usage: gen-vmlinux.sh [ARCH [FILE]]
#   ARCH  x86_64 or aarch64; default: this machine
#   FILE  raw BTF (default /sys/kernel/btf/vmlinux), or an uncompressed kernel image with BTF in it
# A field that the kernel does not have ends the run: nothing is left out silently.
set -eu

arch=${1:-$(uname -m)}
source=${2:-/sys/kernel/btf/vmlinux}
bpftool=${BPFTOOL:-$(command -v bpftool || echo /usr/sbin/bpftool)}
top=$(cd "$(dirname "$0")/.." && pwd)
out=$top/vmlinux/$arch/vmlinux.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Kernel structures, in order of dependence, with the fields that programs read.
structs='
upid nr
pid level numbers
signal_struct live
mm_struct env_start env_end
kernfs_node id
cgroup level kn ancestors
css_set dfl_cgrp
task_struct stack flags in_execve mm pid tgid thread_pid start_boottime self_exec_id comm signal cgroups group_leader
'
# Enumerations, each named by one of its members, taken whole.
enums='BPF_MAP_TYPE_HASH BPF_NOEXIST BPF_RB_NO_WAKEUP BPF_RB_AVAIL_DATA BPF_F_USER_STACK'

# The BTF of an image is found by its magic number and header; see kernel: include/uapi/linux/btf.h.
cut_btf() {
	python3 - "$1" "$2" <<'PY'
import struct, sys
image = open(sys.argv[1], "rb").read()
at = -1
while True:
    at = image.find(b"\x9f\xeb\x01\x00", at + 1)
    if at < 0:
        sys.exit("no BTF in " + sys.argv[1])
    head, type_off, type_len, str_off, str_len = struct.unpack_from("<IIIII", image, at + 4)
    end = at + head + str_off + str_len
    if head == 24 and type_off == 0 and str_off == type_len and type_len > 1 << 20 and end <= len(image):
        break
open(sys.argv[2], "wb").write(image[at:end])
PY
}

# Prints one definition of the full header, for a struct only the wanted fields. Those of a nameless
# struct in it (mm_struct is one since 4.20) count as its own; CO-RE finds them either way.
pick_struct() {
	awk -v name="$1" -v wanted="$2" '
	BEGIN { RS = ""; FS = "\n"; n = split(wanted, want, " ") }
	$1 == "struct " name " {" {
		print "struct " name " {"
		for (line = 2; line <= NF; line++) {
			field = $line
			sub(/: [0-9]+;$/, ";", field)
			sub(/(\[[0-9]*\])*;$/, "", field)
			sub(/^.*[ *]/, "", field)
			for (i = 1; i <= n; i++)
				if ($line ~ /^\t\t?[a-z]/ && field == want[i] && !seen[field]++) {
					sub(/^\t+/, "\t", $line)
					print $line
					found++
				}
		}
		print "};\n"
		exit
	}
	END { if (found != n) { print name ": " found + 0 " of " n " fields" > "/dev/stderr"; exit 1 } }
	' "$work/full.h"
}

pick_enum() {
	awk -v member="$1" '
	BEGIN { RS = ""; FS = "\n" }
	$1 ~ /^enum/ && $0 ~ "\t" member " = " { print $0 "\n"; found = 1; exit }
	END { exit !found }' "$work/full.h"
}

# The part user space shares with the kernel: the same on every version, so it is not relocated.
# The kernel's own pt_regs has unions in place of cs and ss since FRED (6.9), which a perf_event
# program may not read through its context in any size but 8.
uapi_x86_64() {
	cat <<'C'
/* Registers as arch/x86/include/uapi/asm/ptrace.h has them. */
struct pt_regs {
	__u64 r15;
	__u64 r14;
	__u64 r13;
	__u64 r12;
	__u64 bp;
	__u64 bx;
	__u64 r11;
	__u64 r10;
	__u64 r9;
	__u64 r8;
	__u64 ax;
	__u64 cx;
	__u64 dx;
	__u64 si;
	__u64 di;
	__u64 orig_ax;
	__u64 ip;
	__u64 cs; /* the low 16 bits; others may follow them */
	__u64 flags;
	__u64 sp;
	__u64 ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;
C
}

uapi_aarch64() {
	cat <<'C'
/* Registers as arch/arm64/include/uapi/asm/ptrace.h has them; the kernel's pt_regs begins so. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
};

typedef struct user_pt_regs bpf_user_pt_regs_t;
C
}

header() {
	cat <<C
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Written by scripts/gen-vmlinux.sh, do not edit. What the BPF programs use of an $arch kernel;
 * CO-RE finds the fields in the kernel that runs. From: $1
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

C
	"uapi_$arch"
	cat <<'C'

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

C
}

case $arch in x86_64 | aarch64) ;; *) echo "unknown architecture '$arch'" >&2; exit 2 ;; esac
if [ "$(head -c 2 "$source" | od -An -tx1 | tr -d ' ')" = 9feb ]; then
	cat "$source" > "$work/btf"
else
	cut_btf "$source" "$work/btf"
fi
"$bpftool" btf dump file "$work/btf" format c > "$work/full.h"
if [ "$source" = /sys/kernel/btf/vmlinux ]; then release=$(uname -r); else release=$(basename "$source"); fi

mkdir -p "$(dirname "$out")"
{
	header "$release"
	for member in $enums; do
		pick_enum "$member" || { echo "no enumeration with $member" >&2; exit 1; }
	done
	printf '#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)\n\n'
	printf 'typedef struct {\n\tint counter;\n} atomic_t;\n\nstruct mm_struct;\n\n'
	while read -r name fields; do
		[ -z "$name" ] || pick_struct "$name" "$fields"
	done <<< "$structs"
	printf '#pragma clang attribute pop\n\n#endif\n'
} > "$work/vmlinux.h"
mv "$work/vmlinux.h" "$out"
chmod 644 "$out"
