#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# demo.sh BUILD: what `make demo` does. It installs what the build needs, builds, records the small
# program demo.py beside it, and says what that showed. What the first two print is in
# BUILD/demo.log. MAKE: the make that called it.
set -eu

build=$1
here=$(dirname "$0")
log=$build/demo.log
tachbpf=$build/tachbpf

if [ "$(id -u)" != 0 ]; then
	echo 'make demo: recording requires root: run `sudo make demo`' >&2
	exit 1
fi

# What we make belongs to the user who called sudo.
give() { [ -z "${SUDO_UID-}" ] || chown -R "$SUDO_UID:${SUDO_GID-$SUDO_UID}" "$@"; }

now() { date +%s%1N; }	# tenths of a second

# step TITLE COMMAND...: one line with its time; the log's last lines if it fails.
step() {
	printf '%-36s' "$1"
	shift
	since=$(now)
	echo "== $*" >>"$log"
	if ! "$@" >>"$log" 2>&1; then
		echo failed
		echo "The last lines of $log:" >&2
		tail -n 15 "$log" | sed 's/^/    /' >&2
		give "$build"
		exit 1
	fi
	took=$(($(now) - since))
	printf '%3d.%d s' $((took / 10)) $((took % 10))
}

mkdir -p "$build"
: >"$log"
step 'Installing build dependencies' env AGENT=0 sh "$here/deps.sh" build
new=$(grep -c '^Setting up ' "$log" || true)
echo "   $new packages" | sed 's/ 0 packages/ nothing was missing/'
step 'Building' "$MAKE" --no-print-directory "-j$(nproc)" AGENT=0 WERROR= all
echo "   $tachbpf"
give "$build"

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
	echo 'make demo: no CPython 3.6 to 3.15 on this machine: install python3' >&2
	exit 1
fi

out=$(mktemp -d -t tachbpf-demo.XXXXXX)
give "$out"
echo
echo "\$ $tachbpf -o $out/demo.tach -- $python $here/demo.py 5"
"$tachbpf" -o "$out/demo.tach" -- "$python" "$here/demo.py" 5
"$tachbpf" convert "$out/demo.tach" -o "$out/demo.html"
give "$out"

# The line with the program's fault, and its share.
line=$(grep -n 'not in self.visitors' "$here/demo.py" | cut -d: -f1)
share=$("$tachbpf" report --by line --limit 0 "$out/demo.tach" |
	awk -v "at=demo.py:$line" 'index($NF, at) { printf "%.0f", $1 }')
cat <<END

What this showed: demo.py reads a log in two threads, and $share % of its CPU time is in one line,
which searches a list for each visitor. A set would be faster.

    demo.py:$line: $(sed -n "${line}s/^ *//p" "$here/demo.py")

Flame graph  $out/demo.html, for any browser
Recording    $out/demo.tach
Build log    $log
Install      sudo make install AGENT=0      or, with the agent: sudo make deps && sudo make install
Next         sudo tachbpf top               every Python process on this host, live
             sudo tachbpf -p PID -d 10      one of them, for 10 seconds
END
