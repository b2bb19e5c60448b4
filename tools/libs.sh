#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libs.sh CC [FLAG...]: print the linker's flags for the libraries of tachbpf. A library is linked
# statically if all of its archive can be linked (Debian 13's libelf.a cannot), else dynamically.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
echo 'int main(void) { return 0; }' >"$dir/empty.c"
others='-lelf -lz -lzstd -lm -lpthread'

static=
dynamic=
for lib in bpf elf protobuf-c z zstd xxhash; do
	# shellcheck disable=SC2086
	if "$@" -o "$dir/empty" "$dir/empty.c" -Wl,-Bstatic,--whole-archive "-l$lib" \
		-Wl,--no-whole-archive,-Bdynamic $others 2>/dev/null; then
		static="$static -l$lib"
	else
		dynamic="$dynamic -l$lib"
	fi
done
echo "-Wl,-Bstatic$static -Wl,-Bdynamic$dynamic -lm -lpthread"
