#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libbpf.sh DIR: put the source of libbpf 1.1 or newer into DIR, from a source package of this
# distribution: libbpf itself or, where that is too old (Ubuntu 22.04), dwarves, which contains
# one. apt checks the signatures.
set -eu

[ $# = 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
dir=$1
say() { echo "libbpf: $*" >&2; }
if ! command -v apt-get >/dev/null 2>&1; then
	say "this system's libbpf is older than 1.1, and it has no apt: put the source of a newer"
	say "libbpf into $dir, so that $dir/src/libbpf.h exists"
	exit 1
fi

. "$(dirname "$0")/private_apt.sh"
fresh=$dir.new
rm -rf "$fresh"
mkdir -p "$fresh/apt" "$fresh/source"
trap 'rm -rf "$fresh"' EXIT INT TERM
apt=$(cd "$fresh/apt" && pwd)
private_apt "$apt" "$(dpkg --print-architecture)"
apt_source_lists >"$apt/sources.list"
APT_CONFIG=$apt/apt.conf
export APT_CONFIG

apt-get update -q >"$apt/log" 2>&1 || true
for package in libbpf dwarves; do
	rm -rf "$fresh/source"/*
	(cd "$fresh/source" && apt-get source -q --download-only --tar-only "$package") >>"$apt/log" 2>&1 || continue
	for tar in "$fresh/source"/*.orig.tar.*; do
		tar -C "$fresh/source" -xf "$tar"
	done
	for found in "$fresh"/source/*/src "$fresh"/source/*/lib/bpf/src; do
		sh "$(dirname "$0")/libbpf_version.sh" "$found/libbpf_version.h" || continue
		rm -rf "$dir"
		mkdir -p "$(dirname "$dir")"
		mv "${found%/src}" "$dir"
		say "$dir is from the source package $package"
		exit 0
	done
done
tail -n 5 "$apt/log" >&2
say "no source package with libbpf 1.1 or newer; on Ubuntu 22.04, enable the component universe"
exit 1
