// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_confirm.c - records that wait until the names of stacks are certain. See confirm.h. */
#include <errno.h>

#include "base/util.h"
#include "resolve/process_parts.h"

static int take(void *ctx, const void *record, size_t len)
{
	struct process *p = ctx;
	int err;

	p->confirmed = true;
	err = p->take(p, record, len);
	p->confirmed = false;
	return err;
}

static int check(void *ctx, uint64_t code, uint32_t id)
{
	const struct process *p = ctx;

	return symbolizer_check(p->sym, code, id);
}

static const struct confirm_ops ops = { take, check };

bool process_must_confirm(const struct process *p, const void *record, size_t len)
{
	return !p->confirmed && (p->confirm || confirm_is_unread(record, len));
}

int process_confirm(struct process *p, const void *record, size_t len)
{
	if (!p->confirm)
		p->confirm = confirm_new(&ops, p);
	if (!p->confirm)
		return process_without_memory(p, 0, -ENOMEM);
	return process_without_memory(p, 0, confirm_record(p->confirm, record, len));
}

int process_settle(struct process *p)
{
	return p->confirm ? confirm_settle(p->confirm) : 0;
}

int process_settle_late(struct process *p)
{
	return p->confirm ? confirm_late(p->confirm, now_ns()) : 0;
}

void process_confirm_free(struct process *p)
{
	confirm_free(p->confirm);
	p->confirm = NULL;
}
