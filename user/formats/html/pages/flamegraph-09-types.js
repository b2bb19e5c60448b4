/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the types of objects that grew: a card for each ---- */

/* In CSS pixels; the edge is room for the ends of a line. */
const CHART = { width: 96, height: 34, edge: 3 };

function svgEl(tag, props) {
	const e = document.createElementNS('http://www.w3.org/2000/svg', tag);

	for (const [key, value] of Object.entries(props)) e.setAttribute(key, value);
	return e;
}

/* A line through all counts in which the type is named. times: µs; bytes: null where it is not. */
function typeChart(times, bytes) {
	const { width, height, edge } = CHART,
		first = times[0],
		span = times.at(-1) - first || 1,
		most = Math.max(1, ...bytes),
		x = (t) => edge + ((t - first) / span) * (width - 2 * edge),
		y = (b) => height - edge - (b / most) * (height - 2 * edge);
	const points = bytes.flatMap((b, i) => (b === null ? [] : [`${x(times[i]).toFixed(1)} ${y(b).toFixed(1)}`])),
		svg = svgEl('svg', {
			width,
			height,
			viewBox: `0 0 ${width} ${height}`,
			role: 'img',
			'aria-label': `${plural(points.length, 'count')} in ${seconds(span / 1e6)}, at most ${scaled(most, SIZES)}`,
		});

	svg.append(
		svgEl('path', { class: 'axis', d: `M0 ${height - 0.5}H${width}` }),
		/* h.01: a single point is a dot. */
		svgEl('path', { class: points.length > 1 ? 'line' : 'line dot', d: `M${points.join('L')}h.01` }),
	);
	return svg;
}

const signed = (n, text) => `${n < 0 ? '−' : '+'}${text(Math.abs(n))}`;
const sizeText = (n) => scaled(n, SIZES);

function typeCard(type, types) {
	const span = (types.times_us.at(-1) - types.times_us[0]) / 1e6 || 1,
		minute = (n) => (n / span) * 60,
		error = type.bytes_error ? ` ± ${sizeText(Math.round(minute(type.bytes_error)))}` : '',
		now = sizeText(type.bytes.at(-1));

	return el(
		'li',
		null,
		el(
			'div',
			{ className: 'what' },
			el('b', null, printable(type.name)),
			el('div', null, `${signed(Math.round(minute(type.more_bytes)), sizeText)}/min${error}`),
			el(
				'div',
				{ className: 'quiet' },
				type.objects[0] === null
					? `few or none → ${now}, ${plural(type.objects[1], 'object')}`
					: `${sizeText(type.bytes[0])} → ${now}, ${count(type.objects[0])} → ${plural(type.objects[1], 'object')}`,
			),
		),
		typeChart(types.times_us, type.bytes),
	);
}

/*
 * Of the memory of one process that was counted at least twice. On small screens it is closed at
 * first; where there is no room for it, it is in the menu.
 */
function startTypes(graph) {
	const { types } = graph.model.meta;

	if (!types) return;
	const span = seconds(+((types.times_us.at(-1) - types.times_us[0]) / 1e6).toPrecision(3)),
		[first, ...others] = types.list,
		left = types.grown - types.list.length;

	put(
		$('types').firstElementChild,
		first ? `Objects that grew in ${span}: ` : `Objects: no type grew by more than the error of the counts in ${span}`,
		first ? el('b', null, printable(first.name)) : null,
		first ? ` by ${plural(first.more_objects, 'object')} (${sizeText(first.more_bytes)})` : null,
		others.length ? `, and ${plural(types.grown - 1, 'other type')}` : null,
	);
	put(
		$('types').lastElementChild,
		...types.list.map((t) => typeCard(t, types)),
		left > 0 ? el('li', { className: 'quiet' }, `and ${left} more`) : null,
	);
	const low = matchMedia('(max-height: 500px)'),
		place = () => {
			$('types').open = !small.matches;
			if (low.matches) $('bar').append($('types'));
			else document.querySelector('main').before($('types'));
		};

	place();
	for (const size of [small, low]) size.addEventListener('change', place);
	$('types').hidden = false;
}
