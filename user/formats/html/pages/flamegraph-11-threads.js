/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- controls of what is selected: statuses, processes, threads ---- */

function selectionControls(graph) {
	const { model } = graph,
		weights = new Float64Array(model.threadCnt);
	let all = 0xff,
		any = 0;

	for (let g = 0; g < model.groupCnt; g++) {
		weights[model.groupThread[g]] += model.groupWeight[g];
		all &= model.groupStatus[g];
		any |= model.groupStatus[g];
	}
	/* A bit that all samples have, or none, selects nothing. */
	put(
		$('statuses'),
		...STATUSES.filter(([bit]) => any & ~all & bit).map(([bit, name]) =>
			statusButton(graph, bit, name),
		),
	);
	$('threads-button').hidden = model.threadCnt < 2;
	threadList(graph, weights);
}

/* any → with → without → any */
function statusButton(graph, bit, name) {
	const button = el(
		'button',
		{
			'data-bit': bit,
			title: `Samples with or without: ${name}`,
			onclick: () => {
				const next = { any: 'with', with: 'without', without: 'any' }[
					button.dataset.state
				];

				graph.need = (graph.need & ~bit) | (next === 'with' ? bit : 0);
				graph.avoid = (graph.avoid & ~bit) | (next === 'without' ? bit : 0);
				showStatusButton(graph, button);
				graph.reweigh();
			},
		},
		name,
		el('span', null),
	);

	showStatusButton(graph, button);
	return button;
}

function showStatusButton(graph, button) {
	const bit = +button.dataset.bit,
		state = graph.need & bit ? 'with' : graph.avoid & bit ? 'without' : 'any',
		text = button.lastElementChild;

	button.dataset.state = state;
	text.className = state === 'any' ? 'hidden' : 'state';
	text.textContent = state === 'any' ? ': with or without' : `: ${state}`;
}

/* By thread: has it a sample as the main thread of its interpreter? */
function mainThreads(model) {
	const main = new Uint8Array(model.threadCnt);

	for (let g = 0; g < model.groupCnt; g++)
		if (model.groupStatus[g] & MAIN_THREAD) main[model.groupThread[g]] = 1;
	return main;
}

/* '': it has none, or it is not known. */
const threadName = (model, t) =>
	printable(model.meta.processes[model.process[t]]?.thread_names?.[model.tid[t]] ?? '');

/* "worker (tid 12)", "thread 12" */
function threadLabel(model, t) {
	const tid = model.tid[t],
		name = threadName(model, t),
		interps = (model.interpCnt ??= new Set(model.interp).size),
		interp = interps > 1 ? `, interpreter ${model.interp[t]}` : '';

	return (name ? `${name} (tid ${tid})` : `thread ${tid}`) + interp;
}

function threadList(graph, weights) {
	const { model } = graph,
		list = $('thread-list'),
		ps = model.meta.processes;
	const byProcess = ps.map(() => []),
		main = mainThreads(model),
		unfolded = new Set(); /* processes of which more threads are shown */
	let boxes = [];

	for (let t = 0; t < model.threadCnt; t++) byProcess[model.process[t]]?.push(t);
	const sum = (threads) => threads.reduce((s, t) => s + weights[t], 0);
	const order = ps.map((_, i) => i).filter((i) => byProcess[i].length);

	order.sort((x, y) => sum(byProcess[y]) - sum(byProcess[x]));
	byProcess.forEach((threads) => threads.sort((x, y) => weights[y] - weights[x]));
	const labelOf = (t) => threadLabel(model, t);

	function showBoxes() {
		boxes.forEach(([box, threads]) => {
			const on = threads.filter((t) => graph.threads[t]).length;

			box.checked = on === threads.length;
			box.indeterminate = on > 0 && on < threads.length;
		});
		const on = graph.threads.reduce((s, v) => s + v, 0);

		$('threads-button').textContent =
			on === model.threadCnt
				? 'Threads'
				: `Threads: ${count(on)} of ${count(model.threadCnt)}`;
		graph.timeline?.paint();
	}

	function refresh() {
		showBoxes();
		graph.reweigh();
	}

	function row(kind, name, threads, mark) {
		const box = el('input', {
			type: 'checkbox',
			onchange: () => {
				threads.forEach((t) => (graph.threads[t] = box.checked ? 1 : 0));
				refresh();
			},
		});

		boxes.push([box, threads]);
		return el(
			'li',
			{ className: kind },
			el(
				'label',
				null,
				box,
				el('span', { className: 'name' }, name),
				mark ? el('span', { className: 'mark' }, mark) : null,
				el('span', { className: 'count' }, graph.unit.text(sum(threads))),
			),
		);
	}

	const threadRow = (t) => row('thread', labelOf(t), [t], main[t] ? 'main' : null);

	/* The busiest threads; the main thread is always among them. */
	function threadRows(i, wanted) {
		const cnt = unfolded.has(i) ? THREAD_ROWS_MORE : THREAD_ROWS,
			shown = wanted.slice(0, cnt),
			rest = wanted.length - shown.length,
			hidden = wanted.slice(cnt).find((t) => main[t]);

		if (hidden !== undefined) shown[cnt - 1] = hidden;
		const rows = shown.map(threadRow);

		if (rest > 0) rows.push(moreRow(i, rest, cnt === THREAD_ROWS));
		return rows;
	}

	function moreRow(i, rest, canUnfold) {
		const text = `and ${count(rest)} more`;
		const unfold = () => {
			unfolded.add(i);
			build();
			refresh();
			$('thread-filter').focus();
		};

		return el(
			'li',
			{ className: 'more' },
			canUnfold ? el('button', { onclick: unfold }, text) : `${text}; filter to see them`,
		);
	}

	function build() {
		const filter = $('thread-filter').value.toLowerCase(),
			rows = [];
		let shown = 0,
			left = 0;

		boxes = [];
		for (const i of order) {
			const name = processName(ps[i]),
				own = byProcess[i];
			const wanted = name.toLowerCase().includes(filter)
				? own
				: own.filter((t) => labelOf(t).toLowerCase().includes(filter));

			if (!wanted.length) continue;
			if (shown === PROCESS_ROWS) {
				left++;
				continue;
			}
			shown++;
			if (order.length > 1 || ps[i].comm || ps[i].pid)
				rows.push(row('process', printable(name), own));
			rows.push(...threadRows(i, wanted));
		}
		if (left)
			rows.push(
				el(
					'li',
					{ className: 'more' },
					`and ${count(left)} more processes; filter to see them`,
				),
			);
		put(list, ...rows);
	}
	$('thread-filter').addEventListener('input', () => {
		build();
		refresh();
	});
	$('threads-all').addEventListener('click', () => {
		graph.threads.fill(1);
		refresh();
	});
	$('threads-none').addEventListener('click', () => {
		graph.threads.fill(0);
		refresh();
	});
	build();
	boxes.forEach(([box]) => (box.checked = true));
	graph.showThreads = showBoxes;
}

function openThreads(open) {
	const button = $('threads-button'),
		panel = $('threads'),
		at = button.getBoundingClientRect();

	panel.hidden = !open;
	button.setAttribute('aria-expanded', open);
	if (open) {
		panel.style.top = `${small.matches ? 8 : at.bottom + 6}px`;
		panel.style.left = `${Math.max(8, Math.min(at.left, innerWidth - panel.offsetWidth - 8))}px`;
		$('thread-filter').focus();
	}
}
