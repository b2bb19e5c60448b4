#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# static_elf.sh CC [FLAG...]: prints 1 if tachbpf-elf can be linked statically here, else 0: Debian
# 13's libelf.a is incomplete, and some systems have no static libdw.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
cat >"$dir/uses.c" <<'C'
#include <elfutils/libdw.h>
#include <libiberty/demangle.h>
#include <lzma.h>
#include <seccomp.h>
int main(void)
{
	Elf *elf = elf_begin(0, ELF_C_READ, NULL);

	return !dwarf_begin_elf(elf, DWARF_C_READ, NULL) || lzma_crc32(NULL, 0, 0) ||
	       rust_demangle_callback("", 0, NULL, NULL) || !seccomp_init(0);
}
C
if "$@" -static -o "$dir/uses" "$dir/uses.c" -ldw -lelf -liberty -llzma -lseccomp -lz -lxxhash -lzstd 2>/dev/null; then
	echo 1
else
	echo 0
fi
