/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json_members.h - the members of a JSON object by their keys, on top of json_pull.h: for small
 * documents of which a few values are wanted, and the rest ignored.
 *
 * Only requested strings are copied. The text must live as long as the members.
 */
#ifndef TACHBPF_JSON_MEMBERS_H
#define TACHBPF_JSON_MEMBERS_H

#include "base/json_pull.h"

/* A wanted member. */
struct json_member {
	const char *key;
	struct json_pull value;	/* where its value begins; data NULL: none */
};

/*
 * Reads the next object to its end, and finds cnt members in it. If a key occurs twice, the last
 * one counts. Returns false if there is no object, or an error in it (see j->err); then no member
 * has a value.
 */
bool json_members(struct json_pull *j, struct json_member *members, size_t cnt);

/* These return a member's value, or false if there is none, or one of another type. */
bool json_member_object(const struct json_member *m, struct json_member *members, size_t cnt);
/* Unescaped; a NUL follows that is not part of it. Also false if out of memory. */
bool json_member_string(const struct json_member *m, struct buf *s);
/* An integer; a negative one is 0, one of more than 64 bits UINT64_MAX. */
bool json_member_count(const struct json_member *m, uint64_t *v);
/* Enters an array or object in *j, which then delivers its elements or members. */
bool json_member_enter(const struct json_member *m, enum json_type type, struct json_pull *j);
bool json_member_is(const struct json_member *m, enum json_type type);

#endif
