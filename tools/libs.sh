#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libs.sh auto|static|dynamic CC [FLAG...]: print the linker's flags for the libraries of tachbpf.
# auto: a library is linked statically if all of its archive can be linked (Debian 13's libelf.a
# cannot), else dynamically. static: the whole program, C library included; fails with one line
# if a library cannot be.
set -eu

how=$1
shift
libs='bpf elf seccomp z zstd xxhash'
others='-lelf -lz -lzstd -lm -lpthread'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
echo 'int main(void) { return 0; }' >"$dir/empty.c"

links() {
	# shellcheck disable=SC2086
	"$@" -o "$dir/empty" "$dir/empty.c" -Wl,-Bstatic,--whole-archive "-l$lib" \
		-Wl,--no-whole-archive $end $others 2>/dev/null
}

end=-Wl,-Bdynamic
[ "$how" != static ] || end=-static
static=
dynamic=
for lib in $libs; do
	if [ "$how" != dynamic ] && links "$@"; then
		static="$static -l$lib"
	else
		dynamic="$dynamic -l$lib"
	fi
done
if [ "$how" != static ]; then
	echo "-Wl,-Bstatic$static -Wl,-Bdynamic$dynamic -lm -lpthread"
elif [ -z "$dynamic" ]; then
	echo "-static$static -lm -lpthread"
else
	echo "no static binary can be made here: these archives are missing or incomplete:$dynamic" \
	     "(Debian 13's libelf.a is; Debian 12 and Ubuntu 24.04 have all)" >&2
	exit 1
fi
