/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_ctx_test.h - makes payloads of process contexts, and publishes them as SDKs do.
 *
 * The encoder is independent of the reader: it shares no code with user/telemetry.
 */
#ifndef PROCESS_CTX_TEST_H
#define PROCESS_CTX_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* A message that is being written. */
struct message {
	uint8_t bytes[70000];
	size_t len;
};

static inline void put_varint(struct message *m, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		m->bytes[m->len++] = (uint8_t)(v | 0x80);
	m->bytes[m->len++] = (uint8_t)v;
}

static inline void put_bytes(struct message *m, unsigned int field, const void *data, size_t len)
{
	put_varint(m, field << 3 | 2);
	put_varint(m, len);
	memcpy(m->bytes + m->len, data, len);
	m->len += len;
}

static inline void put_message(struct message *m, unsigned int field, const struct message *inner)
{
	put_bytes(m, field, inner->bytes, inner->len);
}

/* KeyValue, whose value is an AnyValue that was written. */
static inline void put_pair(struct message *m, unsigned int field, const char *key,
			    const struct message *any)
{
	static struct message kv;

	kv.len = 0;
	put_bytes(&kv, 1, key, strlen(key));
	put_message(&kv, 2, any);
	put_message(m, field, &kv);
}

static inline void put_string(struct message *m, unsigned int field, const char *key,
			      const char *value, size_t len)
{
	static struct message any;

	any.len = 0;
	put_bytes(&any, 1, value, len);
	put_pair(m, field, key, &any);
}

/* A resource with this name, and as many more attributes of the same letter as make it large. */
static inline void make_context(struct message *out, const char *name, size_t others)
{
	static struct message resource;
	char key[32];
	size_t i;

	resource.len = out->len = 0;
	put_string(&resource, 1, "service.name", name, strlen(name));
	for (i = 0; i < others; i++) {
		snprintf(key, sizeof(key), "attribute.%zu", i);
		put_string(&resource, 1, key, name, strlen(name));
	}
	put_message(out, 1, &resource);
}

/* What the mapping begins with. */
struct published {
	char signature[8];
	uint32_t version, payload_size;
	_Atomic uint64_t published_ns;
	uint64_t payload;
};

static inline uint64_t boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Map memory with a name, as memory or as a file. NULL: this kernel cannot. */
enum mapping_kind { ANON, ANON_SHARED, MEMFD };
static inline struct published *map_context(enum mapping_kind kind)
{
	int fd = kind == MEMFD ? memfd_create("OTEL_CTX", MFD_CLOEXEC) : -1, flags;
	void *at;

	flags = kind == MEMFD ? MAP_PRIVATE : kind == ANON ? MAP_PRIVATE | MAP_ANONYMOUS :
		MAP_SHARED | MAP_ANONYMOUS;
	if (kind == MEMFD && (fd < 0 || ftruncate(fd, 4096)))
		return NULL;
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return NULL;
	if (kind != MEMFD && prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, 4096, "OTEL_CTX")) {
		munmap(at, 4096);
		return NULL;
	}
	madvise(at, 4096, MADV_DONTFORK);
	return at;
}

/* Publish a payload, or change the one that is there, in the order that OTEP 4719 demands. */
static inline void publish(struct published *p, void *payload, const struct message *m)
{
	uint64_t last = p->published_ns, now = boot_ns();

	p->published_ns = 0;
	memcpy(payload, m->bytes, m->len);
	p->version = 2;
	p->payload_size = (uint32_t)m->len;
	p->payload = (uintptr_t)payload;
	memcpy(p->signature, "OTEL_CTX", 8);
	p->published_ns = now > last ? now : last + 1;
}

#endif
