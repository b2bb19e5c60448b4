#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rpm.sh BUILD VERSION EPOCH: source and binary RPM packages in BUILD, from BUILD's source tarball.
# On a system that is not made of RPM packages, what the build requires cannot be checked.
set -eu

build=$(cd "$1" && pwd) version=$2 epoch=$3
here=$(dirname "$0")
command -v rpmbuild >/dev/null || {
	echo "make rpm needs rpmbuild: dnf install rpm-build (on Debian: apt-get install rpm)" >&2
	exit 1
}
nodeps=
rpm -q rpm >/dev/null 2>&1 || nodeps=--nodeps

rm -rf "$build/rpm"
mkdir -p "$build/rpm/SOURCES" "$build/rpm/SPECS"
cp "$build/tachbpf-$version.tar.xz" "$build/rpm/SOURCES"
sed "s/@VERSION@/$version/" "$here/tachbpf.spec.in" >"$build/rpm/SPECS/tachbpf.spec"
SOURCE_DATE_EPOCH=$epoch rpmbuild -ba $nodeps --define "_topdir $build/rpm" \
	"$build/rpm/SPECS/tachbpf.spec"
find "$build/rpm" -name '*.rpm' -exec mv {} "$build" \;
ls "$build"/tachbpf-"$version"-*.rpm "$build"/tachbpf-agent-"$version"-*.rpm
