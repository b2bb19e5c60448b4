/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the view's state in the page's address, after the #: a link shows the same view ---- */

const LINK_DEPTH = 4096; /* frames of a path that are read */

/* A frame of a path: by its name and place, so that a link also fits a later recording. */
const frameCode = (graph, label) => hashText(graph.searchText(label)).toString(36);

/* The threads that are selected, six a character. Only a page with as many threads can read it. */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

function threadsToText(threads) {
	let text = `${threads.length}.`;

	for (let t = 0; t < threads.length; t += 6) {
		let digit = 0;

		for (let i = 0; i < 6; i++) digit |= (threads[t + i] || 0) << i;
		text += DIGITS[digit];
	}
	return text;
}

function threadsFromText(text, threads) {
	const [cnt, digits] = text.split('.');

	if (+cnt !== threads.length || digits?.length !== Math.ceil(threads.length / 6)) return;
	for (let t = 0; t < threads.length; t++)
		threads[t] = (DIGITS.indexOf(digits[Math.floor(t / 6)]) >> (t % 6)) & 1;
}

/* What a link can hold. write: its text, '' for what the page begins with; read: the contrary. */
function linkParts(graph, begin) {
	const flag = (name) => ({
		write: () => (graph[name] === begin[name] ? '' : '1'),
		read: (text) => (graph[name] = text === '1' ? !begin[name] : begin[name]),
	});
	const choice = (name, id) => ({
		write: () => (graph[name] === begin[name] ? '' : graph[name] || 'none'),
		read: (text) => {
			const known = [...$(id).options].some((o) => o.value === (text === 'none' ? '' : text) && !o.hidden);

			graph[name] = known && text ? text.replace('none', '') : begin[name];
		},
	});
	const bits = (name) => ({
		write: () => (graph[name] === begin[name] ? '' : String(graph[name])),
		read: (text) => (graph[name] = /^\d{1,3}$/.test(text) ? +text & 0xff : begin[name]),
	});

	return {
		up: flag('inverted'),
		lines: flag('byFunction'),
		around: {
			write: () => graph.around.at(-1) ?? '',
			read: (text) => (graph.around = /^[0-9a-z]{1,13}$/.test(text) ? [text] : []),
		},
		python: flag('pythonOnly'),
		own: flag('ownOnly'),
		names: flag('namesOnly'),
		counts: flag('shares'),
		group: choice('groupBy', 'group'),
		colour: choice('colourBy', 'colour'),
		width: choice('widthOf', 'width-of'),
		need: bits('need'),
		avoid: bits('avoid'),
		threads: {
			write: () => (graph.threads.every(Boolean) ? '' : threadsToText(graph.threads)),
			read: (text) => {
				graph.threads.fill(1);
				threadsFromText(text, graph.threads);
			},
		},
		time: {
			/* In µs since the first sample, so that it fits other bins, too. */
			write: () =>
				graph.time
					? [graph.time.from, graph.time.to]
							.map((bin) => Math.round(bin * graph.model.times.width * 1e6))
							.join('-')
					: '',
			read: (text) => {
				const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(text) || [],
					{ times } = graph.model,
					bins = [from, to].map((us) => Math.round(us / 1e6 / (times?.width || 1)));

				graph.time =
					graph.timeline && bins[0] < Math.min(bins[1], times.cnt)
						? { from: bins[0], to: Math.min(bins[1], times.cnt) }
						: null;
			},
		},
		sort: {
			write: () =>
				graph.sort.key === 'self' && graph.sort.down
					? ''
					: graph.sort.key + (graph.sort.down ? '' : '-up'),
			read: (text) => {
				const [, key, up] = /^(self|total|name)(-up)?$/.exec(text) || [0, 'self'];

				graph.sort = { key, down: !up };
			},
		},
		search: {
			write: () => $('search').value,
			read: (text) => ($('search').value = text),
		},
	};
}

function zoomToText(graph) {
	return graph
		.pathOf(graph.zoom)
		.map((label) => frameCode(graph, label))
		.join('.');
}

/* As far as the path is found. */
function zoomFromText(graph, text) {
	const { view } = graph;
	let node = 0;

	for (const code of text ? text.split('.', LINK_DEPTH) : []) {
		const kid = Array.from(view.kids(node)).find(
			(k) => view.width[k] && frameCode(graph, view.label[k]) === code,
		);

		if (kid === undefined) break;
		node = kid;
	}
	graph.zoomTo(node);
}

/* Read the address now and whenever it changes, and keep it up to date. */
function startLink(graph) {
	const names = 'inverted byFunction pythonOnly ownOnly namesOnly shares groupBy colourBy widthOf need avoid',
		begin = Object.fromEntries(names.split(' ').map((name) => [name, graph[name]])),
		parts = linkParts(graph, begin);
	let waiting = 0;

	const write = () => {
		const params = new URLSearchParams();

		for (const [name, part] of Object.entries(parts))
			if (part.write()) params.set(name, part.write());
		if (graph.zoom) params.set('zoom', zoomToText(graph));
		const text = String(params);

		if (text !== location.hash.slice(1))
			/* Absolute: in a frame with srcdoc, relative addresses are those of the page around it. */
			history.replaceState(null, '', location.href.split('#')[0] + (text ? `#${text}` : ''));
	};
	const read = () => {
		const params = new URLSearchParams(location.hash.slice(1));

		for (const [name, part] of Object.entries(parts)) part.read(params.get(name) ?? '');
		graph.colours.clear();
		showControls(graph);
		graph.timeline?.refresh();
		graph.reweigh();
		zoomFromText(graph, params.get('zoom') ?? '');
		showLegend(graph);
	};

	if (location.hash.length > 1) read();
	addEventListener('hashchange', read);
	graph.changed = () => {
		clearTimeout(waiting);
		waiting = setTimeout(write, 100);
	};
}
