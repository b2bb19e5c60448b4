#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# agent_libs.sh DIR CC [FLAG...]: make DIR/lib/libcurl.a and DIR/lib/libmicrohttpd.a, with their headers,
# for a tachbpf-agent that is linked statically: the archives of Debian and Ubuntu want Kerberos, LDAP
# and p11-kit, of which there are none. The source is this distribution's own, with its security
# updates; apt checks the signatures. They get what the agent uses: HTTP/1.1, HTTP/2 and TLS; HTTP.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 DIR CC [FLAG...]" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
cc=$2
shift
say() { echo "agent_libs: $*" >&2; }
for tool in apt-get dpkg-source make; do
	command -v $tool >/dev/null 2>&1 || {
		say "$tool is missing (make static-deps); make static AGENT=0 builds without the agent"
		exit 1
	}
done

. "$(dirname "$0")/private_apt.sh"
log=$dir/log
unset MAKEFLAGS MFLAGS || true	# LINK means something else to automake
rm -rf "$dir/apt" "$dir/source" "$dir/build"
mkdir -p "$dir/apt" "$dir/source" "$dir/build"
(
	private_apt "$dir/apt" "$(dpkg --print-architecture)"
	apt_source_lists >"$dir/apt/sources.list"
	APT_CONFIG=$dir/apt/apt.conf
	export APT_CONFIG
	apt-get update -q || true	# a list that fails may not be needed
	cd "$dir/source" && apt-get source -q curl libmicrohttpd
) >"$log" 2>&1 || {
	tail -n 5 "$log" >&2
	say "no source packages curl and libmicrohttpd; make static AGENT=0 builds without the agent"
	exit 1
}

# compile NAME OPTION...: by configure and make. Patches of the distribution would have autotools make
# anew what is good as it is.
compile() {
	name=$1 tree=$(echo "$dir/source/$1"-*/)
	shift
	find "$tree" -name '*.in' -o -name aclocal.m4 -o -name configure | xargs touch
	mkdir "$dir/build/$name"
	(
		cd "$dir/build/$name"
		"$tree/configure" --host="$($cc -dumpmachine)" --prefix="$dir" --disable-shared --enable-static \
			--disable-dependency-tracking CC="$command" PKG_CONFIG=false PKGCONFIG=no \
			CFLAGS="-O2 -g -fPIE -fstack-protector-strong -ffile-prefix-map=$dir=." "$@"
		make -j"$(nproc)" -C "$part"
		make -C "$part" install
		make -C "$headers" install
	) >>"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		say "$name cannot be built; make static AGENT=0 builds without the agent"
		exit 1
	}
}

command="$*"
part=lib headers=include
# OpenSSL's configuration may name modules, which a static program cannot load.
compile curl --with-openssl --with-nghttp2 --without-ca-bundle --without-ca-path \
	--disable-openssl-auto-load-config --enable-threaded-resolver --enable-proxy \
	--disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict \
	--disable-telnet --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp \
	--disable-gopher --disable-mqtt --disable-manual --disable-ntlm --disable-tls-srp --disable-doh \
	--disable-alt-svc --disable-hsts --disable-cookies --disable-unix-sockets --disable-netrc \
	--without-zlib --without-brotli --without-zstd --without-libpsl --without-libidn2 --without-librtmp \
	--without-libssh2 --without-gssapi
part=src/microhttpd headers=src/include
compile libmicrohttpd --disable-https --disable-doc --disable-examples --disable-curl
rm -rf "$dir/apt" "$dir/source" "$dir/build"
