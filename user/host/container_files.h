/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * container_files.h - reads what the files of container runtimes say of a container. Some of them
 * can be written by users: sizes are bounded, and strings are escaped.
 */
#ifndef TACHBPF_CONTAINER_FILES_H
#define TACHBPF_CONTAINER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "host/containers.h"

/*
 * Add to *c what the file behind fd, which stays open, says of the container. Returns false if it
 * says nothing of it.
 */
bool container_file_parse(enum container_file what, int fd, struct container *c);

/* The data-root of docker's own settings, daemon.json. false: there is none. */
bool container_file_docker_root(int fd, char *out, size_t size);

#endif
