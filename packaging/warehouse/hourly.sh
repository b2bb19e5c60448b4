#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hourly.sh WINDOWS PARQUET: makes Parquet below the directory PARQUET of the pprof files that the
# agent wrote to the directory WINDOWS (exporters.pprof), of all hours (UTC) that are over, and
# removes them. An hour that fails is kept, and tried again the next time.
set -eu

windows=$1
parquet=$(realpath "$2")
this_hour=$(date -u +%Y%m%d%H)
failed=0
cd "$windows"

hours() {
	find . -maxdepth 1 -type f -name '*.pb.gz' |
		sed -n 's/.*-\([0-9]\{8\}T[0-9][0-9]\)[0-9]\{4\}Z\.pb\.gz$/\1/p' | sort -u
}

of_hour() {
	find . -maxdepth 1 -type f -name "*-$1[0-9][0-9][0-9][0-9]Z.pb.gz" -print0 | sort -z
}

for hour in $(hours); do
	[ "$(echo "$hour" | tr -d T)" -lt "$this_hour" ] || continue
	files=$(mktemp)
	of_hour "$hour" >"$files"
	# A file's name depends on what is in it: the same hour again counts nothing twice.
	if xargs -0 "${TACHBPF:-tachbpf}" convert -q --format parquet -o "$parquet/" <"$files"; then
		xargs -0 rm -f -- <"$files"
	else
		failed=1
	fi
	rm -f "$files"
done
exit $failed
