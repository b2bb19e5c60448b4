#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# image_root.sh BUILD ROOT: put tachbpf-agent, tachbpf and tachbpf-elf of BUILD into the directory ROOT, with all
# that they need to run there alone: libraries, the dynamic linker, certificate authorities. The
# licences of the libraries come along.
set -eu

build=$1 root=$2
rm -rf "$root"
mkdir -p "$root/usr/local/bin" "$root/var/lib/tachbpf" "$root/etc/ssl/certs" "$root/run" "$root/tmp"
chmod 1777 "$root/tmp"
# Links, as this system has them: its libraries are below /usr.
for dir in bin lib lib64; do
	[ ! -L "/$dir" ] || { mkdir -p "$root/usr/$dir" && ln -s "usr/$dir" "$root/$dir"; }
done
programs="$build/tachbpf-agent $build/tachbpf"
[ ! -e "$build/tachbpf-elf" ] || programs="$programs $build/tachbpf-elf"	# NATIVE=0: there is none
# shellcheck disable=SC2086
install -m 755 $programs "$root/usr/local/bin"

# ldd: "NAME => PATH (ADDRESS)" or "PATH (ADDRESS)". glibc before 2.34 loads the resolver by name.
# shellcheck disable=SC2086
# Loaded by name, for the key debuginfod.
debuginfod=$(PATH=$PATH:/sbin ldconfig -p | sed -n 's/.*libdebuginfod\.so\.1 .* => //p' | head -n 1)
libraries=$(ldd $programs $debuginfod | grep -o '/[^ ]*/[^ ]* (0x' | sed 's/ .*//' | sort -u)
for library in $libraries $debuginfod $(ls "$(dirname "$(ldd "$build/tachbpf-agent" |
		sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')")"/libnss_dns.so.2 2>/dev/null || true); do
	mkdir -p "$root$(dirname "$library")"
	install -m 755 "$library" "$root$library"
	package=$(dpkg -S "$(readlink -f "$library")" 2>/dev/null | sed 's/:.*//' | head -n 1)
	notice=/usr/share/doc/$package/copyright
	if [ -n "$package" ] && [ -e "$notice" ]; then
		install -D -m 644 "$notice" "$root$notice"
	fi
done

for list in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
	[ ! -e $list ] || install -D -m 644 $list "$root$list"
done
# The order of the resolver: files such as /etc/hosts, then DNS.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo 'root:x:0:0:root:/:' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
