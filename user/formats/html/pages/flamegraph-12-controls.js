/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- controls ---- */

/* The buttons show the state that the graph has. */
function showControls(graph) {
	const pressed = {
		'top-down': !graph.inverted && !graph.around.length,
		'bottom-up': graph.inverted && !graph.around.length,
		around: graph.around.length,
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
		set({ inverted, around: [] }, 'review');
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
		around: () => graph.toggleAround(),
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
	let isTouch = false;
	const find = (e) => {
		const at = canvas.getBoundingClientRect();

		return graph.boxAt(e.clientX - at.left, e.clientY - at.top);
	};

	canvas.addEventListener('pointermove', (e) => {
		if (e.pointerType === 'touch') return;
		const found = find(e),
			changed = found?.box !== graph.hover?.box;

		graph.hover = found;
		graph.showTip(e.clientX, e.clientY);
		if (changed) {
			graph.paint();
			graph.showStatus();
		}
	});
	canvas.addEventListener('pointerleave', () => {
		graph.hover = null;
		graph.showTip();
		graph.paint();
		graph.showStatus();
	});
	/* A click does not say it in every browser. */
	canvas.addEventListener('pointerdown', (e) => (isTouch = e.pointerType === 'touch'));
	canvas.addEventListener('click', (e) => {
		const found = find(e);

		if (found?.box.node === REST && !graph.isAround) graph.zoomTo(found.box.parent, found.box.first);
		else if (found && isTouch) graph.tap(found, e.clientX, e.clientY);
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
	small.addEventListener('change', () => graph.showCrumbs());
}

/* Esc: the nearest thing that can be left. */
function escape(graph) {
	if (!$('threads').hidden) {
		openThreads(false);
		$('threads-button').focus();
	} else if (!$('sheet').hidden) {
		graph.hideSheet();
	} else if ($('search').value) {
		$('search').value = '';
		graph.search('');
		graph.showTable();
		graph.canvas.focus();
	} else if (isTyping()) {
		graph.canvas.focus();
	} else if (graph.around.length) {
		graph.toggleAround();
	} else if (graph.zoom || !graph.time) {
		graph.zoomTo(0);
	} else {
		graph.timeline.clear();
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
		a: () => graph.toggleAround(),
		c: view.ownOnly,
		p: view.pythonOnly,
		m: view.memory,
		t: view.table,
		w: () => {
			if (!graph.timeline) return;
			openTimeline(true);
			graph.timeline.canvas.focus();
		},
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
	else if (e.key === 'Backspace' && graph.around.length) {
		graph.around.pop();
		graph.showAround();
	} else if (e.key === 'Backspace')
		graph.zoomTo(
			graph.from >= 0 ? graph.zoom : Math.max(0, graph.view.parent[graph.zoom]),
		);
	else if (e.key === 'Home') graph.zoomTo(0);
	else return;
	e.preventDefault();
}
