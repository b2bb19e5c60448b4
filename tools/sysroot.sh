#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# sysroot.sh ARCH SUITE DIR PACKAGE...: unpack Debian packages of another machine type,
# and all they depend on, into DIR. Nothing of them is run, and this system's package
# manager does not learn of that machine type: apt works on lists and a cache below DIR
# of its own, from the mirrors it is configured with and with the keys it trusts.
#
# SUITE is a Debian codename, or "host": the one this system runs.
set -eu

[ $# -ge 4 ] || { echo "usage: $0 ARCH SUITE DIR PACKAGE..." >&2; exit 2; }
arch=$1 suite=$2 dir=$3
shift 3
if [ "$suite" = host ]; then
	suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
fi
if [ -z "$suite" ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "sysroot: needs Debian's or Ubuntu's apt; elsewhere give SYSROOT=DIR, a directory" >&2
	echo "sysroot: with the $arch libraries and headers of: $*" >&2
	exit 1
fi

fresh=$dir.new
rm -rf "$fresh"
. "$(dirname "$0")/private_apt.sh"
mkdir -p "$fresh/.apt"
trap 'rm -rf "$fresh"' EXIT INT TERM
apt=$(cd "$fresh/.apt" && pwd)

# The configured mirror that has the suite: of the distribution's own, the first.
mirror=$(apt-get indextargets --format '$(SITE) $(ORIGIN)' |
	awk '$2 == "Debian" || $2 == "Ubuntu" { print $1; exit }')
[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(SITE)' | head -n 1)
[ -n "$mirror" ] || { echo "sysroot: apt has no mirror; add one to sources.list" >&2; exit 1; }
private_apt "$apt" "$arch"
echo "deb $(apt_keys "$mirror")$mirror $suite main" >"$apt/sources.list"

say() { echo "sysroot: $*" >&2; }
say "fetching $arch packages of $suite into $dir"
APT_CONFIG=$apt/apt.conf
export APT_CONFIG
apt-get update -q >"$apt/log" 2>&1 &&
apt-get install -q -y --download-only "$@" >>"$apt/log" 2>&1 || {
	tail -n 20 "$apt/log" >&2
	say "if $mirror has no $arch packages (Ubuntu keeps them elsewhere), give SYSROOT=DIR"
	exit 1
}

# Where / has links to /usr, packages of before that still have files in /lib.
for d in bin lib sbin; do
	mkdir -p "$fresh/usr/$d"
	ln -s "usr/$d" "$fresh/$d"
done
for deb in "$apt"/archives/*.deb; do
	dpkg-deb --fsys-tarfile "$deb" | tar -C "$fresh" --keep-directory-symlink -xf -
done
rm -rf "$apt"
rm -rf "$dir"
mv "$fresh" "$dir"
trap - EXIT INT TERM
say "$dir is ready"
