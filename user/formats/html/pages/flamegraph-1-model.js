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
