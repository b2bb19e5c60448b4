/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- what is drawn: a tree of nodes, children widest first ---- */

class TopDown {
	constructor(tree) {
		Object.assign(this, {
			tree,
			width: tree.width,
			a: tree.a,
			b: tree.b,
			selfA: tree.selfA,
			selfB: tree.selfB,
			parent: tree.parent,
			label: tree.label,
		});
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
 * are shown. Each owns a range of `entries`, the stacks that end in it; a
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
			if (tree.selfA[i] || tree.selfB[i]) at.push(i);
		}
		this.leaf = Int32Array.from(at); /* where the stack ends */
		this.now = Int32Array.from(at); /* how far up it has been followed */
		this.start = [0];
		this.end = [at.length];
		this.a = [tree.a[0]];
		this.b = [tree.b[0]];
		this.width = [tree.width[0]];
		this.selfA = [0];
		this.selfB = [0];
		this.slot = new Int32Array(tree.labelCnt); /* by label: its new node */
	}

	kids(node) {
		return (this.made[node] ??= this.make(node));
	}

	/* The nodes of the tree in which the stacks of a node end. */
	ends(node) {
		return this.leaf.subarray(this.start[node], this.end[node]);
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
		const { tree, leaf, now, slot } = this,
			made = [];
		const from = this.start[node],
			to = this.end[node];
		const leaves = leaf.slice(from, to),
			at = now.slice(from, to);
		const owner = new Int32Array(to - from).fill(-1);

		for (let i = 0; i < at.length; i++) {
			/* The root's children are where the stacks end. */
			if (node) at[i] = tree.parent[at[i]];
			if (at[i] <= 0) continue;
			const l = tree.label[at[i]];

			if (!slot[l]) {
				slot[l] = this.add(node, l);
				made.push(slot[l]);
			}
			const child = (owner[i] = slot[l]),
				end = leaves[i];

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
			if (owner[i] < 0) continue;
			leaf[this.end[owner[i]]] = leaves[i];
			now[this.end[owner[i]]++] = at[i];
		}
		return made.sort((x, y) => this.width[y] - this.width[x] || x - y);
	}
}
