/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * row_service.h - the services of a recording's processes: each is kept once, and a row has its
 * number, so that rows can be written to disk.
 */
#ifndef TACHBPF_ROW_SERVICE_H
#define TACHBPF_ROW_SERVICE_H

#include <stdint.h>

#include "model/profile_service.h"

struct intern;
struct json;

/* The number of a service, from 1; a service without a name has 0. Returns 0 or -ENOMEM. */
int row_service_number(struct intern *services, const struct profile_service *s,
		       uint32_t *number);
/* Writes the member "service" (session_json.h), if there is one. */
void row_service_json(const struct intern *services, uint32_t number, struct json *j);

#endif
