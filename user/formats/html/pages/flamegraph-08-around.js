/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- what is drawn around one function: who calls it, what it calls ---- */

/*
 * Node 0 is the function, merged over all stacks: its outermost frame in each of them, so that
 * a stack counts once. kids() of it and of nodes below it are what is called; callers() of
 * it, and kids() of nodes above it (up), are who calls.
 */
class Around {
	/* inside: by label, is it the function? There is one at least. */
	constructor(tree, inside) {
		const found = [],
			below = new Uint8Array(tree.cnt);

		Object.assign(this, { tree, inside });
		for (let n = 1; n < tree.cnt; n++) {
			const is = inside[tree.label[n]];

			if (is && !below[tree.parent[n]] && (tree.a[n] || tree.b[n])) found.push(n);
			below[n] = is || below[tree.parent[n]] ? 1 : 0;
		}
		this.below = below; /* by node of the tree: is it the function, or called by it? */
		for (const key of ['label', 'parent', 'up', 'a', 'b', 'width', 'selfA', 'selfB'])
			this[key] = [];
		this.made = [];
		this.entries = []; /* nodes of the tree: where a stack is now */
		this.origins = []; /* and which frame of the function it belongs to */
		this.slot = new Int32Array(tree.labelCnt);
		this.add(-1, inside.indexOf(1), 0);
		for (const n of found) this.count(0, n, n);
		this.first = this.make(0, true);
	}

	add(parent, label, up) {
		this.label.push(label);
		this.parent.push(parent);
		this.up.push(up);
		for (const key of ['a', 'b', 'width', 'selfA', 'selfB']) this[key].push(0);
		this.made.push(null);
		this.entries.push([]);
		this.origins.push([]);
		return this.label.length - 1;
	}

	count(node, now, origin) {
		const { tree } = this,
			from = this.up[node] ? origin : now;

		this.entries[node].push(now);
		this.origins[node].push(origin);
		this.a[node] += tree.a[from];
		this.b[node] += tree.b[from];
		this.width[node] += tree.width[from];
		if (this.up[node]) return;
		this.selfA[node] += tree.selfA[now];
		this.selfB[node] += tree.selfB[now];
	}

	kids(node) {
		return (this.made[node] ??= this.make(node, this.up[node] === 1));
	}

	callers() {
		return this.first;
	}

	siblings(node) {
		const parent = this.parent[node];

		return this.up[node] && parent === 0 ? this.first : this.kids(parent);
	}

	make(node, up) {
		const { tree, slot } = this,
			made = [];
		const put = (n, origin) => {
			const l = tree.label[n];

			if (!slot[l]) made.push((slot[l] = this.add(node, l, up ? 1 : 0)));
			this.count(slot[l], n, origin);
		};

		this.entries[node].forEach((n, i) => {
			const origin = this.origins[node][i];

			if (up && tree.parent[n] > 0) put(tree.parent[n], origin);
			for (let k = tree.first[n]; !up && k < tree.first[n + 1]; k++)
				if (tree.a[tree.kids[k]] || tree.b[tree.kids[k]]) put(tree.kids[k], origin);
		});
		for (const n of made) slot[this.label[n]] = 0;
		return made.sort((x, y) => this.width[y] - this.width[x] || x - y);
	}
}

/* A function by name and file, so that it is found in every detail and in a later recording. */
const functionCode = (file, func) => hashText(`${file}\n${func}`).toString(36);

Object.assign(Graph.prototype, {
	/* By label of the tree: is it the function? null: none is. */
	labelsOf(code) {
		const { tree } = this,
			inside = new Uint8Array(tree.labelCnt);

		for (let l = 0; l < tree.labelCnt; l++)
			if (tree.kind(l) !== 'group' && functionCode(tree.file(l), tree.func(l)) === code)
				inside[l] = 1;
		return inside.includes(1) ? inside : null;
	},

	/* Show who calls the function of a label and what it calls; it comes behind the former ones. */
	goAround(label) {
		if (label < 0 || this.tree.kind(label) === 'group') return;
		const code = functionCode(this.tree.file(label), this.tree.func(label));

		if (this.around.at(-1) !== code) this.around.push(code);
		this.showAround();
	},

	showAround() {
		showControls(this);
		this.review();
		$('scroller').scrollTop = this.centreRow() * ROW - $('scroller').clientHeight / 3;
		this.changed?.();
	},

	/* From the frame that is chosen, or the function with the most self; from there: back. */
	toggleAround() {
		const chosen = this.view.label[this.current()];

		if (this.around.length) {
			this.around = [];
			this.showAround();
		} else if (chosen >= 0 && this.tree.kind(chosen) !== 'group') {
			this.goAround(chosen);
		} else {
			const rows = this.tableRows().sort((x, y) => y.self - x.self);

			if (rows.length) this.goAround(rows[0].label);
		}
	},

	/* The row of the function in the middle. */
	centreRow() {
		return this.isAround ? this.rows.findIndex((row) => row[0].node === 0) : 0;
	},

	/* Callers above, from the outermost down, then the function, then what it calls. */
	layoutAround() {
		const { view } = this,
			scale = this.pixels / view.width[0],
			grow = (kids) => {
				const rows = [];
				let row = [];

				this.layoutKids({ x: 0, node: 0 }, scale, row, kids);
				for (; row.length; rows.push(row), row = rows.next) {
					rows.next = [];
					for (const box of row)
						if (box.node >= 0) this.layoutKids(box, scale, rows.next);
				}
				return rows;
			};

		if (!view.width[0]) {
			this.rows = [[{ node: 0, x: 0, w: this.pixels }]];
			return;
		}
		this.rows = [
			...grow(view.callers()).reverse(),
			[{ node: 0, x: 0, w: this.pixels }],
			...grow(view.kids(0)),
		];
	},

	/* Where an arrow key leads from a node. */
	nextAround(node, key) {
		const { view } = this,
			above = view.up[node] || (node === 0 && key === 'ArrowUp'),
			further = above ? 'ArrowUp' : 'ArrowDown';

		if (key === further) return (node ? view.kids(node) : above ? view.callers() : view.kids(0))[0];
		if (/Up|Down/.test(key)) return view.parent[node];
		if (!node) return undefined;
		const siblings = view.siblings(node);

		return siblings[siblings.indexOf(node) + (key === 'ArrowRight' ? 1 : -1)];
	},
});
