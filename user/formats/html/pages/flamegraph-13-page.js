/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- what the page says of its profile, and its start ---- */

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

/* Of held memory: which share is no longer what was made there at first. */
function reusedText(model) {
	const held = model.meta.processes.map((p) => p.held).filter(Boolean),
		sum = (name) => held.reduce((all, h) => all + (h[name] || 0), 0),
		pages = sum('pages'),
		share = sum('gone') / (sum('own') + sum('gone'));

	return pages >= 4 && share >= 0 ? `${(100 * share).toFixed(0)}% of ${pages} pages that were looked at` : null;
}

function showMeta(graph) {
	const { model, tree, unit } = graph,
		truncated = truncatedWeight(graph),
		reused = graph.diff ? null : reusedText(model);
	const total = graph.diff
		? `${unit.text(tree.a[0])} → ${unit.text(tree.b[0])}`
		: unit.text(tree.a[0]);
	const title = titleOf(model);

	$('title').textContent = printable(title);
	document.title = `${printable(title)} – tachbpf`;
	showFacts(model.meta, [
		[graph.held ? (graph.need & HELD ? 'held at the end' : 'touched') : unit.name, total],
		reused ? ['reused', reused] : null,
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

	$('own-button').hidden = !owners.has('own') || !(native || ['package', 'standard', 'other'].some((o) => owners.has(o)));
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

	put($('legend'), ...swatches);
}

function showLegend(graph) {
	if (!graph.diff && graph.colourBy === 'kind') {
		showKinds(graph);
		return;
	}
	put($('legend'), );
	if (!graph.diff) return;
	const ramp = el('span', { className: 'ramp' });
	const steps = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((c) => graph.changeColour(c));

	ramp.style.background = `linear-gradient(to right, ${steps.join(', ')})`;
	put($('legend'), 'less', ramp, 'more after');
}

start((reader) => {
	const graph = new Graph(new Model(reader));

	$('side').hidden = small.matches;
	selectionControls(graph);
	const view = viewControls(graph);

	graph.reweigh();
	contentControls(graph);
	showControls(graph);
	startTimeline(graph);
	startTypes(graph);
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
