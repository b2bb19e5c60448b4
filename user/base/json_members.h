/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json_members.h - the members of a JSON object by their keys, on top of json_pull.h: for
 * small documents of which a few values are wanted, whatever else they say.
 *
 * Nothing is copied but strings that are asked for. The text must stay as long as the members.
 */
#ifndef TACHBPF_JSON_MEMBERS_H
#define TACHBPF_JSON_MEMBERS_H

#include "base/json_pull.h"

/* A member that is wanted. */
struct json_member {
	const char *key;
	struct json_pull value;	/* where its value begins; data is NULL: there is none */
};

/*
 * Read the object that comes next, to its end, and find cnt members in it. If a key occurs
 * twice, the last one counts. Returns false if there is no object, or an error in it (see
 * j->err); then no member has a value.
 */
bool json_members(struct json_pull *j, struct json_member *members, size_t cnt);

/*
 * A member's value. Each of these returns false if there is none, or one of another type.
 */
bool json_member_object(const struct json_member *m, struct json_member *members, size_t cnt);
/* Unescaped, with a NUL behind it that does not count. Out of memory: false, too. */
bool json_member_string(const struct json_member *m, struct buf *s);
/* A whole number; a negative one is 0, one of more than 64 bits UINT64_MAX. */
bool json_member_count(const struct json_member *m, uint64_t *v);
/* Enter an array or object in *j, which then delivers its elements or members. */
bool json_member_enter(const struct json_member *m, enum json_type type, struct json_pull *j);
bool json_member_is(const struct json_member *m, enum json_type type);

#endif
