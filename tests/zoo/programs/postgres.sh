#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# postgres.sh: a server in a directory of its own, two sessions that call PL/Python, and its end.
set -e
bin=$(echo /usr/lib/postgresql/*/bin)
data=$PWD/postgres
mkdir -m 700 "$data"
chown postgres "$data"
as() { setpriv --reuid postgres --regid postgres --clear-groups -- "$@"; }
query() { as "$bin/psql" -q -h "$data" -d postgres -v ON_ERROR_STOP=1 -c "$1"; }

as "$bin/initdb" -A trust --no-sync "$data/db" > "$data.log"
as "$bin/pg_ctl" -w -D "$data/db" -l "$data/log" start \
	-o "-h '' -k $data -c dynamic_shared_memory_type=mmap -c fsync=off" >> "$data.log"
trap 'as "$bin/pg_ctl" -m fast -w -D "$data/db" stop >> "$data.log"' EXIT
query 'create extension plpython3u'
query 'create function handle(i int) returns text language plpython3u as $$
import work
return work.handle()
$$'
query 'select count(handle(i)) from generate_series(1, 60) i' > "$data.log" &
query 'select count(handle(i)) from generate_series(1, 60) i' > "$data.log"
wait $!
