// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kernel_types.c - see kernel_types.h. BTF: Documentation/bpf/btf.rst in the kernel. */
#include "capture/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's types in bytes: 5 MiB with everything built in. */
#define KERNEL_BYTES_MAX (64u << 20)
/* Types of this name keep their ids: kernel_words() in bpf/kcompat.bpf.h. */
#define BY_ID "pt_regs"
#define BY_ID_MAX 8
#define TASK_ITERATOR "bpf_iter_task"

/* Since kernel 6.0; older headers lack it. */
#define KIND_ENUM64 19

/* Kinds of types. Others are parts of functions or of variables. */
#define KIND(kind) (1u << (kind))
#define NAMED_KINDS (KIND(BTF_KIND_INT) | KIND(BTF_KIND_STRUCT) | KIND(BTF_KIND_UNION) | \
		     KIND(BTF_KIND_ENUM) | KIND(KIND_ENUM64) | KIND(BTF_KIND_TYPEDEF))
#define REF_KINDS (KIND(BTF_KIND_TYPEDEF) | KIND(BTF_KIND_VOLATILE) | KIND(BTF_KIND_CONST) | \
		   KIND(BTF_KIND_RESTRICT) | KIND(BTF_KIND_TYPE_TAG))
#define KINDS (NAMED_KINDS | REF_KINDS | KIND(BTF_KIND_PTR) | KIND(BTF_KIND_ARRAY) | \
	       KIND(BTF_KIND_FWD) | KIND(BTF_KIND_FLOAT))

struct name {
	const char *at;		/* NULL: free */
	size_t len;
};

struct pick {
	const uint8_t *types;
	const char *strings;
	uint32_t types_bytes, strings_bytes;
	uint32_t *at;		/* offset in types, by id */
	uint32_t cnt;		/* ids: 1 to cnt - 1 */
	struct name *names;	/* of the programs' types: a hash table */
	uint32_t names_mask;
	uint32_t *new_ids;	/* by id; 0: not picked */
	uint32_t *picked;	/* picked_cnt ids, as they were found */
	uint32_t picked_cnt;
	uint32_t by_id[BY_ID_MAX], by_id_cnt;	/* of these, those that keep their ids */
	uint32_t task_iterator;
};

/* Of a type that was picked and has no new id yet. */
#define NO_ID UINT32_MAX

/* ---- reading ---- */

static uint32_t hash_name(const char *s, size_t len)
{
	uint32_t hash = 2166136261u;
	size_t i;

	for (i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)s[i]) * 16777619u;
	return hash ^ hash >> 15;
}

/* Bytes of a type of this kind; 0: unknown kind. */
static uint32_t type_bytes(const struct btf_type *t)
{
	uint32_t head = sizeof(*t), vlen = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return head + sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return head + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case KIND_ENUM64:
		return head + vlen * 3 * sizeof(uint32_t);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return head + vlen * 2 * sizeof(uint32_t);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
		return head;
	default:
		return KIND(btf_kind(t)) & REF_KINDS ? head : 0;
	}
}

static const struct btf_type *type_of(const struct pick *p, uint32_t id)
{
	return (const struct btf_type *)(p->types + p->at[id]);
}

static const char *string_at(const struct pick *p, uint32_t off)
{
	return off < p->strings_bytes ? p->strings + off : "";
}

/* Finds the two sections. Returns 0 or -EINVAL. */
static int read_header(struct pick *p, const uint8_t *data, size_t len)
{
	struct btf_header h;

	if (len < sizeof(h) || len > KERNEL_BYTES_MAX)
		return -EINVAL;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < sizeof(h) ||
	    h.hdr_len > len || h.hdr_len % 4 || h.type_off % 4)
		return -EINVAL;
	data += h.hdr_len;
	len -= h.hdr_len;
	if (h.type_off > len || h.type_len > len - h.type_off || h.str_off > len ||
	    h.str_len > len - h.str_off || !h.str_len || data[h.str_off + h.str_len - 1])
		return -EINVAL;
	p->types = data + h.type_off;
	p->types_bytes = h.type_len;
	p->strings = (const char *)data + h.str_off;
	p->strings_bytes = h.str_len;
	return 0;
}

/* Finds where each type begins. Returns 0, -EINVAL or -ENOMEM. */
static int read_types(struct pick *p)
{
	uint32_t off = 0, bytes;

	p->at = malloc((p->types_bytes / sizeof(struct btf_type) + 2) * sizeof(*p->at));
	if (!p->at)
		return -ENOMEM;
	p->at[0] = 0;	/* void */
	for (p->cnt = 1; off < p->types_bytes; p->cnt++) {
		p->at[p->cnt] = off;
		if (p->types_bytes - off < sizeof(struct btf_type))
			return -EINVAL;
		bytes = type_bytes(type_of(p, p->cnt));
		if (!bytes || bytes > p->types_bytes - off)
			return -EINVAL;
		off += bytes;
	}
	p->new_ids = calloc(p->cnt, sizeof(*p->new_ids));
	p->picked = malloc(p->cnt * sizeof(*p->picked));
	return p->new_ids && p->picked ? 0 : -ENOMEM;
}

/* ---- names ---- */

/* The name's slot, or a free one. */
static struct name *find_name(const struct pick *p, const char *s, size_t len)
{
	uint32_t i = hash_name(s, len);

	for (;; i++) {
		struct name *n = &p->names[i & p->names_mask];

		if (!n->at || (n->len == len && !memcmp(n->at, s, len)))
			return n;
	}
}

/* Length of a name without its flavour: libbpf ignores what follows three underscores. */
static size_t essential_len(const char *s)
{
	const char *flavour = strstr(s, "___");

	return flavour && flavour > s ? (size_t)(flavour - s) : strlen(s);
}

static int read_names(struct pick *p, const struct btf *programs)
{
	uint32_t id, cnt = btf__type_cnt(programs), slots = 16;

	while (slots / 2 < cnt)
		slots *= 2;
	p->names = calloc(slots, sizeof(*p->names));
	if (!p->names)
		return -ENOMEM;
	p->names_mask = slots - 1;
	for (id = 1; id < cnt; id++) {
		const struct btf_type *t = btf__type_by_id(programs, id);
		const char *s = btf__name_by_offset(programs, t->name_off);

		if (KIND(btf_kind(t)) & NAMED_KINDS && s && *s)
			*find_name(p, s, essential_len(s)) = (struct name){ s, essential_len(s) };
	}
	return 0;
}

/* ---- picking ---- */

/* Parts of functions and variables stand for void: no program names them. */
static void add(struct pick *p, uint32_t id)
{
	if (!id || id >= p->cnt || p->new_ids[id] || !(KIND(btf_kind(type_of(p, id))) & KINDS))
		return;
	p->new_ids[id] = NO_ID;
	p->picked[p->picked_cnt++] = id;
}

static void add_named(struct pick *p)
{
	uint32_t id;

	for (id = 1; id < p->cnt; id++) {
		const struct btf_type *t = type_of(p, id);
		const char *s = string_at(p, t->name_off);

		if (btf_is_func(t) && !strcmp(s, TASK_ITERATOR))
			p->task_iterator = id;
		if (!(KIND(btf_kind(t)) & NAMED_KINDS) || !*s || !find_name(p, s, strlen(s))->at)
			continue;
		add(p, id);
		if (!strcmp(s, BY_ID) && p->by_id_cnt < BY_ID_MAX)
			p->by_id[p->by_id_cnt++] = id;
	}
}

/* Adds what a picked type contains. */
static void add_parts(struct pick *p, const struct btf_type *t)
{
	uint32_t i;

	if (KIND(btf_kind(t)) & REF_KINDS) {
		add(p, t->type);
	} else if (btf_is_array(t)) {
		add(p, btf_array(t)->type);
		add(p, btf_array(t)->index_type);
	} else if (btf_is_composite(t)) {
		for (i = 0; i < btf_vlen(t); i++)
			add(p, btf_members(t)[i].type);
	}
}

/*
 * Gives each picked type its new id. Returns them in the order of the new ids: *cnt ids, 0: none
 * has this one. NULL: no memory.
 */
static uint32_t *number(struct pick *p, uint32_t *cnt)
{
	uint32_t *order, i, next = 0, last = 0;

	for (i = 0; i < p->by_id_cnt; i++) {
		p->new_ids[p->by_id[i]] = p->by_id[i];
		last = p->by_id[i];
	}
	order = calloc(p->picked_cnt + last + 1, sizeof(*order));
	if (!order)
		return NULL;
	for (i = 0; i < p->by_id_cnt; i++)
		order[p->by_id[i]] = p->by_id[i];
	for (i = 0; i < p->picked_cnt; i++) {
		if (p->new_ids[p->picked[i]] != NO_ID)
			continue;
		while (order[++next])
			;
		order[next] = p->picked[i];
		p->new_ids[p->picked[i]] = next;
	}
	*cnt = (next > last ? next : last) + 1;
	return order;
}

/* ---- writing ---- */

static uint32_t new_id(const struct pick *p, uint32_t id)
{
	return id < p->cnt ? p->new_ids[id] : 0;
}

/* Appends a string of the kernel, and replaces its offset. Returns 0 or -ENOMEM. */
static int put_string(const struct pick *p, struct buf *strings, uint32_t *off)
{
	const char *s = string_at(p, *off);

	*off = *s ? (uint32_t)strings->len : 0;
	return *s ? buf_add(strings, s, strlen(s) + 1) : 0;
}

/* The names of members or enumerators, each of which begins with its name. */
static int put_names(const struct pick *p, struct buf *strings, struct btf_type *t)
{
	uint32_t words = btf_is_enum(t) ? 2 : 3, *at = (uint32_t *)(t + 1), i;
	int err = 0;

	for (i = 0; !err && i < btf_vlen(t); i++, at += words)
		err = put_string(p, strings, at);
	return err;
}

/* Translates a copy of a type. Returns 0 or -ENOMEM. */
static int put_type(const struct pick *p, struct buf *strings, struct btf_type *t)
{
	int err = put_string(p, strings, &t->name_off);
	struct btf_member *m;

	if (KIND(btf_kind(t)) & REF_KINDS)
		t->type = new_id(p, t->type);
	else if (btf_is_ptr(t))
		t->type = 0;
	else if (btf_is_array(t))
		*btf_array(t) = (struct btf_array){ new_id(p, btf_array(t)->type),
						    new_id(p, btf_array(t)->index_type),
						    btf_array(t)->nelems };
	else if (btf_is_composite(t))
		for (m = btf_members(t); m < btf_members(t) + btf_vlen(t); m++)
			m->type = new_id(p, m->type);
	if (!err && (btf_is_composite(t) || btf_is_enum(t) || btf_kind(t) == KIND_ENUM64))
		err = put_names(p, strings, t);
	return err;
}

static int put_types(const struct pick *p, const uint32_t *order, uint32_t cnt, struct buf *types,
		     struct buf *strings)
{
	static const struct btf_type none = { .info = BTF_KIND_CONST << 24 };
	size_t at;
	uint32_t i;
	int err = buf_add(strings, "", 1);

	for (i = 1; !err && i < cnt; i++) {
		const struct btf_type *t = order[i] ? type_of(p, order[i]) : &none;

		at = types->len;
		err = buf_add(types, t, type_bytes(t));
		if (!err && order[i])
			err = put_type(p, strings, (struct btf_type *)(types->data + at));
	}
	return err;
}

static int put_all(struct pick *p, struct buf *out)
{
	struct buf types = { 0 }, strings = { 0 };
	uint32_t cnt = 0, *order = number(p, &cnt);
	int err = order ? put_types(p, order, cnt, &types, &strings) : -ENOMEM;
	struct btf_header h = {
		.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(h),
		.type_len = types.len, .str_off = types.len, .str_len = strings.len,
	};

	if (!err)
		err = buf_add(out, &h, sizeof(h));
	if (!err)
		err = buf_add(out, types.data, types.len);
	if (!err)
		err = buf_add(out, strings.data, strings.len);
	buf_free(&types);
	buf_free(&strings);
	free(order);
	return err;
}

/* As kernel_types_pick_running(). kernel: len bytes of BTF. Returns 0, -EINVAL or -ENOMEM. */
static int kernel_types_pick(const void *kernel, size_t len, const struct btf *programs,
			     struct buf *out, uint32_t *task_iterator)
{
	struct pick p = { 0 };
	int err = read_header(&p, kernel, len);
	uint32_t i;

	if (!err)
		err = read_types(&p);
	if (!err)
		err = read_names(&p, programs);
	if (!err) {
		add_named(&p);
		for (i = 0; i < p.picked_cnt; i++)
			add_parts(&p, type_of(&p, p.picked[i]));
		err = put_all(&p, out);
	}
	*task_iterator = p.task_iterator;
	free(p.at);
	free(p.names);
	free(p.new_ids);
	free(p.picked);
	return err;
}

/* ---- the running kernel ---- */

/* Maps the file (6.16), or a copy of it. Returns MAP_FAILED with errno on failure. */
static void *map_file(int fd, size_t len)
{
	void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	size_t at = 0;
	ssize_t n = 1;

	if (map != MAP_FAILED)
		return map;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (map != MAP_FAILED && at < len && n > 0) {
		n = read(fd, (char *)map + at, len - at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (map == MAP_FAILED || at == len)
		return map;
	munmap(map, len);
	errno = EIO;
	return MAP_FAILED;
}

int kernel_types_pick_running(const struct btf *programs, struct buf *out,
			      uint32_t *task_iterator)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;
	int err;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && (st.st_size <= 0 || st.st_size > KERNEL_BYTES_MAX))
		err = -EFBIG;
	map = err ? MAP_FAILED : map_file(fd, (size_t)st.st_size);
	if (!err && map == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	err = kernel_types_pick(map, (size_t)st.st_size, programs, out, task_iterator);
	munmap(map, (size_t)st.st_size);
	return err;
}
