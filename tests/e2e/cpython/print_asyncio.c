/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * print_asyncio.c MINOR HEAD - where user/asyncio takes fields of _asyncio's futures and tasks to
 * be in 3.MINOR, in a build whose objects have a head of so many bytes: "name value" lines.
 */
#include <stdio.h>
#include <stdlib.h>

#include "user/asyncio/home.c"

#define PRINT(field) printf("%s %u\n", #field, (unsigned int)f.field)

int main(int argc, char **argv)
{
	struct async_fields f;

	if (argc != 3 || !async_fields_of((uint8_t)atoi(argv[1]), (uint16_t)atoi(argv[2]), &f))
		return 1;
	PRINT(loop);
	PRINT(callback0);
	PRINT(callbacks);
	PRINT(state);
	PRINT(future_bytes);
	PRINT(fut_waiter);
	PRINT(coro);
	PRINT(name);
	PRINT(task_bytes);
	return 0;
}
