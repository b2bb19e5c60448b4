// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_heap_chains.c - who keeps objects, out of hostile memory.
 *
 * Input: bytes for the version and for what is special; then pokes into the memory of a process
 * that has a module, containers of all kinds and objects in them, each a u16 for where and a u16
 * that is written there. Memory may be at every address (modulo its size), so that whatever is
 * taken for a pointer leads somewhere.
 */
#include "tests/fuzz/check.h"
#include "tests/unit/heap/fake_chains.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of memory that is scanned, and time: a search of this small memory needs far less. */
#define BYTES_MAX (8u << 20)
#define TIME_NS 2000000000ull

static struct fake_chains c;

static void fill(unsigned int minor, bool big)
{
	uint64_t objs[8], dict;
	unsigned int i;

	fake_chains_make(&c, minor, big);
	for (i = 0; i < 4; i++) {
		objs[2 * i] = fake_interned(&c, i & 1 ? "odd" : "even");
		objs[2 * i + 1] = fake_session(&c);
	}
	dict = fake_kept_dict(&c, objs, 4);
	fake_variable(&c, "CACHE", dict);
	fake_variable(&c, "LIST", fake_kept_list(&c, objs + 3, 3));
	objs[0] = fake_alive(&c, fake_set(&c.h.f, &c.h.t, objs + 1, 1));
	fake_variable(&c, "SETS", fake_kept_tuple(&c, objs, 1));
	fake_poke(&c.h.f, objs[7] + c.h.f.head, dict, 8);
}

static void poke(const uint8_t *data, size_t size)
{
	uint16_t words[2];
	size_t i;

	for (i = 0; i + sizeof(words) <= size; i += sizeof(words)) {
		memcpy(words, data + i, sizeof(words));
		fake_poke(&c.h.f, FAKE_BASE + words[0] % c.h.f.used, words[1], 2);
	}
}

static void check_chain(const struct heap_chain *chain)
{
	uint32_t i;

	check((unsigned int)chain->root < HEAP_ROOT_CNT && chain->count > 0);
	check(chain->link_cnt > 0 && chain->link_cnt <= HEAP_LINKS_MAX);
	check(memchr(chain->root_name, 0, sizeof(chain->root_name)) != NULL);
	for (i = 0; i < chain->link_cnt; i++) {
		check(memchr(chain->links[i].type, 0, HEAP_NAME_BYTES) != NULL);
		check(memchr(chain->links[i].name, 0, HEAP_NAME_BYTES) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t i, sum = 0;
	int err;

	if (size < 2)
		return 0;
	fill(6 + data[0] % 10, data[1] & 1);
	if (data[1] & 2)
		c.memory.mem.read = fake_threads_everywhere;
	c.why.values = data[1] & 4;
	c.target.interps = data[1] & 8 ? FAKE_BASE : 0;
	c.target.layout.interp_threads_head = 16;
	c.target.layout.interp_next = 8;
	c.target.layout.ts_thread_id = 24;
	c.why.limits.bytes = BYTES_MAX;
	c.why.limits.time_ns = TIME_NS;
	poke(data + 2, size - 2);
	err = heap_chains_find(&c.memory, &c.target, &c.why, &c.out);
	check(!err || err == -ENOENT || err == -EBADMSG);
	check(c.out.chain_cnt <= HEAP_CHAINS_MAX && c.out.sampled <= HEAP_WHY_SAMPLE);
	for (i = 0; i < c.out.chain_cnt; i++) {
		check_chain(&c.out.chains[i]);
		sum += c.out.chains[i].count;
	}
	check(sum + c.out.other == c.out.sampled);
	return 0;
}
