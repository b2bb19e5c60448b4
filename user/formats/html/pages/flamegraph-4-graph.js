/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the state, and what follows from it ---- */

const ROW = 20; /* CSS pixels */
const MIN_WIDTH = 0.5; /* narrower frames are drawn together */
const TEXT_MIN = 26;
const TABLE_ROWS = 500;
const TREES = 6; /* kept, because a change of detail is often taken back */
const PROCESS_ROWS = 200; /* in the list of threads */
const THREAD_ROWS = 20; /* of each process, until the user asks for more */
const THREAD_ROWS_MORE = 1000;
const MAIN_THREAD = 32;
const HELD = 128; /* of memory: bytes that are still held */
const REST = -2; /* a box that stands for several narrow frames */

const FONTS =
	'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif';

const STATUSES = [
	[1, 'GIL'],
	[2, 'on CPU'],
	[8, 'wants GIL'],
	[16, 'exception'],
	[MAIN_THREAD, 'main thread'],
	[4, 'CPU unknown'],
];

class Graph {
	constructor(model) {
		this.model = model;
		this.unit = unitOf(model.meta);
		this.trees = new Map(); /* by detail */
		this.byFunction = true;
		this.pythonOnly = this.ownOnly = this.namesOnly = false;
		this.groupBy = '';
		this.inverted = false;
		this.threads = new Uint8Array(model.threadCnt).fill(1);
		this.held = model.meta.processes.some((p) => p.held_apart);
		this.need = this.held ? HELD : 0; /* status bits */
		this.avoid = 0;
		this.colourBy = 'file';
		this.widthOf = 'both';
		this.shares = this.unit.name !== 'bytes'; /* of a comparison: not counts */
		this.sort = { key: 'self', down: true };
		this.matches = null;
		this.diff = model.sides !== null;
		this.colours = new Map();
		this.textWidths = new Map();
		this.canvas = $('canvas');
		this.ctx = this.canvas.getContext('2d');
		this.hover = this.selected = null;
		this.from = -1; /* narrow frames: see zoomTo() */
		this.changed = null; /* called when a link would have to change */
	}

	/* After a change of detail or selection. Where the view was zoomed to is found again. */
	reweigh() {
		const { byFunction, pythonOnly, ownOnly, groupBy, trees } = this,
			which = `${byFunction} ${pythonOnly} ${ownOnly} ${groupBy}`;

		this.tree =
			trees.get(which) ||
			new Tree(this.model, { byFunction, pythonOnly, ownOnly, groupBy });
		if (trees.size >= TREES) trees.clear();
		trees.set(which, this.tree);
		this.tree.weigh(
			(thread, status) =>
				this.threads[thread] &&
				(status & this.need) === this.need &&
				!(status & this.avoid),
		);
		this.rewiden();
	}

	rewiden() {
		const { tree } = this;
		/* By shares, a profile that is twice as long as the other has the same width. */
		this.scaleA =
			this.diff && this.shares && tree.a[0] ? tree.b[0] / tree.a[0] || 1 : 1;
		tree.widen(this.widthOf === 'b' ? 0 : this.scaleA, this.widthOf === 'a' ? 0 : 1);
		this.colours.clear();
		this.review();
	}

	review() {
		const path = this.view ? this.pathOf(this.zoom) : [];
		const selected = this.selected !== null ? this.pathOf(this.selected) : null;
		const sameLabels =
			this.pathTree === this.tree && this.pathInverted === this.inverted;

		this.view = this.inverted ? new BottomUp(this.tree) : new TopDown(this.tree);
		this.pathTree = this.tree;
		this.pathInverted = this.inverted;
		this.hover = null;
		this.from = -1;
		this.zoom = sameLabels ? this.follow(path) : 0;
		this.selected = sameLabels && selected ? this.follow(selected) : null;
		if (!this.view.width[this.zoom]) this.zoom = 0;
		this.search($('search').value);
		this.layout();
		this.showTable();
		this.showCrumbs();
		this.showStatus();
		$('empty').hidden = this.view.width[0] > 0;
	}

	/* The labels from the root to a node, and back. */
	pathOf(node) {
		const path = [];

		for (; node > 0; node = this.view.parent[node]) path.push(this.view.label[node]);
		return path.reverse();
	}

	follow(path) {
		let node = 0;

		for (const label of path) {
			const kid = this.view.kids(node).find((k) => this.view.label[k] === label);

			if (kid === undefined || !this.view.width[kid]) break;
			node = kid;
		}
		return node;
	}

	/* ---- names ---- */

	name(label) {
		if (label < 0) return this.inverted ? 'all, by innermost function' : 'all';
		const t = this.tree,
			name = t.func(label) || '(no name)';

		return this.byFunction || !t.labelLine[label]
			? name
			: `${name}:${t.labelLine[label]}`;
	}

	fileName(label) {
		return label < 0 ? '' : this.tree.file(label);
	}

	where(label) {
		const file = this.fileName(label),
			line = label < 0 ? 0 : this.tree.labelLine[label];

		return file === '~' ? '' : line ? `${file}:${line}` : file;
	}

	/* site-packages/NAME, the standard library, or the directory. */
	packageOf(file) {
		const owner = ownerOf(file);

		if (owner === 'standard') return 'standard library';
		return owner === 'package'
			? /(?:site|dist)-packages\/([^/]*)/.exec(file)[1]
			: file.replace(/\/[^/]*$/, '');
	}

	colourKey(label) {
		const file = this.fileName(label);

		if (this.colourBy === 'function')
			return `${file}\n${this.tree.func(label)}`;
		return this.colourBy === 'package' ? this.packageOf(file) : file;
	}

	colour(label) {
		let c = this.colours.get(label);

		if (c) return c;
		const dark = theme.dark,
			kind = label < 0 ? 'group' : this.tree.kind(label);

		if (this.colourBy === 'kind' && !/synthetic|group/.test(kind)) {
			c = this.kindColour(kind, this.name(label));
		} else if (label < 0 || this.fileName(label) === '~') {
			c = dark ? oklch(0.4, 0.012, 260) : oklch(0.88, 0.01, 260);
		} else {
			/* Functions of one file differ a little in lightness, so that neighbours part. */
			const hue = (hashText(this.colourKey(label)) % 3600) / 10;
			const shift = ((hashText(this.name(label)) % 100) / 100 - 0.5) * 0.05;

			c = dark
				? oklch(0.46 + shift, 0.085, hue)
				: oklch(0.83 + shift, 0.085, hue);
		}
		this.colours.set(label, c);
		return c;
	}

	/* Python yellow, machine code blue, the kernel red, as in the Firefox Profiler. */
	kindColour(kind, name) {
		const hue = { python: 90, native: 250, kernel: 25 }[kind];
		const shift = ((hashText(name) % 100) / 100 - 0.5) * 0.05;

		return theme.dark ? oklch(0.46 + shift, 0.085, hue) : oklch(0.83 + shift, 0.085, hue);
	}

	/* -1 (only before) to 1 (only after); what chance explains is pale when samples are counted. */
	change(a, b) {
		a *= this.scaleA;
		const most = Math.max(a, b),
			sum = a + b;

		if (!most) return 0;
		const sure = this.unit.isSamples
			? Math.min(1, Math.abs(b - a) / (2 * Math.sqrt(sum)))
			: 1;

		return ((b - a) / most) * sure;
	}

	changeColour(change) {
		const strength = Math.sqrt(Math.abs(change)),
			hue = change > 0 ? 27 : 255;

		return theme.dark
			? oklch(0.36 + 0.1 * strength, 0.01 + 0.125 * strength, hue)
			: oklch(0.92 - 0.16 * strength, 0.008 + 0.13 * strength, hue);
	}

	fill(node) {
		return this.diff
			? this.changeColour(this.change(this.view.a[node], this.view.b[node]))
			: this.colour(this.view.label[node]);
	}

	/* ---- layout: boxes by row, each row from left to right ---- */

	layout() {
		const { view } = this;
		const chain = [];

		this.pixels = $('scroller').clientWidth;
		this.rows = [];
		for (let n = this.zoom; n >= 0; n = view.parent[n]) chain.push(n);
		chain.reverse();
		chain.forEach((n, depth) => {
			this.rows[depth] = [{ node: n, x: 0, w: this.pixels }];
		});
		if (view.width[this.zoom]) this.layoutBelow(chain.length - 1);
		$('sizer').style.height = `${this.rows.length * ROW + 4}px`;
		this.paint();
	}

	/* A row at a time, so that each is in order. */
	layoutBelow(depth) {
		const { view } = this;
		let scale = this.pixels / view.width[this.zoom];

		if (this.from >= 0) scale = this.layoutNarrow((this.rows[++depth] = []));
		for (let row = this.rows[depth]; row.length; row = this.rows[++depth]) {
			const below = [];

			for (const box of row)
				if (box.node >= 0) this.layoutKids(box, scale, below);
			if (!below.length) break;
			this.rows[depth + 1] = below;
		}
	}

	/*
	 * Of the zoomed node's children as many from this.from on as get a few pixels
	 * each, and a box for those that are left. Returns the scale.
	 */
	layoutNarrow(row) {
		const { view, from, zoom } = this;
		const kids = Array.from(view.kids(zoom)).filter((k) => view.width[k]);
		const end = Math.min(kids.length, from + Math.max(1, Math.floor(this.pixels / 4)));
		const left = kids.length - end,
			room = left ? this.pixels * 0.9 : this.pixels;
		const scale =
			room / kids.slice(from, end).reduce((sum, k) => sum + view.width[k], 0);
		let x = 0;

		for (const k of kids.slice(from, end)) {
			row.push({ node: k, x, w: view.width[k] * scale });
			x += view.width[k] * scale;
		}
		if (left)
			row.push({
				node: REST,
				x,
				w: this.pixels - x,
				cnt: left,
				parent: zoom,
				first: end,
			});
		return scale;
	}

	layoutKids(box, scale, below) {
		const { view } = this,
			kids = view.kids(box.node);
		let x = box.x;

		for (let i = 0; i < kids.length; i++) {
			const w = view.width[kids[i]] * scale;

			if (w < MIN_WIDTH) {
				const first = i;
				let rest = 0,
					cnt = 0;

				for (; i < kids.length && view.width[kids[i]]; i++, cnt++)
					rest += view.width[kids[i]] * scale;
				if (rest >= MIN_WIDTH)
					below.push({
						node: REST,
						x,
						w: rest,
						cnt,
						parent: box.node,
						first,
					});
				return;
			}
			below.push({ node: kids[i], x, w });
			x += w;
		}
	}

	/* ---- painting: the rows that can be seen ---- */

	paint() {
		if (this.painting) return;
		this.painting = requestAnimationFrame(() => {
			this.painting = 0;
			this.paintNow();
		});
	}

	paintNow() {
		const scroller = $('scroller'),
			ratio = devicePixelRatio || 1;
		const w = scroller.clientWidth,
			h = scroller.clientHeight,
			{ ctx, canvas } = this;

		if (
			canvas.width !== Math.round(w * ratio) ||
			canvas.height !== Math.round(h * ratio)
		) {
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
			canvas.style.width = `${w}px`;
			canvas.style.height = `${h}px`;
		}
		const css = getComputedStyle(document.documentElement);

		this.css = {
			panel: css.getPropertyValue('--panel'),
			text: css.getPropertyValue('--text'),
			quiet: css.getPropertyValue('--quiet'),
			match: css.getPropertyValue('--match'),
			accent: css.getPropertyValue('--accent'),
			raised: css.getPropertyValue('--raised'),
		};
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = this.css.panel;
		ctx.fillRect(0, 0, w, h);
		ctx.font = `12px ${FONTS}`;
		ctx.textBaseline = 'middle';
		const top = scroller.scrollTop,
			first = Math.max(0, Math.floor(top / ROW));
		const last = Math.min(this.rows.length - 1, Math.floor((top + h) / ROW));

		for (let row = first; row <= last; row++)
			for (const box of this.rows[row]) this.paintBox(box, row, row * ROW - top);
		this.outline(this.selected, top, 2);
		if (this.hover?.box.node >= 0) this.outline(this.hover.box.node, top, 1);
		report.painted = true;
	}

	paintBox(box, row, y) {
		const { ctx, css } = this,
			gap = box.w > 2.5 ? 0.8 : 0;

		if (box.node === REST) {
			ctx.fillStyle = css.raised;
			ctx.fillRect(box.x, y, box.w - gap, ROW - 1);
			if (box.w >= TEXT_MIN)
				this.paintName(this.restName(box.cnt), box.x, y, box.w, css.quiet);
			return;
		}
		const label = this.view.label[box.node];
		const matched = this.matches && label >= 0 && this.matches[label];

		ctx.globalAlpha =
			this.matches && !matched ? 0.38 : row < this.zoomDepth() ? 0.6 : 1;
		ctx.fillStyle = matched ? css.match : this.fill(box.node);
		ctx.fillRect(box.x, y, box.w - gap, ROW - 1);
		ctx.globalAlpha = this.matches && !matched ? 0.65 : 1;
		if (box.w >= TEXT_MIN)
			this.paintName(
				this.name(label),
				box.x,
				y,
				box.w,
				matched ? '#1d2530' : css.text,
			);
		ctx.globalAlpha = 1;
	}

	restName(cnt) {
		return `… ${plural(cnt, 'narrow frame')}`;
	}

	paintName(text, x, y, w, colour) {
		const { ctx } = this;

		ctx.fillStyle = colour;
		ctx.fillText(this.cutName(text, w), x + 4, y + ROW / 2 + 0.5);
	}

	/* As much of a name as a box of this width has room for. */
	cutName(text, w) {
		const { ctx } = this,
			room = w - 9;
		let width = this.textWidths.get(text);

		if (width === undefined) {
			width = ctx.measureText(
				text.length > 300 ? text.slice(0, 300) : text,
			).width;
			this.textWidths.set(text, width);
		}
		if (width > room) {
			let keep = Math.floor((Math.min(text.length, 300) * room) / width) - 1;

			while (keep > 0 && ctx.measureText(text.slice(0, keep) + '…').width > room)
				keep--;
			return keep < 1 ? '' : text.slice(0, keep) + '…';
		}
		return text;
	}

	outline(node, top, thickness) {
		const found = node === null ? null : this.boxOf(node);

		if (!found) return;
		const { ctx } = this,
			{ box, row } = found,
			inset = thickness / 2;

		ctx.strokeStyle = thickness > 1 ? this.css.accent : this.css.text;
		ctx.lineWidth = thickness;
		ctx.strokeRect(
			box.x + inset,
			row * ROW - top + inset,
			Math.max(1, box.w - thickness),
			ROW - 1 - thickness,
		);
	}

	zoomDepth() {
		let depth = 0;

		for (let n = this.zoom; n > 0; n = this.view.parent[n]) depth++;
		return depth;
	}

	depthOf(node) {
		let depth = 0;

		for (; node > 0; node = this.view.parent[node]) depth++;
		return depth;
	}

	boxOf(node) {
		const row = this.depthOf(node),
			box = this.rows[row]?.find((b) => b.node === node);

		return box ? { box, row } : null;
	}

	boxAt(x, y) {
		const row = Math.floor((y + $('scroller').scrollTop) / ROW),
			boxes = this.rows[row] || [];
		let low = 0,
			high = boxes.length - 1;

		while (low < high) {
			const middle = (low + high + 1) >> 1;

			if (boxes[middle].x <= x) low = middle;
			else high = middle - 1;
		}
		const box = boxes[low];

		return box && x >= box.x && x < box.x + box.w ? { box, row } : null;
	}

	/* ---- search ---- */

	search(text) {
		const input = $('search');
		let pattern = null;

		input.removeAttribute('aria-invalid');
		if (text) {
			/* Case counts when a capital letter was typed. */
			const flags = /\p{Lu}/u.test(text.replace(/\\./g, '')) ? 'u' : 'iu';

			try {
				pattern = new RegExp(text, flags);
			} catch (e) {
				input.setAttribute('aria-invalid', 'true');
				$('matched').value = 'not a regular expression';
				this.matches = null;
				this.paint();
				return;
			}
		}
		this.matches = null;
		$('matched').value = '';
		if (pattern) {
			this.matches = new Uint8Array(this.tree.labelCnt);
			for (let l = 0; l < this.tree.labelCnt; l++)
				this.matches[l] = pattern.test(
					this.namesOnly ? this.tree.func(l) : this.searchText(l),
				)
					? 1
					: 0;
			const sum = this.tree.matched(this.matches);

			$('matched').value = this.diff
				? `${percent(sum.a, this.tree.a[0])} → ${percent(sum.b, this.tree.b[0])}`
				: `${percent(sum.a, this.tree.a[0])} matched`;
			report.matched = sum.a + sum.b;
		}
		this.paint();
		this.changed?.();
	}

	/* "function (file:line)" */
	searchText(label) {
		const where = this.where(label),
			name = this.tree.func(label);

		return where ? `${name} (${where})` : name;
	}

	/* ---- zoom and movement ---- */

	/* from ≥ 0: leave out so many of the node's children, the widest, to see the narrow ones. */
	zoomTo(node, from = -1) {
		if (node < 0 || node === null || !this.view.width[node]) return;
		this.zoom = node;
		this.from = from;
		this.selected = node;
		this.hover = null;
		this.layout();
		$('scroller').scrollTop = Math.min($('scroller').scrollTop, this.zoomDepth() * ROW);
		this.paint();
		this.showTable();
		this.showCrumbs();
		this.showStatus();
		this.changed?.();
	}

	move(key) {
		const { view } = this;
		let node = this.selected ?? this.zoom;

		if (this.selected === null) {
			/* The first key only shows where one is. */
		} else if (key === 'ArrowUp') {
			node = Math.max(0, view.parent[node]);
		} else if (key === 'ArrowDown') {
			const kid = view.kids(node)[0];

			node = kid !== undefined && view.width[kid] ? kid : node;
		} else if (view.parent[node] >= 0) {
			const siblings = view.kids(view.parent[node]);
			const next =
				siblings[siblings.indexOf(node) + (key === 'ArrowRight' ? 1 : -1)];

			node = next !== undefined && view.width[next] ? next : node;
		}
		this.selected = node;
		/* Out of sight below the zoomed frame or too narrow to see: go there. */
		if (!this.boxOf(node)) this.zoomTo(Math.max(0, view.parent[node]));
		if (!this.boxOf(node)) this.zoomTo(node);
		this.selected = node;
		this.reveal(this.depthOf(node));
		this.paint();
		this.showStatus();
	}

	reveal(row) {
		const s = $('scroller');

		if (row * ROW < s.scrollTop) s.scrollTop = row * ROW;
		else if ((row + 1) * ROW > s.scrollTop + s.clientHeight)
			s.scrollTop = (row + 1) * ROW - s.clientHeight;
	}
}
