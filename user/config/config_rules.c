// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_rules.c - service rules of the agent's configuration. Knows no key. See config_lists.h. */
#include "config/config_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_types.h"
#include "base/util.h"

int config_rule_part(struct service_rule *rule, const char *what, const char *text,
		     struct config_why *why)
{
	char **part = !strcmp(what, "name") ? &rule->name : NULL;
	size_t i;

	for (i = 0; i < FACT_CNT; i++)
		if (!strcmp(what, service_fact_names[i]))
			part = &rule->glob[i];
	if (!part)
		return config_why(why, "a rule has a name, and compares " SERVICE_FACT_WORDS);
	if (*part)
		return config_why(why, "a rule has one %s", what);
	if (!*text)
		return config_why(why, "%s may not be empty", what);
	*part = strdup(text);
	return *part ? 0 : -ENOMEM;
}

int config_rules_add(struct agent_rules *rules, struct service_rule *rule, struct config_why *why)
{
	int err = service_rule_check(rule, why->text, sizeof(why->text));

	if (err)
		return err;
	err = config_one_more(&rules->rules, rules->cnt, sizeof(*rule), why);
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
static int set_rule(const struct config_key *key, void *field, const char *text,
		    struct config_why *why)
{
	struct service_rule rule = { .name = NULL };
	char *copy = strdup(text), *save = NULL, *part, *equals;
	int err = copy ? 0 : -ENOMEM;

	for (part = copy ? strtok_r(copy, ",", &save) : NULL; part && !err;
	     part = strtok_r(NULL, ",", &save)) {
		equals = strchr(part, '=');
		if (!equals) {
			err = config_why(why, "give WHAT=GLOB[,WHAT=GLOB...],name=NAME");
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

static void print_rules(const struct config_key *key, const void *field, int indent, FILE *out)
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
			config_print_text(rules->rules[i].glob[j], out);
			more = true;
		}
		fprintf(out, "}\n%*s  name: ", indent, "");
		config_print_text(rules->rules[i].name, out);
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

static void allowed_rule(const struct config_key *key, FILE *out)
{
	fputs("a name, and globs for " SERVICE_FACT_WORDS, out);
}

const struct config_type config_rules = {
	.name = "rules", .arg = "WHAT=GLOB,name=NAME", .shape = CONFIG_RULES,
	.bytes = sizeof(struct agent_rules), .set = set_rule, .allowed = allowed_rule,
	.print = print_rules, .equal = equal_rules, .clear = clear_rules,
};
