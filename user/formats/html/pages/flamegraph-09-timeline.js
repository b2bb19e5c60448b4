/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the timeline: what each thread did when ---- */

let LANE = 18; /* CSS pixels; on a small screen 40 */
const LANES = 60; /* the busiest threads; the others share a lane */

/* Kinds of time: name, then lightness, chroma and hue for light and dark. */
const STATES = [
	['garbage collection', [0.52, 0.2, 310], [0.62, 0.2, 310]],
	['running Python with the GIL', [0.7, 0.15, 150], [0.62, 0.13, 150]],
	['on CPU without the GIL', [0.62, 0.14, 250], [0.6, 0.13, 250]],
	['holding the GIL, off CPU', [0.84, 0.15, 90], [0.8, 0.14, 90]],
	['waiting for the GIL', [0.6, 0.2, 27], [0.6, 0.19, 27]],
	['waiting', [0.9, 0.012, 260], [0.36, 0.015, 260]],
];

function stateOf(status, collects) {
	const gil = status & 1,
		cpu = status & 6; /* on a CPU, or not known */

	if (collects) return 0;
	if (gil) return cpu ? 1 : 3;
	if (status & 8) return 4;
	return status & 2 ? 2 : 5;
}

/* By node: is it a garbage collection, or what it runs in machine code? */
function collectingNodes(model) {
	const out = new Uint8Array(model.nodeCnt),
		kinds = Array.from({ length: model.frameCnt }, (_, f) => {
			const func = model.str(model.func[f]),
				file = model.str(model.file[f]);

			return func === '<GC>' && file === '~' ? 'gc' : kindOf(file, func, model.line[f]);
		});

	for (let n = 1; n < model.nodeCnt; n++) {
		const kind = kinds[model.frame[n]];

		out[n] = kind === 'gc' || (kind !== 'python' && out[model.parent[n]]) ? 1 : 0;
	}
	return out;
}

class Timeline {
	constructor(graph) {
		const { model } = graph;

		Object.assign(this, { graph, model, times: model.times, drag: null });
		this.canvas = $('time-canvas');
		this.ctx = this.canvas.getContext('2d');
		this.makeLanes();
		this.addUp();
		this.listen();
		this.showLegend();
		this.resize();
		new ResizeObserver(() => this.resize()).observe($('lanes'));
	}

	/* Lanes of the busiest threads, those of a process together; lane: by thread. */
	makeLanes() {
		const { model } = this,
			weights = new Float64Array(model.threadCnt),
			busiest = new Float64Array(model.meta.processes.length);

		for (let g = 0; g < model.groupCnt; g++)
			weights[model.groupThread[g]] += model.groupWeight[g];
		weights.forEach((w, t) => (busiest[model.process[t]] += w));
		const threads = Array.from(weights.keys()).sort((x, y) => weights[y] - weights[x]),
			shown = threads.slice(0, threads.length > LANES ? LANES - 1 : LANES),
			rest = threads.slice(shown.length);

		shown.sort(
			(x, y) =>
				busiest[model.process[y]] - busiest[model.process[x]] ||
				model.process[x] - model.process[y] ||
				weights[y] - weights[x],
		);
		this.lanes = shown.map((t) => this.laneOf(t));
		if (rest.length) {
			const name = `${count(rest.length)} more threads`;

			this.lanes.push({ name, text: name, end: '', threads: rest });
		}
		this.lane = new Uint32Array(model.threadCnt);
		this.lanes.forEach(({ threads: own }, i) => own.forEach((t) => (this.lane[t] = i)));
	}

	/* name: all that is known of the thread; text and end: the name, and what tells it from others. */
	laneOf(t) {
		const { model } = this,
			p = model.meta.processes[model.process[t]] ?? {},
			many = new Set(model.process).size > 1,
			own = threadName(model, t) || (p.pid && model.tid[t] === p.pid ? 'main thread' : ''),
			/* The kernel keeps 15 bytes of a name, so several may have the same. */
			isOnly = own && !model.tid.some((_, u) => u !== t && model.process[u] === model.process[t] && threadName(model, u) === own);

		return {
			name: threadLabel(model, t) + (many ? `, ${processName(p)}` : ''),
			text: own || 'thread',
			end: (isOnly ? '' : ` ${model.tid[t]}`) + (many ? ` · ${p.pid || p.comm || ''}` : ''),
			threads: [t],
		};
	}

	/* Weights by lane, bin and state, and how much a lane can have in a bin. */
	addUp() {
		const { model, times } = this,
			collects = collectingNodes(model),
			states = STATES.length;

		this.sums = new Float32Array(this.lanes.length * times.cnt * states);
		this.used = new Uint8Array(states);
		for (let g = 0; g < model.groupCnt; g++) {
			const state = stateOf(model.groupStatus[g], collects[model.groupNode[g]]),
				base = this.lane[model.groupThread[g]] * times.cnt;

			this.used[state] = 1;
			for (let i = times.at[g]; i < times.at[g + 1]; i++)
				this.sums[(base + times.bin[i]) * states + state] += times.weight[i];
		}
		for (const lane of this.lanes) {
			const p = model.meta.processes[model.process[lane.threads[0]]];

			lane.room =
				Math.max(1, times.width / (p.interval_us / 1e6)) * lane.threads.length;
		}
	}

	/* The sums of a lane's states in the bins from..to - 1, as shares of the time that these are. */
	shares(i, from, to) {
		const out = new Float64Array(STATES.length),
			base = i * this.times.cnt;

		for (let b = from; b < to; b++)
			for (let s = 0; s < out.length; s++)
				out[s] += this.sums[(base + b) * out.length + s];
		return out.map((v) => v / (this.lanes[i].room * (to - from)));
	}

	/* ---- the picture ---- */

	resize() {
		LANE = small.matches ? 40 : 18;
		this.showNames();
		this.pixels = this.canvas.parentElement.clientWidth - $('lane-names').offsetWidth;
		showAxis(this.times.cnt * this.times.width, this.pixels);
		this.paint();
	}

	paint() {
		const { ctx, canvas, pixels: w } = this,
			h = this.lanes.length * LANE,
			ratio = devicePixelRatio || 1;

		if (w <= 0) return;
		canvas.width = Math.round(w * ratio);
		canvas.height = Math.round(h * ratio);
		canvas.style.width = `${w}px`;
		canvas.style.height = `${h}px`;
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		const css = getComputedStyle(document.documentElement);

		this.colours = STATES.map(([, light, dark]) => oklch(...(theme.dark ? dark : light)));
		this.lanes.forEach((lane, i) => this.paintLane(lane, i, css));
		this.paintRange(h, css);
	}

	paintLane(lane, i, css) {
		const { ctx, times, pixels } = this,
			columns = Math.min(times.cnt, Math.ceil(pixels)),
			y = i * LANE,
			room = LANE - 3,
			ratio = devicePixelRatio || 1,
			/* Whole pixels of the screen, so that neighbours leave no seam. */
			snap = (bin) => Math.round((bin / times.cnt) * pixels * ratio) / ratio;

		ctx.fillStyle = css.getPropertyValue('--raised');
		ctx.fillRect(0, y + LANE - 2, pixels, 1);
		ctx.globalAlpha = lane.threads.some((t) => this.graph.threads[t]) ? 1 : 0.3;
		for (let c = 0; c < columns; c++) {
			const from = Math.floor((c * times.cnt) / columns),
				to = Math.floor(((c + 1) * times.cnt) / columns),
				x = snap(from),
				width = snap(to) - x,
				shares = this.shares(i, from, to);
			const scale = 1 / Math.max(1, shares.reduce((a, b) => a + b));
			let bottom = y + LANE - 2;

			for (let s = 0; s < shares.length; s++) {
				const height = shares[s] * scale * room;

				if (!height) continue;
				ctx.fillStyle = this.colours[s];
				ctx.fillRect(x, bottom - height, width, height);
				bottom -= height;
			}
		}
		ctx.globalAlpha = 1;
	}

	paintRange(h, css) {
		const range = this.graph.time,
			{ ctx, pixels } = this;

		if (!range) return;
		const x = this.xOf(range.from),
			end = this.xOf(range.to);

		ctx.globalAlpha = 0.62;
		ctx.fillStyle = css.getPropertyValue('--panel');
		ctx.fillRect(0, 0, x, h);
		ctx.fillRect(end, 0, pixels - end, h);
		ctx.globalAlpha = 1;
		ctx.fillStyle = css.getPropertyValue('--accent');
		ctx.fillRect(Math.max(0, x - 1), 0, 2, h);
		ctx.fillRect(Math.min(pixels - 2, end - 1), 0, 2, h);
	}

	/* As wide as the names, within limits; a name that is too long loses its middle. */
	showNames() {
		const { ctx } = this,
			width = (text) => ctx.measureText(text).width,
			most = Math.min(240, $('lanes').clientWidth * (small.matches ? 0.34 : 0.22));

		ctx.font = `12px ${FONTS}`;
		const wanted = Math.max(...this.lanes.map(({ text, end }) => width(text + end))) + 10,
			room = Math.max(60, Math.min(wanted, most));
		const cut = ({ text, end }) => {
			let keep = text.length;

			while (keep > 4 && width(middleCut(text, keep) + end) > room - 9) keep--;
			return middleCut(text, keep) + end;
		};

		$('lane-names').style.width = `${room}px`;
		put(
			$('lane-names'),
			...this.lanes.map((lane) => {
				const button = el(
					'button',
					{ title: `${lane.name}: only this, or all`, onclick: () => this.only(lane) },
					cut(lane),
				);

				button.style.height = `${LANE}px`;
				return button;
			}),
		);
	}

	showLegend() {
		const items = STATES.map(([name, light, dark], s) => {
			const swatch = el('span', { className: 'swatch' });

			swatch.style.background = oklch(...(theme.dark ? dark : light));
			return this.used[s] ? el('span', null, swatch, name) : null;
		});

		put($('time-legend'), ...items.filter(Boolean));
	}

	/* What the range says, in words. */
	showRange() {
		const { times, graph, model } = this,
			whole = seconds(times.cnt * times.width),
			range = graph.time,
			bins = `bins of ${seconds(times.width)}`;

		$('time-range').value = range
			? `${this.timeText(range.from)} – ${this.timeText(range.to)}, ${seconds((range.to - range.from) * times.width)} of ${whole}; ${bins}`
			: `${whole}; ${bins}`;
		$('time-range').title = model.meta.utc
			? `from ${new Date(times.first * times.width * 1000).toISOString().replace('T', ' ').slice(0, 19)} UTC`
			: '';
		$('time-all').hidden = !range;
	}

	timeText(bin) {
		return bin ? seconds(bin * this.times.width) : '0';
	}

	showTip(e) {
		const box = this.canvas.getBoundingClientRect(),
			lane = Math.floor((e.clientY - box.top) / LANE),
			{ cnt } = this.times,
			wide = Math.max(1, Math.round(cnt / this.pixels)),
			from = Math.floor(this.binAt(e.clientX - box.left)),
			to = Math.min(cnt, from + wide);

		if (!this.lanes[lane] || from >= cnt) return;
		const shares = this.shares(lane, from, to),
			rows = STATES.map(([name], s) =>
				shares[s]
					? el('tr', null, el('th', null, name), el('td', null, percent(shares[s], 1)))
					: null,
			).filter(Boolean);

		put(
			$('tip'),
			el('div', { className: 'name' }, this.lanes[lane].name),
			el('div', { className: 'where' }, `${this.timeText(from)} – ${this.timeText(to)}`),
			rows.length ? el('table', null, ...rows) : el('div', null, 'no samples'),
		);
		$('tip').hidden = false;
		placeTip(e.clientX, e.clientY);
	}
}

/* Marks of time above the lanes. */
function showAxis(whole, pixels) {
	const most = Math.max(1, Math.floor(pixels / 75)),
		steps = [1, 2, 5, 10].map((f) => f * 10 ** Math.floor(Math.log10(whole / most))),
		step = steps.find((s) => whole / s <= most) || steps[3],
		ticks = [];

	for (let k = 0; (1 - (k * step) / whole) * pixels > 48; k++) {
		const tick = el('span', null, k ? seconds(+(k * step).toPrecision(6)) : '0');

		tick.style.left = `${((k * step) / whole) * 100}%`;
		ticks.push(tick);
	}
	$('time-axis').style.marginLeft = `${$('lane-names').offsetWidth}px`;
	put($('time-axis'), ...ticks);
}

function openTimeline(open) {
	$('timeline').hidden = !open;
	$('time-button').setAttribute('aria-expanded', open);
}

/* Shown if the samples have times, or it is known how much memory was held when. */
function startTimeline(graph) {
	const held = graph.diff ? [] : graph.model.meta.processes.map((p) => p.held).filter((h) => h?.bytes?.length > 1);

	const hasTimes = graph.model.times?.cnt > 1;

	if (!hasTimes && !held.length) return;
	/* Where there is no room for both, lanes give way to the graph. */
	const low = matchMedia('(max-height: 500px)'),
		place = () => openTimeline(!hasTimes || !low.matches);

	place();
	$('time-button').hidden = false;
	$('time-button').addEventListener('click', () => openTimeline($('timeline').hidden));
	low.addEventListener('change', place);
	if (hasTimes) {
		graph.timeline = new Timeline(graph);
		graph.timeline.showRange();
		theme.listeners.push(() => {
			graph.timeline.showLegend();
			graph.timeline.paint();
		});
	} else {
		graph.memory = new MemoryChart(held);
		theme.listeners.push(() => graph.memory.paint());
	}
}
