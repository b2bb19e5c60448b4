/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* link.h - lists of structs that have a link as a member: inserts and removes in constant time. */
#ifndef TACHBPF_LINK_H
#define TACHBPF_LINK_H

#include <stddef.h>

struct link {
	struct link *next, **at;	/* at NULL: in no list */
};

/* Returns the struct of which the link is a member. */
#define LINK_STRUCT(link, type, member) \
	((type *)((char *)(link) - offsetof(type, member)))

/* Inserts a link that is in no list at the beginning of one. */
static inline void link_put(struct link **list, struct link *link)
{
	*link = (struct link){ .next = *list, .at = list };
	if (*list)
		(*list)->at = &link->next;
	*list = link;
}

/* Removes a link; one that is in no list stays so. */
static inline void link_take(struct link *link)
{
	if (!link->at)
		return;
	*link->at = link->next;
	if (link->next)
		link->next->at = link->at;
	*link = (struct link){ .next = NULL };
}

#endif
