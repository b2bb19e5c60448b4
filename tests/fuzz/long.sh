#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# long.sh O SECONDS SEEDS_ROOT TARGET... - libFuzzer on these targets side by side for so
# long, at the lowest priority; then what each did, and how many lines of which files of
# user/ its inputs reach.
#
# O/fuzzer has the targets with libFuzzer, O/covered those for llvm-cov. Inputs worth
# keeping stay in O/corpus/TARGET, so that the next run goes on from there; what a
# target fell over is in O/found.
set -eu

o=$1 seconds=$2 golden=$3
shift 3

seeds_of() {
	case $1 in
	fuzz_tach_reader | fuzz_gil) echo "$golden/tach" ;;
	*) if [ -d "$golden/$1" ]; then echo "$golden/$1"; else echo "$golden/${1#fuzz_}"; fi ;;
	esac
}

run() {
	mkdir -p "$o/corpus/$1" "$o/found"
	nice -n 19 "$o/fuzzer/libfuzzer/$1" -max_total_time="$seconds" -print_final_stats=1 \
		-timeout=60 -rss_limit_mb=4096 -artifact_prefix="$o/found/$1-" \
		"$o/corpus/$1" "$(seeds_of "$1")" >"$o/$1.log" 2>&1
}

report() {
	profile=$o/$1.profdata
	LLVM_PROFILE_FILE=$o/$1.profraw "$o/covered/libfuzzer/$1" -runs=0 "$o/corpus/$1" \
		"$(seeds_of "$1")" >/dev/null 2>&1
	llvm-profdata merge -o "$profile" "$o/$1.profraw"
	echo "== $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$o/$1.log") executions," \
		"$(sed -n 's/^Done .* in \([0-9]*\) second.*/\1/p' "$o/$1.log") s"
	llvm-cov report "$o/covered/libfuzzer/$1" -instr-profile="$profile" 2>/dev/null |
		awk '$1 ~ /\.c$/ && $10 != "0.00%" { sub(".*user/", "user/", $1); if ($1 !~ /tests/) print "   ", $1, $8 - $9, "of", $8, "lines", $10 }'
}

pids=
for target; do
	run "$target" &
	pids="$pids $!"
done
failed=
for pid in $pids; do
	wait "$pid" || failed=1
done
for target; do
	report "$target"
done
if [ -n "$failed" ]; then
	echo "long.sh: an input was found: see $o/found and the logs in $o" >&2
	exit 1
fi
