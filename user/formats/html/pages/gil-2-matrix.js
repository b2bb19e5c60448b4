/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the matrix, and what the two of a cell did ---- */

const SIDE_ROWS = 30;

class Matrix {
	constructor(waits) {
		this.waits = waits;
		this.by = 'threads';
		this.kept = false; /* the cell stays shown, wherever the mouse is */
		this.at = [0, 0]; /* row and column of the cell that is shown */
	}

	get process() {
		return this.waits.meta.processes[this.number];
	}

	seconds(n) {
		return (n * this.process.interval_us) / 1e6;
	}

	/* All in one unit, as tachbpf gil prints them. */
	figure(n) {
		return this.seconds(n).toFixed(3);
	}

	time(n) {
		return `${this.figure(n)} s`;
	}

	/* ---- names ---- */

	threadName(t) {
		if (t < 0) return t === REST ? 'others' : NOBODY;
		const { name, thread, main } = this.process.threads[t];

		return name ? `${printable(name)} (${thread})` : `${main ? 'main thread' : 'thread'} ${thread}`;
	}

	nameOf(key) {
		if (this.by === 'threads' || key < 0) return this.threadName(key);
		return this.waits.placeName(key);
	}

	/* ---- what is shown ---- */

	open(number) {
		const { processes } = this.waits.meta;

		this.number = Math.max(0, Math.min(number, processes.length - 1));
		this.kept = false;
		this.show();
	}

	show() {
		const { process } = this,
			byThread = this.by === 'threads',
			keys = byThread ? ['waiter', 'holder'] : ['waiterPlace', 'holderPlace'];

		$('process').value = String(this.number);
		$('by-threads').setAttribute('aria-pressed', byThread ? 'true' : 'false');
		$('by-lines').setAttribute('aria-pressed', byThread ? 'false' : 'true');
		this.showFacts();
		this.rowSums = addUp(process.cells, (c) => c[keys[0]]);
		this.columnSums = addUp(process.cells, (c) => c[keys[1]]);
		this.rows = firstKeys(this.rowSums);
		this.columns = firstKeys(this.columnSums);
		this.fill(keys);
		this.at = this.hottest();
		this.draw();
		this.select(...this.at);
	}

	showFacts() {
		const p = this.process,
			whole = this.seconds(p.waited),
			waiters = p.threads.filter((t) => t.waited).length;
		const held = p.holders_unknown ? 'not known' : `${p.utilisation_pct.toFixed(1)}% of the time`;

		showFacts({ processes: [p] }, [
			p.reason ? null : ['GIL held', held],
			p.reason
				? null
				: ['waited', `${seconds(+whole.toPrecision(4))} by ${waiters} of ${plural(p.thread_count, 'thread')}`],
			p.left_out ? ['left out', this.time(p.left_out), 'warn'] : null,
		]);
		const empty = p.reason || (p.cells.length ? p.holders_unknown || '' : 'No thread waited for the GIL.');

		$('empty').textContent = empty && `${empty[0].toUpperCase()}${empty.slice(1)}`;
		$('empty').hidden = !empty;
		$('grid').hidden = !p.cells.length;
		$('side').hidden = !p.cells.length;
	}

	/* cells[row][column]: the waits of it. */
	fill(keys) {
		const indexes = [this.rows, this.columns].map((list) => new Map(list.map((k, i) => [k, i])));
		const place = (i, key) => indexes[i].get(key) ?? list(i).length - 1,
			list = (i) => [this.rows, this.columns][i];

		this.cells = this.rows.map(() => this.columns.map(() => []));
		for (const c of this.process.cells)
			this.cells[place(0, c[keys[0]])][place(1, c[keys[1]])].push(c);
		this.sums = this.cells.map((row) =>
			row.map((cells) => cells.reduce((sum, c) => sum + c.waited, 0)),
		);
		this.most = this.sums.flat().reduce((m, v) => Math.max(m, v), 0);
	}

	hottest() {
		for (let row = 0; row < this.rows.length; row++) {
			const column = this.sums[row].indexOf(this.most);

			if (column >= 0) return [row, column];
		}
		return [0, 0];
	}

	colour(n, most = this.most) {
		const t = most ? Math.sqrt(n / most) : 0;

		return theme.dark
			? oklch(0.3 + 0.18 * t, 0.02 + 0.12 * t, 30)
			: oklch(0.96 - 0.2 * t, 0.015 + 0.13 * t, 35);
	}

	/* ---- drawing ---- */

	/* A row for each of this.rows, and one for the sums of columns. */
	draw() {
		const head = this.columns.map((key) =>
			el('th', { scope: 'col', title: this.title(key) }, el('span', null, middleCut(this.nameOf(key), 20))),
		);

		put(
			$('grid').querySelector('thead'),
				el(
					'tr',
					null,
					el('th', { className: 'corner', scope: 'col' }, el('span', null, 'seconds waited, while the GIL was held by →')),
					...head,
					el('th', { scope: 'col' }, el('span', null, 'waited for all')),
				),
			);
		const rows = this.rows.map((key, row) =>
			el(
				'tr',
				null,
				el(
					'th',
					{ scope: 'row', title: this.title(key) },
					middleCut(this.nameOf(key), small.matches ? 16 : 32),
					this.heldText(key),
				),
				...this.columns.map((_, column) => this.cell(row, column)),
				el('td', { className: 'sum' }, this.figure(this.sums[row].reduce((a, b) => a + b, 0))),
			),
		);
		const sums = this.columns.map((_, column) =>
			el('td', { className: 'sum' }, this.figure(this.sums.reduce((sum, row) => sum + row[column], 0))),
		);

		put(
			$('grid').querySelector('tbody'),
				...rows,
				el(
					'tr',
					null,
					el('th', { scope: 'row' }, 'total waits'),
					...sums,
					el(
						'td',
						{ className: 'sum' },
						this.figure(this.sums.flat().reduce((a, b) => a + b, 0)),
					),
				),
			);
	}

	title(key) {
		const file = this.by === 'lines' && key >= 0 ? `\n${this.waits.placeFile(key)}` : '';

		return this.nameOf(key) + file;
	}

	heldText(key) {
		if (this.by === 'lines') return el('small', null, ending(this.waits.placeFile(key), 30));
		const thread = this.process.threads[key];

		return thread && !this.process.holders_unknown
			? el('small', null, `held it ${this.time(thread.held)}`)
			: null;
	}

	cell(row, column) {
		const sum = this.sums[row][column];
		const td = el(
			'td',
			{
				tabindex: '-1',
				'data-cell': `${row} ${column}`,
				'aria-label': `${this.nameOf(this.rows[row])} waited ${sum ? this.time(sum) : 'not'} for ${this.nameOf(this.columns[column])}`,
				onmouseenter: () => this.kept || this.select(row, column),
				onfocus: () => this.kept || this.select(row, column),
				onclick: () => this.keep(row, column),
			},
			sum ? this.figure(sum) : '',
		);

		if (sum) td.style.background = this.colour(sum);
		return td;
	}

	cellAt(row, column) {
		return $('grid').querySelector(`[data-cell="${row} ${column}"]`);
	}

	/* A second time: follow the mouse again. */
	keep(row, column) {
		const [r, c] = this.at;

		this.kept = !(this.kept && r === row && c === column);
		this.select(row, column);
	}

	release() {
		this.kept = false;
		this.select(...this.at);
	}

	move(key) {
		const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key],
			inside = (v, list) => Math.max(0, Math.min(v, list.length - 1)),
			focused = document.activeElement?.dataset?.cell;

		if (!this.rows.length) return;
		this.kept = false;
		/* The first key only shows where one is. */
		const [row, column] = focused
			? [inside(this.at[0] + by[0], this.rows), inside(this.at[1] + by[1], this.columns)]
			: this.at;

		this.select(row, column);
		this.cellAt(row, column).focus();
	}

	select(row, column) {
		const grid = $('grid');

		this.at = [row, column];
		for (const td of grid.querySelectorAll('td[tabindex="0"], .kept')) {
			td.setAttribute('tabindex', '-1');
			td.classList.remove('kept');
		}
		for (const th of grid.querySelectorAll('.here')) th.classList.remove('here');
		const td = this.cellAt(row, column);

		if (!td) return;
		td.setAttribute('tabindex', '0');
		td.classList.toggle('kept', this.kept);
		grid.querySelectorAll('thead th')[column + 1].firstChild.classList.add('here');
		td.parentElement.firstChild.classList.add('here');
		this.showSide(row, column);
	}

	/* ---- what both did ---- */

	showSide(row, column) {
		const cells = this.cells[row][column],
			sum = this.sums[row][column],
			[waiter, holder] = [this.nameOf(this.rows[row]), this.nameOf(this.columns[column])],
			share = percent(sum, this.process.waited);

		$('status').value = sum
			? `${waiter} waited ${this.time(sum)} for ${holder}: ${share} of all waits`
			: `${waiter} did not wait for ${holder}`;
		const parts = sum ? this.sideParts(cells, waiter, holder) : [];

		put(
			$('side'),
			el('h2', null, `${waiter} waited for ${holder}`),
			el('p', null, sum ? `${this.time(sum)}, ${share} of all waits` : 'never'),
			...parts,
		);
	}

	sideParts(cells, waiter, holder) {
		const threads = (key) => [this.threadName.bind(this), () => '', (c) => c[key]],
			places = (key) => [(p) => this.waits.placeName(p), (p) => this.waits.placeFile(p), (c) => c[key]];
		const lists =
			this.by === 'threads'
				? [
						[`What ${holder} was doing meanwhile`, ...places('holderPlace')],
						[`Where ${waiter} waited`, ...places('waiterPlace')],
					]
				: [
						['Threads that held the GIL', ...threads('holder')],
						['Threads that waited', ...threads('waiter')],
					];

		return lists.flatMap(([title, name, where, keyOf]) =>
			this.list(title, addUp(cells, keyOf), name, where),
		);
	}

	list(title, sums, name, where) {
		const rows = [...sums].slice(0, SIDE_ROWS),
			most = rows[0][1],
			left = sums.size - rows.length;

		return [
			el('h3', null, title),
			el(
				'ol',
				null,
				...rows.map(([key, n]) => {
					const bar = el('i');

					bar.style.width = `${(n / most) * 100}%`;
					bar.style.background = this.colour(n, most);
					return el(
						'li',
						null,
						el(
							'div',
							{ className: 'line' },
							el('span', { className: 'name', title: name(key) }, name(key)),
							el('span', { className: 'number' }, this.time(n)),
							el('span', { className: 'where mono' }, where(key)),
						),
						el('span', { className: 'share' }, bar),
					);
				}),
				left ? el('li', null, `and ${count(left)} more`) : null,
			),
		];
	}
}
