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
	const state = el('span', { className: 'hidden' }, ': with or without');
	const button = el(
		'button',
		{
			'data-state': 'any',
			'data-bit': bit,
			title: `Samples with or without: ${name}`,
			onclick: () => {
				const next = { any: 'with', with: 'without', without: 'any' }[
					button.dataset.state
				];

				button.dataset.state = next;
				state.className = next === 'any' ? 'hidden' : 'state';
				state.textContent =
					next === 'any' ? ': with or without' : `: ${next}`;
				graph.need = (graph.need & ~bit) | (next === 'with' ? bit : 0);
				graph.avoid = (graph.avoid & ~bit) | (next === 'without' ? bit : 0);
				graph.reweigh();
			},
		},
		name,
		state,
	);

	return button;
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

	function refresh() {
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

function press(on, off) {
	$(on).setAttribute('aria-pressed', 'true');
	$(off).setAttribute('aria-pressed', 'false');
}

function viewControls(graph) {
	const invert = (inverted) => {
		graph.inverted = inverted;
		press(inverted ? 'bottom-up' : 'top-down', inverted ? 'top-down' : 'bottom-up');
		$('scroller').scrollTop = 0;
		graph.review();
	};
	const detail = (byFunction) => {
		graph.byFunction = byFunction;
		press(byFunction ? 'functions' : 'lines', byFunction ? 'lines' : 'functions');
		graph.colours.clear();
		graph.reweigh();
	};
	const pythonOnly = () => {
		if ($('python-button').hidden) return;
		graph.pythonOnly = !graph.pythonOnly;
		$('python-button').setAttribute('aria-pressed', graph.pythonOnly);
		graph.reweigh();
	};
	const memory = (held) => {
		if (!graph.held) return;
		graph.need = held ? graph.need | HELD : graph.need & ~HELD;
		press(held ? 'held' : 'touched', held ? 'touched' : 'held');
		graph.reweigh();
		showMeta(graph);
	};
	const table = () => {
		$('side').hidden = !$('side').hidden;
		$('table-button').setAttribute('aria-pressed', !$('side').hidden);
		graph.showTable();
		graph.layout();
	};

	$('top-down').addEventListener('click', () => invert(false));
	$('bottom-up').addEventListener('click', () => invert(true));
	$('functions').addEventListener('click', () => detail(true));
	$('lines').addEventListener('click', () => detail(false));
	$('python-button').addEventListener('click', pythonOnly);
	$('held').addEventListener('click', () => memory(true));
	$('touched').addEventListener('click', () => memory(false));
	$('table-button').addEventListener('click', table);
	$('threads-button').addEventListener('click', () => openThreads($('threads').hidden));
	$('colour').addEventListener('change', (e) => {
		graph.colourBy = e.target.value;
		graph.colours.clear();
		graph.paint();
		graph.showTable();
		showLegend(graph);
	});
	$('width-of').addEventListener('change', (e) => {
		graph.widthOf = e.target.value;
		graph.rewiden();
	});
	$('scale').addEventListener('change', (e) => {
		graph.shares = e.target.value === 'shares';
		graph.rewiden();
	});
	let waiting = 0;

	$('search').addEventListener('input', () => {
		clearTimeout(waiting);
		waiting = setTimeout(
			() => {
				graph.search($('search').value);
				graph.showTable();
			},
			graph.tree.cnt > 50000 ? 150 : 0,
		);
	});
	return {
		invert: () => invert(!graph.inverted),
		detail: () => detail(!graph.byFunction),
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
		p: view.pythonOnly,
		m: view.memory,
		t: view.table,
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
	const { tree, model } = graph,
		matches = new Uint8Array(tree.labelCnt);

	for (let l = 0; l < tree.labelCnt; l++)
		matches[l] =
			model.str(tree.labelFunc[l]) === '<truncated>' && graph.fileName(l) === '~'
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

function showMeta(graph) {
	const { model, tree, unit } = graph,
		truncated = truncatedWeight(graph);
	const total = graph.diff
		? `${unit.text(tree.a[0])} → ${unit.text(tree.b[0])}`
		: unit.text(tree.a[0]);
	const title = graph.diff
		? sideNames(model).join(' → ')
		: model.meta.title ||
			(model.meta.processes.length === 1 && model.meta.processes[0].comm) ||
			'Flame graph';

	$('title').textContent = printable(title);
	document.title = `${printable(title)} – tachbpf`;
	showFacts(model.meta, [
		[unit.name === 'samples' ? 'samples' : unit.name, total],
		truncated ? ['truncated stacks', unit.text(truncated), 'warn'] : null,
	]);
	$('diff-controls').hidden = !graph.diff;
	$('colour-control').hidden = graph.diff;
	$('held-controls').hidden = !graph.held;
	$('scale').value = graph.shares ? 'shares' : 'counts';
}

/* What there is besides Python: then frames have the colour of their kind. */
function kindControls(graph) {
	const kinds = new Set(graph.tree.labelKind);

	if (!kinds.has('native') && !kinds.has('kernel')) return;
	$('python-button').hidden = false;
	graph.colourBy = $('colour').value = 'kind';
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
		$('table-button').setAttribute('aria-pressed', 'false');
	}
	selectionControls(graph);
	const view = viewControls(graph);

	graph.reweigh();
	kindControls(graph);
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
