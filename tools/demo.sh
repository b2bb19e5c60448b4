#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# demo.sh TACHBPF: profile every Python on this host for 5 seconds, with a small
# program started to make sure that there is one, and show what was seen.
set -eu

tachbpf=$1
here=$(dirname "$0")

# The newest Python on PATH that is supported.
python=
for minor in 15 14 13 12 11 10 9 8 7 6; do
	if command -v "python3.$minor" >/dev/null 2>&1 &&
	   "python3.$minor" -c pass 2>/dev/null; then
		python=python3.$minor
		break
	fi
done
if [ -z "$python" ]; then
	echo "demo: no CPython 3.6 to 3.15 on this machine; install python3" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "demo: recording needs root: run \`sudo make demo\`" >&2
	exit 1
fi

out=$(mktemp -d -t tachbpf-demo.XXXXXX)
"$python" "$here/demo.py" 7 &
target=$!
trap 'kill $target 2>/dev/null || true' EXIT INT TERM

echo "== $tachbpf -a -d 5 -r 999 -o $out/profile"
"$tachbpf" -a -d 5 -r 999 -o "$out/profile"
echo
echo "== $tachbpf report $out/profile"
"$tachbpf" report "$out/profile"
"$tachbpf" convert "$out/profile" -o "$out/flamegraph.html"
echo
echo "A flame graph of it, for any browser: $out/flamegraph.html"
echo "The profile stays in $out/profile: one TACH file per process, and session.json."
echo "CPython 3.15 reads them too: python3.15 -m profiling.sampling replay --flamegraph FILE"
libraries=$(ldd "$tachbpf" 2>/dev/null | sed -n 's/^[[:space:]]*\(lib[^ ]*\) =>.*/\1/p' |
	grep -v -e '^libc\.so' -e '^libm\.so' -e '^libpthread\.so' | tr '\n' ' ')
[ -z "$libraries" ] || echo "$tachbpf needs these libraries wherever it runs: $libraries"
