/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_file.h - the configuration's file: its YAML is held against the table of keys. */
#ifndef TACHBPF_AGENT_CONFIG_FILE_H
#define TACHBPF_AGENT_CONFIG_FILE_H

#include "config/config_set.h"

/* Set what the text says, and complain of what is wrong. l->path: the file's. */
void config_file_apply(struct config_loading *l, const void *text, size_t len);

/*
 * Read the file l->path, and apply it. 0; or -errno if it cannot be read, which was logged. Refuses
 * what is no regular file, is larger than 1 MiB, or may be written by everyone.
 */
int config_file_load(struct config_loading *l);

#endif
