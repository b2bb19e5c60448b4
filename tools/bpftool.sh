#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bpftool.sh: print the path of a bpftool that works. Ubuntu's /usr/sbin/bpftool is a script that
# only runs the one of the running kernel; the programs themselves are below /usr/lib, and any of
# them will do: the newest is taken.
works() { "$1" version 2>/dev/null | grep -q 'bpftool v[0-9]'; }

for tool in "$(command -v bpftool)" ${ROOT-}/usr/sbin/bpftool \
	    $(ls -d ${ROOT-}/usr/lib/linux-tools/*/bpftool ${ROOT-}/usr/lib/linux-*tools-*/bpftool \
		2>/dev/null | sort -rV); do
	if [ -n "$tool" ] && works "$tool"; then
		echo "$tool"
		exit 0
	fi
done
exit 1
