// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_native_wire.c - any bytes as the data of what the opener and the helpers tell the main
 * process: mappings, and names of addresses that were asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "native/native_names.h"
#include "native/native_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_maps(const struct elf_message *m, const void *bytes)
{
	const struct opener_map *map;
	uint32_t at = 0, i;
	const char *path;

	for (i = 0; opener_maps_ok(m, bytes) && i < m->cnt; i++) {
		map = opener_maps_next(bytes, &at, &path);
		if (strlen(path) >= map->path_bytes || at > m->bytes)
			abort();
	}
}

static void read_names(const struct elf_message *m, const void *bytes)
{
	struct native_name_pool pool = { .names = 0 };
	struct native_names names = { .cnt = 0 };
	struct native_name out;
	uint64_t addr;
	uint32_t i;

	for (addr = 0; addr < 8; addr++)
		native_names_ask(&names, &pool, addr);
	native_names_take(&names, &pool, "lib.so", m, bytes);
	for (addr = 0; addr < 8; addr++)
		if (native_names_get(&names, &pool, addr, &out) == NAME_KNOWN)
			for (i = 0; i < out.cnt; i++)
				if (!out.functions[i].name)
					abort();
	native_names_free(&names, &pool);
	if (pool.bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_message m = { 0 };
	void *bytes;

	if (!size || size > ELF_WIRE_BYTES)
		return 0;
	/* Of its exact size, so reading beyond it is seen; aligned, as received. */
	m.bytes = (uint32_t)size - 1;
	m.cnt = data[0];
	bytes = malloc(m.bytes ? m.bytes : 1);
	if (!bytes)
		abort();
	memcpy(bytes, data + 1, m.bytes);
	read_maps(&m, bytes);
	read_names(&m, bytes);
	free(bytes);
	return 0;
}
