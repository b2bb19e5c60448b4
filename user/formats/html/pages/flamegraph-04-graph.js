/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the state, and what follows from it ---- */

let ROW = 20; /* CSS pixels; on a small screen more */
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
		this.inverted = false;
		this.around = []; /* codes of functions: callers and callees of the last one are shown */
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
		this.groupBy = !this.diff && new Set(model.process).size > 1 ? 'process' : '';
		this.colours = new Map();
		this.textWidths = new Map();
		this.canvas = $('canvas');
		this.ctx = this.canvas.getContext('2d');
		this.hover = this.selected = null;
		this.time = null; /* { from, to }: bins that are selected; null: all time */
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
			this.model.weightsIn(this.time),
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
		const wasAround = this.isAround;

		const inside = this.around.length ? this.labelsOf(this.around.at(-1)) : null;

		this.isAround = inside !== null; /* is the view that of callers and callees? */
		if (inside) this.view = new Around(this.tree, inside);
		else this.view = this.inverted ? new BottomUp(this.tree) : new TopDown(this.tree);
		const found = sameLabels && !inside && !wasAround;

		this.hideSheet();
		this.pathTree = this.tree;
		this.pathInverted = this.inverted;
		this.hover = null;
		this.from = -1;
		this.zoom = found ? this.follow(path) : 0;
		this.selected = found && selected ? this.follow(selected) : null;
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

	/* The function in the middle is all of its lines. */
	nodeName(node) {
		const label = this.view.label[node];

		return this.isAround && node === 0 ? this.tree.func(label) : this.name(label);
	}

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
		if (this.isAround) {
			if (node) this.goAround(this.view.label[node]);
			return;
		}
		this.hideSheet();
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
		} else if (this.isAround) {
			const next = this.nextAround(node, key);

			node = next >= 0 && view.width[next] ? next : node;
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
		if (this.isAround) {
			if (this.boxOf(node)) this.reveal(this.rowOf(node));
			this.paint();
			this.showStatus();
			return;
		}
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
