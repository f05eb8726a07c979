# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the scripts of this folder: talk, and packages from apt. Source it; it runs nothing.
# Data goes to stdout, talk to stderr, and a failure is one line that says what to do.

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
	say "$*"
	exit 1
}

usage_error()
{
	say "$* (see ${0##*/} --help)"
	exit 2
}

need_root()
{
	[ "$(id -u)" = 0 ] || die "needs root: run it again as 'sudo $0'"
}

is_debian_like()
{
	command -v apt-get >/dev/null && command -v dpkg-query >/dev/null
}

# package_installed NAME
package_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# command_found NAME: also where a normal user's PATH does not look
command_found()
{
	PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null
}

# missing_packages ITEM... prints what is still to be installed. An item is a package, or
# "package:command" when any provider of that command will do (Docker CE for docker.io).
missing_packages()
{
	local item package command
	for item in "$@"; do
		package=${item%%:*}
		command=${item#*:}
		package_installed "$package" && continue
		[ "$command" != "$item" ] && command_found "$command" && continue
		printf '%s\n' "$package"
	done
}

# up_to_three_times COMMAND...: a network that hiccups is no verdict. 1 when none worked.
up_to_three_times()
{
	local pause
	for pause in 5 20 0; do
		"$@" && return 0
		sleep "$pause"
	done
	return 1
}

# What apt itself tries again: a file that does not come
APT_RETRIES=3

# apt_install PACKAGE...: fetches the lists, then installs; output only when it fails.
apt_install()
{
	local log
	log=$(mktemp "${TMPDIR:-/tmp}/jbpf-apt.XXXXXX") || die "cannot make a temporary file"
	if ! up_to_three_times apt-get update -o Acquire::Retries=$APT_RETRIES >"$log" 2>&1; then
		# A foreign source that does not answer must not stop us when Debian's does.
		say "apt-get update reported: $(grep -m1 '^[EW]:' "$log"); going on with the lists that are there"
	fi
	if ! DEBIAN_FRONTEND=noninteractive up_to_three_times apt-get install -y --no-install-recommends \
		-o Acquire::Retries=$APT_RETRIES -o Dpkg::Options::=--force-confold "$@" >"$log" 2>&1; then
		local why
		why=$(grep -m1 '^E:' "$log" || tail -n 1 "$log")
		die "apt-get install failed: $why (whole output: $log)"
	fi
	rm -f "$log"
}
