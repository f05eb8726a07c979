# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian's kernels and what a guest needs to run our programs. Source it after lib.sh and
# lib-docker.sh; every file is kept in $kernels_cache, so that the next run needs no network.

kernels_cache=${JBPF_TEST_CACHE:-/var/cache/jbpf-tests}/kernels
# Debian's versions within a series change rarely: one this old is asked for anew.
KERNEL_FRESH_DAYS=14

# kernel_suite SERIES: the Debian release that has it; nothing when none does
kernel_suite()
{
	case $1 in
	5.10) echo bullseye ;;
	6.1) echo bookworm ;;
	6.12) echo trixie ;;
	7 | 7.*) echo sid ;;
	esac
}

# kernels_apt SUITE...: an apt of our own, with lists of these suites from the mirror that this host
# uses. Later calls of apt tools with APT_CONFIG=$kernels_apt see nothing of the host's.
kernels_apt()
{
	local dir=$kernels_cache/apt uri suite
	local key=/usr/share/keyrings/debian-archive-keyring.gpg
	uri=$(debian_archive)
	[ -n "$uri" ] || return 1
	mkdir -p "$dir"/{lists/partial,archives/partial,parts}
	: >"$dir/status"
	for suite in "$@"; do
		printf 'deb [signed-by=%s] %s %s main\n' "$key" "$uri" "$suite"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<END
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache::archives "$dir/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "$dir/parts";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Check-Valid-Until "false";
END
	kernels_apt=$dir/apt.conf
	APT_CONFIG=$kernels_apt apt-get update -qq >"$dir/update.log" 2>&1
}

# kernel_release SERIES: the newest release that the lists know
kernel_release()
{
	APT_CONFIG=$kernels_apt apt-cache show linux-image-cloud-amd64 2>/dev/null |
		awk -v series="$1." '
			/^Version: / { version = $2 }
			/^Depends: / && index(version, series) == 1 {
				for (i = 2; i <= NF; i++)
					if ($i ~ /^linux-image-[0-9]/) {
						sub(/^linux-image-/, "", $i); sub(/,$/, "", $i)
						print $i
						exit
					}
			}'
}

# kernel_download RELEASE OUT: vmlinuz out of its package, which since 6.19 is not the image's
kernel_download()
{
	local release=$1 out=$2 package=linux-binary-$1 dir
	export APT_CONFIG=$kernels_apt
	apt-cache show "$package" >/dev/null 2>&1 || package=linux-image-$release
	dir=$(mktemp -d "$kernels_cache/download.XXXXXX") || return 1
	if (cd "$dir" && apt-get download -qq "$package" && dpkg-deb --fsys-tarfile ./*.deb |
		tar -xO --wildcards '*/vmlinuz*' >vmlinuz && [ -s vmlinuz ]) >"$dir.log" 2>&1; then
		mv "$dir/vmlinuz" "$out"
		rm -f "$dir.log"
	else
		say "kernel $release: $(tail -n 1 "$dir.log") (whole output: $dir.log)"
	fi
	rm -rf "$dir"
	unset APT_CONFIG
	[ -s "$out" ]
}

# kernel_cached SERIES [DAYS]: release of the newest cached one, not older than that
kernel_cached()
{
	find "$kernels_cache" -maxdepth 1 -name "vmlinuz-$1.*" -size +0 ${2:+-mtime "-$2"} -printf '%T@ %f\n' \
		2>/dev/null | sort -n | sed -n '$s/.* vmlinuz-//p'
}

# kernels_fetch SERIES...: puts what is missing into the cache; kernel_cached tells what is there
kernels_fetch()
{
	local series suite release
	local -A suites=()
	mkdir -p "$kernels_cache"
	for series in "$@"; do
		suite=$(kernel_suite "$series")
		[ -n "$suite" ] && [ -z "$(kernel_cached "$series" "$KERNEL_FRESH_DAYS")" ] && suites[$suite]=1
	done
	[ "${#suites[@]}" -gt 0 ] || return 0
	kernels_apt "${!suites[@]}" ||
		say "no fresh lists of ${!suites[*]}: $(tail -n 1 "$kernels_cache/apt/update.log" 2>/dev/null)"
	[ -n "${kernels_apt-}" ] || return 0
	for series in "$@"; do
		[ -z "$(kernel_cached "$series" "$KERNEL_FRESH_DAYS")" ] || continue
		release=$(kernel_release "$series")
		[ -n "$release" ] || continue
		if [ -s "$kernels_cache/vmlinuz-$release" ]; then
			touch "$kernels_cache/vmlinuz-$release"
		else
			say "fetching kernel $release"
			kernel_download "$release" "$kernels_cache/vmlinuz-$release"
		fi
	done
}

# guest_jre ROOT: path of a cpio archive with jre/, a JVM of java.base only, made of the host's JDK, or by
# the host's jlink of the modules of ROOT, whose JVM cannot run here: it does without a shared archive
guest_jre()
{
	local root=$1 home version out dir modules=()
	home=$(readlink -f "$(command -v jlink || command -v javac)") || return 1
	home=${home%/bin/*}
	[ -z "$root" ] || modules=(--module-path "$(echo "$root"/usr/lib/jvm/java-17-openjdk-*/jmods)")
	version=$(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"$/\1/p' "$home/release" | tr -c 'A-Za-z0-9.+\n-' _)
	out=$kernels_cache/jre-${version:-unknown}${root:+-${root##*/}}.cpio
	if [ ! -s "$out" ]; then
		dir=$(mktemp -d "$kernels_cache/jre.XXXXXX") || return 1
		if ! { mkdir "$dir/payload" && "$home/bin/jlink" "${modules[@]}" --add-modules java.base \
			--no-header-files --no-man-pages --output "$dir/payload/jre" &&
			{ [ -n "$root" ] || "$dir/payload/jre/bin/java" -Xshare:dump; } &&
			(cd "$dir" && find . | cpio -o -H newc --quiet >"$out.new") && mv "$out.new" "$out"; } \
			>"$out.log" 2>&1; then
			say "jlink of $home failed: $(tail -n 1 "$out.log")"
		fi
		rm -rf "$dir"
	fi
	[ -s "$out" ] && printf '%s\n' "$out"
}

# copy_libraries FOLDER PROGRAM...: what these programs load, into FOLDER; the loader where they
# look for it
copy_libraries()
{
	local folder=$1 library
	shift
	mkdir -p "$folder/lib" "$folder/../lib64"
	ldd "$@" 2>/dev/null | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p' | sort -u |
		while IFS= read -r library; do cp -L "$library" "$folder/lib/"; done
	cp -L /lib64/ld-linux-x86-64.so.2 "$folder/../lib64/"
}

# ---- another architecture ----

FOREIGN_PACKAGES=libc6-dev,libgcc-12-dev,linux-libc-dev,libbpf-dev,libelf-dev,zlib1g-dev,libzstd-dev,libxxhash-dev
FOREIGN_PACKAGES+=,liblzma-dev,libiberty-dev,libjansson-dev,libmicrohttpd-dev,libseccomp-dev,libzydis-dev
FOREIGN_PACKAGES+=,busybox-static,openjdk-17-jdk-headless

debian_architecture()
{
	case $1 in
	aarch64) echo arm64 ;;
	x86_64) echo amd64 ;;
	esac
}

# foreign_root ARCH: a folder with bookworm's packages of that architecture: what our programs are linked
# with, a JDK, a kernel
foreign_root()
{
	local debian uri out
	debian=$(debian_architecture "$1")
	out=$kernels_cache/$1
	if [ ! -d "$out/boot" ]; then
		uri=$(debian_archive)
		[ -n "$uri" ] || return 1
		rm -rf "$out.new"
		mmdebstrap --variant=extract --architectures="$debian" --quiet --format=directory \
			--keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
			--include="$FOREIGN_PACKAGES,linux-image-cloud-$debian" \
			--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
			bookworm "$out.new" "deb $uri bookworm main" >"$out.log" 2>&1 || {
			say "mmdebstrap for $debian failed: $(tail -n 1 "$out.log") (whole output: $out.log)"
			return 1
		}
		mv "$out.new" "$out"
	fi
	printf '%s\n' "$out"
}

# foreign_release ROOT: of the kernel in it
foreign_release()
{
	find "$1/boot" -name 'vmlinuz-*' -printf '%f\n' | sed -n '1s/^vmlinuz-//p'
}

# foreign_build ARCH ROOT BUILD TARGET...: all programs and these targets, for it
foreign_build()
{
	local arch=$1 root=$2 build=$3
	shift 3
	make --no-print-directory -s -j2 ARCH="$arch" BUILD="$build" \
		CC="clang --target=$arch-linux-gnu --sysroot=$root -fuse-ld=lld" \
		CFLAGS='-O2 -g -Wno-gnu-variable-sized-type-not-at-end -Wno-unused-command-line-argument' all "$@"
}

# copy_foreign_libraries FOLDER ROOT PROGRAM...: as copy_libraries; what ldd cannot tell of programs that do not
# run here is read from them
copy_foreign_libraries()
{
	local folder=$1 root=$2 name file
	local -a todo
	shift 2
	mkdir -p "$folder/lib" "$folder/../lib"
	todo=("$@")
	while [ "${#todo[@]}" -gt 0 ]; do
		file=${todo[0]}
		todo=("${todo[@]:1}")
		for name in $(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
			[ ! -e "$folder/lib/$name" ] || continue
			file=$(find "$root/lib" "$root/usr/lib" -name "$name" -print -quit)
			[ -n "$file" ] || continue
			cp -L "$file" "$folder/lib/$name"
			todo+=("$folder/lib/$name")
		done
	done
	cp -L "$root"/lib/ld-linux-*.so.1 "$folder/../lib/"
}
