// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_order.c - which rows a view shows, and in which order. See top_state.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "commands/top_state.h"

const char *const *top_sort_names(enum top_view view, unsigned int *cnt)
{
	static const char *const processes[] = { "cpu", "gil", "gc", "threads", "lost", "pid" };
	static const char *const functions[] = { "self", "total" };
	static const char *const threads[] = { "cpu", "gil", "wants the GIL", "off-CPU" };
	static const char *const gil[] = { "waits", "holds" };
	static const struct {
		const char *const *names;
		unsigned int cnt;
	} all[VIEW_CNT] = {
		[VIEW_PROCESSES] = { processes, ARRAY_SIZE(processes) },
		[VIEW_FUNCTIONS] = { functions, ARRAY_SIZE(functions) },
		[VIEW_THREADS] = { threads, ARRAY_SIZE(threads) },
		[VIEW_GIL] = { gil, ARRAY_SIZE(gil) },
	};

	*cnt = all[view].cnt;
	return all[view].names;
}

struct order {
	const struct top_row *rows;
	unsigned int value;
	bool sorted;
};

static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	double x = o->rows[i].values[o->value], y = o->rows[j].values[o->value];

	if (o->sorted && x != y)
		return x < y ? 1 : -1;
	return i < j ? -1 : i > j;
}

/* The place of the row that was chosen, if it is still there. */
static void find_cursor(struct top_ui *ui, bool had, uint64_t id)
{
	size_t i;

	for (i = 0; had && i < ui->shown_cnt; i++)
		if (ui->rows.rows[ui->shown[i]].id == id)
			ui->cursor = i;
	if (ui->cursor >= ui->shown_cnt)
		ui->cursor = ui->shown_cnt ? ui->shown_cnt - 1 : 0;
}

int top_rows_choose(struct top_ui *ui)
{
	const struct top_choice *c = ui->choice;
	struct order order = { .rows = ui->rows.rows, .value = c->sort[c->view] };
	size_t *shown = calloc(ui->rows.cnt + 1, sizeof(*shown)), i;
	unsigned int names;

	if (!shown)
		return -ENOMEM;
	top_sort_names(c->view, &names);
	order.sorted = names;
	free(ui->shown);
	ui->shown = shown;
	ui->shown_cnt = 0;
	for (i = 0; i < ui->rows.cnt; i++)
		if (!*c->filter || (ui->rows.rows[i].text &&
				    strstr(ui->rows.rows[i].text, c->filter)))
			shown[ui->shown_cnt++] = i;
	qsort_r(shown, ui->shown_cnt, sizeof(*shown), compare, &order);
	find_cursor(ui, ui->follows, ui->chosen);
	ui->follows = ui->cursor;
	if (ui->shown_cnt)
		ui->chosen = ui->rows.rows[shown[ui->cursor]].id;
	return 0;
}
