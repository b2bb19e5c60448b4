/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- controls ---- */

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
	$('statuses').replaceChildren(
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
	const interps = new Set(model.interp).size > 1;
	const threadName = (t) => {
		const tid = model.tid[t],
			name = ps[model.process[t]]?.thread_names?.[tid],
			interp = interps ? `, interpreter ${model.interp[t]}` : '';

		return (name ? `${printable(name)} (tid ${tid})` : `thread ${tid}`) + interp;
	};

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

	const threadRow = (t) => row('thread', threadName(t), [t], main[t] ? 'main' : null);

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
				: own.filter((t) => threadName(t).toLowerCase().includes(filter));

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
		list.replaceChildren(...rows);
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
		panel.style.top = `${at.bottom + 6}px`;
		panel.style.left = `${Math.max(8, Math.min(at.left, innerWidth - panel.offsetWidth - 8))}px`;
		$('thread-filter').focus();
	}
}

/* The buttons show the state that the graph has. */
function showControls(graph) {
	const pressed = {
		'top-down': !graph.inverted,
		'bottom-up': graph.inverted,
		functions: graph.byFunction,
		lines: !graph.byFunction,
		'names-button': graph.namesOnly,
		'own-button': graph.ownOnly,
		'python-button': graph.pythonOnly,
		held: graph.need & HELD,
		touched: !(graph.need & HELD),
		'table-button': !$('side').hidden,
	};

	for (const [id, on] of Object.entries(pressed))
		$(id).setAttribute('aria-pressed', on ? 'true' : 'false');
	for (const button of $('statuses').children) showStatusButton(graph, button);
	$('group').value = graph.groupBy;
	$('colour').value = graph.colourBy;
	$('width-of').value = graph.widthOf;
	$('scale').value = graph.shares ? 'shares' : 'counts';
	graph.showThreads();
}

function viewControls(graph) {
	/* Change the graph's state, then show it: reweigh, or only review. */
	const set = (state, show = 'reweigh') => {
		Object.assign(graph, state);
		graph.colours.clear();
		showControls(graph);
		graph[show]();
	};
	const invert = (inverted) => {
		$('scroller').scrollTop = 0;
		set({ inverted }, 'review');
	};
	const detail = (byFunction) => set({ byFunction });
	const pythonOnly = () => $('python-button').hidden || set({ pythonOnly: !graph.pythonOnly });
	const ownOnly = () => $('own-button').hidden || set({ ownOnly: !graph.ownOnly });
	const memory = (held) => {
		if (!graph.held) return;
		set({ need: held ? graph.need | HELD : graph.need & ~HELD });
		showMeta(graph);
	};
	const table = () => {
		$('side').hidden = !$('side').hidden;
		showControls(graph);
		graph.showTable();
		graph.layout();
	};
	const search = () => {
		graph.search($('search').value);
		graph.showTable();
	};
	const namesOnly = () => {
		graph.namesOnly = !graph.namesOnly;
		showControls(graph);
		search();
	};
	const clicks = {
		'top-down': () => invert(false),
		'bottom-up': () => invert(true),
		functions: () => detail(true),
		lines: () => detail(false),
		'names-button': namesOnly,
		'own-button': ownOnly,
		'python-button': pythonOnly,
		held: () => memory(true),
		touched: () => memory(false),
		'table-button': table,
		'threads-button': () => openThreads($('threads').hidden),
		'save-button': () => graph.saveSvg(),
	};
	const changes = {
		colour: (colourBy) => {
			set({ colourBy }, 'review');
			showLegend(graph);
		},
		group: (groupBy) => set({ groupBy }),
		'width-of': (widthOf) => set({ widthOf }, 'rewiden'),
		scale: (scale) => set({ shares: scale === 'shares' }, 'rewiden'),
	};
	let waiting = 0;

	for (const [id, f] of Object.entries(clicks)) $(id).addEventListener('click', () => f());
	for (const [id, f] of Object.entries(changes))
		$(id).addEventListener('change', (e) => f(e.target.value));
	$('search').addEventListener('input', () => {
		clearTimeout(waiting);
		waiting = setTimeout(search, graph.tree.cnt > 50000 ? 150 : 0);
	});
	return {
		invert: () => invert(!graph.inverted),
		detail: () => detail(!graph.byFunction),
		namesOnly,
		ownOnly,
		pythonOnly,
		memory: () => memory(!(graph.need & HELD)),
		table,
	};
}

function mouse(graph) {
	const { canvas } = graph;
	const find = (e) => {
		const at = canvas.getBoundingClientRect();

		return graph.boxAt(e.clientX - at.left, e.clientY - at.top);
	};

	canvas.addEventListener('mousemove', (e) => {
		const found = find(e),
			changed = found?.box !== graph.hover?.box;

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

		if (found?.box.node === REST) graph.zoomTo(found.box.parent, found.box.first);
		else if (found) graph.zoomTo(found.box.node);
		graph.showTip();
	});
	$('scroller').addEventListener('scroll', () => {
		graph.hover = null;
		graph.showTip();
		graph.paint();
	});
	document.addEventListener('pointerdown', (e) => {
		if (
			!$('threads').hidden &&
			!$('threads').contains(e.target) &&
			e.target !== $('threads-button')
		)
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
		'/': () => {
			$('search').focus();
			$('search').select();
		},
		i: view.invert,
		l: view.detail,
		f: view.namesOnly,
		c: view.ownOnly,
		p: view.pythonOnly,
		m: view.memory,
		t: view.table,
		s: () => graph.saveSvg(),
		y: () => graph.copyStack(),
		d: () => theme.toggle(),
		'?': help,
	};

	document.addEventListener('keydown', (e) => {
		const active = document.activeElement;

		if (e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
		if (e.key === 'Escape') {
			e.preventDefault();
			escape(graph);
		} else if (isTyping() && active.type !== 'checkbox') {
			if (e.key === 'Enter' && active === $('search')) graph.canvas.focus();
		} else if (keys[e.key]) {
			e.preventDefault();
			keys[e.key]();
		} else if (active === graph.canvas || active === document.body) {
			canvasKey(graph, e);
		}
	});
}

function canvasKey(graph, e) {
	if (/^Arrow/.test(e.key)) graph.move(e.key);
	else if (e.key === 'Enter') graph.zoomTo(graph.selected ?? graph.zoom);
	else if (e.key === 'Backspace')
		graph.zoomTo(
			graph.from >= 0 ? graph.zoom : Math.max(0, graph.view.parent[graph.zoom]),
		);
	else if (e.key === 'Home') graph.zoomTo(0);
	else return;
	e.preventDefault();
}

/* Samples whose stack was cut: a frame <truncated> of no file. */
function truncatedWeight(graph) {
	const { tree } = graph,
		matches = new Uint8Array(tree.labelCnt);

	for (let l = 0; l < tree.labelCnt; l++)
		matches[l] =
			tree.func(l) === '<truncated>' && graph.fileName(l) === '~'
				? 1
				: 0;
	const sum = tree.matched(matches);

	return sum.a + sum.b;
}

/* What the two sides are called: the ends of their paths, if these differ. */
function sideNames(model) {
	const paths = [model.sides[0] || 'before', model.sides[1] || 'after'],
		ends = paths.map((p) => p.replace(/\/+$/, '').split('/').at(-1));

	return ends[0] && ends[1] && ends[0] !== ends[1] ? ends : paths;
}

function titleOf(model) {
	const { title, processes } = model.meta;

	if (model.sides) return sideNames(model).join(' → ');
	return title || (processes.length === 1 && processes[0].comm) || 'Flame graph';
}

function showMeta(graph) {
	const { model, tree, unit } = graph,
		truncated = truncatedWeight(graph);
	const total = graph.diff
		? `${unit.text(tree.a[0])} → ${unit.text(tree.b[0])}`
		: unit.text(tree.a[0]);
	const title = titleOf(model);

	$('title').textContent = printable(title);
	document.title = `${printable(title)} – tachbpf`;
	showFacts(model.meta, [
		[unit.name === 'samples' ? 'samples' : unit.name, total],
		truncated ? ['truncated stacks', unit.text(truncated), 'warn'] : null,
	]);
	$('diff-controls').hidden = !graph.diff;
	$('colour-control').hidden = graph.diff;
	$('held-controls').hidden = !graph.held;
}

/* What there is to leave out or to group by. With machine code, frames have the colour of their kind. */
function contentControls(graph) {
	const kinds = new Set(graph.tree.labelKind),
		owners = new Set(graph.tree.labelOwner),
		native = kinds.has('native') || kinds.has('kernel');

	$('own-button').hidden = !owners.has('own') || !(native || owners.has('package') || owners.has('standard'));
	for (const option of $('group').options)
		option.hidden =
			option.value !== '' && processGroups(graph.model, option.value).names.length < 2;
	$('group-control').hidden = [...$('group').options].every((o) => o.hidden || !o.value);
	$('python-button').hidden = !native;
	if (native) graph.colourBy = 'kind';
	graph.colours.clear();
}

function showKinds(graph) {
	const names = { python: 'Python', native: 'machine code', kernel: 'kernel' };
	const swatches = Object.entries(names).map(([kind, name]) => {
		const swatch = el('span', { className: 'swatch' });

		swatch.style.background = graph.kindColour(kind, '');
		return el('span', null, swatch, name);
	});

	$('legend').replaceChildren(...swatches);
}

function showLegend(graph) {
	if (!graph.diff && graph.colourBy === 'kind') {
		showKinds(graph);
		return;
	}
	$('legend').replaceChildren();
	if (!graph.diff) return;
	const ramp = el('span', { className: 'ramp' });
	const steps = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((c) => graph.changeColour(c));

	ramp.style.background = `linear-gradient(to right, ${steps.join(', ')})`;
	$('legend').replaceChildren('less', ramp, 'more after');
}

start((reader) => {
	const graph = new Graph(new Model(reader));

	if (innerWidth <= 800) {
		$('side').hidden = true;
	}
	selectionControls(graph);
	const view = viewControls(graph);

	graph.reweigh();
	contentControls(graph);
	showControls(graph);
	startLink(graph);
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
