#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# long.sh O SECONDS SEEDS_ROOT TARGET... - runs libFuzzer on these targets side by side for SECONDS,
# at the lowest priority; then prints what each did, and how many lines of which files of user/ its
# inputs reach. DOCS=1 in the environment: the table of docs/fuzzing.md is replaced by this run's.
# CLANG: the compiler of the targets, named on that page.
#
# O/fuzzer has the targets with libFuzzer, O/covered those for llvm-cov. Inputs worth keeping stay in
# O/corpus/TARGET, where the next run starts; inputs on which a target failed are in O/found.
set -eu

page=docs/fuzzing.md
begin='<!-- written by make fuzz-long DOCS=1 -->'
end='<!-- end -->'
o=$1 seconds=$2 golden=$3
shift 3

seeds_of() {
	case $1 in
	fuzz_tach_reader | fuzz_gil) echo "$golden/tach" ;;
	fuzz_pprof_read) echo "$golden/pprof" ;;
	fuzz_otlp_read) echo "$golden/otlp" ;;
	*) if [ -d "$golden/$1" ]; then echo "$golden/$1"; else echo "$golden/${1#fuzz_}"; fi ;;
	esac
}

# The name of what a target tests.
reader_of() {
	case $1 in
	fuzz_tach_reader) echo TACH ;;
	fuzz_recover) echo "recover and journal" ;;
	fuzz_mlyze) echo Memlyze ;;
	*) echo "${1#fuzz_}" ;;
	esac
}

# The files whose lines the page counts: a regular expression; of other targets, all that are reached.
files_of() {
	case $1 in
	fuzz_tach_reader) echo 'tach/tach_(reader|decode|tables|tail)[.]c$' ;;
	fuzz_recover) echo 'tach/(recover|recover_steps|tach_journal)[.]c$' ;;
	fuzz_collapsed) echo 'collapsed/collapsed_read[.]c$' ;;
	fuzz_speedscope) echo 'speedscope/speedscope_(parse|read)[.]c$' ;;
	fuzz_gperftools) echo 'gperftools/gperftools_(read|text)[.]c$' ;;
	fuzz_otlp_read) echo 'otlp/otlp_(head|messages|pair|read|tables)[.]c$' ;;
	fuzz_mlyze) echo 'mlyze/mlyze_(read|meta|marks|profile)[.]c$' ;;
	*) echo . ;;
	esac
}

run() {
	mkdir -p "$o/corpus/$1" "$o/found"
	started=$(date +%s) status=0
	nice -n 19 "$o/fuzzer/libfuzzer/$1" -max_total_time="$seconds" -print_final_stats=1 \
		-timeout=60 -rss_limit_mb=4096 -artifact_prefix="$o/found/$1-" \
		"$o/corpus/$1" "$(seeds_of "$1")" >"$o/$1.log" 2>&1 || status=$?
	echo $(($(date +%s) - started)) >"$o/$1.seconds"
	return $status
}

executions_of() { sed -n 's/^stat::number_of_executed_units: *//p' "$o/$1.log"; }

# TARGET.lines: a file, how many of its lines are reached, how many it has, the percentage.
cover() {
	profile=$o/$1.profdata
	LLVM_PROFILE_FILE=$o/$1.profraw "$o/covered/libfuzzer/$1" -runs=0 "$o/corpus/$1" \
		"$(seeds_of "$1")" >/dev/null 2>&1
	llvm-profdata merge -o "$profile" "$o/$1.profraw"
	llvm-cov report "$o/covered/libfuzzer/$1" -instr-profile="$profile" 2>/dev/null |
		awk '$1 ~ /\.c$/ && $10 != "0.00%" { sub(".*user/", "user/", $1); if ($1 !~ /tests/) print $1, $8 - $9, $8, $10 }' >"$o/$1.lines"
}

report() {
	echo "== $1: $(executions_of "$1") executions, $(cat "$o/$1.seconds") s"
	awk '{ print "   ", $1, $2, "of", $3, "lines", $4 }' "$o/$1.lines"
}

# ---- the page ----

# Digits in groups of three.
grouped() { sed -e :a -e 's/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/;ta'; }

percent_of() {
	awk -v own="$(files_of "$1")" '$1 ~ own { reached += $2; all += $3 }
		END { if (all) printf "%.0f %%", 100 * reached / all; else printf "none" }' "$o/$1.lines"
}

# What libFuzzer stopped at: a crash, a leak, a timeout or too much memory.
found_by() {
	found=$(sed -n "s#.*Test unit written to .*/$1-\(crash\|leak\|timeout\|oom\)-.*#\1#p" "$o/$1.log" | sort -u | paste -sd, -)
	if [ -n "$found" ]; then echo "**$found**"; else echo nothing; fi
}

table() {
	echo "$begin"
	echo
	echo "$(date +%Y-%m-%d), clang $("${CLANG:-clang}" --version | sed -n '1s/.*version \([0-9]*\).*/\1/p'), $(nproc) CPUs:"
	echo
	echo "| reader | seconds | executions | lines | found |"
	echo "| --- | --- | --- | --- | --- |"
	for target; do
		echo "| $(reader_of "$target") | $(grouped <"$o/$target.seconds") | $(executions_of "$target" | grouped) | $(percent_of "$target") | $(found_by "$target") |"
	done
	echo
}

write_page() {
	table "$@" >"$o/table"
	awk -v table="$o/table" -v begin="$begin" -v end="$end" '
		$0 == begin { while ((getline line < table) > 0) print line; skip = 1 }
		$0 == end { skip = 0 }
		!skip' "$page" >"$o/page"
	cat "$o/page" >"$page"
	echo "long.sh: wrote $page"
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
	cover "$target"
	report "$target"
done
if [ -n "${DOCS-}" ]; then
	write_page "$@"
fi
if [ -n "$failed" ]; then
	echo "long.sh: an input was found: see $o/found and the logs in $o" >&2
	exit 1
fi
