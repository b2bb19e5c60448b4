#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libbpf_version.sh LIBBPF_VERSION.H: succeeds if it is of libbpf 1.1 or newer. libbpf before 0.6
# has no such file.
awk '/define LIBBPF_MAJOR_VERSION/ { major = $3 }
     /define LIBBPF_MINOR_VERSION/ { minor = $3 }
     END { exit !(major > 1 || (major == 1 && minor >= 1)) }' "$1" 2>/dev/null
