/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the profile, as docs/format-flamegraph.md has it ---- */

class Model {
	constructor(r) {
		this.meta = r.json();
		this.str = r.strings();
		this.frameCnt = r.count();
		this.file = r.differences(this.frameCnt, Uint32Array);
		this.func = r.differences(this.frameCnt, Uint32Array);
		this.line = r.differences(this.frameCnt, Uint32Array);
		this.firstLine = r.column(this.frameCnt, Uint32Array); /* of the function */
		this.threadCnt = r.count();
		this.process = r.column(this.threadCnt, Uint32Array);
		this.interp = r.column(this.threadCnt, Uint32Array);
		this.tid = r.column(this.threadCnt, Float64Array);
		this.readNodes(r);
		this.readGroups(r);
		this.times = this.readTimes(r);
		this.opcodes = this.readOpcodes(r);
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

	/*
	 * When samples were taken: those of group g are in entries at[g] to at[g + 1] - 1, each with
	 * its bin (0: the first one of the page) and weight. null: it is not known.
	 */
	readTimes(r) {
		const width = r.varint();

		if (!width) return null;
		const first = r.varint(),
			n = r.count(),
			cnts = r.column(this.groupCnt, Uint32Array),
			at = new Uint32Array(this.groupCnt + 1);

		for (let g = 0; g < this.groupCnt; g++) at[g + 1] = at[g] + cnts[g];
		if (at[this.groupCnt] !== n) throw new RangeError('groups and their times differ');
		const bin = r.column(n, Float64Array),
			weight = new Float64Array(n);
		let most = 0;

		for (let g = 0; g < this.groupCnt; g++) {
			let sum = 0;

			for (let i = at[g]; i < at[g + 1]; i++) {
				sum += bin[i] % 2 ? -(bin[i] + 1) / 2 : bin[i] / 2;
				bin[i] = sum;
				most = Math.max(most, sum);
			}
		}
		for (let g = 0; g < this.groupCnt; g++) {
			let left = this.groupWeight[g];

			for (let i = at[g]; i < at[g + 1]; i++) {
				weight[i] = i + 1 < at[g + 1] ? r.varint() : left;
				left -= weight[i];
			}
		}
		return { width: width / 1e6, first, cnt: most + 1, at, bin, weight };
	}

	/* At which instructions samples were whose self a frame has; null: that is not recorded. */
	readOpcodes(r) {
		const n = r.count(),
			frame = r.column(n, Uint32Array),
			name = r.column(n, Uint32Array),
			weight = r.column(n, Float64Array);

		return n ? { frame, name, weight } : null;
	}

	/* By frame: the weight of all nodes that have it. */
	get frameWeights() {
		if (this.weightOf) return this.weightOf;
		const nodes = new Float64Array(this.nodeCnt);

		this.weightOf = new Float64Array(this.frameCnt);
		for (let g = 0; g < this.groupCnt; g++) nodes[this.groupNode[g]] += this.groupWeight[g];
		for (let n = this.nodeCnt - 1; n > 0; n--) {
			nodes[this.parent[n]] += nodes[n];
			this.weightOf[this.frame[n]] += nodes[n];
		}
		return this.weightOf;
	}

	/* The weights of the groups in the bins from..to - 1; without a range: of all time. */
	weightsIn(range) {
		if (!range || !this.times) return this.groupWeight;
		const { at, bin, weight } = this.times,
			out = new Float64Array(this.groupCnt);

		for (let g = 0; g < this.groupCnt; g++)
			for (let i = at[g]; i < at[g + 1]; i++)
				if (bin[i] >= range.from && bin[i] < range.to) out[g] += weight[i];
		return out;
	}
}
