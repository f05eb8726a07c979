# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A Docker engine and JVM images for the tests. Source it after lib.sh.
# A running engine is used as it is and never stopped or configured; when none answers, an engine
# of our own is started with its own data, sockets and no network, and stopped at the end.
# No registry is needed: images are made from Debian packages.

JBPF_TEST_CACHE=${JBPF_TEST_CACHE:-/var/cache/jbpf-tests}
JBPF_TEST_JDK=${JBPF_TEST_JDK:-17}
export JBPF_TEST_IMAGE=jbpf-test-jre$JBPF_TEST_JDK

docker_answers()
{
	command_found docker && timeout 20 docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

# dockerd_start NAME [OPTION...]: a private engine; sets dockerd_socket and dockerd_pid. Fails while another
# engine of that name runs.
dockerd_start()
{
	local name=$1 run=/run/jbpf-tests/$1 data=$JBPF_TEST_CACHE/$1
	shift
	mkdir -p "$run" "$data"
	dockerd_socket=unix://$run/docker.sock
	PATH=$PATH:/usr/sbin:/sbin dockerd --host "$dockerd_socket" --iptables=false --bridge=none \
		--data-root "$data" --exec-root "$run/exec" --pidfile "$run/dockerd.pid" --label "jbpf.owner=$$" "$@" \
		>"$run/dockerd.log" 2>&1 &
	dockerd_pid=$!
	local tries
	for tries in $(seq 120); do
		kill -0 "$dockerd_pid" 2>/dev/null || break
		# What answers may be another engine of this name: it ends with whoever started it, not with us.
		[ "$(cat "$run/dockerd.pid" 2>/dev/null)" = "$dockerd_pid" ] &&
			DOCKER_HOST=$dockerd_socket docker_answers && return 0
		sleep 0.5
	done
	say "a Docker engine of our own ($name) does not start after $tries tries: $(grep -m1 -iE 'fail|error|fatal' "$run/dockerd.log" || tail -n 1 "$run/dockerd.log")"
	dockerd_stop "$dockerd_pid"
	return 1
}

# dockerd_stop PID: ends the engine with this pid and waits for it
dockerd_stop()
{
	local tries
	kill "$1" 2>/dev/null || return 0
	for tries in $(seq 60); do
		kill -0 "$1" 2>/dev/null || return 0
		[ "$tries" = 40 ] && kill -9 "$1" 2>/dev/null
		sleep 0.25
	done
}

# dockerd_end_left NAME: ends the engine of that name that a killed run left; for those alone who know that
# nobody uses it
dockerd_end_left()
{
	local file=/run/jbpf-tests/$1/dockerd.pid pid
	pid=$(cat "$file" 2>/dev/null) || return 0
	grep -qzxF -- "$file" "/proc/$pid/cmdline" 2>/dev/null && dockerd_stop "$pid"
	rm -f "$file"
}

# dockerd_end_orphan NAME: the same, and only when the script that started it is gone; for those who do not know
dockerd_end_orphan()
{
	local pid owner
	pid=$(cat "/run/jbpf-tests/$1/dockerd.pid" 2>/dev/null) || return 0
	owner=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | sed -n 's/^jbpf\.owner=//p')
	[ -z "$owner" ] || [ -d "/proc/$owner" ] || dockerd_end_left "$1"
}

# Where this host gets its own Debian packages from: the URI of the archive
debian_archive()
{
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN) $(COMPONENT)' \
		'Created-By: Packages' 2>/dev/null |
		awk '$3 == "Debian" && $4 == "main" && $2 !~ /-/ { print $1; exit }'
}

# jdk_suite N: the Debian release that has openjdk-N
jdk_suite()
{
	case $1 in
	17) echo bookworm ;;
	21 | 25) echo trixie ;;
	*) echo sid ;;
	esac
}

# jre_image_tar N OUT: a small root file system with a headless JRE. mmdebstrap's "extract" variant
# runs no maintainer script: half the time and size, no /etc/passwd, which is what we want.
jre_image_tar()
{
	local jdk=$1 out=$2 uri suite
	uri=$(debian_archive)
	if [ -z "$uri" ]; then
		say "apt knows no Debian archive: cannot build the image of JDK $jdk"
		return 1
	fi
	suite=$(jdk_suite "$jdk")
	mkdir -p "$(dirname "$out")"
	# sid's lists expire within days: a clock that is ahead must not stop us; signatures are checked.
	if ! up_to_three_times mmdebstrap --variant=extract --quiet \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt="Acquire::Retries \"$APT_RETRIES\"" \
		--keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		--format=tar --include="openjdk-$jdk-jre-headless,dash,libc-bin,base-files,base-passwd,coreutils" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/i18n/*' \
		--extract-hook="ln -s ../lib/jvm/java-$jdk-openjdk-$(dpkg --print-architecture)/bin/java \"\$1/usr/bin/java\"" \
		"$suite" "$out.part" "deb $uri $suite main" >"$out.log" 2>&1; then
		say "mmdebstrap failed for openjdk-$jdk on $suite: $(tail -n 1 "$out.log") (whole output: $out.log)"
		rm -f "$out.part"
		return 1
	fi
	mv "$out.part" "$out"
}

# jre_image_ensure N: the image is in the engine, from the cache or newly made
jre_image_ensure()
{
	local image=jbpf-test-jre$1 tar=$JBPF_TEST_CACHE/jbpf-test-jre$1.tar
	docker image inspect "$image" >/dev/null 2>&1 && return 0
	if [ ! -s "$tar" ]; then
		say "building the image $image from Debian packages (once, about 20 s)"
		jre_image_tar "$1" "$tar" || return 1
	fi
	# An engine that is busy, or short of time, may refuse one.
	docker import "$tar" "$image" >/dev/null || { sleep 2 && docker import "$tar" "$image" >/dev/null; }
}

# jre_images_note FOLDER N...: makes these images one after the other; the tests wait for what it
# leaves in FOLDER: N.ready, or N.failed with the reason
jre_images_note()
{
	local folder=$1 jdk
	shift
	for jdk in "$@"; do
		if jre_image_ensure "$jdk" >"$folder/$jdk.log" 2>&1; then
			: >"$folder/$jdk.ready"
		else
			mv "$folder/$jdk.log" "$folder/$jdk.failed"
		fi
	done
}
