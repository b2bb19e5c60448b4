#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# deb.sh BUILD VERSION EPOCH: source and binary packages of Debian in BUILD, from BUILD's source
# tarball, by dpkg-buildpackage. DEBFULLNAME and DEBEMAIL name the maintainer, as in Debian's own
# tools.
set -eu

build=$1 version=$2 epoch=$3
here=$(cd "$(dirname "$0")" && pwd)
for tool in dpkg-buildpackage dh; do
	command -v $tool >/dev/null || {
		echo "make deb needs $tool: apt-get install dpkg-dev debhelper" >&2
		exit 1
	}
done

rm -rf "$build/deb"
mkdir -p "$build/deb"
cp "$build/tachbpf-$version.tar.xz" "$build/deb/tachbpf_$version.orig.tar.xz"
tar -C "$build/deb" -xf "$build/deb/tachbpf_$version.orig.tar.xz"
source=$build/deb/tachbpf-$version
cp -r "$here/debian" "$source/debian"
# Whoever makes a package is its maintainer.
maintainer="${DEBFULLNAME:-$(git config user.name || echo nobody)} <${DEBEMAIL:-$(git config user.email ||
	echo nobody@localhost)}>"
for file in control changelog; do
	sed -e "s/@VERSION@/$version/g" -e "s/@DATE@/$(LC_ALL=C date -u -R -d "@$epoch")/" \
		-e "s/@MAINTAINER@/$maintainer/" "$source/debian/$file.in" >"$source/debian/$file"
	rm "$source/debian/$file.in"
done
(cd "$source" && SOURCE_DATE_EPOCH=$epoch dpkg-buildpackage -us -uc)
find "$build/deb" -maxdepth 1 -type f -exec mv {} "$build" \;
ls "$build"/tachbpf*_"$version"-1*.deb
