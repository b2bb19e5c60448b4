/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the waits, as docs/gil.md has them ---- */

const NOBODY = 'nobody seen with it';
const REST = -2; /* in place of a thread or line: those that have no row of their own */
const ROWS = 40; /* and columns; the others share one */

class Waits {
	constructor(r) {
		this.meta = r.json();
		this.str = r.strings();
		const n = r.count();

		this.file = r.column(n, Uint32Array);
		this.func = r.column(n, Uint32Array);
		this.line = r.column(n, Uint32Array);
		for (const p of this.meta.processes) p.cells = this.readCells(r);
	}

	/* Thread and place of a holder: -1: nobody was seen. */
	readCells(r) {
		const n = r.count(),
			holder = r.column(n, Float64Array),
			holderPlace = r.column(n, Float64Array),
			waiter = r.column(n, Float64Array),
			waiterPlace = r.column(n, Float64Array),
			waited = r.column(n, Float64Array);

		return Array.from({ length: n }, (_, i) => ({
			holder: holder[i] - 1,
			holderPlace: holderPlace[i] - 1,
			waiter: waiter[i],
			waiterPlace: waiterPlace[i],
			waited: waited[i],
		}));
	}

	placeName(place) {
		if (place < 0) return NOBODY;
		const line = this.line[place];

		return this.str(this.func[place]) + (line ? `:${line}` : '');
	}

	placeFile(place) {
		const file = place < 0 ? '~' : this.str(this.file[place]);

		return file === '~' ? '' : file + (this.line[place] ? `:${this.line[place]}` : '');
	}
}

/* Add up cells by a key: a Map, the longest wait first. */
function addUp(cells, keyOf) {
	const sums = new Map();

	for (const c of cells) sums.set(keyOf(c), (sums.get(keyOf(c)) || 0) + c.waited);
	return new Map([...sums].sort((x, y) => y[1] - x[1]));
}

/* The first keys of a map, and REST for the others. */
function firstKeys(sums) {
	const keys = [...sums.keys()];

	return keys.length > ROWS ? [...keys.slice(0, ROWS - 1), REST] : keys;
}
