// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_lists.c - lists, maps and service rules of the agent's configuration. Knows no key. See
 * config_keys.h.
 */
#include "config/config_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Makes room for one more of cnt elements in *list, a pointer. Returns as setting_type.set. */
static int one_more(void *list, size_t cnt, size_t bytes, struct setting_why *why)
{
	void *moved;

	if (cnt >= CONFIG_ITEMS_MAX)
		return setting_why(why, "there are more than %d", CONFIG_ITEMS_MAX);
	memcpy(&moved, list, sizeof(moved));	/* pointers of any type */
	moved = reallocarray(moved, cnt + 1, bytes);
	if (!moved)
		return -ENOMEM;
	memcpy(list, &moved, sizeof(moved));
	return 0;
}

/* ---- lists ---- */

static int add_item(const struct setting *key, void *field, const char *text,
		    struct setting_why *why)
{
	struct agent_list *list = field;
	char *copy;
	int err;

	if (!*text)
		return setting_why(why, "it must not be empty");
	if (key->check && key->check(key, text, why))
		return -EINVAL;
	err = one_more(&list->items, list->cnt, sizeof(*list->items), why);
	if (err)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	list->items[list->cnt++] = copy;
	return 0;
}

static void print_list(const struct setting *key, const void *field, int indent, FILE *out)
{
	const struct agent_list *list = field;
	size_t i;

	fputc('[', out);
	for (i = 0; i < list->cnt; i++) {
		fputs(i ? ", " : "", out);
		config_print_value(list->items[i], out);
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

const struct setting_type config_list = {
	.name = "list", .arg = "TEXT", .shape = SETTING_LIST, .bytes = sizeof(struct agent_list),
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

int config_map_put(const struct setting *key, struct agent_map *map, const char *name,
		   const char *value, struct setting_why *why)
{
	struct agent_pair *pair = find_pair(map, name), added;
	int err;

	if (key->secret && !strcmp(value, "<secret>"))
		return setting_why(why, "--print-config shows <secret> instead of the value");
	if (pair)
		return replace_value(pair, value);
	if (!*name || strlen(name) > CONFIG_NAME_MAX)
		return setting_why(why, "a name must have 1 to %d bytes", CONFIG_NAME_MAX);
	if (key->check && key->check(key, name, why))
		return -EINVAL;
	err = one_more(&map->pairs, map->cnt, sizeof(*map->pairs), why);
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

/* The text from begin to end, without blanks around it; to be freed. NULL: no memory. */
static char *trim_text(const char *begin, const char *end)
{
	while (begin < end && *begin == ' ')
		begin++;
	while (begin < end && end[-1] == ' ')
		end--;
	return strndup(begin, (size_t)(end - begin));
}

/* Adds a pair from NAME=VALUE. */
static int put_text(const struct setting *key, struct agent_map *map, const char *text,
		    struct setting_why *why)
{
	const char *equals = strchr(text, '=');
	char *name, *value;
	int err;

	if (!equals)
		return setting_why(why, "expected NAME=VALUE");
	name = trim_text(text, equals);
	value = trim_text(equals + 1, text + strlen(text));
	err = name && value ? config_map_put(key, map, name, value, why) : -ENOMEM;
	free(name);
	free(value);
	return err;
}

static int set_pair(const struct setting *key, void *field, const char *text,
		    struct setting_why *why)
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

/* Decodes %XX in place, as in W3C Baggage. Returns false if the result is no printable text. */
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
 * names ourselves, and labels are for the services that we see.
 */
static int set_pairs(const struct setting *key, void *field, const char *text,
		     struct setting_why *why)
{
	char *copy = strdup(text), *save = NULL, *pair;
	int err = copy ? 0 : -ENOMEM;

	for (pair = copy ? strtok_r(copy, ",", &save) : NULL; pair && !err;
	     pair = strtok_r(NULL, ",", &save)) {
		pair += strspn(pair, " ");
		if (!*pair || (!key->secret && !strncmp(pair, "service.", strlen("service."))))
			continue;
		if (!decode_percents(pair))
			err = setting_why(why, "%% must be followed by two hexadecimal digits of "
					 "printable UTF-8");
		else
			err = put_text(key, field, pair, why);
	}
	free(copy);
	return err;
}

static void print_map(const struct setting *key, const void *field, int indent, FILE *out)
{
	const struct agent_map *map = field;
	size_t i;

	for (i = 0; i < map->cnt; i++) {
		fprintf(out, "\n%*s", indent, "");
		config_print_text(map->pairs[i].name, out);
		fputs(": ", out);
		config_print_value(key->secret ? "<secret>" : map->pairs[i].value, out);
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

const struct setting_type config_map = {
	.name = "map", .arg = "NAME=VALUE", .shape = SETTING_MAP, .bytes = sizeof(struct agent_map),
	.set = set_pair, .set_env = set_pairs, .print = print_map,
	.equal = equal_maps, .clear = clear_map,
};

/* ---- service rules ---- */

int config_rule_part(struct service_rule *rule, const char *what, const char *text,
		     struct setting_why *why)
{
	char **part = !strcmp(what, "name") ? &rule->name : NULL;
	size_t i;

	for (i = 0; i < FACT_CNT; i++)
		if (!strcmp(what, service_fact_names[i]))
			part = &rule->glob[i];
	if (!part)
		return setting_why(why, "a rule must have a name, and compare " SERVICE_FACT_WORDS);
	if (*part)
		return setting_why(why, "a rule must have only one %s", what);
	if (!*text)
		return setting_why(why, "%s must not be empty", what);
	*part = strdup(text);
	return *part ? 0 : -ENOMEM;
}

int config_rules_add(struct agent_rules *rules, struct service_rule *rule, struct setting_why *why)
{
	int err = service_rule_check(rule, why->text, sizeof(why->text));

	if (err)
		return err;
	err = one_more(&rules->rules, rules->cnt, sizeof(*rule), why);
	if (err)
		return err;
	rules->rules[rules->cnt++] = *rule;
	memset(rule, 0, sizeof(*rule));
	return 0;
}

void config_rule_free(struct service_rule *rule)
{
	size_t i;

	for (i = 0; i < FACT_CNT; i++)
		free(rule->glob[i]);
	free(rule->name);
	memset(rule, 0, sizeof(*rule));
}

/* A flag's "exe=GLOB,unit=GLOB,name=NAME": no commas in any of them. */
static int set_rule(const struct setting *key, void *field, const char *text,
		    struct setting_why *why)
{
	struct service_rule rule = { .name = NULL };
	char *copy = strdup(text), *save = NULL, *part, *equals;
	int err = copy ? 0 : -ENOMEM;

	for (part = copy ? strtok_r(copy, ",", &save) : NULL; part && !err;
	     part = strtok_r(NULL, ",", &save)) {
		equals = strchr(part, '=');
		if (!equals) {
			err = setting_why(why, "expected WHAT=GLOB[,WHAT=GLOB...],name=NAME");
			break;
		}
		*equals = '\0';
		err = config_rule_part(&rule, part, equals + 1, why);
	}
	if (!err)
		err = config_rules_add(field, &rule, why);
	config_rule_free(&rule);
	free(copy);
	return err;
}

static void print_rules(const struct setting *key, const void *field, int indent, FILE *out)
{
	const struct agent_rules *rules = field;
	bool more;
	size_t i, j;

	for (i = 0; i < rules->cnt; i++) {
		fprintf(out, "\n%*s- match: {", indent, "");
		for (more = false, j = 0; j < FACT_CNT; j++) {
			if (!rules->rules[i].glob[j])
				continue;
			fprintf(out, "%s%s: ", more ? ", " : "", service_fact_names[j]);
			config_print_value(rules->rules[i].glob[j], out);
			more = true;
		}
		fprintf(out, "}\n%*s  name: ", indent, "");
		config_print_value(rules->rules[i].name, out);
	}
	if (!rules->cnt)
		fputs("[]", out);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool equal_rules(const void *a, const void *b)
{
	const struct agent_rules *x = a, *y = b;
	size_t i, j;

	if (x->cnt != y->cnt)
		return false;
	for (i = 0; i < x->cnt; i++) {
		if (!same_text(x->rules[i].name, y->rules[i].name))
			return false;
		for (j = 0; j < FACT_CNT; j++)
			if (!same_text(x->rules[i].glob[j], y->rules[i].glob[j]))
				return false;
	}
	return true;
}

static void clear_rules(void *field)
{
	struct agent_rules *rules = field;

	while (rules->cnt)
		config_rule_free(&rules->rules[--rules->cnt]);
	free(rules->rules);
	rules->rules = NULL;
}

static void allowed_rule(const struct setting *key, FILE *out)
{
	fputs("a name, and globs for " SERVICE_FACT_WORDS, out);
}

const struct setting_type config_rules = {
	.name = "rules", .arg = "WHAT=GLOB,name=NAME", .shape = SETTING_RULES,
	.bytes = sizeof(struct agent_rules), .set = set_rule, .allowed = allowed_rule,
	.print = print_rules, .equal = equal_rules, .clear = clear_rules,
};
