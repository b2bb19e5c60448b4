// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_lists.c - lists and maps of the agent's configuration. Knows no key. See config_lists.h.
 */
#include "config/config_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_types.h"
#include "base/util.h"

int config_one_more(void *list, size_t cnt, size_t bytes, struct config_why *why)
{
	void *moved;

	if (cnt >= CONFIG_ITEMS_MAX)
		return config_why(why, "there are more than %d", CONFIG_ITEMS_MAX);
	memcpy(&moved, list, sizeof(moved));	/* pointers of any type */
	moved = reallocarray(moved, cnt + 1, bytes);
	if (!moved)
		return -ENOMEM;
	memcpy(list, &moved, sizeof(moved));
	return 0;
}

/* ---- lists ---- */

static int add_item(const struct config_key *key, void *field, const char *text,
		    struct config_why *why)
{
	struct agent_list *list = field;
	char *copy;
	int err;

	if (!*text)
		return config_why(why, "it may not be empty");
	if (key->check && key->check(key, text, why))
		return -EINVAL;
	err = config_one_more(&list->items, list->cnt, sizeof(*list->items), why);
	if (err)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	list->items[list->cnt++] = copy;
	return 0;
}

static void print_list(const struct config_key *key, const void *field, int indent, FILE *out)
{
	const struct agent_list *list = field;
	size_t i;

	fputc('[', out);
	for (i = 0; i < list->cnt; i++) {
		fputs(i ? ", " : "", out);
		config_print_text(list->items[i], out);
	}
	fputc(']', out);
}

static bool equal_lists(const void *a, const void *b)
{
	const struct agent_list *x = a, *y = b;
	size_t i;

	for (i = 0; i < x->cnt && i < y->cnt; i++)
		if (strcmp(x->items[i], y->items[i]) != 0)
			return false;
	return x->cnt == y->cnt;
}

static void clear_list(void *field)
{
	struct agent_list *list = field;

	while (list->cnt)
		free(list->items[--list->cnt]);
	free(list->items);
	list->items = NULL;
}

const struct config_type config_list = {
	.name = "list", .arg = "TEXT", .shape = CONFIG_LIST, .bytes = sizeof(struct agent_list),
	.set = add_item, .print = print_list, .equal = equal_lists,
	.clear = clear_list,
};

/* ---- maps ---- */

static struct agent_pair *find_pair(const struct agent_map *map, const char *name)
{
	size_t i;

	for (i = 0; i < map->cnt; i++)
		if (!strcmp(map->pairs[i].name, name))
			return &map->pairs[i];
	return NULL;
}

static int replace_value(struct agent_pair *pair, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(pair->value);
	pair->value = copy;
	return 0;
}

int config_map_put(const struct config_key *key, struct agent_map *map, const char *name,
		   const char *value, struct config_why *why)
{
	struct agent_pair *pair = find_pair(map, name), added;
	int err;

	if (key->secret && !strcmp(value, "<secret>"))
		return config_why(why, "--print-config shows <secret> instead of the value");
	if (pair)
		return replace_value(pair, value);
	if (!*name || strlen(name) > CONFIG_NAME_MAX)
		return config_why(why, "a name has 1 to %d bytes", CONFIG_NAME_MAX);
	if (key->check && key->check(key, name, why))
		return -EINVAL;
	err = config_one_more(&map->pairs, map->cnt, sizeof(*map->pairs), why);
	if (err)
		return err;
	added = (struct agent_pair){ strdup(name), strdup(value) };
	if (!added.name || !added.value) {
		free(added.name);
		free(added.value);
		return -ENOMEM;
	}
	map->pairs[map->cnt++] = added;
	return 0;
}

/* The text from begin to end, without the blanks around it; to be freed. NULL: no memory. */
static char *trimmed(const char *begin, const char *end)
{
	while (begin < end && *begin == ' ')
		begin++;
	while (begin < end && end[-1] == ' ')
		end--;
	return strndup(begin, (size_t)(end - begin));
}

/* One pair from NAME=VALUE. */
static int put_text(const struct config_key *key, struct agent_map *map, const char *text,
		    struct config_why *why)
{
	const char *equals = strchr(text, '=');
	char *name, *value;
	int err;

	if (!equals)
		return config_why(why, "give NAME=VALUE");
	name = trimmed(text, equals);
	value = trimmed(equals + 1, text + strlen(text));
	err = name && value ? config_map_put(key, map, name, value, why) : -ENOMEM;
	free(name);
	free(value);
	return err;
}

static int set_pair(const struct config_key *key, void *field, const char *text,
		    struct config_why *why)
{
	return put_text(key, field, text, why);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode %XX in place, as W3C Baggage has it. Returns false for what is then no printable text. */
static bool decode_percents(char *text)
{
	char *from = text, *to = text;
	size_t n, left;
	uint32_t cp;

	for (; *from; from++, to++) {
		*to = *from;
		if (*from != '%')
			continue;
		if (hex_digit(from[1]) < 0 || hex_digit(from[2]) < 0)
			return false;
		*to = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
		from += 2;
	}
	left = (size_t)(to - text);
	*to = '\0';
	for (; left; text += n, left -= n) {
		n = utf8_char(text, left, &cp);
		if (!n || !utf8_printable(cp))
			return false;
	}
	return true;
}

/*
 * NAME=VALUE,NAME=VALUE with %XX in values. service.* of OTEL_RESOURCE_ATTRIBUTES is left out: it
 * says who we are, and labels are on the services that we see.
 */
static int set_pairs(const struct config_key *key, void *field, const char *text,
		     struct config_why *why)
{
	char *copy = strdup(text), *save = NULL, *pair;
	int err = copy ? 0 : -ENOMEM;

	for (pair = copy ? strtok_r(copy, ",", &save) : NULL; pair && !err;
	     pair = strtok_r(NULL, ",", &save)) {
		pair += strspn(pair, " ");
		if (!*pair || (!key->secret && !strncmp(pair, "service.", strlen("service."))))
			continue;
		if (!decode_percents(pair))
			err = config_why(why, "%% and two hexadecimal digits stand for a byte of "
					 "printable UTF-8");
		else
			err = put_text(key, field, pair, why);
	}
	free(copy);
	return err;
}

static void print_map(const struct config_key *key, const void *field, int indent, FILE *out)
{
	const struct agent_map *map = field;
	size_t i;

	for (i = 0; i < map->cnt; i++) {
		fprintf(out, "\n%*s", indent, "");
		config_print_text(map->pairs[i].name, out);
		fputs(": ", out);
		config_print_text(key->secret ? "<secret>" : map->pairs[i].value, out);
	}
	if (!map->cnt)
		fputs("{}", out);
}

static bool equal_maps(const void *a, const void *b)
{
	const struct agent_map *x = a, *y = b;
	const struct agent_pair *pair;
	size_t i;

	for (i = 0; i < x->cnt; i++) {
		pair = find_pair(y, x->pairs[i].name);
		if (!pair || strcmp(pair->value, x->pairs[i].value) != 0)
			return false;
	}
	return x->cnt == y->cnt;
}

static void clear_map(void *field)
{
	struct agent_map *map = field;

	while (map->cnt) {
		free(map->pairs[--map->cnt].name);
		free(map->pairs[map->cnt].value);
	}
	free(map->pairs);
	map->pairs = NULL;
}

const struct config_type config_map = {
	.name = "map", .arg = "NAME=VALUE", .shape = CONFIG_MAP, .bytes = sizeof(struct agent_map),
	.set = set_pair, .set_env = set_pairs, .print = print_map,
	.equal = equal_maps, .clear = clear_map,
};
