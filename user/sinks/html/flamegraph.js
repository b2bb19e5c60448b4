/* ---- the profile, as docs/format-flamegraph.md has it ---- */

class Model {
	constructor(r) {
		this.meta = r.json();
		this.str = r.strings();
		this.frameCnt = r.count();
		this.file = r.column(this.frameCnt, Uint32Array);
		this.func = r.column(this.frameCnt, Uint32Array);
		this.line = r.column(this.frameCnt, Uint32Array);
		this.threadCnt = r.count();
		this.process = r.column(this.threadCnt, Uint32Array);
		this.interp = r.column(this.threadCnt, Uint32Array);
		this.tid = r.column(this.threadCnt, Float64Array);
		this.readNodes(r);
		this.readGroups(r);
		this.sides = this.meta.sides || null;
		for (const p of this.meta.processes)
			p.side_name = this.sides ? this.sides[p.side] || ['before', 'after'][p.side] : null;
	}

	readNodes(r) {
		const n = r.count(), pops = r.column(n, Uint32Array), frames = r.column(n, Uint32Array);
		const path = [0];
		let depth = 0;

		this.nodeCnt = n + 1;
		this.parent = new Int32Array(n + 1);
		this.frame = new Int32Array(n + 1);
		this.parent[0] = this.frame[0] = -1;
		for (let i = 1; i <= n; i++) {
			depth = depth + 1 - pops[i - 1];
			this.parent[i] = path[depth - 1];
			this.frame[i] = frames[i - 1];
			path[depth] = i;
		}
	}

	readGroups(r) {
		const n = r.count();

		this.groupCnt = n;
		this.groupNode = r.column(n, Uint32Array);
		this.groupThread = r.column(n, Uint32Array);
		this.groupStatus = r.column(n, Uint8Array);
		this.groupWeight = r.column(n, Float64Array);
		for (let i = 1; i < n; i++)
			this.groupNode[i] += this.groupNode[i - 1];
	}
}

/*
 * A call tree in one detail: by line as it is in the data, or by function, with
 * the nodes that differ in lines only merged. Its shape never changes; weights
 * are set for every selection. a and b: before and after in a comparison, else
 * a is all.
 */
class Tree {
	constructor(model, byFunction) {
		this.model = model;
		this.byFunction = byFunction;
		this.makeLabels();
		if (byFunction)
			this.merge();
		else
			Object.assign(this, { cnt: model.nodeCnt, parent: model.parent, map: null,
				label: model.frame });
		this.makeKids();
		this.a = new Float64Array(this.cnt);
		this.b = new Float64Array(this.cnt);
		this.selfA = new Float64Array(this.cnt);
		this.selfB = new Float64Array(this.cnt);
		this.width = new Float64Array(this.cnt);
		this.selfWidth = new Float64Array(this.cnt);
		this.sorted = new Uint8Array(this.cnt);
	}

	makeLabels() {
		const m = this.model, ids = new Map();

		this.labelOf = new Int32Array(m.frameCnt);
		this.labelFile = [];
		this.labelFunc = [];
		this.labelLine = [];
		for (let f = 0; f < m.frameCnt; f++) {
			const key = m.file[f] * 4294967296 + m.func[f];
			let id = this.byFunction ? ids.get(key) : undefined;

			if (id === undefined) {
				id = this.labelFile.length;
				ids.set(key, id);
				this.labelFile.push(m.file[f]);
				this.labelFunc.push(m.func[f]);
				this.labelLine.push(m.line[f]);
			} else if (m.line[f] && (!this.labelLine[id] || m.line[f] < this.labelLine[id])) {
				this.labelLine[id] = m.line[f];
			}
			this.labelOf[f] = id;
		}
		this.labelCnt = this.labelFile.length;
	}

	/* map: the node of this tree that each node of the data became. */
	merge() {
		const m = this.model, bits = Math.max(8, Math.ceil(Math.log2(m.nodeCnt * 2)));
		const slots = new Int32Array(2 ** bits), mask = 2 ** bits - 1;
		const parent = new Int32Array(m.nodeCnt), label = new Int32Array(m.nodeCnt);
		let cnt = 1;

		this.map = new Int32Array(m.nodeCnt);
		parent[0] = label[0] = -1;
		for (let i = 1; i < m.nodeCnt; i++) {
			const p = this.map[m.parent[i]], l = this.labelOf[m.frame[i]];
			let at = (Math.imul(p, 0x9e3779b1) ^ Math.imul(l, 0x85ebca77)) >>> 0;

			at = (at ^ at >>> 15) & mask;
			while (slots[at] && (parent[slots[at]] !== p || label[slots[at]] !== l))
				at = (at + 1) & mask;
			if (!slots[at]) {
				slots[at] = cnt;
				parent[cnt] = p;
				label[cnt++] = l;
			}
			this.map[i] = slots[at];
		}
		this.cnt = cnt;
		this.parent = parent.slice(0, cnt);
		this.label = label.slice(0, cnt);
	}

	/* The children of n: kids[first[n]] to kids[first[n + 1] - 1]. Parents come before children. */
	makeKids() {
		const first = new Int32Array(this.cnt + 1), at = new Int32Array(this.cnt);

		for (let i = 1; i < this.cnt; i++)
			first[this.parent[i] + 1]++;
		for (let i = 0; i < this.cnt; i++)
			first[i + 1] += first[i];
		at.set(first.subarray(0, this.cnt));
		this.kids = new Int32Array(Math.max(0, this.cnt - 1));
		for (let i = 1; i < this.cnt; i++)
			this.kids[at[this.parent[i]]++] = i;
		this.first = first;
	}

	/* Weights of the groups that wanted(thread, status) is true for. */
	weigh(wanted) {
		const m = this.model, ps = m.meta.processes, { selfA, selfB } = this;
		const isB = Uint8Array.from({ length: m.threadCnt }, (_, t) =>
			m.sides && ps[m.process[t]]?.side === 1 ? 1 : 0);

		selfA.fill(0);
		selfB.fill(0);
		for (let g = 0; g < m.groupCnt; g++) {
			const thread = m.groupThread[g];

			if (!wanted(thread, m.groupStatus[g]))
				continue;
			const node = this.map ? this.map[m.groupNode[g]] : m.groupNode[g];

			(isB[thread] ? selfB : selfA)[node] += m.groupWeight[g];
		}
		this.a.set(selfA);
		this.b.set(selfB);
		for (let i = this.cnt - 1; i > 0; i--) {
			this.a[this.parent[i]] += this.a[i];
			this.b[this.parent[i]] += this.b[i];
		}
	}

	/* How wide nodes are: wa parts of a and wb of b. */
	widen(wa, wb) {
		for (let i = 0; i < this.cnt; i++) {
			this.width[i] = wa * this.a[i] + wb * this.b[i];
			this.selfWidth[i] = wa * this.selfA[i] + wb * this.selfB[i];
		}
		this.sorted.fill(0);
	}

	/* Self and total of each label; a stack counts once, however often the label is in it. */
	functions() {
		const n = this.labelCnt, onPath = new Int32Array(n), path = [];
		const out = { selfA: new Float64Array(n), selfB: new Float64Array(n),
			a: new Float64Array(n), b: new Float64Array(n) };

		this.preorder((node, depth) => {
			const l = this.label[node];

			while (path.length >= depth)
				onPath[path.pop()]--;
			path.push(l);
			out.selfA[l] += this.selfA[node];
			out.selfB[l] += this.selfB[node];
			if (!onPath[l]++) {
				out.a[l] += this.a[node];
				out.b[l] += this.b[node];
			}
		});
		return out;
	}

	/* f(node, depth) for every node but the root; its children have depth 1. */
	preorder(f) {
		const next = [this.first[0]], nodes = [0];

		while (nodes.length) {
			const at = nodes.length - 1, k = next[at];

			if (k === this.first[nodes[at] + 1]) {
				nodes.pop();
				next.pop();
				continue;
			}
			next[at]++;
			f(this.kids[k], nodes.length);
			nodes.push(this.kids[k]);
			next.push(this.first[this.kids[k]]);
		}
	}

	/* The weight of the stacks that have a frame whose label is in `matches`. */
	matched(matches) {
		const above = new Uint8Array(this.cnt);
		const sum = { a: 0, b: 0, width: 0 };

		for (let i = 1; i < this.cnt; i++) {
			if (above[this.parent[i]]) {
				above[i] = 1;
			} else if (matches[this.label[i]]) {
				above[i] = 1;
				sum.a += this.a[i];
				sum.b += this.b[i];
				sum.width += this.width[i];
			}
		}
		return sum;
	}
}

/* ---- what is drawn: a tree of nodes, children widest first ---- */

class TopDown {
	constructor(tree) {
		Object.assign(this, { tree, width: tree.width, a: tree.a, b: tree.b,
			selfA: tree.selfA, selfB: tree.selfB, parent: tree.parent, label: tree.label });
	}

	kids(node) {
		const { first, kids, sorted, width } = this.tree;
		const own = kids.subarray(first[node], first[node + 1]);

		if (!sorted[node]) {
			own.sort((x, y) => width[y] - width[x] || x - y);
			sorted[node] = 1;
		}
		return own;
	}
}

/*
 * The innermost functions first, then their callers. Nodes are made when they
 * are looked at. Each owns a range of `entries`, the stacks that end in it; a
 * child's range is part of its parent's, one caller further.
 */
class BottomUp {
	constructor(tree) {
		this.tree = tree;
		this.label = [-1];
		this.parent = [-1];
		this.made = [null];
		const at = [];

		for (let i = 0; i < tree.cnt; i++) {
			if (tree.selfA[i] || tree.selfB[i])
				at.push(i);
		}
		this.leaf = Int32Array.from(at);	/* where the stack ends */
		this.now = Int32Array.from(at);		/* how far up it has been followed */
		this.start = [0];
		this.end = [at.length];
		this.a = [tree.a[0]];
		this.b = [tree.b[0]];
		this.width = [tree.width[0]];
		this.selfA = [0];
		this.selfB = [0];
		this.slot = new Int32Array(tree.labelCnt);	/* by label: its new node */
	}

	kids(node) {
		return this.made[node] ??= this.make(node);
	}

	add(node, label) {
		this.label.push(label);
		this.parent.push(node);
		this.made.push(null);
		this.start.push(0);
		this.end.push(0);
		for (const weights of [this.a, this.b, this.width, this.selfA, this.selfB])
			weights.push(0);
		return this.label.length - 1;
	}

	make(node) {
		const { tree, leaf, now, slot } = this, made = [];
		const from = this.start[node], to = this.end[node];
		const leaves = leaf.slice(from, to), at = now.slice(from, to);
		const owner = new Int32Array(to - from).fill(-1);

		for (let i = 0; i < at.length; i++) {
			/* The root's children are where the stacks end. */
			if (node)
				at[i] = tree.parent[at[i]];
			if (at[i] <= 0)
				continue;
			const l = tree.label[at[i]];

			if (!slot[l]) {
				slot[l] = this.add(node, l);
				made.push(slot[l]);
			}
			const child = owner[i] = slot[l], end = leaves[i];

			this.end[child]++;
			this.a[child] += tree.selfA[end];
			this.b[child] += tree.selfB[end];
			this.width[child] += tree.selfWidth[end];
			if (!node) {
				this.selfA[child] += tree.selfA[end];
				this.selfB[child] += tree.selfB[end];
			}
		}
		let next = from;

		for (const child of made) {
			slot[this.label[child]] = 0;
			this.start[child] = next;
			next += this.end[child];
			this.end[child] = this.start[child];
		}
		for (let i = 0; i < at.length; i++) {
			if (owner[i] < 0)
				continue;
			leaf[this.end[owner[i]]] = leaves[i];
			now[this.end[owner[i]]++] = at[i];
		}
		return made.sort((x, y) => this.width[y] - this.width[x] || x - y);
	}
}

/* ---- the state, and what follows from it ---- */

const ROW = 20;			/* CSS pixels */
const MIN_WIDTH = 0.5;		/* narrower frames are drawn together */
const TEXT_MIN = 26;
const TABLE_ROWS = 500;
const THREAD_ROWS = 1000;
const REST = -2;		/* a box that stands for several narrow frames */

const STATUSES = [[1, 'GIL'], [2, 'on CPU'], [8, 'wants GIL'], [16, 'exception'], [32, 'main thread'],
	[4, 'CPU unknown']];

class Graph {
	constructor(model) {
		this.model = model;
		this.unit = unitOf(model.meta);
		this.trees = [null, null];
		this.byFunction = true;
		this.inverted = false;
		this.threads = new Uint8Array(model.threadCnt).fill(1);
		this.need = this.avoid = 0;	/* status bits */
		this.colourBy = 'file';
		this.widthOf = 'both';
		this.shares = false;
		this.sort = { key: 'self', down: true };
		this.matches = null;
		this.diff = model.sides !== null;
		this.colours = new Map();
		this.textWidths = new Map();
		this.canvas = $('canvas');
		this.ctx = this.canvas.getContext('2d');
		this.hover = this.selected = null;
		this.from = 0;		/* the first child of the zoomed node that is drawn */
	}

	/* After a change of detail or selection. Where the view was zoomed to is found again. */
	reweigh() {
		const which = this.byFunction ? 0 : 1;

		this.tree = this.trees[which] ??= new Tree(this.model, this.byFunction);
		this.tree.weigh((thread, status) => this.threads[thread] &&
			(status & this.need) === this.need && !(status & this.avoid));
		this.rewiden();
	}

	rewiden() {
		const { tree } = this;
		/* A profile that is twice as long is compared by shares when the user says so. */
		this.scaleA = this.diff && this.shares && tree.a[0] ? tree.b[0] / tree.a[0] || 1 : 1;
		tree.widen(this.widthOf === 'b' ? 0 : this.scaleA, this.widthOf === 'a' ? 0 : 1);
		this.colours.clear();
		this.review();
	}

	review() {
		const path = this.view ? this.pathOf(this.zoom) : [];
		const selected = this.selected !== null ? this.pathOf(this.selected) : null;
		const sameLabels = this.pathTree === this.tree && this.pathInverted === this.inverted;

		this.view = this.inverted ? new BottomUp(this.tree) : new TopDown(this.tree);
		this.pathTree = this.tree;
		this.pathInverted = this.inverted;
		this.hover = null;
		this.from = 0;
		this.zoom = sameLabels ? this.follow(path) : 0;
		this.selected = sameLabels && selected ? this.follow(selected) : null;
		if (!this.view.width[this.zoom])
			this.zoom = 0;
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

		for (; node > 0; node = this.view.parent[node])
			path.push(this.view.label[node]);
		return path.reverse();
	}

	follow(path) {
		let node = 0;

		for (const label of path) {
			const kid = this.view.kids(node).find((k) => this.view.label[k] === label);

			if (kid === undefined || !this.view.width[kid])
				break;
			node = kid;
		}
		return node;
	}

	/* ---- names ---- */

	name(label) {
		if (label < 0)
			return this.inverted ? 'all, by innermost function' : 'all';
		const t = this.tree, name = this.model.str(t.labelFunc[label]) || '(no name)';

		return this.byFunction || !t.labelLine[label] ? name : `${name}:${t.labelLine[label]}`;
	}

	fileName(label) {
		return label < 0 ? '' : this.model.str(this.tree.labelFile[label]);
	}

	where(label) {
		const file = this.fileName(label), line = label < 0 ? 0 : this.tree.labelLine[label];

		return file === '~' ? '' : line ? `${file}:${line}` : file;
	}

	/* site-packages/NAME, the standard library, or the directory. */
	packageOf(file) {
		const third = /(?:site|dist)-packages\/([^/]+)/.exec(file);

		if (third)
			return third[1];
		if (/\/lib\/python3[^/]*\/|^<frozen /.test(file))
			return 'standard library';
		return file.replace(/\/[^/]*$/, '');
	}

	colourKey(label) {
		const file = this.fileName(label);

		if (this.colourBy === 'function')
			return `${file}\n${this.model.str(this.tree.labelFunc[label])}`;
		return this.colourBy === 'package' ? this.packageOf(file) : file;
	}

	colour(label) {
		let c = this.colours.get(label);

		if (c)
			return c;
		const dark = theme.dark;

		if (label < 0 || this.fileName(label) === '~') {
			c = dark ? oklch(0.4, 0.012, 260) : oklch(0.88, 0.01, 260);
		} else {
			/* Functions of one file differ a little in lightness, so that neighbours part. */
			const hue = hashText(this.colourKey(label)) % 3600 / 10;
			const shift = (hashText(this.name(label)) % 100 / 100 - 0.5) * 0.05;

			c = dark ? oklch(0.46 + shift, 0.085, hue) : oklch(0.83 + shift, 0.085, hue);
		}
		this.colours.set(label, c);
		return c;
	}

	/* -1 (only before) to 1 (only after); what chance explains is pale when samples are counted. */
	change(a, b) {
		a *= this.scaleA;
		const most = Math.max(a, b), sum = a + b;

		if (!most)
			return 0;
		const sure = this.unit.isSamples ? Math.min(1, Math.abs(b - a) / (2 * Math.sqrt(sum))) : 1;

		return (b - a) / most * sure;
	}

	changeColour(change) {
		const strength = Math.sqrt(Math.abs(change)), hue = change > 0 ? 27 : 255;

		return theme.dark ? oklch(0.36 + 0.1 * strength, 0.01 + 0.125 * strength, hue) :
			oklch(0.92 - 0.16 * strength, 0.008 + 0.13 * strength, hue);
	}

	fill(node) {
		return this.diff ? this.changeColour(this.change(this.view.a[node], this.view.b[node])) :
			this.colour(this.view.label[node]);
	}

	/* ---- layout: boxes by row, each row from left to right ---- */

	layout() {
		const { view } = this;
		const chain = [];

		this.pixels = $('scroller').clientWidth;
		this.rows = [];
		for (let n = this.zoom; n >= 0; n = view.parent[n])
			chain.push(n);
		chain.reverse();
		chain.forEach((n, depth) => {
			this.rows[depth] = [{ node: n, x: 0, w: this.pixels }];
		});
		if (view.width[this.zoom])
			this.layoutBelow(chain.length - 1);
		$('sizer').style.height = `${this.rows.length * ROW + 4}px`;
		this.paint();
	}

	/* A row at a time, so that each is in order. */
	layoutBelow(depth) {
		const { view } = this, kids = view.kids(this.zoom);
		let all = view.width[this.zoom];

		if (this.from) {
			all = 0;
			for (let i = this.from; i < kids.length; i++)
				all += view.width[kids[i]];
		}
		const scale = this.pixels / all;

		for (let row = this.rows[depth]; row.length; row = this.rows[++depth]) {
			const below = [];

			for (const box of row)
				if (box.node >= 0)
					this.layoutKids(box, scale, below);
			if (!below.length)
				break;
			this.rows[depth + 1] = below;
		}
	}

	layoutKids(box, scale, below) {
		const { view } = this, kids = view.kids(box.node);
		let x = box.x;

		for (let i = box.node === this.zoom ? this.from : 0; i < kids.length; i++) {
			const w = view.width[kids[i]] * scale;

			if (w < MIN_WIDTH) {
				const first = i;
				let rest = 0, cnt = 0;

				for (; i < kids.length && view.width[kids[i]]; i++, cnt++)
					rest += view.width[kids[i]] * scale;
				if (rest >= MIN_WIDTH)
					below.push({ node: REST, x, w: rest, cnt, parent: box.node, first });
				return;
			}
			below.push({ node: kids[i], x, w });
			x += w;
		}
	}

	/* ---- painting: the rows that can be seen ---- */

	paint() {
		if (this.painting)
			return;
		this.painting = requestAnimationFrame(() => {
			this.painting = 0;
			this.paintNow();
		});
	}

	paintNow() {
		const scroller = $('scroller'), ratio = devicePixelRatio || 1;
		const w = scroller.clientWidth, h = scroller.clientHeight, { ctx, canvas } = this;

		if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
			canvas.style.width = `${w}px`;
			canvas.style.height = `${h}px`;
		}
		const css = getComputedStyle(document.documentElement);

		this.css = { panel: css.getPropertyValue('--panel'), text: css.getPropertyValue('--text'),
			quiet: css.getPropertyValue('--quiet'),
			match: css.getPropertyValue('--match'), accent: css.getPropertyValue('--accent'),
			raised: css.getPropertyValue('--raised') };
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = this.css.panel;
		ctx.fillRect(0, 0, w, h);
		ctx.font = '12px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif';
		ctx.textBaseline = 'middle';
		const top = scroller.scrollTop, first = Math.max(0, Math.floor(top / ROW));
		const last = Math.min(this.rows.length - 1, Math.floor((top + h) / ROW));

		for (let row = first; row <= last; row++)
			for (const box of this.rows[row])
				this.paintBox(box, row, row * ROW - top);
		this.outline(this.selected, top, 2);
		if (this.hover?.box.node >= 0)
			this.outline(this.hover.box.node, top, 1);
		report.painted = true;
	}

	paintBox(box, row, y) {
		const { ctx, css } = this, gap = box.w > 2.5 ? 0.8 : 0;

		if (box.node === REST) {
			ctx.fillStyle = css.raised;
			ctx.fillRect(box.x, y, box.w - gap, ROW - 1);
			if (box.w >= TEXT_MIN)
				this.paintName(this.restName(box.cnt), box.x, y, box.w, css.quiet);
			return;
		}
		const label = this.view.label[box.node];
		const matched = this.matches && label >= 0 && this.matches[label];

		ctx.globalAlpha = this.matches && !matched ? 0.38 : row < this.zoomDepth() ? 0.6 : 1;
		ctx.fillStyle = matched ? css.match : this.fill(box.node);
		ctx.fillRect(box.x, y, box.w - gap, ROW - 1);
		ctx.globalAlpha = this.matches && !matched ? 0.65 : 1;
		if (box.w >= TEXT_MIN)
			this.paintName(this.name(label), box.x, y, box.w, matched ? '#1d2530' : css.text);
		ctx.globalAlpha = 1;
	}

	restName(cnt) {
		return `… ${plural(cnt, 'narrow frame')}`;
	}

	paintName(text, x, y, w, colour) {
		const { ctx } = this, room = w - 9;
		let width = this.textWidths.get(text);

		if (width === undefined) {
			width = ctx.measureText(text.length > 300 ? text.slice(0, 300) : text).width;
			this.textWidths.set(text, width);
		}
		if (width > room) {
			let keep = Math.floor(Math.min(text.length, 300) * room / width) - 1;

			while (keep > 0 && ctx.measureText(text.slice(0, keep) + '…').width > room)
				keep--;
			if (keep < 1)
				return;
			text = text.slice(0, keep) + '…';
		}
		ctx.fillStyle = colour;
		ctx.fillText(text, x + 4, y + ROW / 2 + 0.5);
	}

	outline(node, top, thickness) {
		const found = node === null ? null : this.boxOf(node);

		if (!found)
			return;
		const { ctx } = this, { box, row } = found, inset = thickness / 2;

		ctx.strokeStyle = thickness > 1 ? this.css.accent : this.css.text;
		ctx.lineWidth = thickness;
		ctx.strokeRect(box.x + inset, row * ROW - top + inset,
			Math.max(1, box.w - thickness), ROW - 1 - thickness);
	}

	zoomDepth() {
		let depth = 0;

		for (let n = this.zoom; n > 0; n = this.view.parent[n])
			depth++;
		return depth;
	}

	depthOf(node) {
		let depth = 0;

		for (; node > 0; node = this.view.parent[node])
			depth++;
		return depth;
	}

	boxOf(node) {
		const row = this.depthOf(node), box = this.rows[row]?.find((b) => b.node === node);

		return box ? { box, row } : null;
	}

	boxAt(x, y) {
		const row = Math.floor((y + $('scroller').scrollTop) / ROW), boxes = this.rows[row] || [];
		let low = 0, high = boxes.length - 1;

		while (low < high) {
			const middle = (low + high + 1) >> 1;

			if (boxes[middle].x <= x)
				low = middle;
			else
				high = middle - 1;
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
				this.matches[l] = pattern.test(this.searchText(l)) ? 1 : 0;
			const sum = this.tree.matched(this.matches);

			$('matched').value = this.diff ?
				`${percent(sum.a, this.tree.a[0])} → ${percent(sum.b, this.tree.b[0])}` :
				`${percent(sum.a, this.tree.a[0])} matched`;
			report.matched = sum.a + sum.b;
		}
		this.paint();
	}

	/* "function (file:line)" */
	searchText(label) {
		const where = this.where(label), name = this.model.str(this.tree.labelFunc[label]);

		return where ? `${name} (${where})` : name;
	}

	/* ---- zoom and movement ---- */

	/* from: leave out so many of the node's children, the widest, to see the narrow ones. */
	zoomTo(node, from = 0) {
		if (node < 0 || node === null || !this.view.width[node])
			return;
		this.zoom = node;
		this.from = from;
		this.selected = node;
		this.hover = null;
		this.layout();
		$('scroller').scrollTop = Math.min($('scroller').scrollTop, this.zoomDepth() * ROW);
		this.paint();
		this.showCrumbs();
		this.showStatus();
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
			const next = siblings[siblings.indexOf(node) + (key === 'ArrowRight' ? 1 : -1)];

			node = next !== undefined && view.width[next] ? next : node;
		}
		this.selected = node;
		/* Out of sight below the zoomed frame or too narrow to see: go there. */
		if (!this.boxOf(node))
			this.zoomTo(Math.max(0, view.parent[node]));
		if (!this.boxOf(node))
			this.zoomTo(node);
		this.selected = node;
		this.reveal(this.depthOf(node));
		this.paint();
		this.showStatus();
	}

	reveal(row) {
		const s = $('scroller');

		if (row * ROW < s.scrollTop)
			s.scrollTop = row * ROW;
		else if ((row + 1) * ROW > s.scrollTop + s.clientHeight)
			s.scrollTop = (row + 1) * ROW - s.clientHeight;
	}

	/* ---- text around the picture ---- */

	weightText(n, whole) {
		const time = this.unit.time(n);

		return `${this.unit.text(n)}${time ? ` · ${time}` : ''} · ${percent(n, whole)}`;
	}

	showStatus() {
		const node = this.hover?.box.node >= 0 ? this.hover.box.node : this.selected ?? this.zoom;
		const { view } = this, label = view.label[node];
		const where = label < 0 ? '' : this.where(label);
		const total = this.diff ?
			`before ${this.weightText(view.a[node], view.a[0])}, after ${this.weightText(view.b[node], view.b[0])}` :
			`${this.unit.isSamples ? 'samples ' : ''}${this.weightText(view.a[node], view.a[0])}`;

		$('status').value = `${this.name(label)}${where ? ` (${where})` : ''}: ${total}`;
	}

	showCrumbs() {
		const chain = [];

		for (let n = this.zoom; n >= 0; n = this.view.parent[n])
			chain.push(n);
		const items = chain.reverse().map((n) => {
			const name = this.name(this.view.label[n]), here = n === this.zoom && !this.from;

			return el('li', null, el('button', { title: name, onclick: () => this.zoomTo(n),
				'aria-current': here ? 'true' : null }, name));
		});

		if (this.from) {
			const { zoom, from } = this, name = this.restName(this.view.kids(zoom).length - from);

			items.push(el('li', null, el('button', { title: name, 'aria-current': 'true',
				onclick: () => this.zoomTo(zoom, from) }, name)));
		}
		$('crumbs').firstElementChild.replaceChildren(...items);
	}

	showTip(x, y) {
		const tip = $('tip'), { hover, view } = this;

		tip.hidden = !hover;
		if (!hover)
			return;
		if (hover.box.node === REST) {
			tip.replaceChildren(el('div', { className: 'where' },
				`${plural(hover.box.cnt, 'frame')} too narrow to draw: click to see them`));
		} else {
			const node = hover.box.node, label = view.label[node];

			tip.replaceChildren(el('div', { className: 'name' }, this.name(label)),
				el('div', { className: 'where mono' }, this.where(label)),
				this.diff ? this.tipDiff(node) : this.tipTable(node));
		}
		const box = tip.getBoundingClientRect();

		tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
		tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
	}

	tipTable(node) {
		const { view } = this, parent = view.parent[node], all = view.a[0];
		const row = (name, n, whole) => el('tr', null, el('th', null, name),
			el('td', null, this.unit.text(n)), el('td', null, percent(n, whole)),
			el('td', null, this.unit.time(n) || ''));

		return el('table', null, row(this.inverted && parent >= 0 ? 'in this stack' : 'total',
			view.a[node], all),
			!this.inverted || parent === 0 ? row('self', view.selfA[node], all) : null,
			parent > 0 ? row(this.inverted ? 'of the function it calls' : 'of its caller',
				view.a[node], view.a[parent]) : null);
	}

	tipDiff(node) {
		const { view } = this;
		const row = (name, n, whole) => el('tr', null, el('th', null, name),
			el('td', null, this.unit.text(n)), el('td', null, percent(n, whole)));
		const delta = view.b[node] - view.a[node] * this.scaleA;

		return el('table', null, row('before', view.a[node], view.a[0]),
			row('after', view.b[node], view.b[0]),
			el('tr', null, el('th', null, this.shares ? 'change of share' : 'change'),
				el('td', { className: delta > 0 ? 'up' : 'down' }, this.deltaText(delta))));
	}

	deltaText(delta) {
		const sign = delta > 0 ? '+' : delta < 0 ? '−' : '±';

		if (this.shares)
			return `${sign}${percent(Math.abs(delta), this.view.b[0])}`;
		return sign + this.unit.text(Math.abs(delta));
	}

	/* ---- the table ---- */

	tableRows() {
		const f = this.tree.functions(), rows = [];

		for (let l = 0; l < this.tree.labelCnt; l++) {
			if (!f.a[l] && !f.b[l])
				continue;
			rows.push({ label: l, selfA: f.selfA[l], selfB: f.selfB[l], a: f.a[l], b: f.b[l],
				self: this.diff ? f.selfB[l] - f.selfA[l] * this.scaleA : f.selfA[l],
				total: this.diff ? f.b[l] - f.a[l] * this.scaleA : f.a[l] });
		}
		return rows;
	}

	showTable() {
		if ($('side').hidden)
			return;
		const { key, down } = this.sort, sign = down ? 1 : -1;
		const size = this.diff ? Math.abs : (v) => v;
		const rows = this.tableRows();

		if (key === 'name')
			rows.sort((x, y) => sign * (this.name(x.label) < this.name(y.label) ? -1 : 1));
		else
			rows.sort((x, y) => sign * (size(y[key]) - size(x[key])) ||
				size(y.total) - size(x.total) || x.label - y.label);
		const shown = this.matches ? rows.filter((r) => this.matches[r.label]) : rows;

		this.table = shown;
		this.showHead();
		$('side').querySelector('tbody').replaceChildren(
			...shown.slice(0, TABLE_ROWS).map((r) => this.tableRow(r)));
		$('more').hidden = shown.length <= TABLE_ROWS;
		$('more').textContent = `and ${count(shown.length - TABLE_ROWS)} more; search to see them`;
	}

	showHead() {
		const titles = this.diff ? { self: 'Self ±', total: 'Total ±' } : { self: 'Self', total: 'Total' };

		titles.name = this.byFunction ? 'Function' : 'Line';
		$('side').querySelector('thead tr').replaceChildren(...Object.entries(titles).map(([key, title]) =>
			el('th', { scope: 'col', className: key === 'name' ? '' : 'number',
				'aria-sort': this.sort.key === key ? this.sort.down ? 'descending' : 'ascending' : null },
			el('button', { onclick: () => {
				this.sort = { key, down: this.sort.key === key ? !this.sort.down : true };
				this.showTable();
			} }, title + (this.sort.key === key ? this.sort.down ? ' ↓' : ' ↑' : '')))));
	}

	tableRow(r) {
		const where = this.where(r.label), all = this.tree.a[0];
		const swatch = el('span', { className: 'swatch' });
		const number = (n) => this.diff ?
			el('td', { className: `number ${n > 0 ? 'up' : n < 0 ? 'down' : ''}` }, this.deltaText(n)) :
			el('td', { className: 'number' }, percent(n, all), el('small', null, this.unit.text(n)));

		swatch.style.background = this.diff ? this.changeColour(this.change(r.a, r.b)) :
			this.colour(r.label);
		return el('tr', null, number(r.self), number(r.total), el('td', null,
			el('button', { title: `${this.name(r.label)}\n${where}`, onclick: () => this.find(r.label) },
				swatch, this.name(r.label), el('small', null, ending(where, 46)))));
	}

	/* Search for exactly this function; a second time: no more. */
	find(label) {
		const exact = `^${this.searchText(label).replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`;

		$('search').value = $('search').value === exact ? '' : exact;
		this.search($('search').value);
		for (const tr of $('side').querySelectorAll('tbody tr'))
			tr.removeAttribute('aria-current');
		if (this.matches) {
			const at = this.table.findIndex((r) => r.label === label);

			$('side').querySelectorAll('tbody tr')[at]?.setAttribute('aria-current', 'true');
		}
	}
}

/* The end of a path, from a slash on if there is one, in at most so many characters. */
function ending(path, room) {
	if (path.length <= room)
		return path;
	const tail = path.slice(1 - room), slash = tail.indexOf('/');

	return `…${slash > 0 ? tail.slice(slash) : tail}`;
}

/* ---- controls ---- */

function selectionControls(graph) {
	const { model } = graph, weights = new Float64Array(model.threadCnt);
	let all = 0xff, any = 0;

	for (let g = 0; g < model.groupCnt; g++) {
		weights[model.groupThread[g]] += model.groupWeight[g];
		all &= model.groupStatus[g];
		any |= model.groupStatus[g];
	}
	/* A bit that all samples have, or none, selects nothing. */
	$('statuses').replaceChildren(...STATUSES.filter(([bit]) => any & ~all & bit).map(([bit, name]) =>
		statusButton(graph, bit, name)));
	$('threads-button').hidden = model.threadCnt < 2;
	threadList(graph, weights);
}

/* any → with → without → any */
function statusButton(graph, bit, name) {
	const state = el('span', { className: 'hidden' }, ': with or without');
	const button = el('button', { 'data-state': 'any', 'data-bit': bit, title: `Samples with or without: ${name}`,
		onclick: () => {
			const next = { any: 'with', with: 'without', without: 'any' }[button.dataset.state];

			button.dataset.state = next;
			state.className = next === 'any' ? 'hidden' : 'state';
			state.textContent = next === 'any' ? ': with or without' : `: ${next}`;
			graph.need = graph.need & ~bit | (next === 'with' ? bit : 0);
			graph.avoid = graph.avoid & ~bit | (next === 'without' ? bit : 0);
			graph.reweigh();
		} }, name, state);

	return button;
}

function threadList(graph, weights) {
	const { model } = graph, list = $('thread-list'), ps = model.meta.processes;
	const byProcess = ps.map(() => []);
	let boxes = [];

	for (let t = 0; t < model.threadCnt; t++)
		byProcess[model.process[t]]?.push(t);
	const sum = (threads) => threads.reduce((s, t) => s + weights[t], 0);
	const order = ps.map((_, i) => i).filter((i) => byProcess[i].length);

	order.sort((x, y) => sum(byProcess[y]) - sum(byProcess[x]));
	byProcess.forEach((threads) => threads.sort((x, y) => weights[y] - weights[x]));
	const interps = new Set(model.interp).size > 1;
	const threadName = (t) => `thread ${model.tid[t]}${interps ? `, interpreter ${model.interp[t]}` : ''}`;

	function refresh() {
		boxes.forEach(([box, threads]) => {
			const on = threads.filter((t) => graph.threads[t]).length;

			box.checked = on === threads.length;
			box.indeterminate = on > 0 && on < threads.length;
		});
		const on = graph.threads.reduce((s, v) => s + v, 0);

		$('threads-button').textContent = on === model.threadCnt ? 'Threads' :
			`Threads: ${count(on)} of ${count(model.threadCnt)}`;
		graph.reweigh();
	}

	function row(kind, name, threads) {
		const box = el('input', { type: 'checkbox', onchange: () => {
			threads.forEach((t) => graph.threads[t] = box.checked ? 1 : 0);
			refresh();
		} });

		boxes.push([box, threads]);
		return el('li', { className: kind }, el('label', null, box, el('span', { className: 'name' }, name),
			el('span', { className: 'count' }, graph.unit.text(sum(threads)))));
	}

	function build() {
		const filter = $('thread-filter').value.toLowerCase(), rows = [];

		boxes = [];
		for (const i of order) {
			const name = processName(ps[i]), own = byProcess[i];
			const wanted = name.toLowerCase().includes(filter) ? own :
				own.filter((t) => threadName(t).includes(filter));

			if (!wanted.length || rows.length > THREAD_ROWS)
				continue;
			if (order.length > 1 || ps[i].comm || ps[i].pid)
				rows.push(row('process', printable(name), own));
			rows.push(...wanted.slice(0, THREAD_ROWS).map((t) => row('thread', threadName(t), [t])));
		}
		list.replaceChildren(...rows);
	}
	$('thread-filter').addEventListener('input', () => { build(); refresh(); });
	$('threads-all').addEventListener('click', () => { graph.threads.fill(1); refresh(); });
	$('threads-none').addEventListener('click', () => { graph.threads.fill(0); refresh(); });
	build();
	boxes.forEach(([box]) => box.checked = true);
}

function openThreads(open) {
	const button = $('threads-button'), panel = $('threads'), at = button.getBoundingClientRect();

	panel.hidden = !open;
	button.setAttribute('aria-expanded', open);
	if (open) {
		panel.style.top = `${at.bottom + 6}px`;
		panel.style.left = `${Math.max(8, Math.min(at.left, innerWidth - panel.offsetWidth - 8))}px`;
		$('thread-filter').focus();
	}
}

function press(on, off) {
	$(on).setAttribute('aria-pressed', 'true');
	$(off).setAttribute('aria-pressed', 'false');
}

function viewControls(graph) {
	const invert = (inverted) => {
		graph.inverted = inverted;
		press(inverted ? 'bottom-up' : 'top-down', inverted ? 'top-down' : 'bottom-up');
		$('scroller').scrollTop = 0;
		graph.review();
	};
	const detail = (byFunction) => {
		graph.byFunction = byFunction;
		press(byFunction ? 'functions' : 'lines', byFunction ? 'lines' : 'functions');
		graph.colours.clear();
		graph.reweigh();
	};
	const table = () => {
		$('side').hidden = !$('side').hidden;
		$('table-button').setAttribute('aria-pressed', !$('side').hidden);
		graph.showTable();
		graph.layout();
	};

	$('top-down').addEventListener('click', () => invert(false));
	$('bottom-up').addEventListener('click', () => invert(true));
	$('functions').addEventListener('click', () => detail(true));
	$('lines').addEventListener('click', () => detail(false));
	$('table-button').addEventListener('click', table);
	$('threads-button').addEventListener('click', () => openThreads($('threads').hidden));
	$('colour').addEventListener('change', (e) => {
		graph.colourBy = e.target.value;
		graph.colours.clear();
		graph.paint();
		graph.showTable();
	});
	$('width-of').addEventListener('change', (e) => {
		graph.widthOf = e.target.value;
		graph.rewiden();
	});
	$('scale').addEventListener('change', (e) => {
		graph.shares = e.target.value === 'shares';
		graph.rewiden();
	});
	let waiting = 0;

	$('search').addEventListener('input', () => {
		clearTimeout(waiting);
		waiting = setTimeout(() => {
			graph.search($('search').value);
			graph.showTable();
		}, graph.tree.cnt > 50000 ? 150 : 0);
	});
	return { invert: () => invert(!graph.inverted), detail: () => detail(!graph.byFunction), table };
}

function mouse(graph) {
	const { canvas } = graph;
	const find = (e) => {
		const at = canvas.getBoundingClientRect();

		return graph.boxAt(e.clientX - at.left, e.clientY - at.top);
	};

	canvas.addEventListener('mousemove', (e) => {
		const found = find(e), changed = found?.box !== graph.hover?.box;

		graph.hover = found;
		graph.showTip(e.clientX, e.clientY);
		if (changed) {
			graph.paint();
			graph.showStatus();
		}
	});
	canvas.addEventListener('mouseleave', () => {
		graph.hover = null;
		graph.showTip();
		graph.paint();
		graph.showStatus();
	});
	canvas.addEventListener('click', (e) => {
		const found = find(e);

		if (found?.box.node === REST)
			graph.zoomTo(found.box.parent, found.box.first);
		else if (found)
			graph.zoomTo(found.box.node);
		graph.showTip();
	});
	$('scroller').addEventListener('scroll', () => {
		graph.hover = null;
		graph.showTip();
		graph.paint();
	});
	document.addEventListener('pointerdown', (e) => {
		if (!$('threads').hidden && !$('threads').contains(e.target) && e.target !== $('threads-button'))
			openThreads(false);
	});
	new ResizeObserver(() => graph.layout()).observe($('scroller'));
}

/* Esc: the nearest thing that can be left. */
function escape(graph) {
	if (!$('threads').hidden) {
		openThreads(false);
		$('threads-button').focus();
	} else if ($('search').value) {
		$('search').value = '';
		graph.search('');
		graph.showTable();
		graph.canvas.focus();
	} else if (isTyping()) {
		graph.canvas.focus();
	} else {
		graph.zoomTo(0);
	}
}

function keyboard(graph, view, help) {
	const keys = {
		'/': () => { $('search').focus(); $('search').select(); },
		'i': view.invert, 'l': view.detail, 't': view.table, 'd': () => theme.toggle(), '?': help,
	};

	document.addEventListener('keydown', (e) => {
		const active = document.activeElement;

		if (e.ctrlKey || e.metaKey || e.altKey || $('help').open)
			return;
		if (e.key === 'Escape') {
			e.preventDefault();
			escape(graph);
		} else if (isTyping() && active.type !== 'checkbox') {
			if (e.key === 'Enter' && active === $('search'))
				graph.canvas.focus();
		} else if (keys[e.key]) {
			e.preventDefault();
			keys[e.key]();
		} else if (active === graph.canvas || active === document.body) {
			canvasKey(graph, e);
		}
	});
}

function canvasKey(graph, e) {
	if (/^Arrow/.test(e.key))
		graph.move(e.key);
	else if (e.key === 'Enter')
		graph.zoomTo(graph.selected ?? graph.zoom);
	else if (e.key === 'Backspace')
		graph.zoomTo(graph.from ? graph.zoom : Math.max(0, graph.view.parent[graph.zoom]));
	else if (e.key === 'Home')
		graph.zoomTo(0);
	else
		return;
	e.preventDefault();
}

/* Samples whose stack was cut: a frame <truncated> of no file. */
function truncatedWeight(graph) {
	const { tree, model } = graph, matches = new Uint8Array(tree.labelCnt);

	for (let l = 0; l < tree.labelCnt; l++)
		matches[l] = model.str(tree.labelFunc[l]) === '<truncated>' && graph.fileName(l) === '~' ? 1 : 0;
	const sum = tree.matched(matches);

	return sum.a + sum.b;
}

function showMeta(graph) {
	const { model, tree, unit } = graph, truncated = truncatedWeight(graph);
	const total = graph.diff ? `${unit.text(tree.a[0])} → ${unit.text(tree.b[0])}` :
		unit.text(tree.a[0]);
	const title = graph.diff ? `${model.sides[0] || 'before'} → ${model.sides[1] || 'after'}` :
		model.meta.title || (model.meta.processes.length === 1 && model.meta.processes[0].comm) || 'Flame graph';

	$('title').textContent = printable(title);
	document.title = `${printable(title)} – tachbpf`;
	showFacts(model.meta, [[unit.name === 'samples' ? 'samples' : unit.name, total],
		truncated ? ['truncated stacks', unit.text(truncated), 'warn'] : null]);
	$('diff-controls').hidden = !graph.diff;
	$('colour-control').hidden = graph.diff;
}

function showLegend(graph) {
	if (!graph.diff)
		return;
	const ramp = el('span', { className: 'ramp' });
	const steps = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((c) => graph.changeColour(c));

	ramp.style.background = `linear-gradient(to right, ${steps.join(', ')})`;
	$('legend').replaceChildren('less', ramp, 'more after');
}

start((reader) => {
	const graph = new Graph(new Model(reader));

	if (innerWidth <= 800) {
		$('side').hidden = true;
		$('table-button').setAttribute('aria-pressed', 'false');
	}
	selectionControls(graph);
	const view = viewControls(graph);

	graph.reweigh();
	showMeta(graph);
	showLegend(graph);
	mouse(graph);
	keyboard(graph, view, startHelp());
	theme.listeners.push(() => {
		graph.colours.clear();
		graph.paint();
		graph.showTable();
		showLegend(graph);
	});
	report.graph = graph;
	graph.paintNow();
});
