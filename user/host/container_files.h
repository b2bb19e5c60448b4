/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * container_files.h - reads what files of container runtimes contain about a container. Users can
 * write some of them: sizes are limited, and strings are escaped.
 */
#ifndef TACHBPF_CONTAINER_FILES_H
#define TACHBPF_CONTAINER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "host/containers.h"

/*
 * Add to *c what the file behind fd, which stays open, contains about the container. Returns false
 * if it contains nothing.
 */
bool container_file_parse(enum container_file what, int fd, struct container *c);

/* The data-root in docker's settings, daemon.json. Returns false if there is none. */
bool container_file_docker_root(int fd, char *out, size_t size);

#endif
