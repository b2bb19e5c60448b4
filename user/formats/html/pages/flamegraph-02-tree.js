/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the call tree that is shown ---- */

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

/* Processes, or those of one name (comm) or container, by thread: { names, of: index into names }. */
function processGroups(model, by) {
	const ids = new Map(),
		names = [],
		of = new Int32Array(model.threadCnt);

	for (let t = 0; t < model.threadCnt; t++) {
		const p = model.meta.processes[model.process[t]] || {},
			comm = p.comm || (p.pid ? `pid ${p.pid}` : 'process');
		const name = {
			process: p.comm && p.pid ? `${p.program || comm} (pid ${p.pid})` : comm,
			name: comm,
			container: p.container ? `@${p.container}` : 'host',
		}[by];
		const key = by === 'process' ? model.process[t] : name;

		if (!ids.has(key)) ids.set(key, names.push(printable(name)) - 1);
		of[t] = ids.get(key);
	}
	return { names, of };
}

/* Nodes by parent and label: one node for each pair. Node 0 is the root. */
class NodeTable {
	constructor(most) {
		this.slots = new Int32Array(2 ** Math.max(8, Math.ceil(Math.log2(most * 2))));
		this.parent = new Int32Array(most);
		this.label = new Int32Array(most);
		this.parent[0] = this.label[0] = -1;
		this.cnt = 1;
	}

	find(parent, label) {
		const { slots } = this,
			mask = slots.length - 1;
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(label, 0x85ebca77)) >>> 0;

		at = (at ^ (at >>> 15)) & mask;
		for (; slots[at]; at = (at + 1) & mask)
			if (this.parent[slots[at]] === parent && this.label[slots[at]] === label)
				return slots[at];
		this.parent[this.cnt] = parent;
		this.label[this.cnt] = label;
		return (slots[at] = this.cnt++);
	}
}

/*
 * A call tree in one detail: by line as it is in the data, or by function, with
 * the nodes that differ in lines only merged; pythonOnly: without frames of
 * machine code and of the kernel, whose weight is their caller's; ownOnly: also
 * without those of packages and of the standard library; groupBy: 'process', 'name'
 * or 'container' has a frame of its own below the root, '' has none. Its shape
 * never changes; weights are set for every selection. a and b: before and after
 * in a comparison, else a is all.
 */
class Tree {
	constructor(model, { byFunction, pythonOnly, ownOnly, groupBy }) {
		Object.assign(this, { model, byFunction, pythonOnly, ownOnly, groupBy });
		this.makeLabels();
		if (byFunction || pythonOnly || ownOnly || groupBy) this.merge();
		else
			Object.assign(this, {
				cnt: model.nodeCnt,
				parent: model.parent,
				at: model.groupNode,
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
		this.labelOwner = this.labelFile.map((file, l) =>
			this.labelKind[l] === 'python' ? ownerOf(m.str(file)) : '',
		);
		this.groupNames = []; /* of the labels behind these */
	}

	/* The file of a label; '~': it has none. */
	file(label) {
		return label < this.labelFile.length ? this.model.str(this.labelFile[label]) : '~';
	}

	func(label) {
		return label < this.labelFunc.length
			? this.model.str(this.labelFunc[label])
			: this.groupNames[label - this.labelFunc.length];
	}

	/* By label: { name of an opcode: weight }, of all samples whose self the label has. */
	get labelOpcodes() {
		const { opcodes: o, meta } = this.model;

		if (this.opcodesOf || !o) return this.opcodesOf ?? new Map();
		this.opcodesOf = new Map();
		o.frame.forEach((f, i) => {
			const l = this.labelOf[f],
				sums = this.opcodesOf.get(l) ?? new Map(),
				name = printable(meta.opcodes?.[o.name[i]] ?? '?');

			sums.set(name, (sums.get(name) || 0) + o.weight[i]);
			this.opcodesOf.set(l, sums);
		});
		return this.opcodesOf;
	}

	kind(label) {
		return this.labelKind[label] ?? 'group';
	}

	/* at: the node of this tree that each group of the data became. */
	merge() {
		const m = this.model,
			parts = this.groupBy
				? this.partsBy(processGroups(m, this.groupBy))
				: [{ nodes: null, groups: null, label: -1 }];
		const most = parts.reduce((sum, p) => sum + (p.nodes?.length ?? m.nodeCnt) + 1, 1);
		const table = new NodeTable(most),
			map = new Int32Array(m.nodeCnt);

		this.at = new Int32Array(m.groupCnt);
		for (const { nodes, groups, label } of parts) {
			map[0] = label < 0 ? 0 : table.find(0, label);
			this.mergeInto(table, map, nodes);
			const n = groups?.length ?? m.groupCnt;

			for (let i = 0; i < n; i++) {
				const g = groups ? groups[i] : i;

				this.at[g] = map[m.groupNode[g]];
			}
		}
		this.cnt = table.cnt;
		this.parent = table.parent.slice(0, table.cnt);
		this.label = table.label.slice(0, table.cnt);
	}

	/* For each name: its label, the groups of the data, and the nodes in their stacks, in order. */
	partsBy({ names, of }) {
		const m = this.model,
			parts = names.map((_, i) => ({
				nodes: [],
				groups: [],
				label: this.labelCnt + i,
			}));
		const seen = new Int32Array(m.nodeCnt).fill(-1);

		for (let g = 0; g < m.groupCnt; g++) parts[of[m.groupThread[g]]].groups.push(g);
		parts.forEach(({ nodes, groups }, i) => {
			for (const g of groups)
				for (let n = m.groupNode[g]; n > 0 && seen[n] !== i; n = m.parent[n]) {
					seen[n] = i;
					nodes.push(n);
				}
			nodes.sort((x, y) => x - y);
		});
		this.groupNames = names;
		this.labelCnt += names.length;
		return parts;
	}

	/* nodes: those to merge, parents first; null: all. map: the node that each one became. */
	mergeInto(table, map, nodes) {
		const m = this.model,
			n = nodes?.length ?? m.nodeCnt - 1;

		this.hidden ??= new Uint8Array(m.nodeCnt);
		for (let k = 0; k < n; k++) {
			const i = nodes ? nodes[k] : k + 1,
				l = this.labelOf[m.frame[i]],
				p = map[m.parent[i]];

			this.hidden[i] = this.hides(l, m.parent[i]) ? 1 : 0;
			map[i] = this.hidden[i] ? p : table.find(p, l);
		}
	}

	/* A detail of a function that is hidden, as <GC>, is hidden with it. */
	hides(label, parent) {
		const kind = this.labelKind[label];

		if (kind === 'native' || kind === 'kernel') return this.pythonOnly || this.ownOnly;
		if (!this.ownOnly) return false;
		return kind === 'synthetic'
			? this.hidden[parent] !== 0
			: this.labelOwner[label] !== 'own';
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

	/* weights: of the groups; those count that wanted(thread, status) is true for. */
	weigh(wanted, weights = this.model.groupWeight) {
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
			(isB[thread] ? selfB : selfA)[this.at[g]] += weights[g];
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
	 * root: only what is in this node; ends: only stacks that end where this is not 0.
	 */
	functions(root = 0, ends = null) {
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
		const { a, b } = ends ? this.totalsOf(ends) : this;

		this.preorder(root, (node, depth) => {
			const l = this.label[node],
				above = owners[depth - 2];

			while (path.length >= depth) onPath[path.pop()]--;
			path.push(l);
			owners.length = path.length - 1;
			owners.push(
				this.labelIsDetail[l] && above !== undefined && this.kind(above) !== 'group'
					? above
					: l,
			);
			if (!ends || ends[node]) {
				out.selfA[owners.at(-1)] += this.selfA[node];
				out.selfB[owners.at(-1)] += this.selfB[node];
			}
			if (!onPath[l]++) {
				out.a[l] += a[node];
				out.b[l] += b[node];
			}
		});
		return out;
	}

	totalsOf(ends) {
		const a = this.selfA.map((v, i) => (ends[i] ? v : 0)),
			b = this.selfB.map((v, i) => (ends[i] ? v : 0));

		for (let i = this.cnt - 1; i > 0; i--) {
			a[this.parent[i]] += a[i];
			b[this.parent[i]] += b[i];
		}
		return { a, b };
	}

	/* f(node, depth) for root, with depth 1, and all below it. Not for the root of the tree. */
	preorder(root, f) {
		const next = [this.first[root]],
			nodes = [root],
			above = root ? 1 : 0;

		if (root) f(root, 1);
		while (nodes.length) {
			const at = nodes.length - 1,
				k = next[at];

			if (k === this.first[nodes[at] + 1]) {
				nodes.pop();
				next.pop();
				continue;
			}
			next[at]++;
			f(this.kids[k], nodes.length + above);
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
