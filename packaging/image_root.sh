#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# image_root.sh BUILD ROOT [SYSROOT]: put tachbpf-agent, tachbpf and tachbpf-elf of BUILD into the directory
# ROOT, with all that they need to run there alone: libraries, the dynamic linker, certificate
# authorities. The licences of the libraries come along. SYSROOT: where the libraries of another machine
# type are; without it they are this system's.
set -eu

build=$1 root=$2 sysroot=${3-}
rm -rf "$root"
mkdir -p "$root/usr/local/bin" "$root/var/lib/tachbpf" "$root/etc/ssl/certs" "$root/run" "$root/tmp"
chmod 1777 "$root/tmp"
# Links, as the libraries' system has them: they are below /usr.
for dir in bin lib lib64; do
	[ ! -L "$sysroot/$dir" ] || { mkdir -p "$root/usr/$dir" && ln -s "usr/$dir" "$root/$dir"; }
done
programs="$build/tachbpf-agent $build/tachbpf"
[ ! -e "$build/tachbpf-elf" ] || programs="$programs $build/tachbpf-elf"	# NATIVE=0: there is none
# shellcheck disable=SC2086
install -m 755 $programs "$root/usr/local/bin"

# ldd: "NAME => PATH (ADDRESS)" or "PATH (ADDRESS)".
own_libraries() {
	# Loaded by name, for the key debuginfod.
	debuginfod=$(PATH=$PATH:/sbin ldconfig -p | sed -n 's/.*libdebuginfod\.so\.1 .* => //p' | head -n 1)
	# shellcheck disable=SC2086
	ldd $programs $debuginfod | grep -o '/[^ ]*/[^ ]* (0x' | sed 's/ .*//' | sort -u
	echo "$debuginfod"
	# glibc before 2.34 loads the resolver by name.
	ls "$(dirname "$(ldd "$build/tachbpf-agent" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')")"/libnss_dns.so.2 \
		2>/dev/null || true
}

# As ldd, but nothing of it can be run here: what a file needs, and what that needs.
sysroot_libraries() {
	# shellcheck disable=SC2086
	known=$(readelf -lW $programs | sed -n 's/.*interpreter: \(.*\)\]/\1/p' | sort -u) todo=$programs
	while [ -n "$todo" ]; do
		# shellcheck disable=SC2086
		names=$(readelf -dW $todo | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u) todo=
		for name in $names; do
			path=$(cd "$sysroot" && ls -d usr/lib/"$name" usr/lib/*-linux-gnu/"$name" 2>/dev/null | head -n 1)
			[ -n "$path" ] || { echo "image_root: $sysroot has no $name" >&2; exit 1; }
			case " $known " in *" /$path "*) continue ;; esac
			known="$known /$path" todo="$todo $sysroot/$path"
		done
	done
	echo "$known"
}

notice_of() {
	package=$(dpkg -S "$(readlink -f "$1")" 2>/dev/null | sed 's/:.*//' | head -n 1)
	[ -z "$package" ] || ls "/usr/share/doc/$package/copyright" 2>/dev/null || true
}

# Which package a library of a sysroot is of is not known.
if [ -n "$sysroot" ]; then
	libraries=$(sysroot_libraries)
	notices=$(cd "$sysroot" && ls usr/share/doc/lib*/copyright | sed 's#^#/#')
else
	libraries=$(own_libraries)
	notices=$(for library in $libraries; do notice_of "$library"; done | sort -u)
fi
for library in $libraries; do
	install -D -m 755 "$sysroot$library" "$root$library"
done
for notice in $notices; do
	install -D -m 644 "$sysroot$notice" "$root$notice"
done

for list in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
	[ ! -e $list ] || install -D -m 644 $list "$root$list"
done
# The order of the resolver: files such as /etc/hosts, then DNS.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo 'root:x:0:0:root:/:' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
