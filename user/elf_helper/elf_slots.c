// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_slots.c - see elf_slots.h. CPython v3.13.0: Include/cpython/object.h for the words,
 * Include/typeslots.h for the numbers, Objects/typeobject.c (slotdefs) for the names.
 */
#include "elf_helper/elf_slots.h"

#include "base/util.h"

#define TYPE(id, word, name) { id, 0, word, name }
#define ASYNC(id, word, name) { id, TYPE_ASYNC, word, name }
#define NUMBER(id, word, name) { id, TYPE_NUMBER, word, name }
#define SEQUENCE(id, word, name) { id, TYPE_SEQUENCE, word, name }
#define MAPPING(id, word, name) { id, TYPE_MAPPING, word, name }
#define BUFFER(id, word, name) { id, TYPE_BUFFER, word, name }
#define NUMBERED(id, name) { id, 0, SLOT_NO_WORD, name }

static const struct elf_slot slots[] = {
	TYPE(52, 3, "tp_dealloc"), TYPE(57, 5, "__getattr__"), TYPE(68, 6, "__setattr__"),
	TYPE(66, 8, "__repr__"), TYPE(59, 12, "__hash__"), TYPE(50, 13, "__call__"),
	TYPE(70, 14, "__str__"), TYPE(58, 15, "__getattribute__"), TYPE(69, 16, "__setattr__"),
	TYPE(71, 20, "tp_traverse"), TYPE(51, 21, "tp_clear"), TYPE(67, 22, "tp_richcompare"),
	TYPE(62, 24, "__iter__"), TYPE(63, 25, "__next__"), TYPE(54, 31, "__get__"),
	TYPE(55, 32, "__set__"), TYPE(60, 34, "__init__"), TYPE(47, 35, "tp_alloc"),
	TYPE(65, 36, "__new__"), TYPE(74, 37, "tp_free"), TYPE(61, 38, "tp_is_gc"),
	TYPE(53, 44, "tp_del"), TYPE(80, 46, "__del__"), TYPE(SLOT_VECTORCALL, 47, "__new__"),
	ASYNC(77, 0, "__await__"), ASYNC(78, 1, "__aiter__"), ASYNC(79, 2, "__anext__"),
	NUMBERED(81, "am_send"),	/* up to 3.9 it is not in the table */
	MAPPING(4, 0, "__len__"), MAPPING(5, 1, "__getitem__"), MAPPING(3, 2, "__setitem__"),
	SEQUENCE(45, 0, "__len__"), SEQUENCE(40, 1, "__add__"), SEQUENCE(46, 2, "__mul__"),
	SEQUENCE(44, 3, "__getitem__"), SEQUENCE(39, 5, "__setitem__"),
	SEQUENCE(41, 7, "__contains__"), SEQUENCE(42, 8, "__iadd__"),
	SEQUENCE(43, 9, "__imul__"),
	NUMBER(7, 0, "__add__"), NUMBER(36, 1, "__sub__"), NUMBER(29, 2, "__mul__"),
	NUMBER(34, 3, "__mod__"), NUMBER(10, 4, "__divmod__"), NUMBER(33, 5, "__pow__"),
	NUMBER(30, 6, "__neg__"), NUMBER(32, 7, "__pos__"), NUMBER(6, 8, "__abs__"),
	NUMBER(9, 9, "__bool__"), NUMBER(27, 10, "__invert__"), NUMBER(28, 11, "__lshift__"),
	NUMBER(35, 12, "__rshift__"), NUMBER(8, 13, "__and__"), NUMBER(38, 14, "__xor__"),
	NUMBER(31, 15, "__or__"), NUMBER(26, 16, "__int__"), NUMBER(11, 18, "__float__"),
	NUMBER(14, 19, "__iadd__"), NUMBER(23, 20, "__isub__"), NUMBER(18, 21, "__imul__"),
	NUMBER(21, 22, "__imod__"), NUMBER(20, 23, "__ipow__"), NUMBER(17, 24, "__ilshift__"),
	NUMBER(22, 25, "__irshift__"), NUMBER(15, 26, "__iand__"), NUMBER(25, 27, "__ixor__"),
	NUMBER(19, 28, "__ior__"), NUMBER(12, 29, "__floordiv__"),
	NUMBER(37, 30, "__truediv__"), NUMBER(16, 31, "__ifloordiv__"),
	NUMBER(24, 32, "__itruediv__"), NUMBER(13, 33, "__index__"),
	NUMBER(75, 34, "__matmul__"), NUMBER(76, 35, "__imatmul__"),
	BUFFER(1, 0, "__buffer__"), BUFFER(2, 1, "__release_buffer__"),
	/* 3.15 has other numbers for some (Include/slots_generated.h). */
	NUMBERED(88, "__buffer__"), NUMBERED(89, "__release_buffer__"),
	NUMBERED(90, "__setitem__"), NUMBERED(91, "__len__"),
};

const struct elf_slot *elf_slots(size_t *cnt)
{
	*cnt = ARRAY_SIZE(slots);
	return slots;
}

const struct elf_slot *elf_slot_of(uint32_t id)
{
	size_t i;

	for (i = 0; id && i < ARRAY_SIZE(slots); i++)
		if (slots[i].id == id)
			return &slots[i];
	return NULL;
}
