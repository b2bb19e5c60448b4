// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stack_tree.c - see stack_tree.h.
 *
 * A stack that was seen before, in any thread of the process, is found as a whole (stack_cache.h),
 * and so is its share. Another stack costs only its new part: the part that it shares with the
 * previous such stack of the same thread is reused, and each other frame costs one access to a hash
 * table. If the stack and the state repeat, it is one addition. Nodes are shared by all processes;
 * threads and shares are looked up only in their own process, so its tables are small and nearly
 * all in the CPU's cache.
 */
#include "model/stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arith.h"
#include "base/hash_index.h"
#include "base/time.h"
#include "base/util.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/shared_frames.h"
#include "model/stack_cache.h"

#define RECENT_CNT 64		/* threads whose last stack is remembered; 2 KiB each */

#define THREADS_MAX (1u << STACK_THREAD_BITS)

#define LABEL_HIDDEN UINT32_MAX	/* in place of a frame id */

/*
 * The last stack of a thread: its place in the cache, and its share. And the last one that was not
 * in the cache: its frames are right-aligned, the root last. nodes: root first, each the one that
 * its frame led to.
 */
struct recent {
	bool valid;
	uint8_t status;
	uint32_t thread, share;
	uint32_t cached, cached_depth, round;	/* state of the cache when it had the stack */
	uint32_t depth;
	uint64_t thread_id;
	uint32_t interp_id;
	uint32_t frames[EVENT_MAX_FRAMES];
	uint32_t nodes[EVENT_MAX_FRAMES];
};

/* Nodes found before: a small table is in the CPU's cache, the index of all nodes is not. */
#define KNOWN_NODES 32768

/* The last results at a node, which are mostly wanted again: child, share + 1; 0: none. */
struct last {
	uint32_t child, share_1;
};

struct stack_tree {
	enum stack_detail detail;
	uint64_t seed;
	struct intern *names;
	struct buf first_lines;		/* int32_t, indexed by names' frame ids: view.first_lines */
	struct buf nodes, threads, shares;	/* arrays of the structures */
	struct hash_index node_index;
	struct hash_index thread_index, share_index;	/* of the current process */
	struct buf last;		/* struct last by node */
	uint32_t known_nodes[KNOWN_NODES];	/* by hash; 0: none */
	uint32_t process_cnt;
	uint32_t share;			/* of the last event */
	struct recent *recent[RECENT_CNT];	/* NULL: not used by a thread yet */
	/* The current profile. */
	const struct profile_tables *tables;
	struct id_map labels;	/* its frame ids -> ours */
	struct stack_cache cache;	/* of its stacks; values: nodes */
};

static struct stack_node *nodes_of(const struct stack_tree *t)
{
	return (struct stack_node *)(void *)t->nodes.data;
}

static struct stack_thread *threads_of(const struct stack_tree *t)
{
	return (struct stack_thread *)(void *)t->threads.data;
}

static struct stack_share *shares_of(const struct stack_tree *t)
{
	return (struct stack_share *)(void *)t->shares.data;
}

struct stack_tree_view stack_tree_view(const struct stack_tree *t)
{
	return (struct stack_tree_view){
		.nodes = nodes_of(t), .threads = threads_of(t), .shares = shares_of(t),
		.tables = intern_tables(t->names),
		.first_lines = (const int32_t *)(const void *)t->first_lines.data,
		.node_cnt = t->nodes.len / sizeof(struct stack_node),
		.thread_cnt = t->threads.len / sizeof(struct stack_thread),
		.share_cnt = t->shares.len / sizeof(struct stack_share),
	};
}

/*
 * Multiply-shift with a secret odd factor: the creator of a profile cannot choose ids that collide.
 */
static uint32_t hash_pair(uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ hash_u64(b + seed)) * (seed | 1);

	return (uint32_t)((h ^ (h << 31)) * 0x9e3779b97f4a7c15ULL >> 32);
}

static bool node_equal(const void *nodes, uint32_t id, const void *key)
{
	const struct stack_node *a = (const struct stack_node *)nodes + id, *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

static bool thread_equal(const void *threads, uint32_t id, const void *key)
{
	const struct stack_thread *a = (const struct stack_thread *)threads + id, *b = key;

	return a->thread_id == b->thread_id && a->process == b->process &&
	       a->interp_id == b->interp_id;
}

static bool share_equal(const void *shares, uint32_t id, const void *key)
{
	const struct stack_share *a = (const struct stack_share *)shares + id, *b = key;

	return a->node == b->node && a->thread == b->thread && a->status == b->status;
}

/* Finds the entry of `array` that equals `entry`, or appends it. Its number in *id. */
HASH_INLINE int find_or_add(struct hash_index *x, uint32_t hash, struct buf *array,
			    const void *entry, size_t size,
			    bool (*equal)(const void *array, uint32_t id, const void *entry),
			    uint32_t *id)
{
	struct hash_index_slot *slot;

	if (x->table.cnt >= HASH_INDEX_MAX)
		return -EOVERFLOW;
	if (hash_index_reserve(x))
		return -ENOMEM;
	slot = hash_index_slot_of(x, hash, equal, array->data, entry);
	if (!slot->number_1) {
		if (buf_add(array, entry, size))
			return -ENOMEM;
		hash_index_fill(x, slot, hash, array->len / size - 1);
	}
	*id = slot->number_1 - 1;
	return 0;
}

static struct last *last_at(const struct stack_tree *t, uint32_t node)
{
	return (struct last *)(void *)t->last.data + node;
}

/* A new node has no child and no share. Returns 0 or -ENOMEM. */
static int add_last(struct stack_tree *t)
{
	const struct last none = { 0 };

	return t->last.len / sizeof(none) == t->nodes.len / sizeof(struct stack_node) ?
	       0 : buf_add(&t->last, &none, sizeof(none));
}

static int find_node(struct stack_tree *t, uint32_t parent, uint32_t frame, uint32_t *id)
{
	const struct stack_node n = { parent, frame };
	uint32_t hash, *known;
	int err = 0;

	*id = last_at(t, parent)->child;
	if (*id && nodes_of(t)[*id].frame == frame)
		return 0;
	hash = hash_pair(t->seed, (uint64_t)parent << 32 | frame, 0);
	known = &t->known_nodes[hash % KNOWN_NODES];
	*id = *known;
	if (!*id || !node_equal(t->nodes.data, *id, &n))
		err = find_or_add(&t->node_index, hash, &t->nodes, &n, sizeof(n), node_equal, id);
	if (!err)
		err = add_last(t);
	if (!err)
		last_at(t, parent)->child = *known = *id;
	return err;
}

static int find_thread(struct stack_tree *t, const struct stack_thread *thread, uint32_t *id)
{
	uint32_t hash = hash_pair(t->seed, thread->thread_id,
				  (uint64_t)thread->process << 32 | thread->interp_id);
	int err = find_or_add(&t->thread_index, hash, &t->threads, thread, sizeof(*thread),
			      thread_equal, id);

	return err ? err : *id >= THREADS_MAX ? -EOVERFLOW : 0;
}

/* A new share has no weight yet. */
static int find_share(struct stack_tree *t, uint32_t node, uint32_t thread, uint8_t status,
		      uint32_t *id)
{
	const struct stack_share share = { .node = node, .thread = thread, .status = status };
	uint32_t hash;
	int err;

	*id = last_at(t, node)->share_1 - 1;
	if (last_at(t, node)->share_1 && share_equal(t->shares.data, *id, &share))
		return 0;
	hash = hash_pair(t->seed, (uint64_t)node << 32 | thread, status);
	err = find_or_add(&t->share_index, hash, &t->shares, &share, sizeof(share), share_equal,
			  id);
	if (!err)
		last_at(t, node)->share_1 = *id + 1;
	return err;
}

struct stack_tree *stack_tree_new(enum stack_detail detail)
{
	struct stack_node root = { UINT32_MAX, UINT32_MAX };
	struct stack_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->detail = detail;
	stack_cache_init(&t->cache);
	if (getrandom(&t->seed, sizeof(t->seed), 0) != sizeof(t->seed))
		t->seed = now_ns();
	t->names = intern_new();
	if (t->names && !buf_add(&t->nodes, &root, sizeof(root)) && !add_last(t))
		return t;
	stack_tree_free(t);
	errno = ENOMEM;
	return NULL;
}

void stack_tree_free(struct stack_tree *t)
{
	size_t i;

	if (!t)
		return;
	intern_free(t->names);
	buf_free(&t->first_lines);
	buf_free(&t->nodes);
	buf_free(&t->threads);
	buf_free(&t->shares);
	buf_free(&t->last);
	hash_index_free(&t->node_index);
	hash_index_free(&t->thread_index);
	hash_index_free(&t->share_index);
	for (i = 0; i < RECENT_CNT; i++)
		free(t->recent[i]);
	id_map_free(&t->labels);
	stack_cache_free(&t->cache);
	free(t);
}

/* Threads and shares belong to one process, so those of earlier ones are not looked up again. */
static void forget_process(struct stack_tree *t)
{
	hash_index_free(&t->thread_index);
	hash_index_free(&t->share_index);
}

int stack_tree_begin(struct stack_tree *t, const struct profile_tables *tables)
{
	uint32_t i;

	if (t->tables || t->process_cnt == UINT32_MAX)
		return -EINVAL;
	t->tables = tables;
	t->process_cnt++;
	forget_process(t);
	stack_cache_clear(&t->cache);
	for (i = 0; i < RECENT_CNT; i++)
		if (t->recent[i])
			t->recent[i]->valid = false;
	return 0;
}

void stack_tree_end(struct stack_tree *t)
{
	id_map_clear(&t->labels);
	t->tables = NULL;
}

static int note_first_line(struct stack_tree *t, uint32_t frame, int32_t line)
{
	const int32_t none = 0;
	int32_t *lowest;

	if (frame == t->first_lines.len / sizeof(none) &&
	    buf_add(&t->first_lines, &none, sizeof(none)))
		return -ENOMEM;
	lowest = (int32_t *)(void *)t->first_lines.data + frame;
	if (line > 0 && (!*lowest || line < *lowest))
		*lowest = line;
	return 0;
}

/* Converts a frame of other tables to one of ours. first_line: of its function; 0: unknown. */
static int adopt_frame(struct stack_tree *t, const struct profile_tables *tables,
		       const struct frame *f, int32_t first_line, uint32_t *id)
{
	struct frame own = stack_frame_cut(t->detail, f);
	const struct string_ref *s = tables->strings;
	int err;

	if (f->file >= tables->string_cnt || f->func >= tables->string_cnt)
		return -EINVAL;
	err = intern_string(t->names, s[f->file].data, s[f->file].len, &own.file);
	if (!err)
		err = intern_string(t->names, s[f->func].data, s[f->func].len, &own.func);
	if (!err)
		err = intern_frame(t->names, &own, id);
	return err ? err : note_first_line(t, *id, first_line);
}

static int make_label(struct stack_tree *t, uint32_t frame, uint32_t *label)
{
	const struct frame *f = &t->tables->frames[frame];
	int err = 0;

	if (f->file < t->tables->string_cnt && stack_frame_internal(&t->tables->strings[f->file]))
		*label = LABEL_HIDDEN;
	else
		err = adopt_frame(t, t->tables, f, f->first_line, label);
	return err ? err : id_map_set(&t->labels, frame, *label);
}

/* Finds the child of node for a frame of the profile: node itself if the frame is hidden. */
static int find_child(struct stack_tree *t, uint32_t node, uint32_t frame, uint32_t *child)
{
	uint32_t label;
	int err;

	if (frame >= t->tables->frame_cnt)
		return -EINVAL;
	if (!id_map_get(&t->labels, frame, &label)) {
		err = make_label(t, frame, &label);
		if (err)
			return err;
	}
	*child = node;
	return label == LABEL_HIDDEN ? 0 : find_node(t, node, label, child);
}

/* Makes r the event's thread's entry; until walk_stack() it may have another thread's stack. */
static int recall_thread(struct stack_tree *t, struct recent *r, const struct event *ev)
{
	struct stack_thread thread = { t->process_cnt - 1, ev->interp_id, ev->thread_id };
	int err;

	if (!r->valid)
		r->depth = 0;
	r->valid = false;
	err = find_thread(t, &thread, &r->thread);
	if (err)
		return err;
	r->thread_id = ev->thread_id;
	r->interp_id = ev->interp_id;
	r->share = UINT32_MAX;
	r->valid = true;
	return 0;
}

/* Sets r's stack to the event's; the part that they share at the root is kept. */
static int walk_stack(struct stack_tree *t, struct recent *r, const struct event *ev,
		      uint32_t *leaf)
{
	uint32_t *own = r->frames + EVENT_MAX_FRAMES, n = ev->nframes, node = 0;
	uint32_t i = frames_shared(own - r->depth, r->depth, ev->frames, n), frame;
	int err;

	if (i)
		node = r->nodes[i - 1];
	for (; i < n; i++) {
		frame = ev->frames[n - 1 - i];
		err = find_child(t, node, frame, &node);
		r->depth = i;
		if (err)
			return err;
		own[-1 - (int)i] = frame;
		r->nodes[i] = node;
	}
	r->depth = n;
	*leaf = node;
	return 0;
}

/* Returns true if the event has the frames of the thread's last one, as stored in the cache. */
static inline bool same_frames(const struct stack_tree *t, const struct recent *r,
			       const struct event *ev)
{
	if (ev->kept_1)
		return ev->kept_1 == ev->nframes + 1;
	return !ev->nframes || !memcmp(t->cache.frames + r->cached, ev->frames,
				       ev->nframes * sizeof(*ev->frames));
}

/* Returns true if the event has the stack and the state of the thread's last one. */
static inline bool is_again(const struct stack_tree *t, const struct recent *r,
			    const struct event *ev)
{
	return r->share != UINT32_MAX && r->status == ev->status && r->round == t->cache.round &&
	       r->cached_depth == ev->nframes && same_frames(t, r, ev);
}

/* Returns the remembered share of a stack, if it is the thread's in this state, or UINT32_MAX. */
static inline uint32_t share_known(const struct stack_tree *t, const struct stack_cached *s,
				   uint32_t thread, uint8_t status)
{
	uint32_t id = s->shares[thread % STACK_CACHE_SHARES];

	if (id != UINT32_MAX && shares_of(t)[id].thread == thread &&
	    shares_of(t)[id].status == status)
		return id;
	return UINT32_MAX;
}

/* Finds the event's share, and stores it in r. */
static int find_event_share(struct stack_tree *t, struct recent *r, const struct event *ev)
{
	uint64_t hash = stack_cache_hash(&t->cache, ev->frames, ev->nframes);
	struct stack_cached *s = stack_cache_find(&t->cache, hash, ev->frames, ev->nframes);
	uint32_t node;
	int err = 0;

	r->share = s ? share_known(t, s, r->thread, ev->status) : UINT32_MAX;
	if (r->share == UINT32_MAX) {
		if (s)
			node = s->value;
		else
			err = walk_stack(t, r, ev, &node);
		if (!err)
			err = find_share(t, node, r->thread, ev->status, &r->share);
		if (err)
			return err;
		if (!s)
			s = stack_cache_add(&t->cache, hash, ev->frames, ev->nframes, node);
		if (s)
			s->shares[r->thread % STACK_CACHE_SHARES] = r->share;
	}
	r->status = ev->status;
	r->cached = s ? s->frames : 0;
	r->cached_depth = s ? ev->nframes : UINT32_MAX;
	r->round = t->cache.round;
	return 0;
}

int stack_tree_event(struct stack_tree *t, const struct event *ev)
{
	struct recent **place = &t->recent[hash_u64(ev->thread_id) % RECENT_CNT], *r;
	struct stack_share *g;
	int err = 0;

	if (!t->tables || ev->nframes > EVENT_MAX_FRAMES)
		return -EINVAL;
	if (!*place)
		*place = calloc(1, sizeof(**place));
	r = *place;
	if (!r)
		return -ENOMEM;
	if (!r->valid || r->thread_id != ev->thread_id || r->interp_id != ev->interp_id)
		err = recall_thread(t, r, ev);
	if (!err && !is_again(t, r, ev))
		err = find_event_share(t, r, ev);
	if (err) {
		r->valid = false;
		return err;
	}
	t->share = r->share;
	g = &shares_of(t)[r->share];
	g->weight = add_capped(g->weight, ev->weight);
	return 0;
}

uint32_t stack_tree_share(const struct stack_tree *t)
{
	return t->share;
}

/*
 * map[i]: the frame of dst that corresponds to src's frame i. In the order of their ids, which is
 * that of their first events.
 */
static int merge_frames(struct stack_tree *dst, const struct stack_tree_view *v, uint32_t *map)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < v->tables->frame_cnt; i++)
		err = adopt_frame(dst, v->tables, &v->tables->frames[i], v->first_lines[i],
				  &map[i]);
	return err;
}

/* map[i]: the node of dst that corresponds to src's node i. */
static int merge_nodes(struct stack_tree *dst, const struct stack_tree_view *v,
		       const uint32_t *frames, uint32_t *map)
{
	uint32_t i;
	int err = 0;

	map[0] = 0;
	for (i = 1; !err && i < v->node_cnt; i++)
		err = find_node(dst, map[v->nodes[i].parent], frames[v->nodes[i].frame], &map[i]);
	return err;
}

/* Their processes are new, and so are threads and shares: no lookup is needed. */
static int merge_threads(struct stack_tree *dst, const struct stack_tree_view *v)
{
	struct stack_thread *to;
	uint32_t i;

	if (buf_reserve(&dst->threads, v->thread_cnt * sizeof(*to)))
		return -ENOMEM;
	to = (struct stack_thread *)(void *)(dst->threads.data + dst->threads.len);
	for (i = 0; i < v->thread_cnt; i++) {
		to[i] = v->threads[i];
		to[i].process += dst->process_cnt;
	}
	dst->threads.len += v->thread_cnt * sizeof(*to);
	return 0;
}

static int merge_shares(struct stack_tree *dst, const struct stack_tree_view *v,
			const uint32_t *nodes, uint32_t first_thread)
{
	struct stack_share *to;
	uint32_t i;

	if (buf_reserve(&dst->shares, v->share_cnt * sizeof(*to)))
		return -ENOMEM;
	to = (struct stack_share *)(void *)(dst->shares.data + dst->shares.len);
	for (i = 0; i < v->share_cnt; i++) {
		to[i] = v->shares[i];
		to[i].node = nodes[v->shares[i].node];
		to[i].thread += first_thread;
	}
	dst->shares.len += v->share_cnt * sizeof(*to);
	return 0;
}

int stack_tree_merge(struct stack_tree *dst, const struct stack_tree *src,
		     struct stack_tree_map *map)
{
	struct stack_tree_view v = stack_tree_view(src), own = stack_tree_view(dst);
	uint32_t *frames = calloc((size_t)v.tables->frame_cnt + 1, sizeof(*frames));
	uint32_t *nodes = calloc(v.node_cnt, sizeof(*nodes));
	int err = frames && nodes ? 0 : -ENOMEM;

	if (dst->tables || dst->detail != src->detail)
		err = -EINVAL;
	else if ((uint64_t)own.share_cnt + v.share_cnt > HASH_INDEX_MAX ||
		 (uint64_t)own.thread_cnt + v.thread_cnt > THREADS_MAX ||
		 (uint64_t)dst->process_cnt + src->process_cnt > UINT32_MAX)
		err = -EOVERFLOW;
	if (!err)
		err = merge_frames(dst, &v, frames);
	if (!err)
		err = merge_nodes(dst, &v, frames, nodes);
	if (!err)
		err = merge_threads(dst, &v);
	if (!err)
		err = merge_shares(dst, &v, nodes, own.thread_cnt);
	forget_process(dst);
	dst->process_cnt += src->process_cnt;
	free(nodes);
	if (map && !err)
		*map = (struct stack_tree_map){ frames, own.share_cnt };
	else
		free(frames);
	return err;
}

uint64_t *stack_tree_totals(const struct stack_tree *t)
{
	struct stack_tree_view v = stack_tree_view(t);
	uint64_t *totals = calloc(v.node_cnt, sizeof(*totals));
	uint32_t i;

	if (!totals)
		return NULL;
	for (i = 0; i < v.share_cnt; i++)
		totals[v.shares[i].node] = add_capped(totals[v.shares[i].node],
						      v.shares[i].weight);
	for (i = v.node_cnt; --i > 0;)
		totals[v.nodes[i].parent] = add_capped(totals[v.nodes[i].parent], totals[i]);
	return totals;
}

uint32_t *stack_tree_preorder(const struct stack_tree *t, uint32_t **depths)
{
	struct stack_tree_view v = stack_tree_view(t);
	uint32_t *size = calloc(v.node_cnt, sizeof(*size));
	uint32_t *pos = calloc(v.node_cnt, sizeof(*pos));
	uint32_t *order = calloc(v.node_cnt, sizeof(*order));
	uint32_t *depth = calloc(v.node_cnt, sizeof(*depth));
	uint32_t i;

	if (!size || !pos || !order || !depth) {
		free(order);
		order = NULL;
		goto out;
	}
	for (i = v.node_cnt; --i > 0;)
		size[v.nodes[i].parent] += ++size[i];
	/* From here on, size[i] is the distance from node i to the place of its next child. */
	size[0] = 1;
	for (i = 1; i < v.node_cnt; i++) {
		uint32_t parent = v.nodes[i].parent, own = size[i];

		pos[i] = pos[parent] + size[parent];
		size[parent] += own;
		size[i] = 1;
		order[pos[i]] = i;
		depth[pos[i]] = depth[pos[parent]] + 1;
	}
	if (depths) {
		*depths = depth;
		depth = NULL;
	}
out:
	free(size);
	free(pos);
	free(depth);
	return order;
}
