// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * json_members.c - the members of a JSON object by their keys. See json_members.h.
 */
#include "base/json_members.h"

#include "base/arith.h"

static void clear_values(struct json_member *members, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		members[i].value.data = NULL;
}

bool json_members(struct json_pull *j, struct json_member *members, size_t cnt)
{
	bool ok = json_pull_enter(j, JT_OBJECT);
	struct buf key = { 0 };
	size_t i;

	clear_values(members, cnt);
	while (ok && json_pull_key(j, &key)) {
		for (i = 0; i < cnt; i++)
			if (json_key_is(&key, members[i].key))
				members[i].value = *j;
		ok = json_pull_skip(j);
	}
	buf_free(&key);
	if (!j->err)
		return true;
	clear_values(members, cnt);
	return false;
}

bool json_member_is(const struct json_member *m, enum json_type type)
{
	struct json_pull j = m->value;

	return j.data && json_pull_type(&j) == type;
}

bool json_member_enter(const struct json_member *m, enum json_type type, struct json_pull *j)
{
	*j = m->value;
	return json_member_is(m, type) && json_pull_enter(j, type);
}

bool json_member_object(const struct json_member *m, struct json_member *members, size_t cnt)
{
	struct json_pull j = m->value;

	if (json_member_is(m, JT_OBJECT))
		return json_members(&j, members, cnt);
	clear_values(members, cnt);
	return false;
}

bool json_member_string(const struct json_member *m, struct buf *s)
{
	struct json_pull j = m->value;

	s->len = 0;
	if (!json_member_is(m, JT_STRING) || !json_pull_string(&j, s) || buf_add(s, "", 1))
		return false;
	s->len--;
	return true;
}

bool json_member_count(const struct json_member *m, uint64_t *v)
{
	struct json_pull j = m->value;
	const char *s;
	bool negative;
	size_t len, i;

	if (!json_member_is(m, JT_NUMBER) || !json_pull_number(&j, &s, &len))
		return false;
	negative = *s == '-';
	for (*v = 0, i = negative; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*v = add_capped(mul_capped(*v, 10), (uint64_t)(s[i] - '0'));
	}
	if (negative)
		*v = 0;
	return true;
}
