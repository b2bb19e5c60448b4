#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hourly.sh WINDOWS PARQUET [METRICS]: makes Parquet below the directory PARQUET of the pprof files
# that the agent wrote to the directory WINDOWS (exporters.pprof), of all hours (UTC) that are over,
# and removes them. An hour that fails is kept, and tried again the next time; a file that cannot be
# read is renamed to FILE.damaged. METRICS: a directory of node_exporter's textfile collector; if it
# does not exist, there are no metrics.
set -eu

windows=$1
parquet=$(realpath "$2")
metrics=${3-}
this_hour=$(date -u +%Y%m%d%H)
TACHBPF=${TACHBPF:-tachbpf}
export TACHBPF
converted=0
waiting=0
cd "$windows"

hours() {
	find . -maxdepth 1 -type f -name '*.pb.gz' |
		sed -n 's/.*-\([0-9]\{8\}T[0-9][0-9]\)[0-9]\{4\}Z\.pb\.gz$/\1/p' | sort -u
}

of_hour() {
	find . -maxdepth 1 -type f -name "*-$1[0-9][0-9][0-9][0-9]Z.pb.gz" -print0 | sort -z
}

# A file's name depends on what is in it: the same hour again counts nothing twice.
convert() {
	of_hour "$1" >.converting &&
		xargs -0 -r -s 1500000 "$TACHBPF" convert -q --format parquet -o "$parquet/" <.converting
}

# A host that lost its power may have empty files.
set_damaged_aside() {
	of_hour "$1" | xargs -0 -r -n 1 sh -c '
		"$TACHBPF" info --verify "$1" >/dev/null 2>&1 || {
			echo "$1 is damaged: renamed to $1.damaged" >&2
			mv -- "$1" "$1.damaged"
		}' sh
}

# .converted-HOUR lists files that are Parquet: what a run that was ended has left goes first, or
# it would be converted again, with what came later.
remove_converted() {
	for list in .converted-*; do
		if [ -e "$list" ]; then
			xargs -0 -r rm -f -- <"$list"
			rm "$list"
		fi
	done
}

write_metrics() {
	cat <<-END
		# HELP tachbpf_parquet_hours_waiting Hours whose profiles should be Parquet and are not.
		# TYPE tachbpf_parquet_hours_waiting gauge
		tachbpf_parquet_hours_waiting $waiting
		# HELP tachbpf_parquet_damaged_files Files that were set aside because they cannot be read.
		# TYPE tachbpf_parquet_damaged_files gauge
		tachbpf_parquet_damaged_files $(find . -maxdepth 1 -name '*.damaged' | wc -l)
		# HELP tachbpf_parquet_last_run_hours_converted Hours that the last run made Parquet of.
		# TYPE tachbpf_parquet_last_run_hours_converted gauge
		tachbpf_parquet_last_run_hours_converted $converted
		# HELP tachbpf_parquet_last_run_timestamp_seconds When the last run ended.
		# TYPE tachbpf_parquet_last_run_timestamp_seconds gauge
		tachbpf_parquet_last_run_timestamp_seconds $(date +%s)
	END
}

remove_converted
for hour in $(hours); do
	[ "$(echo "$hour" | tr -d T)" -lt "$this_hour" ] || continue
	if convert "$hour" || { set_damaged_aside "$hour" && convert "$hour"; }; then
		mv .converting ".converted-$hour"
		remove_converted
		converted=$((converted + 1))
	else
		waiting=$((waiting + 1))
	fi
done
rm -f .converting
if [ -d "$metrics" ]; then
	# The collector reads what ends in .prom, and never half of it.
	write_metrics >"$metrics/tachbpf_parquet.$$"
	chmod 644 "$metrics/tachbpf_parquet.$$"
	mv "$metrics/tachbpf_parquet.$$" "$metrics/tachbpf_parquet.prom"
fi
[ $waiting = 0 ]
