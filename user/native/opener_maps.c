// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* opener_maps.c - see opener_maps.h. */
#include "native/opener_maps.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi_native.h"
#include "native/opener_files.h"

struct collected {
	struct elf_message m;
	opener_send_fn send;
	uint32_t total;
	struct opener_map last;		/* not in data yet; end 0: none */
	char path[OPENER_PATH_MAX];
	_Alignas(8) uint8_t data[ELF_WIRE_BYTES];
};

static int flush(struct collected *c, uint32_t more)
{
	int err;

	c->m.more = more;
	err = c->send(&c->m, c->data);
	c->m.cnt = c->m.bytes = 0;
	return err;
}

/* Put the last mapping behind the others. */
static int put_last(struct collected *c)
{
	uint32_t bytes = (uint32_t)sizeof(c->last) + ((c->last.path_bytes + 7) & ~7u);
	int err = c->last.end && c->m.bytes + bytes > sizeof(c->data) ? flush(c, 1) : 0;

	if (err || !c->last.end)
		return err;
	memset(c->data + c->m.bytes, 0, bytes);
	memcpy(c->data + c->m.bytes, &c->last, sizeof(c->last));
	memcpy(c->data + c->m.bytes + sizeof(c->last), c->path, c->last.path_bytes);
	c->m.bytes += bytes;
	c->m.cnt++;
	c->last.end = 0;
	return 0;
}

static bool continues(const struct opener_map *last, const struct proc_map *map)
{
	return last->end == map->start && last->dev == map->dev && last->ino == map->inode &&
	       map->inode && last->offset + (last->end - last->start) == map->offset;
}

static int collect(void *ctx, const struct proc_map *map)
{
	struct collected *c = ctx;
	size_t len = strnlen(map->path, OPENER_PATH_MAX - 1);
	int err;

	if (map->start >= map->end)
		return 0;
	if (c->last.end && continues(&c->last, map)) {
		c->last.end = map->end;
		return 0;
	}
	err = put_last(c);
	if (!err && c->total++ >= NATIVE_MAPPINGS)
		err = -E2BIG;
	if (err)
		return err;
	c->last = (struct opener_map){ .start = map->start, .end = map->end,
				       .offset = map->offset, .dev = map->dev, .ino = map->inode,
				       .path_bytes = (uint32_t)len + 1 };
	memcpy(c->path, map->path, len);
	c->path[len] = '\0';
	return 0;
}

int opener_maps(const struct elf_message *asked, const struct elf_place *place,
		opener_send_fn send)
{
	static struct collected c;
	int err = opener_same_process(place);

	c.m = (struct elf_message){ .kind = MAPS, .file = asked->file, .request = asked->request };
	c.send = send;
	c.total = 0;
	c.last.end = 0;
	if (!err)
		err = proc_code_maps((pid_t)place->tgid, collect, &c);

	if (!err || err == -EFBIG)
		err = put_last(&c) ? -EPIPE : opener_same_process(place);
	c.m.result = err;
	return flush(&c, 0);
}
