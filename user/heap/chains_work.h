/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chains_work.h - what the files chains_*.c share.
 *
 * The search goes backwards, level by level. Objects are found without any knowledge of allocators:
 * an object begins where a word equals the address of a type. One scan of the writable memory finds
 * all words that refer to a set of objects; the object that contains such a word, or that owns the
 * table which contains it, is a keeper, and belongs to the next scan's set unless it is a root.
 *
 * Nodes are objects, edges are references from a parent (keeper) to a child. All tables have fixed
 * limits; what does not fit is left out, and chains->out->limited is set.
 */
#ifndef TACHBPF_HEAP_CHAINS_WORK_H
#define TACHBPF_HEAP_CHAINS_WORK_H

#include "cpython/frames.h"
#include "cpython/heap_types.h"
#include "cpython/pages.h"
#include "heap/chains.h"

#define CHAINS_TYPES_MAX 16384u
#define CHAINS_NODES_MAX 8192u
#define CHAINS_EDGES_MAX 32768u
#define CHAINS_HITS_MAX 65536u
/* References to one node that are followed. */
#define CHAINS_REFS_MAX 24u
#define CHAINS_SCANS_MAX 20u
#define CHAINS_MODULES_MAX 8192u
#define CHAINS_VARIABLES_MAX 262144u
#define CHAINS_RANGES_MAX 8192u
#define CHAINS_FOUND_MAX 65536u
/* Some of a sample are no objects of the type, or are freed. */
#define CHAINS_SAMPLE (2u * HEAP_WHY_SAMPLE)
#define CHAINS_NONE UINT32_MAX

/* A set of addresses with a value each, and a filter in front of it for words of all kinds. */
#define CHAINS_FILTER_BITS 18
struct chains_set {
	uint64_t *keys;			/* 0: free */
	uint32_t *values;
	uint32_t slots, cnt;		/* slots: a power of two */
	uint64_t lo, span;		/* all keys are in lo ... lo + span */
	uint64_t factor;		/* of the hash: random */
	uint64_t filter[(1u << CHAINS_FILTER_BITS) / 64];
};

/* Room for max addresses. 0 or -ENOMEM; freed by chains_set_free(). */
int chains_set_new(struct chains_set *s, uint32_t max);
void chains_set_free(struct chains_set *s);
void chains_set_clear(struct chains_set *s);
/* Returns false if it is full or addr is 0; an address that is there keeps its value. */
bool chains_set_add(struct chains_set *s, uint64_t addr, uint32_t value);
/* CHAINS_NONE: it is not there. */
uint32_t chains_set_find(const struct chains_set *s, uint64_t addr);

/* By what a parent refers to a child. */
enum chains_how {
	CHAINS_FIELD,		/* a field of the object */
	CHAINS_NAMESPACE,	/* the child is the dict of the parent's attributes */
	CHAINS_ITEM,		/* of a list, dict, set, tuple */
	CHAINS_ROOT,		/* no parent: a root */
	/* With one of the above: it may be left over, such as from a value that was popped. */
	CHAINS_WEAK = 16,
};

struct chains_edge {
	uint32_t parent, child;	/* nodes; of CHAINS_ROOT: parent is CHAINS_NONE */
	uint8_t how, root;	/* enum chains_how without CHAINS_WEAK, enum heap_root */
	bool weak, dead;	/* of CHAINS_WEAK; it was found to be left over */
	char name[HEAP_ROOT_NAME_BYTES];	/* as heap_link.name; of CHAINS_ROOT: root_name */
};

struct chains_node {
	uint64_t addr;
	const struct heap_type *type;	/* NULL: unknown */
	uint32_t cost;		/* of the best chain from a root; CHAINS_NONE: none so far */
	uint32_t best;		/* the first edge of it, towards the root */
	uint16_t refs;		/* words found by the scan */
	uint16_t counted;	/* references of objects, threads and frames among them */
	uint8_t depth;		/* links from the sample */
	bool sample, searched, wanted;
};

/* A word that refers to a node. */
struct chains_hit {
	uint64_t at;
	uint32_t node;
};

/* A word in memory that is of no object: to whom does this memory belong? */
struct chains_table {
	uint64_t at;		/* of the word */
	uint32_t child;
	bool first;		/* at is in the first block of the deque whose word it is */
	uint64_t start, owner;	/* the highest table that begins below; 0: none so far */
	const struct heap_type *owner_type;
};

/* The variable of a module, or attribute of a class, that refers to an object. */
struct chains_variable {
	uint64_t key;		/* a str */
	uint32_t space;		/* in spaces[] */
};

/* A module or class, and its dict. */
struct chains_space {
	uint64_t dict, name;	/* of a module: name is its __name__, a str */
	const struct heap_type *type;	/* of a class: itself; NULL: a module */
};

/* Memory with a meaning of its own, ascending. A range may contain others, which come later. */
enum chains_range_kind { CHAINS_STACK, CHAINS_STATE, CHAINS_FRAME };
struct chains_range {
	uint64_t start, end;
	enum chains_range_kind kind;
	uint32_t tid;
	struct py_frame frame;	/* CHAINS_FRAME */
};

struct chains {
	const struct heap_memory *memory;
	const struct heap_target *target;
	const struct heap_why *why;
	struct heap_chains *out;
	struct heap_types *types;
	struct py_frames_at at;
	struct pages pages;
	struct target_mem cached;	/* through pages */
	struct py_walk walk;		/* over cached */
	uint16_t head;			/* sizeof(PyObject) */
	uint64_t deadline, random;
	uint64_t root_type;		/* `type` */
	uint32_t metatypes;		/* types of types, besides it */
	struct chains_set known;	/* addresses of types: index in list */
	const struct heap_type *list[CHAINS_TYPES_MAX];
	uint32_t type_cnt;
	struct chains_set search;	/* of the scan: node, or CHAINS_TYPE_BIT | type */
	struct chains_set node_at;	/* nodes by address */
	struct chains_node *nodes;
	struct chains_edge *edges;
	struct chains_hit *hits;
	struct chains_table *tables;
	struct chains_variable *variables;
	struct chains_set variable_at;	/* by value: index in variables */
	struct chains_set space_at;	/* by dict: index in spaces */
	struct chains_space *spaces;
	struct chains_range *ranges;
	uint64_t *found;		/* addresses that a scan collects */
	uint32_t node_cnt, edge_cnt, hit_cnt, table_cnt, variable_cnt, space_cnt, range_cnt,
		 found_cnt;
	bool exact;			/* a type has just the wanted name, which is no last part */
	uint64_t sample[CHAINS_SAMPLE];	/* of seen objects of the type */
	uint64_t seen;
	uint64_t modules[CHAINS_MODULES_MAX];
	uint32_t module_cnt;
	uint64_t piece[];		/* CHAINS_PIECE bytes and their surroundings */
};

#define CHAINS_TYPE_BIT (1u << 31)

/* ---- chains_scan.c ---- */

/* Words before and after a piece that its scan can look at. */
#define CHAINS_AROUND 16u
#define CHAINS_PIECE 262144u
#define CHAINS_BUFFER (CHAINS_PIECE + 2 * 8 * CHAINS_AROUND)

/* A word that is in the set. words: from `before` words before it on, until `after` behind it. */
struct chains_word {
	uint64_t at;
	uint32_t value;			/* in the set */
	const uint64_t *word;
	uint32_t before, after;
};
typedef void (*chains_word_fn)(struct chains *c, const struct chains_word *w);

/* Call fn for all words of the writable memory that are in c->search. */
void chains_scan(struct chains *c, chains_word_fn fn);
/* The address of `type`, the type that is its own type; 0: not found. */
uint64_t chains_root_type(struct chains *c);
/* Returns true if there is neither time left nor bytes. Sets limited. */
bool chains_at_limit(struct chains *c);

/* ---- chains_types.c ---- */

/* Find all types, and a sample of the objects of the wanted one: nodes. 0 or -errno. */
int chains_begin(struct chains *c);

/* ---- chains_object.c ---- */

/* Forget what was read of single objects before. */
void chains_forget(struct chains *c);

/* The type of the living object at addr; NULL: there is none. */
const struct heap_type *chains_object(struct chains *c, uint64_t addr);
/* Its reference count; UINT32_MAX: it never ends, or is unknown. */
uint32_t chains_refs(struct chains *c, uint64_t addr);
/*
 * The living object whose ob_type is this word, which equals the address of a type; 0: there is
 * none.
 */
uint64_t chains_word_object(struct chains *c, const struct chains_word *w,
			    const struct heap_type *type);
/* The frame that is part of a generator or frame object (3.11+). Returns false if there is none. */
bool chains_inner_frame(struct chains *c, uint64_t obj, const struct heap_type *type,
			struct py_frame *frame);
/* Bytes from addr on that are of the object: at least tp_basicsize. */
uint64_t chains_extent(struct chains *c, uint64_t addr, const struct heap_type *type);
/* The region that contains the address, or NULL. */
const struct heap_region *chains_region(const struct chains *c, uint64_t at);
/* The object that contains the word at an address, or 0. */
uint64_t chains_owner(struct chains *c, uint64_t at, const struct heap_type **type);

/* ---- chains_table.c ---- */

/* Add the types of objects that own tables, such as dicts, to c->search. */
void chains_tables_search(struct chains *c);
/* A word that equals the address of such a type. */
void chains_tables_take(struct chains *c, const struct chains_word *w);
/* After the scan: add edges from the owners. Empties the list. */
void chains_tables_end(struct chains *c);

/* ---- chains_roots.c ---- */

/* List the variables of modules and classes, threads, frames. */
void chains_roots_list(struct chains *c);
/* The innermost range that contains at; NULL: none. */
const struct chains_range *chains_range_at(const struct chains *c, uint64_t at);
/* The name of a namespace's variable: "app.CACHE". */
void chains_variable_name(struct chains *c, uint32_t space, const char *key, char *out,
			  size_t size);
/*
 * The node of an object, as chains_node(). If it is new, and a module's variable or a class'
 * attribute refers to it, that edge is added.
 */
uint32_t chains_keeper(struct chains *c, uint64_t addr, const struct heap_type *type,
		       unsigned int depth);
/* ---- chains_name.c ---- */

/* Text of a str for people: identifiers only, unless values are wanted. Returns false: none. */
bool chains_text(struct chains *c, uint64_t str, bool any, char *out, size_t size);
/*
 * What the field at `off` of an object is called. Sets how, maybe with CHAINS_WEAK; returns false
 * if it does not keep what it refers to: a weak reference, the object's type.
 */
bool chains_field_name(struct chains *c, uint64_t obj, const struct heap_type *type, int64_t off,
		       unsigned int *how, char *out, size_t size);
/*
 * A frame's variable that is at this address: "handle() in app.py: rows". Returns false if it is no
 * variable: a value of its stack.
 */
bool chains_frame_name(struct chains *c, const struct py_frame *frame, uint64_t at, char *out,
		       size_t size);
/* The name of a code object's variable number i. */
void chains_slot_name(struct chains *c, const struct py_variables *v, uint64_t i, char *out,
		      size_t size);

/* ---- chains_graph.c ---- */

/* The node of an object, which is added. CHAINS_NONE: no space. */
uint32_t chains_node(struct chains *c, uint64_t addr, const struct heap_type *type,
		     unsigned int depth);
/*
 * Add an edge, unless it is there. parent: CHAINS_NONE with CHAINS_ROOT. how: enum chains_how,
 * maybe with CHAINS_WEAK.
 */
void chains_edge(struct chains *c, uint32_t parent, uint32_t child, unsigned int how,
		 enum heap_root root, const char *name);
/*
 * Put the nodes whose keepers are to be found next into c->search. Returns their number.
 * *unsettled: objects of the sample whose chains may get better.
 */
uint32_t chains_frontier(struct chains *c, unsigned int scan, uint32_t *unsettled);
/*
 * The end of the search: the best chains. C code is no root of objects whose references all were
 * found elsewhere: then the word in its memory is left over.
 */
void chains_settle(struct chains *c);
/* Fill out->chains. */
void chains_report(struct chains *c);

#endif
