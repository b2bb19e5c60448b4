#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# versions.sh CLANG BPFTOOL CC [FLAG...]: fails with one line that names what is missing or older
# than the build needs. CLANG, BPFTOOL: "-" if they are not needed. AGENT=0, NATIVE=0 in the
# environment: not what only tachbpf-agent, only tachbpf-elf needs. docs/packaging.md has the same table.
set -eu

GCC=8 COREUTILS=8.31 CLANG=14 BPFTOOL=7.0 LIBBPF=1.1 LIBELF=0.176 ZLIB=1.2.11 ZSTD=1.4.0 XXHASH=0.8.0 \
	LIBSECCOMP=2.4.0
LIBDW=0.176 LIBIBERTY=2.30 LIBLZMA=5.2.0	# those of tachbpf-elf
LIBCURL=7.77.0 LIBYAML=0.2 LIBMICROHTTPD=0.9.71	# the agent's

clang=$1 bpftool=$2
shift 2
bad=

# check NAME HERE NEEDED: HERE is empty if there is none.
check() {
	[ -n "$2" ] || { bad="$bad, $1 $3 (there is none)"; return; }
	oldest=$(printf '%s\n%s\n' "$2" "$3" | sort -V | head -n 1)
	[ "$oldest" = "$3" ] || bad="$bad, $1 $3 (here: $2)"
}

# header FILE MACRO...: the values of a header's macros, with dots between them.
header() {
	file=$1
	shift
	words=$(for m in "$@"; do printf '%s . ' "$m"; done)
	printf '#include <%s>\n%s\n' "$file" "HERE ${words% . }" | $cc -E -P -x c - 2>/dev/null |
		sed -n 's/^HERE *\(["0-9]\)/\1/p' | tr -d ' "'
}
cc=$*
# Empty if it is another compiler, which may also say __GNUC__.
gcc=$(printf '#ifndef __clang__\nHERE __GNUC__ . __GNUC_MINOR__\n#endif\n' | $cc -E -P -x c - 2>/dev/null |
	sed -n 's/^HERE *//p' | tr -d ' ')

[ -z "$gcc" ] || check gcc "$gcc" $GCC
check coreutils "$(basenc --version 2>/dev/null | sed -n '1s/.* //p')" $COREUTILS
[ "$clang" = - ] || check clang "$("$clang" --version 2>/dev/null | sed -n 's/.*clang version \([0-9.]*\).*/\1/p')" $CLANG
[ "$bpftool" = - ] || check bpftool "$("$bpftool" version 2>/dev/null | sed -n 's/.*bpftool v//p')" $BPFTOOL
check libbpf "$(header bpf/libbpf_version.h LIBBPF_MAJOR_VERSION LIBBPF_MINOR_VERSION)" $LIBBPF
check libelf "$(header elfutils/version.h _ELFUTILS_VERSION | sed 's/^/0./')" $LIBELF
check zlib "$(header zlib.h ZLIB_VERSION)" $ZLIB
check zstd "$(header zstd.h ZSTD_VERSION_MAJOR ZSTD_VERSION_MINOR ZSTD_VERSION_RELEASE)" $ZSTD
check xxhash "$(header xxhash.h XXH_VERSION_MAJOR XXH_VERSION_MINOR XXH_VERSION_RELEASE)" $XXHASH
check libseccomp "$(header seccomp.h SCMP_VER_MAJOR SCMP_VER_MINOR SCMP_VER_MICRO)" $LIBSECCOMP

without=
if [ "${NATIVE:-1}" != 0 ]; then
	others=$bad
	# The version is that of libelf; it is there, or not. So is libiberty, which has none.
	check libdw "$(header elfutils/libdw.h $LIBDW)" $LIBDW
	check libiberty "$(header libiberty/demangle.h $LIBIBERTY)" $LIBIBERTY
	check liblzma "$(header lzma.h LZMA_VERSION_MAJOR LZMA_VERSION_MINOR LZMA_VERSION_PATCH)" $LIBLZMA
	[ "$others" = "$bad" ] || without=', and make NATIVE=0 builds without what --native needs'
fi
if [ "${AGENT:-1}" != 0 ]; then
	others=$bad
	check libcurl "$(header curl/curlver.h LIBCURL_VERSION)" $LIBCURL
	# Its header has no version: it is there, or not.
	check libyaml "$(header yaml.h $LIBYAML)" $LIBYAML
	# 0x00097500 is 0.9.75.
	check libmicrohttpd "$(header microhttpd.h MHD_VERSION |
		sed 's/^0x\(..\)\(..\)\(..\)..$/\1.\2.\3/; s/\(^\|\.\)0/\1/g')" $LIBMICROHTTPD
	[ "$others" = "$bad" ] || without="$without, and make AGENT=0 builds without the agent"
fi

[ -z "$bad" ] || {
	echo "tachbpf needs at least ${bad#, }; \`sudo make deps\` installs what it can$without" >&2
	exit 1
}
