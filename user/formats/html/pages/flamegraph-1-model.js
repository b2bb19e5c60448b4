/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the profile, as docs/format-flamegraph.md has it ---- */

class Model {
	constructor(r) {
		this.meta = r.json();
		this.str = r.strings();
		this.frameCnt = r.count();
		this.file = r.column(this.frameCnt, Uint32Array);
		this.func = r.column(this.frameCnt, Uint32Array);
		this.line = r.column(this.frameCnt, Uint32Array);
		this.firstLine = r.column(this.frameCnt, Uint32Array); /* of the function */
		this.threadCnt = r.count();
		this.process = r.column(this.threadCnt, Uint32Array);
		this.interp = r.column(this.threadCnt, Uint32Array);
		this.tid = r.column(this.threadCnt, Float64Array);
		this.readNodes(r);
		this.readGroups(r);
		this.sides = this.meta.sides || null;
		for (const p of this.meta.processes)
			p.side_name = this.sides
				? this.sides[p.side] || ['before', 'after'][p.side]
				: null;
	}

	readNodes(r) {
		const n = r.count(),
			pops = r.column(n, Uint32Array),
			frames = r.column(n, Uint32Array);
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
		for (let i = 1; i < n; i++) this.groupNode[i] += this.groupNode[i - 1];
	}
}

/* How the names of details of the function below begin: user/model/self_frame.c. */
const DETAILS =
	/^<(GC>|native>|blocked in |exception |kernel |waiting for |unwound no further)/;

/* What a frame is, as its names tell: user/model/frame_names.c. */
function kindOf(file, func, line) {
	if (/^\[[^\]/]+\]( .|$)/.test(file) && (!line || file.at(-1) !== ']')) return 'native';
	if (file !== '~' || line) return 'python';
	if (func.startsWith('<kernel ')) return 'kernel';
	return func.startsWith('<native>') || func.startsWith('0x') ? 'native' : 'synthetic';
}

/*
 * A call tree in one detail: by line as it is in the data, or by function, with
 * the nodes that differ in lines only merged; pythonOnly: without frames of
 * machine code and of the kernel, whose weight is their caller's. Its shape
 * never changes; weights are set for every selection. a and b: before and after
 * in a comparison, else a is all.
 */
class Tree {
	constructor(model, byFunction, pythonOnly) {
		this.model = model;
		this.byFunction = byFunction;
		this.pythonOnly = pythonOnly;
		this.makeLabels();
		if (byFunction || pythonOnly) this.merge();
		else
			Object.assign(this, {
				cnt: model.nodeCnt,
				parent: model.parent,
				map: null,
				label: model.frame,
			});
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
		const m = this.model,
			ids = new Map();

		this.labelOf = new Int32Array(m.frameCnt);
		this.labelFile = [];
		this.labelFunc = [];
		this.labelLine = [];
		for (let f = 0; f < m.frameCnt; f++) {
			const key = m.file[f] * 4294967296 + m.func[f];
			const line = (this.byFunction && m.firstLine[f]) || m.line[f];
			let id = this.byFunction ? ids.get(key) : undefined;

			if (id === undefined) {
				id = this.labelFile.length;
				ids.set(key, id);
				this.labelFile.push(m.file[f]);
				this.labelFunc.push(m.func[f]);
				this.labelLine.push(line);
			} else if (line && (!this.labelLine[id] || line < this.labelLine[id])) {
				this.labelLine[id] = line;
			}
			this.labelOf[f] = id;
		}
		this.labelCnt = this.labelFile.length;
		this.labelIsDetail = this.labelFile.map(
			(file, l) => m.str(file) === '~' && DETAILS.test(m.str(this.labelFunc[l])),
		);
		this.labelKind = this.labelFile.map((file, l) =>
			kindOf(m.str(file), m.str(this.labelFunc[l]), this.labelLine[l]),
		);
	}

	/* map: the node of this tree that each node of the data became. */
	merge() {
		const m = this.model,
			bits = Math.max(8, Math.ceil(Math.log2(m.nodeCnt * 2)));
		const slots = new Int32Array(2 ** bits),
			mask = 2 ** bits - 1;
		const parent = new Int32Array(m.nodeCnt),
			label = new Int32Array(m.nodeCnt);
		let cnt = 1;

		this.map = new Int32Array(m.nodeCnt);
		parent[0] = label[0] = -1;
		for (let i = 1; i < m.nodeCnt; i++) {
			const p = this.map[m.parent[i]],
				l = this.labelOf[m.frame[i]];

			if (this.pythonOnly && /native|kernel/.test(this.labelKind[l])) {
				this.map[i] = p;
				continue;
			}
			let at = (Math.imul(p, 0x9e3779b1) ^ Math.imul(l, 0x85ebca77)) >>> 0;

			at = (at ^ (at >>> 15)) & mask;
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
		const first = new Int32Array(this.cnt + 1),
			at = new Int32Array(this.cnt);

		for (let i = 1; i < this.cnt; i++) first[this.parent[i] + 1]++;
		for (let i = 0; i < this.cnt; i++) first[i + 1] += first[i];
		at.set(first.subarray(0, this.cnt));
		this.kids = new Int32Array(Math.max(0, this.cnt - 1));
		for (let i = 1; i < this.cnt; i++) this.kids[at[this.parent[i]]++] = i;
		this.first = first;
	}

	/* Weights of the groups that wanted(thread, status) is true for. */
	weigh(wanted) {
		const m = this.model,
			ps = m.meta.processes,
			{ selfA, selfB } = this;
		const isB = Uint8Array.from({ length: m.threadCnt }, (_, t) =>
			m.sides && ps[m.process[t]]?.side === 1 ? 1 : 0,
		);

		selfA.fill(0);
		selfB.fill(0);
		for (let g = 0; g < m.groupCnt; g++) {
			const thread = m.groupThread[g];

			if (!wanted(thread, m.groupStatus[g])) continue;
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

	/*
	 * Self and total of each label; a stack counts once, however often the label is in it. The
	 * self of a detail is that of the function below it; without one, that of the root.
	 */
	functions() {
		const n = this.labelCnt,
			onPath = new Int32Array(n),
			path = [],
			owners = []; /* by depth: the label that has the self of stacks ending there */
		const out = {
			selfA: new Float64Array(n),
			selfB: new Float64Array(n),
			a: new Float64Array(n),
			b: new Float64Array(n),
		};

		this.preorder((node, depth) => {
			const l = this.label[node];

			while (path.length >= depth) onPath[path.pop()]--;
			path.push(l);
			owners.length = path.length - 1;
			owners.push(owners.length && this.labelIsDetail[l] ? owners.at(-1) : l);
			out.selfA[owners.at(-1)] += this.selfA[node];
			out.selfB[owners.at(-1)] += this.selfB[node];
			if (!onPath[l]++) {
				out.a[l] += this.a[node];
				out.b[l] += this.b[node];
			}
		});
		return out;
	}

	/* f(node, depth) for every node but the root; its children have depth 1. */
	preorder(f) {
		const next = [this.first[0]],
			nodes = [0];

		while (nodes.length) {
			const at = nodes.length - 1,
				k = next[at];

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
