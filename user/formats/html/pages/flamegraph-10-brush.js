/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Timeline: the time range that is selected, by mouse, touch and keys ---- */

const LIVE_GROUPS = 50000; /* with more, the graph follows at the end of a drag */

Object.assign(Timeline.prototype, {
	xOf(bin) {
		return (bin / this.times.cnt) * this.pixels;
	},

	binAt(x) {
		return Math.min(this.times.cnt, Math.max(0, (x / this.pixels) * this.times.cnt));
	},

	/* Select the bins from..to - 1; all: no range. */
	select(from, to, final = true) {
		const { cnt } = this.times,
			low = Math.max(0, Math.min(from, cnt - 1)),
			high = Math.min(cnt, Math.max(to, low + 1)),
			time = low === 0 && high === cnt ? null : { from: low, to: high };

		this.graph.time = time;
		this.refresh();
		if (final || this.model.groupCnt <= LIVE_GROUPS) this.graph.reweigh();
	},

	refresh() {
		this.paint();
		this.showRange();
	},

	/* Only the threads of a lane; a second time: all. */
	only(lane) {
		const { threads } = this.graph,
			are = threads.every((on, t) => !!on === lane.threads.includes(t));

		threads.fill(are ? 1 : 0);
		lane.threads.forEach((t) => (threads[t] = 1));
		this.graph.showThreads();
		this.graph.reweigh();
	},

	listen() {
		const { canvas } = this,
			at = (e) => e.clientX - canvas.getBoundingClientRect().left;

		canvas.addEventListener('pointerdown', (e) => {
			if (e.button) return;
			canvas.setPointerCapture(e.pointerId);
			this.drag = this.grab(at(e));
		});
		canvas.addEventListener('pointermove', (e) => {
			this.showTip(e);
			canvas.style.cursor = this.cursor(at(e));
			if (this.drag) this.pull(at(e), false);
		});
		canvas.addEventListener('pointerup', (e) => {
			if (this.drag) this.pull(at(e), true);
			this.drag = null;
		});
		canvas.addEventListener('pointercancel', () => (this.drag = null));
		canvas.addEventListener('pointerleave', () => ($('tip').hidden = true));
		canvas.addEventListener('keydown', (e) => this.key(e));
		$('time-all').addEventListener('click', () => {
			this.clear();
			canvas.focus();
		});
	},

	/* What is near x: an end of the range, its inside, or nothing. */
	near(x) {
		const range = this.graph.time;

		if (!range) return 'new';
		const from = this.xOf(range.from),
			to = this.xOf(range.to);

		if (Math.abs(x - to) < 6) return 'to';
		if (Math.abs(x - from) < 6) return 'from';
		return x > from && x < to ? 'move' : 'new';
	},

	cursor(x) {
		const near = this.drag?.what ?? this.near(x);

		return { new: 'crosshair', move: 'grab' }[near] ?? 'ew-resize';
	},

	grab(x) {
		return { what: this.near(x), x, moved: false, range: this.graph.time };
	},

	pull(x, final) {
		const { drag } = this,
			{ range } = drag;

		drag.moved ||= Math.abs(x - drag.x) >= 3;
		if (!drag.moved) {
			/* A click: all time. */
			if (final && range) this.clear();
			return;
		}
		const bin = this.binAt(x),
			start = this.binAt(drag.x);

		if (drag.what === 'new')
			this.select(
				Math.floor(Math.min(bin, start)),
				Math.ceil(Math.max(bin, start)),
				final,
			);
		else if (drag.what === 'from')
			this.select(Math.min(Math.round(bin), range.to - 1), range.to, final);
		else if (drag.what === 'to')
			this.select(range.from, Math.max(Math.round(bin), range.from + 1), final);
		else this.shift(range, Math.round(bin - start), final);
	},

	/* The range, later or earlier by so many bins, as far as there is time. */
	shift({ from, to }, by, final) {
		const most = this.times.cnt - to,
			bins = Math.max(-from, Math.min(most, by));

		this.select(from + bins, to + bins, final);
	},

	clear() {
		this.select(0, this.times.cnt);
	},

	key(e) {
		const { cnt } = this.times,
			step = Math.max(1, Math.round(cnt / 100)),
			range = this.graph.time ?? { from: 0, to: cnt },
			by = { ArrowLeft: -step, ArrowRight: step }[e.key];

		if (e.ctrlKey || e.metaKey || e.altKey) return;
		if (by && !this.graph.time) this.select(0, Math.max(1, Math.round(cnt / 10)));
		else if (by && e.shiftKey)
			this.select(range.from, Math.max(range.from + 1, range.to + by));
		else if (by) this.shift(range, by, true);
		else if (e.key === 'Home') this.shift(range, -cnt, true);
		else if (e.key === 'End') this.shift(range, cnt, true);
		else if (e.key === 'Escape' && this.graph.time) this.clear();
		else return;
		e.preventDefault();
		e.stopPropagation();
	},
});
