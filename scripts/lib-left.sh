# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Ends what test runs that were killed have left. Names carry the pid of the pytest that made them: tests look into
# /proc for the processes of containers, so all runs of a host see the same pids. Source it; it runs nothing.

# made_by_the_dead PID
made_by_the_dead()
{
	[[ $1 =~ ^[0-9]+$ ]] && [ ! -d "/proc/$1" ]
}

left_containers_remove()
{
	local name pid
	docker ps -a --filter 'name=^/?jbpf-e2e-[0-9]+-' --format '{{.Names}}' 2>/dev/null | while read -r name; do
		pid=${name#jbpf-e2e-}
		made_by_the_dead "${pid%%-*}" && say "removing $name, left by a run that was killed" &&
			docker rm -f "$name" >/dev/null </dev/null
	done
}

# left_cgroup_remove FOLDER: kills what is in it
left_cgroup_remove()
{
	local tries
	say "removing ${1##*/}, left by a run that was killed"
	for tries in 1 2 3 4 5; do
		# A frozen one (v2) does not end.
		find "$1" -name cgroup.freeze -exec sh -c 'echo 0 >"$1"' sh {} ';' 2>/dev/null
		# 0 is one that we cannot see, and to kill the caller's group.
		find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null | grep -vx 0 | xargs -r kill -9 2>/dev/null
		# Busy for a moment after its last process has ended
		find "$1" -depth -type d -exec rmdir {} ';' 2>/dev/null
		[ -d "$1" ] || return 0
		sleep "0.$tries"
	done
}

left_cgroups_remove()
{
	local root folder
	for root in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/cpu; do
		for folder in "$root"/jbpf-fair-* "$root"/jbpf-test-* "$root"/jbpf-tests/worker-*; do
			[ -d "$folder" ] && made_by_the_dead "${folder##*-}" && left_cgroup_remove "$folder"
		done
	done
}
