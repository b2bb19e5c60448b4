#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# deps.sh build|cross|static|check|check-all|deb|rpm: install what is missing of what is needed by the
# build, also by the build for arm64 (on x86-64), also by that of static programs, also by the tests of
# make check, also by all tests, or by the making of packages.
# AGENT=0, NATIVE=0 in the environment: without what only tachbpf-agent, only tachbpf-elf needs.
# Debian and Ubuntu, by apt; Fedora and its relatives, by dnf, for all but the tests. Elsewhere it
# says what is missing.
set -eu

usr=${ROOT-}/usr	# ROOT: tests bring a system of their own
have() { command -v "$1" >/dev/null 2>&1 || [ -x "$usr/sbin/$1" ]; }
header() { [ -e "$usr/include/$1" ]; }
need() { missing="$missing $1"; }

here=$(dirname "$0")
# A package that can be installed: apt-cache show also knows packages without a version.
candidate() { apt-cache policy "$1" | grep -q '^ *Candidate: [^(]'; }

missing=
header string.h || need libc6-dev
if [ ! -d "$here/../generated" ]; then	# a source tarball has what these make
	have clang || need clang		# it compiles the rest, too, where there is no gcc
	sh "$here/bpftool.sh" >/dev/null || need bpftool
else
	have gcc || need gcc
fi
header bpf/libbpf.h || need libbpf-dev
header gelf.h || need libelf-dev
header zlib.h || need zlib1g-dev
header zstd.h || need libzstd-dev
header xxhash.h || need libxxhash-dev
header seccomp.h || need libseccomp-dev
if [ "${NATIVE:-1}" != 0 ]; then
	header elfutils/libdw.h || need libdw-dev
	header libiberty/demangle.h || need libiberty-dev
	header lzma.h || need liblzma-dev
fi
if [ "${AGENT:-1}" != 0 ]; then
	header curl/curl.h || header "$(uname -m)-linux-gnu/curl/curl.h" || need libcurl4-openssl-dev
	header yaml.h || need libyaml-dev
	header microhttpd.h || need libmicrohttpd-dev
fi
have python3 || need python3
case "${1:-build}-$(uname -m)" in
cross-x86_64 | check-all-x86_64)
	have aarch64-linux-gnu-gcc || need gcc-aarch64-linux-gnu
	have dpkg-deb || need dpkg
	[ "$1" = cross ] || have qemu-aarch64-static || need qemu-user-static
	;;
esac
case "${1:-build}-${AGENT:-1}" in
static-1 | check-all-1)	# tools/agent_libs.sh
	header openssl/ssl.h || need libssl-dev
	header nghttp2/nghttp2.h || need libnghttp2-dev
	have dpkg-source || need dpkg-dev
	have xz || need xz-utils
	;;
esac
case "${1:-build}" in
deb)
	have git || need git
	have dpkg-buildpackage || need dpkg-dev
	[ -e "$usr"/share/doc/build-essential ] || need build-essential
	have dh || need debhelper
	have xz || need xz-utils
	have lintian || need lintian
	;;
rpm)
	have git || need git
	have rpmbuild || need rpm
	have file || need file
	have xz || need xz-utils
	;;
esac
case "${1:-build}" in
check | check-all)
	have gcc || need gcc
	have llvm-objdump || need llvm
	header cmocka.h || need libcmocka-dev
	have ccache || need ccache
	have mandoc || need mandoc
	have debootstrap || need debootstrap
	[ -e "$usr"/share/keyrings/debian-archive-keyring.gpg ] || need debian-archive-keyring
	have setpriv || need util-linux
	have setcap || need libcap2-bin
	have tmux || need tmux
	have strace || need strace
	# what says whether names and lines are right
	have eu-addr2line || need elfutils
	have g++ || need g++
	have dwz || need dwz
	have xz || need xz-utils
	have chromium || have chromium-browser || have google-chrome || need chromium
	# containers, made without a network: 90 MB
	have podman || need podman
	have conmon || need conmon
	have runc || need runc
	/usr/bin/python3 -c 'import yaml' 2>/dev/null || need python3-yaml
	/usr/bin/python3 -c 'import pytest' 2>/dev/null || need python3-pytest
	/usr/bin/python3 -c 'import xdist' 2>/dev/null || need python3-pytest-xdist
	;;
esac
if [ "${1:-build}" = check-all ]; then
	have musl-gcc || need musl-tools
	header ffi.h || header "$(uname -m)-linux-gnu/ffi.h" || need libffi-dev
	have qemu-system-x86_64 || need qemu-system-x86
	have qemu-system-aarch64 || need qemu-system-arm
	have mke2fs || need e2fsprogs
	# a server for --debuginfod, and elfutils' client library
	have debuginfod || need debuginfod
	# a server that speaks gRPC
	/usr/bin/python3 -c 'import grpc' 2>/dev/null || need python3-grpcio
	# Spark, one of the engines that answer packaging/warehouse's queries: 200 MB
	have java || need default-jre-headless
	# systemd runs units that are tried
	have systemd-nspawn || need systemd-container
	# checks of the metrics: 90 MB
	have promtool || need prometheus
	# by which a Python program records itself
	have sudo || need sudo
	# shells whose completion is tried
	have zsh || need zsh
	have fish || need fish
	# programs that embed CPython, and the static library to make some: 15 MB
	have gdb || need gdb
	have uwsgi || need uwsgi-core
	ls "$usr"/lib/uwsgi/plugins/python3*_plugin.so >/dev/null 2>&1 || need uwsgi-plugin-python3
	have apache2 || need apache2-bin
	[ -e "$usr"/lib/apache2/modules/mod_wsgi.so ] || need libapache2-mod-wsgi-py3
	ls "$usr"/lib/python3*/config-*/libpython3*.a >/dev/null 2>&1 || need libpython3-dev
fi
# libbpf is built from source where this system's is too old.
libbpf_is_here() {
	sh "$here/libbpf_version.sh" "$usr/include/bpf/libbpf_version.h" ||
		[ -e "$here/../vendor/libbpf/src/libbpf.h" ]
}

if [ -z "$missing" ] && libbpf_is_here; then
	exit 0
fi

# The names that Fedora's packages have; a package without a counterpart keeps Debian's.
fedora_names() {
	for package in $missing; do
		case $package in
		libc6-dev) echo glibc-devel ;;
		libbpf-dev) echo libbpf-devel ;;
		libelf-dev) echo elfutils-libelf-devel ;;
		zlib1g-dev) echo zlib-devel ;;
		libzstd-dev) echo libzstd-devel ;;
		libxxhash-dev) echo xxhash-devel ;;
		libseccomp-dev) echo libseccomp-devel ;;
		libdw-dev) echo elfutils-devel ;;
		libiberty-dev) echo binutils-devel ;;
		liblzma-dev) echo xz-devel ;;
		libcurl4-openssl-dev) echo libcurl-devel ;;
		libyaml-dev) echo libyaml-devel ;;
		libmicrohttpd-dev) echo libmicrohttpd-devel ;;
		libssl-dev) echo openssl-devel ;;
		libnghttp2-dev) echo libnghttp2-devel ;;
		xz-utils) echo xz ;;
		rpm) echo rpm-build ;;
		gcc-aarch64-linux-gnu | debhelper | dpkg-dev | build-essential) ;;	# Debian's only
		*) echo "$package" ;;
		esac
	done | tr '\n' ' '
}

if command -v apt-get >/dev/null 2>&1; then
	install='apt-get install -y -q --no-install-recommends'
elif command -v dnf >/dev/null 2>&1; then
	install='dnf install -y -q --setopt=install_weak_deps=False'
	missing=" $(fedora_names)"
else
	echo "missing:$missing (Debian's names); install them with this system's package manager" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "missing:$missing; run \`sudo ${install%% -*}$missing\`, or make with sudo" >&2
	exit 1
fi
echo "installing:$missing"
if [ "${install%% *}" = dnf ]; then
	# RHEL and its rebuilds keep headers in a repository that is off: CRB, or before 9 PowerTools.
	repos=$(dnf -q repolist --all 2>/dev/null | awk '$1 ~ /^(crb|powertools)$/ { print "--enablerepo=" $1 }')
	# shellcheck disable=SC2086
	$install $repos $missing
	libbpf_is_here || exec sh "$here/libbpf.sh" "$here/../vendor/libbpf"
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# Ubuntu has bpftool in its kernel tools; those of its newer kernels can do more.
case "$missing " in
*" bpftool "*)
	for tools in bpftool linux-tools-generic-hwe-22.04 linux-tools-generic; do
		if candidate "$tools"; then
			missing=$(echo "$missing" | sed "s/ bpftool/ $tools/")
			break
		fi
	done
	;;
esac
# shellcheck disable=SC2086
$install $missing
if ! libbpf_is_here; then
	have xz || $install xz-utils
	sh "$here/libbpf.sh" "$here/../vendor/libbpf"
fi
