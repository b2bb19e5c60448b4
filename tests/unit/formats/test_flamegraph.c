// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_flamegraph.c - the flame graph's data, decoded here as its page does it,
 * against the stacks that went in; the comparison of two; bad events.
 */
#include "tests/unit/tach_test.h"


#include "formats/formats.h"
#include "formats/html/flamegraph.h"
#include "formats/html/page_opcodes.h"
#include "model/stack_tree.h"
#include "model/thread_names.h"
#include "tests/unit/formats/html_data.h"

struct flame_data {
	struct html_reader r;
	uint64_t *file, *func, *line, *process, *interp, *tid, *node, *thread, *status, *weight;
	uint64_t *first_line, *frame, *parent;
	uint64_t *bin_cnt, *bin, *bin_weight;	/* of groups, and of entries */
	uint64_t frame_cnt, thread_cnt, node_cnt, group_cnt;
	uint64_t opcode_weight;
	uint64_t width_us, first_bin, entry_cnt;	/* 0: samples have no times */
};

/* The sum of their weights. */
static uint64_t read_opcodes(struct flame_data *d)
{
	uint64_t cnt = html_read(&d->r), i, sum = 0;
	uint64_t *frame = html_column(&d->r, cnt), *name = html_column(&d->r, cnt);
	uint64_t *weight = html_column(&d->r, cnt);

	for (i = 0; i < cnt; i++) {
		assert_true(frame[i] < d->frame_cnt);
		assert_true(name[i] < json_length(d->r.meta, "opcodes"));
		sum += weight[i];
	}
	free(frame);
	free(name);
	free(weight);
	return sum;
}

static void read_times(struct flame_data *d)
{
	uint64_t g, i, at = 0;

	d->width_us = html_read(&d->r);
	d->first_bin = d->width_us ? html_read(&d->r) : 0;
	d->entry_cnt = d->width_us ? html_read(&d->r) : 0;
	d->bin_cnt = html_column(&d->r, d->width_us ? d->group_cnt : 0);
	d->bin = html_column(&d->r, d->entry_cnt);
	d->bin_weight = calloc(d->entry_cnt + 1, sizeof(*d->bin_weight));
	for (g = 0; d->width_us && g < d->group_cnt; g++) {
		uint64_t left = d->weight[g], bin = d->first_bin;

		for (i = 0; i < d->bin_cnt[g]; i++, at++) {
			assert_true(at < d->entry_cnt);
			bin += (d->bin[at] >> 1) ^ -(d->bin[at] & 1);
			d->bin[at] = bin;
			d->bin_weight[at] = i + 1 < d->bin_cnt[g] ? html_read(&d->r) : left;
			left -= d->bin_weight[at];
		}
	}
	assert_int_equal(at, d->entry_cnt);
}

static void read_flame(const char *path, struct flame_data *d)
{
	uint64_t depth = 0, above[EVENT_MAX_FRAMES + 1] = { 0 }, i, *pops;

	html_reader_open(&d->r, path);
	d->frame_cnt = html_read(&d->r);
	d->file = html_differences(&d->r, d->frame_cnt);
	d->func = html_differences(&d->r, d->frame_cnt);
	d->line = html_differences(&d->r, d->frame_cnt);
	d->first_line = html_column(&d->r, d->frame_cnt);
	d->thread_cnt = html_read(&d->r);
	d->process = html_column(&d->r, d->thread_cnt);
	d->interp = html_column(&d->r, d->thread_cnt);
	d->tid = html_column(&d->r, d->thread_cnt);
	d->node_cnt = html_read(&d->r) + 1;
	pops = html_column(&d->r, d->node_cnt - 1);
	d->frame = html_column(&d->r, d->node_cnt - 1);
	d->parent = calloc(d->node_cnt, sizeof(*d->parent));
	for (i = 1; i < d->node_cnt; i++) {
		assert_true(pops[i - 1] <= depth);
		depth += 1 - pops[i - 1];
		assert_true(depth >= 1 && depth <= EVENT_MAX_FRAMES);
		assert_true(d->frame[i - 1] < d->frame_cnt);
		d->parent[i] = above[depth - 1];
		above[depth] = i;
	}
	free(pops);
	d->group_cnt = html_read(&d->r);
	d->node = html_column(&d->r, d->group_cnt);
	d->thread = html_column(&d->r, d->group_cnt);
	d->status = html_column(&d->r, d->group_cnt);
	d->weight = html_column(&d->r, d->group_cnt);
	for (i = 1; i < d->group_cnt; i++)
		d->node[i] += d->node[i - 1];
	read_times(d);
	d->opcode_weight = read_opcodes(d);
	html_reader_end(&d->r);
}

static void free_flame(struct flame_data *d)
{
	uint64_t **const columns[] = { &d->file,   &d->func,   &d->line, &d->process,
				       &d->interp, &d->tid,    &d->node, &d->thread,
				       &d->status, &d->weight, &d->frame, &d->parent,
				       &d->first_line, &d->bin_cnt, &d->bin, &d->bin_weight };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(columns); i++)
		free(*columns[i]);
	html_reader_close(&d->r);
}

/* A group as a line of text: "tid interp status weight root;...;leaf". */
static char *group_text(const struct flame_data *d, uint64_t g)
{
	uint64_t path[EVENT_MAX_FRAMES], depth = 0, node, thread = d->thread[g];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fprintf(f, "%llu %llu %llu %llu", (unsigned long long)d->tid[thread],
		(unsigned long long)d->interp[thread], (unsigned long long)d->status[g],
		(unsigned long long)d->weight[g]);
	for (node = d->node[g]; node; node = d->parent[node])
		path[depth++] = d->frame[node - 1];
	while (depth--) {
		uint64_t frame = path[depth];

		fprintf(f, " %s|%s|%llu", html_string(&d->r, d->file[frame]),
			html_string(&d->r, d->func[frame]), (unsigned long long)d->line[frame]);
	}
	fclose(f);
	return text;
}

/* What goes in, as the same lines. */
struct wanted {
	char **lines;
	uint64_t *weights;
	size_t cnt;
};

static void want(struct wanted *w, const struct profile_tables *t, const struct event *ev)
{
	char *text = NULL;
	size_t len, i;
	FILE *f = open_memstream(&text, &len);

	for (i = ev->nframes; i-- > 0;) {
		const struct frame *fr = &t->frames[ev->frames[i]];
		char file[256], func[256];

		fprintf(f, " %s|%s|%d",
			escape_text(t->strings[fr->file].data, t->strings[fr->file].len, file,
				    sizeof(file)),
			escape_text(t->strings[fr->func].data, t->strings[fr->func].len, func,
				    sizeof(func)),
			fr->line == LINE_NONE ? 0 : fr->line);
	}
	fprintf(f, "@%llu %u %u", (unsigned long long)ev->thread_id, ev->interp_id, ev->status);
	fclose(f);
	for (i = 0; i < w->cnt; i++) {
		if (!strcmp(w->lines[i], text)) {
			w->weights[i] += ev->weight;
			free(text);
			return;
		}
	}
	w->lines = realloc(w->lines, (w->cnt + 1) * sizeof(*w->lines));
	w->weights = realloc(w->weights, (w->cnt + 1) * sizeof(*w->weights));
	w->lines[w->cnt] = text;
	w->weights[w->cnt++] = ev->weight;
}

/* In the same form as the groups of the page. */
static void finish(struct wanted *w)
{
	size_t i;

	for (i = 0; i < w->cnt; i++) {
		char *at = strrchr(w->lines[i], '@'), *line;

		*at = '\0';
		assert_true(asprintf(&line, "%s %llu%s", at + 1, (unsigned long long)w->weights[i],
				     w->lines[i]) > 0);
		free(w->lines[i]);
		w->lines[i] = line;
	}
	free(w->weights);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void assert_same(const struct flame_data *d, struct wanted *w)
{
	char **got = calloc(d->group_cnt + 1, sizeof(*got));
	size_t i;

	finish(w);
	assert_int_equal(d->group_cnt, w->cnt);
	for (i = 0; i < w->cnt; i++)
		got[i] = group_text(d, i);
	qsort(got, w->cnt, sizeof(*got), compare_strings);
	if (w->cnt)
		qsort(w->lines, w->cnt, sizeof(*w->lines), compare_strings);
	for (i = 0; i < w->cnt; i++) {
		assert_string_equal(got[i], w->lines[i]);
		free(got[i]);
		free(w->lines[i]);
	}
	free(got);
	free(w->lines);
}

static struct intern *random_names(uint64_t *state)
{
	static const char *const names[] = { "a.py", "f", "</script>", "\x01\n", "\xff\xfe",
					     "\xe2\x80\xae", "", "na\xc3\xafve", "~", "<GC>" };
	struct intern *in = intern_new();
	struct frame f = { 0 };
	uint32_t i, id;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(intern_string(in, names[i], strlen(names[i]), &id), 0);
	for (i = 0; i < 60; i++) {
		f.file = rnd(state) % ARRAY_SIZE(names);
		f.func = rnd(state) % ARRAY_SIZE(names);
		f.line = rnd(state) % 8 ? (int32_t)(rnd(state) % 5) + 1 : LINE_NONE;
		if (!(rnd(state) % 20))
			f.line = INT32_MAX;
		f.column = rnd(state) % 3;
		f.end_column = f.column + 1;
		f.opcode = rnd(state);
		assert_int_equal(intern_frame(in, &f, &id), 0);
	}
	return in;
}

/* Random stacks that share prefixes, from few threads; sometimes the deepest there are. */
static void random_event(uint64_t *state, const struct profile_tables *t, struct event *ev,
			 uint32_t frames[EVENT_MAX_FRAMES])
{
	uint32_t i;

	ev->nframes = rnd(state) % 50 ? rnd(state) % 12 : EVENT_MAX_FRAMES;
	for (i = 0; i < ev->nframes; i++)
		frames[i] = rnd(state) % (i + 3 < ev->nframes ? 2 : t->frame_cnt);
	ev->frames = frames;
	ev->thread_id = rnd(state) % 4 ? rnd(state) % 3 : rnd(state);
	ev->interp_id = rnd(state) % 2;
	ev->status = rnd(state) % 3;
	ev->weight = rnd(state) % 10 ? 1 : rnd(state) >> 24;
}

static void test_random_stacks(void **state)
{
	uint64_t seed = 5, round, i;

	for (round = 0; round < 60; round++) {
		char path[PATH_BYTES];
		struct sink_args args = { .fd = memory_file(path) };
		struct intern *in = random_names(&seed);
		const struct profile_tables *t = intern_tables(in);
		struct sink *s = sink_flamegraph.open(&args);
		struct profile_meta meta = { .python_major = 3 };
		struct wanted w = { 0 };
		struct flame_data d = { 0 };
		uint32_t frames[EVENT_MAX_FRAMES];
		struct event ev = { 0 };

		assert_int_equal(s->ops->begin(s, &meta, t), 0);
		for (i = 0; i < round * 5; i++) {
			random_event(&seed, t, &ev, frames);
			want(&w, t, &ev);
			assert_int_equal(s->ops->event(s, &ev), 0);
			if (rnd(&seed) % 2) {
				want(&w, t, &ev);
				assert_int_equal(s->ops->event(s, &ev), 0);
			}
		}
		assert_int_equal(s->ops->end(s, NULL), 0);
		assert_int_equal(s->ops->close(s), 0);
		read_flame(path, &d);
		assert_same(&d, &w);
		free_flame(&d);
		intern_free(in);
		close(args.fd);
	}
}

static void test_recordings(void **state)
{
	static const char *const names[] = { "cpu_raw.bin", "deep400.bin",
					     "native_opcodes.bin", "wall_zstd.bin" };
	char from[512], path[PATH_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct sink_args args = { .fd = memory_file(path), .title = "x" };
		struct flame_data d = { 0 };
		struct tach_reader *r;
		uint64_t sum = 0, g;

		golden_path(names[i], from);
		convert(from, &sink_flamegraph, &args);
		read_flame(path, &d);
		for (g = 0; g < d.group_cnt; g++)
			sum += d.weight[g];
		r = open_ok(from);
		assert_int_equal(sum, tach_reader_info(r)->sample_cnt);
		/* Not of samples without a Python frame. */
		assert_true(d.opcode_weight <= sum);
		assert_int_equal(d.opcode_weight > 0, !strncmp(names[i], "native_opcodes", 14));
		tach_reader_free(r);
		free_flame(&d);
		close(args.fd);
	}
}

/* One sample of each of 300 lines at each instruction. */
static void test_too_many_opcodes(void **state)
{
	char path[PATH_BYTES];
	struct sink_args args = { .fd = memory_file(path) };
	struct profile_meta meta = { .python_major = 3, .python_minor = 12 };
	struct sink *s = sink_flamegraph.open(&args);
	struct intern *in = intern_new();
	const uint32_t line_cnt = 300, opcode_cnt = OPCODE_NONE;
	struct flame_data d = { 0 };
	uint32_t line, id;

	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	for (line = 1; line <= line_cnt; line++) {
		struct frame f = { .line = (int32_t)line };
		uint32_t opcode;

		assert_int_equal(intern_string(in, "a.py", 4, &f.file), 0);
		assert_int_equal(intern_string(in, "f", 1, &f.func), 0);
		for (opcode = 0; opcode < opcode_cnt; opcode++) {
			struct event ev = { .frames = &id, .nframes = 1, .weight = 1 };

			f.opcode = (uint8_t)opcode;
			assert_int_equal(intern_frame(in, &f, &id), 0);
			assert_int_equal(s->ops->event(s, &ev), 0);
		}
	}
	assert_int_equal(s->ops->end(s, NULL), 0);
	intern_free(in);
	assert_int_equal(s->ops->close(s), 0);
	read_flame(path, &d);
	assert_int_equal(d.opcode_weight, PAGE_OPCODES_MAX);
	assert_int_equal(json_number(d.r.meta, "opcodes_left_out"),
			 line_cnt * opcode_cnt - PAGE_OPCODES_MAX);
	free_flame(&d);
	close(args.fd);
}

/* Two processes with the same names share frames and nodes, but not threads. */
static void test_many(void **state)
{
	char path[PATH_BYTES];
	struct sink_args args = { .fd = memory_file(path), .many = true };
	struct sink *s = sink_flamegraph.open(&args);
	struct flame_data d = { 0 };
	uint32_t round, file, id;

	for (round = 0; round < 2; round++) {
		struct intern *in = intern_new();
		struct profile_meta meta = { .tgid = 5 + round, .comm = "</script>\n" };
		/* The first profile does not know where the function begins. */
		struct frame f = { .line = 3, .column = (int32_t)round,
				   .first_line = round ? 2 : 0 };
		struct event ev = { .thread_id = 9, .frames = &id, .nframes = 1, .weight = 2 };

		/* Other ids for the same names. */
		if (round)
			assert_int_equal(intern_string(in, "other", 5, &file), 0);
		assert_int_equal(intern_string(in, "a.py", 4, &f.file), 0);
		assert_int_equal(intern_string(in, "f", 1, &f.func), 0);
		assert_int_equal(intern_frame(in, &f, &id), 0);
		assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
		assert_int_equal(s->ops->event(s, &ev), 0);
		assert_int_equal(s->ops->end(s, NULL), 0);
		intern_free(in);
	}
	assert_int_equal(s->ops->close(s), 0);
	read_flame(path, &d);
	assert_int_equal(d.frame_cnt, 1);
	assert_int_equal(d.line[0], 3);
	assert_int_equal(d.first_line[0], 2);
	assert_int_equal(d.node_cnt, 2);
	assert_int_equal(d.thread_cnt, 2);
	assert_int_equal(d.process[0] + d.process[1], 1);
	assert_int_equal(d.group_cnt, 2);
	assert_int_equal(d.weight[0] + d.weight[1], 4);
	assert_string_equal(html_meta_string(&d.r, 0, "comm"), "</script>\\x0a");
	free_flame(&d);
	close(args.fd);
}

static void test_thread_names(void **state)
{
	char path[PATH_BYTES];
	struct sink_args args = { .fd = memory_file(path) };
	struct thread_names *names = thread_names_new();
	struct profile_meta meta = { .tgid = 5, .thread_names = names };
	struct sink *s = sink_flamegraph.open(&args);
	struct event ev = { .thread_id = 9, .weight = 2 };
	struct intern *in = intern_new();
	struct flame_data d = { 0 };

	thread_names_set(names, 9, "</script>\n\xff");
	thread_names_set(names, 10, "");
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	assert_int_equal(s->ops->event(s, &ev), 0);
	assert_int_equal(s->ops->end(s, NULL), 0);
	intern_free(in);
	thread_names_drop(names);
	assert_int_equal(s->ops->close(s), 0);
	read_flame(path, &d);
	assert_int_equal(json_length(d.r.meta, "processes.0.thread_names"), 1);
	assert_string_equal(json_chars(d.r.meta, "processes.0.thread_names.9"),
			    "</script>\\x0a\\xff");
	free_flame(&d);
	close(args.fd);
}

static struct flamegraph *collect(const char *name)
{
	struct flamegraph *f = flamegraph_new();
	struct events e = { 0 };
	char from[512];
	struct tach_reader *r = open_ok(golden_path(name, from));
	size_t i;

	run_ok(r, &e);
	assert_int_equal(flamegraph_begin(f, &tach_reader_info(r)->meta, tach_reader_tables(r)), 0);
	for (i = 0; i < e.cnt; i++) {
		struct event ev = kept_event(&e, i);

		ev.weight = 1;
		assert_int_equal(flamegraph_event(f, &ev), 0);
	}
	assert_int_equal(flamegraph_end(f, &tach_reader_info(r)->stats), 0);
	events_free(&e);
	tach_reader_free(r);
	return f;
}

static void test_diff(void **state)
{
	struct flamegraph *a = collect("cpu_raw.bin"), *b = collect("wall_zstd.bin");
	uint64_t sums[2] = { 0 }, g;
	struct flame_data d = { 0 };
	char path[PATH_BYTES];
	int fd = memory_file(path);

	assert_int_equal(flamegraph_diff(fd, a, "cpu", b, "wall"), 0);
	read_flame(path, &d);
	assert_int_equal(html_meta_int(&d.r, 0, "side"), 0);
	assert_int_equal(html_meta_int(&d.r, 1, "side"), 1);
	for (g = 0; g < d.group_cnt; g++)
		sums[d.process[d.thread[g]]] += d.weight[g];
	assert_int_equal(sums[0], 467);
	assert_int_equal(sums[1], 2574);
	free_flame(&d);
	close(fd);
	flamegraph_free(a);
	flamegraph_free(b);
}

/* One process with two threads; groups have their weights in the bins of their samples. */
static struct flame_data timed(const struct profile_meta *meta, uint32_t meta_cnt)
{
	char path[PATH_BYTES];
	struct sink_args args = { .fd = memory_file(path), .many = true };
	struct sink *s = sink_flamegraph.open(&args);
	struct intern *in = intern_new();
	struct flame_data d = { 0 };
	uint32_t i, k;

	for (i = 0; i < meta_cnt; i++) {
		assert_int_equal(s->ops->begin(s, &meta[i], intern_tables(in)), 0);
		for (k = 0; k < 20; k++) {
			struct event ev = { .time_us = meta[i].start_us + k * 500,
					    .thread_id = 1 + k % 2, .weight = 1 };

			assert_int_equal(s->ops->event(s, &ev), 0);
		}
		assert_int_equal(s->ops->end(s, NULL), 0);
	}
	assert_int_equal(s->ops->close(s), 0);
	intern_free(in);
	read_flame(path, &d);
	close(args.fd);
	return d;
}

static void test_times(void **state)
{
	const struct profile_meta meta = { .interval_us = 1000, .start_us = 7000000 };
	struct flame_data d = timed(&meta, 1);
	uint64_t i;

	assert_int_equal(d.width_us, 1000);
	assert_int_equal(d.first_bin, 7000);
	assert_int_equal(d.group_cnt, 2);
	assert_int_equal(d.entry_cnt, 20);	/* of each thread, a sample in each ms */
	for (i = 0; i < d.entry_cnt; i++) {
		assert_int_equal(d.bin[i], 7000 + i % 10);
		assert_int_equal(d.bin_weight[i], 1);
	}
	assert_null(at(d.r.meta, "utc").value.data);
	free_flame(&d);
}

/* With the time of day, two machines' clocks are one; without one of them there are no times. */
static void test_clocks(void **state)
{
	struct profile_meta metas[2] = {
		{ .interval_us = 1000, .start_us = 7000000, .start_utc_ns = 1700000000000000000 },
		{ .interval_us = 1000, .start_us = 5000, .start_utc_ns = 1700000001000000000 },
	};
	struct flame_data d = timed(metas, 2);
	uint64_t i;

	assert_int_equal(d.first_bin, 1700000000000);
	assert_int_equal(d.entry_cnt, 40);
	for (i = 0; i < d.entry_cnt; i++)
		assert_true(d.bin[i] < d.first_bin + 10 || (d.bin[i] >= d.first_bin + 1000 &&
							    d.bin[i] < d.first_bin + 1010));
	assert_non_null(at(d.r.meta, "utc").value.data);
	free_flame(&d);
	metas[1].start_utc_ns = 0;
	d = timed(metas, 2);
	assert_int_equal(d.width_us, 0);
	free_flame(&d);
	metas[0] = (struct profile_meta){ .interval_us = 1000 };	/* as of collapsed stacks */
	d = timed(metas, 1);
	assert_int_equal(d.width_us, 0);
	free_flame(&d);
}

static void test_bad_events(void **state)
{
	struct sink_args args = { .fd = -1 };
	struct intern *in = intern_new();
	struct profile_meta meta = { 0 };
	uint32_t ids[EVENT_MAX_FRAMES + 1] = { 0 }, beyond = 7;
	struct event bad[] = {
		{ .nframes = EVENT_MAX_FRAMES + 1, .frames = ids, .weight = 1 },
		{ .nframes = 1, .frames = &beyond, .weight = 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct sink *s = sink_flamegraph.open(&args);

		assert_int_equal(s->ops->event(s, &bad[i]), -EINVAL);
		assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
		assert_int_equal(s->ops->event(s, &bad[i]), -EINVAL);
		assert_int_equal(s->ops->end(s, NULL), -EINVAL);
		assert_int_equal(s->ops->close(s), -EINVAL);
	}
	intern_free(in);
}

static void test_write_error(void **state)
{
	const struct sink_ops *const ops[] = { &sink_flamegraph, &sink_heatmap };
	struct sink_args args = { .fd = open("/dev/full", O_WRONLY) };
	struct profile_meta meta = { 0 };
	struct intern *in = intern_new();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct sink *s = ops[i]->open(&args);

		assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
		assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), -EINVAL);
		assert_int_equal(s->ops->end(s, NULL), 0);
		assert_int_equal(s->ops->close(s), -ENOSPC);
	}
	intern_free(in);
	close(args.fd);
}

/* Weights add up to the highest number there is and no further. */
static void test_weights_saturate(void **state)
{
	struct stack_tree *t = stack_tree_new(DETAIL_LINE);
	struct intern *in = intern_new();
	struct event ev = { .weight = UINT64_MAX - 1 };
	uint64_t *totals;

	assert_int_equal(stack_tree_begin(t, intern_tables(in)), 0);
	assert_int_equal(stack_tree_event(t, &ev), 0);
	assert_int_equal(stack_tree_event(t, &ev), 0);
	ev.status = 1;
	assert_int_equal(stack_tree_event(t, &ev), 0);
	totals = stack_tree_totals(t);
	assert_true(totals[0] == UINT64_MAX);
	free(totals);
	stack_tree_free(t);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_stacks), cmocka_unit_test(test_recordings),
		cmocka_unit_test(test_thread_names),  cmocka_unit_test(test_too_many_opcodes),
		cmocka_unit_test(test_times),	      cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_many),	      cmocka_unit_test(test_diff),
		cmocka_unit_test(test_bad_events),    cmocka_unit_test(test_write_error),
		cmocka_unit_test(test_weights_saturate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
