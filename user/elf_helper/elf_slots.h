/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_slots.h - the slots of a CPython type: where PyTypeObject has them, their numbers in
 * PyType_Slot, and what they are called.
 *
 * PyTypeObject is the same in 3.6 to 3.15 from tp_name on (Include/cpython/object.h): its words are
 * counted from there, so the object's head, which differs in free-threaded builds, does not matter.
 */
#ifndef TACHBPF_ELF_SLOTS_H
#define TACHBPF_ELF_SLOTS_H

#include <stddef.h>
#include <stdint.h>

/* Words of PyTypeObject from tp_name on, which are no functions. */
enum {
	TYPE_NAME = 0, TYPE_SIZE = 1, TYPE_ITEM_SIZE = 2,
	TYPE_ASYNC = 7, TYPE_NUMBER = 9, TYPE_SEQUENCE = 10, TYPE_MAPPING = 11, TYPE_BUFFER = 17,
	TYPE_FLAGS = 18, TYPE_DOC = 19, TYPE_WEAKLIST = 23, TYPE_METHODS = 26, TYPE_MEMBERS = 27,
	TYPE_GETSET = 28, TYPE_BASE = 29, TYPE_DICT_OFFSET = 33,
	TYPE_WORDS = 39,	/* up to tp_is_gc, as a static type sets them */
};
/* Numbers of slots (Include/typeslots.h): those that are tables, and one since 3.8. */
enum { SLOT_METHODS = 64, SLOT_GETSET = 73, SLOT_VECTORCALL = 82 };

#define SLOT_NO_WORD UINT8_MAX

struct elf_slot {
	uint8_t id;		/* in PyType_Slot; 0: it cannot be there */
	uint8_t table;		/* TYPE_NUMBER ...: the word that points to it; 0: the type */
	uint8_t word;		/* in that table; SLOT_NO_WORD: only in PyType_Slot */
	const char *name;
};

/* All slots, and their number. */
const struct elf_slot *elf_slots(size_t *cnt);
/* The slot of this number in PyType_Slot; NULL: no function, or unknown. */
const struct elf_slot *elf_slot_of(uint32_t id);

#endif
