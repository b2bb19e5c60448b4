// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_mlyze.c - any bytes through the mlyze reader, and through the rows of tachbpf mem.
 */
#include "analysis/memory_rows.h"
#include "analysis/memory_series.h"
#include "formats/mlyze/type_growth.h"
#include "fuzz_reader.h"

/* Types of any censuses can be compared, and only those that have grown are named. */
static void compare_types(const struct mlyze_notes *notes, uint64_t from_us)
{
	const struct type_growth *own, *most;
	struct type_growths g;

	require(!type_growths_read(notes, from_us, UINT64_MAX, &g), "types of any file");
	require(!g.from == !g.to && (g.to || !g.cnt), "two censuses or none");
	require(type_growths_seconds(&g) >= 0, "the later one is the later one");
	type_growths_leaders(&g, &own, &most);
	require(!own || type_has_grown(own), "what is named has grown");
	require(!most || type_has_grown(most), "what is named has grown");
	type_growths_free(&g);
}

/* Rows of anything that is a file add up to the file's own sums. */
static void add_rows(const uint8_t *data, size_t size, enum mem_by by)
{
	struct mlyze_error error;
	struct mlyze_file *f = mlyze_open(data, size, &error);
	struct memory_rows *rows = memory_rows_new(by);
	struct memory_scope scope = { .by = by, .intervals = 3 };
	struct memory_list list = { 0 };
	struct mlyze_notes notes;
	struct mlyze_stats stats = { 0 };
	uint64_t count = 0;
	size_t i;

	require(rows != NULL, "memory");
	if (f) {
		struct memory_source src = { .file = f, .notes = &notes };

		require(!mlyze_notes_read(f, &notes), "all marks can be read");
		/* A range that is somewhere inside the file. */
		scope.from_us = by % 2 ? mlyze_start_us(f) + 1 : 0;
		require(!memory_rows_add(rows, &src, &scope, &stats, &list), "rows of any file");
		for (i = 0; i < list.cnt; i++) {
			count += list.rows[i].sums.live_count;
			memory_rows_key(rows, list.rows[i].key);
		}
		require(count == stats.total.live_count, "rows have all blocks");
		memory_grown(&notes, 0, UINT64_MAX);
		compare_types(&notes, scope.from_us);
		mlyze_notes_free(&notes);
	}
	memory_list_free(&list);
	mlyze_stats_free(&stats);
	memory_rows_free(rows);
	mlyze_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last byte also says what is to count. */
	enum reader_value value = size ? data[size - 1] % (VALUE_BOTH + 1) : VALUE_DEFAULT;

	add_rows(data, size, size ? data[size - 1] % (MEM_BY_THREAD + 1) : MEM_BY_STACK);
	return fuzz_reader("mlyze", value, data, size);
}
