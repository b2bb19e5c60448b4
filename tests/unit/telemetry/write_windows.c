// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * write_windows.c - writes encoded windows for test_otlp.py: write_windows DIRECTORY
 *
 * NAME-N.otlp are the requests of a window, NAME-SERVICE-KIND.pprof its profiles, NAME.totals
 * what the window says of each series: a line "service kind value samples".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/native_library.h"
#include "telemetry/otlp.h"
#include "telemetry/window_pprof.h"
#include "tests/unit/telemetry/window_data.h"

/* So small that counts of samples are times. */
#define OTLP_PERIOD 1

struct output {
	const char *dir, *name;
	uint32_t cnt;
	size_t piece;	/* larger requests are cut */
};

static void must(int ok)
{
	if (!ok) {
		perror("write_windows");
		exit(1);
	}
}

static void write_file(const char *dir, const char *name, const void *data, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	must(f && fwrite(data, 1, len, f) == len && !fclose(f));
}

static void write_request(struct output *out, const void *data, size_t len)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-%u.otlp", out->name, out->cnt++);
	write_file(out->dir, name, data, len);
}

static int emit(void *ctx, const struct otlp_request *r)
{
	write_request(ctx, r->bytes, r->len);
	return 0;
}

static int emit_pprof(void *ctx, const struct window_pprof *p)
{
	const struct output *out = ctx;
	char name[64];

	snprintf(name, sizeof(name), "%s-%u-%s.pprof", out->name, p->service,
		 window_kinds[p->kind].type);
	write_file(out->dir, name, p->bytes, p->len);
	return 0;
}

/* Cut a request into pieces, as a server with a small limit makes us do. */
static void write_pieces(struct output *out, const void *data, size_t len)
{
	struct buf parts[2] = { 0 };
	int i, err = len > out->piece ? otlp_split(data, len, parts) : -ERANGE;

	must(!err || err == -ERANGE);
	if (err)
		write_request(out, data, len);
	for (i = 0; !err && i < 2; i++)
		write_pieces(out, parts[i].data, parts[i].len);
	buf_free(&parts[0]);
	buf_free(&parts[1]);
}

static int emit_pieces(void *ctx, const struct otlp_request *r)
{
	write_pieces(ctx, r->bytes, r->len);
	return 0;
}

static void write_totals(const struct window *w, const char *dir, const char *name)
{
	char path[512];
	uint32_t i, kind;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.totals", dir, name);
	f = fopen(path, "w");
	must(f != NULL);
	for (i = 0; i < window_service_cnt(w); i++) {
		for (kind = 0; kind < WINDOW_KIND_CNT; kind++) {
			const struct window_series *s = window_series(w, i, kind);

			if (s->value)
				fprintf(f, "%u %s %llu %llu\n", i, window_kinds[kind].type,
					(unsigned long long)s->value,
					(unsigned long long)s->samples);
		}
	}
	must(!fclose(f));
}

static void write_window(const struct window *w, const char *dir, const char *name,
			 size_t max_bytes, int (*to)(void *ctx, const struct otlp_request *r))
{
	static const uint32_t numbers[] = { 0, 1, 2, 3 };
	static const struct otlp_link links[] = {
		{ { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, { 1, 2, 3, 4 },
		  NULL, 0, 0 },
		{ { 0xff }, { 0xee }, numbers, 2, 0 },
		{ { 0xff }, { 0xee }, numbers + 1, 2, 2 },
		{ { 0 }, { 0 }, numbers + 3, 1, 0 },
	};
	static const struct otlp_sample_attribute sample_attributes[] = {
		{ "http.route", "/a/{id}" }, { "tenant", "t1" }, { "http.route", "/b" },
		{ "thread.name", "pool-1" },
	};
	static const char text[65536] = { [0 ... 65534] = 'v' };
	struct otlp_attribute attributes[32][5];
	struct otlp_service services[32];
	struct output out = { dir, name, 0, strstr(name, "_cut") ? 0 : 40000 };
	struct otlp_args args = {
		.services = services, .service_cnt = 32, .links = links,
		.link_cnt = ARRAY_SIZE(links), .sample_attributes = sample_attributes,
		.sample_attribute_cnt = ARRAY_SIZE(sample_attributes), .version = "0.1.0",
		.period_ns = OTLP_PERIOD, .max_bytes = max_bytes, .emit = to, .ctx = &out,
	};
	struct window_pprof_args pprof = { .period_ns = 52631579, .emit = emit_pprof, .ctx = &out };
	struct otlp_result result;
	char names[32][16];
	uint32_t i;

	for (i = 0; i < 32; i++) {
		snprintf(names[i], sizeof(names[i]), "service-%u", i);
		attributes[i][0] = (struct otlp_attribute){ "service.name", names[i], 0, false };
		attributes[i][1] = (struct otlp_attribute){ "process.count", NULL, -1,
							   false };
		attributes[i][2] = (struct otlp_attribute){ "odd", "\xff\x01", 0, false };
		attributes[i][3] = (struct otlp_attribute){ "long", text, 0, false };
		attributes[i][4] = (struct otlp_attribute){ "list", "item", 0, true };
		services[i] = (struct otlp_service){ attributes[i], 5 };
	}
	must(!otlp_encode(w, &args, &result));
	must(!window_pprof(w, &pprof));
	write_totals(w, dir, name);
}

static struct window *new_window(const struct window_limits *limits)
{
	struct window *w = window_new(limits, BEGIN_NS, BEGIN_NS + 15 * NS_PER_S);

	must(w != NULL);
	return w;
}

/* A frame of each kind, a link, and each sample type. */
static void write_small(const char *dir)
{
	struct window *w = new_window(&window_limits_default);
	struct fake_process p = fake_process();
	uint32_t f[5] = {
		other_frame(&p, FRAME_SYNTHETIC, "<GC>"),
		other_frame(&p, FRAME_KERNEL, "<kernel schedule>"),
		other_frame(&p, FRAME_NATIVE, "<native>"),
		python_frame(&p, "/usr/lib/python3/dist-packages/web/views.py", "View.get", 42),
		python_frame(&p, "/srv/shop/main.py", "<module>", 7),
	};
	const struct event ev = { .nframes = 5, .frames = f, .weight = 2 };

	add_stack(w, &p, 0, WINDOW_CPU, f, 5, 3, 1000);
	add_stack(w, &p, 0, WINDOW_CPU, f + 3, 2, 1, 1000);
	add_stack(w, &p, 0, WINDOW_GIL_WAIT, f + 3, 2, 1, 500);
	add_stack(w, &p, 2, WINDOW_EXCEPTION, f + 4, 1, 1, 1);
	window_add(w, p.map, &ev, &(struct window_place){ .kind = WINDOW_OFF_CPU, .mul = 4,
							  .samples = 1, .link = 1 });
	window_add(w, p.map, &ev, &(struct window_place){ .kind = WINDOW_OFF_CPU, .mul = 8,
							  .samples = 1, .link = 2 });
	window_add(w, p.map, &ev, &(struct window_place){ .kind = WINDOW_OFF_CPU, .mul = 16,
							  .samples = 1, .link = 3 });
	window_add(w, p.map, &ev, &(struct window_place){ .kind = WINDOW_OFF_CPU, .mul = 32,
							  .samples = 1, .link = 4 });
	write_window(w, dir, "small", 1 << 20, emit);
	write_window(w, dir, "small_cut", 1 << 20, emit_pieces);
	window_free(w);
	fake_process_free(&p);
}

/* Machine code of two libraries, of which one is known. */
static void write_native(const char *dir)
{
	static const uint8_t build_id[] = { 0xc0, 0xde };
	struct window *w = new_window(&window_limits_default);
	struct fake_process p = fake_process();
	uint32_t f[4];

	must(!native_library_add(p.in, "libz.so.1", "/lib/libz.so.1", build_id, 2));
	must(!intern_native(p.in, "libz.so.1", "src/crc32.c", "crc32_z", 7, &f[0]));
	must(!intern_native(p.in, "libz.so.1", NULL, "libz.so.1+0x12ab", 0, &f[1]));
	must(!intern_native(p.in, "libfoo.so", NULL, "foo", 0, &f[2]));
	f[3] = python_frame(&p, "/srv/shop/main.py", "<module>", 7);
	add_stack(w, &p, 0, WINDOW_CPU, f, 4, 1, 1000);
	write_window(w, dir, "native", 1 << 20, emit);
	window_free(w);
	fake_process_free(&p);
}

/* Different frames whose entries would be equal, and names that the format uses, too. */
static void write_twins(const char *dir)
{
	struct window *w = new_window(&window_limits_default);
	struct fake_process p = fake_process();
	uint32_t f[7];

	f[0] = python_frame(&p, "samples", "cpu", 1);
	must(!intern_native(p.in, "liba.so", NULL, "same", 0, &f[1]));
	must(!intern_native(p.in, "libb.so", NULL, "same", 0, &f[2]));
	f[3] = python_frame(&p, "profile.frame.type", "nanoseconds", 2);
	f[4] = other_frame(&p, FRAME_KERNEL, "");
	f[5] = other_frame(&p, FRAME_NATIVE, "same");
	f[6] = other_frame(&p, FRAME_SYNTHETIC, "same");
	add_stack(w, &p, 0, WINDOW_CPU, f, 3, 1, 1000);
	add_stack(w, &p, 1, WINDOW_CPU, f + 3, 4, 1, 1000);
	write_window(w, dir, "twins", 1 << 20, emit);
	write_window(w, dir, "twins_cut", 1 << 20, emit_pieces);
	window_free(w);
	fake_process_free(&p);
}

static void fill(struct window *w, uint32_t stacks, uint32_t depth)
{
	struct fake_process p = fake_process();
	uint32_t frames[EVENT_MAX_FRAMES], i, k;
	char file[64], func[64];
	uint64_t h;

	for (i = 0; i < stacks; i++) {
		for (k = 0, h = i; k < depth; k++) {
			h = hash_u64(h + k + 1);
			snprintf(file, sizeof(file), "/srv/app/part_%u.py", (uint32_t)(h % 30));
			snprintf(func, sizeof(func), "function_%u", (uint32_t)(h % 3000));
			frames[k] = python_frame(&p, file, func, (int32_t)(h % 3000) + 1);
		}
		add_stack(w, &p, i % 20, i % 4 ? WINDOW_CPU : i / 4 % WINDOW_KIND_CNT, frames,
			  depth, 1 + i % 3, 52631579);
	}
	fake_process_free(&p);
}

/* The same window whole, in requests of 64 KiB, and cut again and again. */
static void write_large(const char *dir)
{
	struct window *w = new_window(&window_limits_default);

	fill(w, 2000, 20);
	write_window(w, dir, "whole", 64 << 20, emit);
	write_window(w, dir, "requests", OTLP_BYTES_MIN, emit);
	write_window(w, dir, "pieces", 64 << 20, emit_pieces);
	window_free(w);
}

static void write_hostile(const char *dir)
{
	static char name[65536];
	struct window *w = new_window(&window_limits_default);
	struct fake_process p = fake_process();
	uint32_t f[EVENT_MAX_FRAMES], i, k;

	/* Frames that together are larger than a request. */
	for (k = 0; k < 2; k++) {
		for (i = 0; i < EVENT_MAX_FRAMES; i++) {
			memset(name, "\xff\xe2"[k], sizeof(name));
			name[0] = '\0';
			memcpy(name + 1, &i, sizeof(i));
			f[i] = frame_bytes(&p, name, sizeof(name), name, k ? sizeof(name) : 3, 1);
		}
		add_stack(w, &p, 0, WINDOW_CPU, f, k ? EVENT_MAX_FRAMES : 1, 1, 100);
		add_stack(w, &p, 1, WINDOW_CPU, f, k ? EVENT_MAX_FRAMES : 1, UINT64_MAX / 4, 8);
	}
	write_window(w, dir, "hostile", OTLP_BYTES_MIN, emit);
	window_free(w);
	fake_process_free(&p);
}

static void write_bounded(const char *dir)
{
	struct window_limits limits = window_limits_default;
	struct window *w;

	limits.frames = 200;
	limits.services = 10;
	w = new_window(&limits);
	fill(w, 1000, 10);
	write_window(w, dir, "bounded", 1 << 20, emit);
	window_reset(w, BEGIN_NS, BEGIN_NS);
	write_window(w, dir, "empty", 1 << 20, emit);
	window_free(w);
}

int main(int argc, char **argv)
{
	must(argc == 2);
	write_small(argv[1]);
	write_native(argv[1]);
	write_twins(argv[1]);
	write_large(argv[1]);
	write_hostile(argv[1]);
	write_bounded(argv[1]);
	return 0;
}
