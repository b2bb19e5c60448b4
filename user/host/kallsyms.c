// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kallsyms.c - see kallsyms.h. Functions of modules that are loaded later are unknown. */
#include "host/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct symbol {
	uint64_t addr;
	size_t name;		/* offset in names */
};

struct kallsyms {
	struct buf names;	/* each NUL-terminated */
	struct symbol *symbols;	/* by address */
	size_t cnt, cap;
};

static int add_symbol(struct kallsyms *k, uint64_t addr, const char *name)
{
	size_t cap = k->cap ? 2 * k->cap : 65536;
	struct symbol *bigger;
	int err;

	if (k->cnt == k->cap) {
		bigger = reallocarray(k->symbols, cap, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		k->symbols = bigger;
		k->cap = cap;
	}
	k->symbols[k->cnt] = (struct symbol){ addr, k->names.len };
	err = buf_add(&k->names, name, strlen(name) + 1);
	k->cnt += !err;
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

struct kallsyms *kallsyms_read(const char *path)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	char line[512], name[256], kind;
	uint64_t addr, any = 0;
	FILE *f = fopen(path, "re");
	int err = f && k ? 0 : -errno;

	/* "ffffffff81000000 T name\t[module]", only text symbols. Names have at most 255 bytes. */
	while (!err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %255s", &addr, &kind, name) != 3 ||
		    !strchr("tTwW", kind))
			continue;
		any |= addr;
		err = add_symbol(k, addr, name);
	}
	if (f)
		fclose(f);
	if (!err && !any)
		err = -EPERM;
	if (err) {
		kallsyms_free(k);
		errno = -err;
		return NULL;
	}
	qsort(k->symbols, k->cnt, sizeof(*k->symbols), by_address);
	return k;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	buf_free(&k->names);
	free(k->symbols);
	free(k);
}

const char *kallsyms_name(const struct kallsyms *k, uint64_t addr)
{
	size_t low = 0, high = k->cnt, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (k->symbols[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (const char *)k->names.data + k->symbols[low - 1].name : NULL;
}
