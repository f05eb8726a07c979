// SPDX-License-Identifier: Apache-2.0
// The time line: stacked areas, what was lost or not recorded, starts of JVMs, and the marks.

const PALETTE = ['#4c78c8', '#e0883a', '#4fa36b', '#c9535b', '#8c6bb8', '#9a7b5f', '#d678a8', '#7c828c',
  '#b5a73c', '#45a6b5', '#6f8f3a', '#b06a3a'];
const OTHERS_COLOR = '#9a9aa4';
const STARTS_SHOWN = 5;
const LABEL_SPACE = 70; // pixels between the times below: of 17:36:30, and some

let line = null; // the answer that is drawn
let plot = null;
let columns = null; // of the answer: names, values, colours, lowest first
let brush = null; // while the pointer is down: { from, to, isBase }

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// light-dark() is for style sheets; a canvas wants the colour.
function ink(name) {
  const probe = document.createElement('span');
  probe.style.color = css(name);
  document.body.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

const labelOf = (name) => (name === NO_LABEL ? `no ${state.by}` : name);
const isSeen = ({ values }) => values.some((value) => value > 0);

// Series of nothing but zeros are left out, as most are for one method.
function columnsOf(answer) {
  const all = answer.series.map((series, i) =>
    ({ name: series.name, label: labelOf(series.name),
      values: series.values, color: PALETTE[i % PALETTE.length] }));
  if (answer.others.count)
    all.push({ label: `${answer.others.count} others`, values: answer.others.values,
      color: OTHERS_COLOR, isOthers: true });
  const seen = all.filter(isSeen);
  return seen.length ? seen : all.slice(0, 1);
}

// Tops of the areas, the highest first: each is painted over the one before.
function stacked(answer) {
  const seconds = Array.from({ length: answer.steps }, (_, i) => answer.since + i * answer.step);
  const tops = [];
  let below = new Array(answer.steps).fill(0);
  for (const { values } of columns) {
    const top = values.map((value, i) => (value === null ? null : below[i] + value));
    tops.unshift(top);
    below = top;
  }
  // One more point, so that the last step has a width.
  seconds.push(answer.since + answer.steps * answer.step);
  return [seconds, ...tops.map((top) => [...top, top.at(-1) ?? null])];
}

// ---- drawing over it --------------------------------------------------------------------------

const xOf = (time) => plot.valToPos(time, 'x', true);

function fillRange(context, [from, to], color, strength) {
  const { left, width, top, height } = plot.bbox;
  const x = Math.max(left, Math.min(left + width, xOf(from)));
  const end = Math.max(left, Math.min(left + width, xOf(to)));
  context.globalAlpha = strength;
  context.fillStyle = color;
  context.fillRect(x, top, Math.max(end - x, 1), height);
  context.globalAlpha = 1;
  context.fillRect(x, top, devicePixelRatio, height);
  context.fillRect(end - devicePixelRatio, top, devicePixelRatio, height);
}

// Steps one after the other are painted as one: no seams.
function fillSteps(context, isIn, color, top, height) {
  context.fillStyle = color;
  for (let i = 0; i < line.steps; i++) {
    if (!isIn(i)) continue;
    const x = xOf(line.since + i * line.step);
    while (i + 1 < line.steps && isIn(i + 1)) i++;
    context.fillRect(x, top, Math.max(xOf(line.since + (i + 1) * line.step) - x, 2), height);
  }
}

// A grey ground where nothing was recorded, a warning line below what was lost.
function drawTruth(context) {
  const { top, height } = plot.bbox;
  const foot = 4 * devicePixelRatio;
  const seen = columns[0]?.values;
  fillSteps(context, (i) => !seen || seen[i] === null, ink.none, top, height);
  fillSteps(context, (i) => line.lost[i] > 0, ink.warn, top + height - foot, foot);
}

function drawStarts(context) {
  const { left, width, top } = plot.bbox;
  const size = 5 * devicePixelRatio;
  for (const start of line.starts) {
    const x = xOf(start.time);
    if (x < left || x > left + width) continue;
    context.fillStyle = start.is_new_image ? ink.warn : ink.text;
    context.beginPath();
    context.moveTo(x - size, top - size);
    context.lineTo(x + size, top - size);
    context.lineTo(x, top + size);
    context.fill();
  }
}

function drawOver() {
  const context = plot.ctx;
  context.save();
  drawTruth(context);
  drawStarts(context);
  const mark = brush && !brush.isBase ? brushRange() : state.mark;
  const base = brush && brush.isBase ? brushRange() : state.base;
  if (base) fillRange(context, base, ink.before, 0.22);
  if (mark) fillRange(context, mark, ink.accent, 0.22);
  context.restore();
}

// "cores", "threads", "page faults/s"
const unitOf = (answer) =>
  (answer.unit === 'events/s' ? `${answer.title.toLowerCase()}/s` : answer.unit);

// Children that are made anew: of those with a key, the one that had the focus has it again.
function replaceKeeping(box, children) {
  const focused = document.activeElement;
  const key = box.contains(focused) ? focused.dataset.key : undefined;
  box.replaceChildren(...children);
  if (key !== undefined)
    [...box.children].find((child) => child.dataset.key === key)?.focus({ preventScroll: true });
}

// ---- starts of JVMs ------------------------------------------------------------------------------

// Without the registry, which is long and always the same.
const imageName = (image) => image.slice(image.lastIndexOf('/') + 1);

function startText(start) {
  const images = start.is_new_image ? `${imageName(start.image_before)} \u2192 ${imageName(start.image)}` :
    imageName(start.image);
  return `${labelOf(start.name)}: JVM started${images ? `, ${images}` : ''}`;
}

// Those with a new image first, of each the newest first.
function drawStartList() {
  const order = [...line.starts].sort((a, b) => b.is_new_image - a.is_new_image || b.time - a.time);
  const withDate = !isSameDay(line.since, line.since + line.steps * line.step);
  replaceKeeping($('starts'), order.slice(0, STARTS_SHOWN).map((start) => {
    const button = document.createElement('button');
    button.dataset.key = `${start.time} ${start.name}`;
    button.className = start.is_new_image ? 'new' : 'again';
    button.textContent = `${formatTime(Math.floor(start.time), withDate)} ${startText(start)}`;
    button.title = `Compare ${start.service || 'all that is shown'} after it with before it: ` +
      `${start.image_before ? `${start.image_before} \u2192 ` : ''}${start.image}`;
    button.addEventListener('click', () => compareAround(start));
    return button;
  }));
  if (line.start_count > STARTS_SHOWN)
    $('starts').append(`and ${line.start_count - STARTS_SHOWN} more starts of JVMs`);
}

// ---- where the pointer is -----------------------------------------------------------------------

const stepAt = (time) =>
  Math.max(0, Math.min(line.steps - 1, Math.floor((time - line.since) / line.step)));

function showAt(time) {
  const step = stepAt(time);
  const from = line.since + step * line.step;
  const words = [formatTime(from, true)];
  const here = columns.map(({ label, values }) => ({ label, value: values[step] }));
  if (!here.length || here[0].value === null)
    words.push(state.isLive && from + line.step > line.recorded_until ? 'the window has not ended' : 'nothing was recorded');
  else words.push(...here.filter(({ value }) => value >= 0.005).sort((a, b) => b.value - a.value)
    .slice(0, 4).map(({ label, value }) => `${label} ${formatAmount(value)} ${unitOf(line)}`));
  if (line.lost[step]) words.push(`${line.lost[step]} samples lost on the host`);
  for (const start of line.starts)
    if (start.time >= from && start.time < from + line.step)
      words.push(startText(start));
  $('at').textContent = words.join(' \u00b7 ');
}

// ---- the brush ----------------------------------------------------------------------------------

function brushRange() {
  const low = Math.min(brush.from, brush.to);
  const high = Math.max(brush.from, brush.to);
  const from = line.since + stepAt(low) * line.step;
  return [from, Math.max(line.since + (stepAt(high) + 1) * line.step, from + line.step)];
}

function timeAt(event) {
  const box = plot.over.getBoundingClientRect();
  return plot.posToVal(event.clientX - box.left, 'x');
}

function listenToBrush(over) {
  over.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    over.setPointerCapture(event.pointerId);
    const time = timeAt(event);
    brush = { from: time, to: time, x: event.clientX,
      isBase: event.shiftKey || $('pick').ariaPressed === 'true' };
  });
  over.addEventListener('pointermove', (event) => {
    const time = timeAt(event);
    showAt(time);
    if (!brush) return;
    brush.to = time;
    brush.isMoved ||= Math.abs(event.clientX - brush.x) > 3;
    plot.redraw(false);
  });
  over.addEventListener('pointerup', () => {
    if (!brush) return;
    const { isBase, isMoved } = brush;
    const range = brushRange();
    brush = null;
    if (isMoved) markRange(range, isBase);
    else plot.redraw(false);
  });
  over.addEventListener('pointercancel', () => { brush = null; plot.redraw(false); });
  over.addEventListener('dblclick', () => markRange(null, false));
  over.addEventListener('pointerleave', () => { $('at').textContent = ''; });
}

// ---- making it ------------------------------------------------------------------------------------

function sizeOf() {
  const box = $('plot').getBoundingClientRect();
  return { width: Math.max(Math.floor(box.width), 100), height: Math.floor(box.height) };
}

function readInks() {
  Object.assign(ink, { text: ink('--text'), muted: ink('--muted'), grid: ink('--line'),
    none: ink('--sunken'), accent: ink('--accent'), before: ink('--before'), warn: ink('--warn'),
    isDark: theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches });
}

// The date where it changes, as uPlot would, but on a clock of 24 hours.
function timeLabels(_, splits, __, ___, step) {
  return splits.map((time, i) => {
    const [date, clock] = formatTime(time, true).split(' ');
    const isNewDay = i === 0 || !isSameDay(time, splits[i - 1]);
    if (step >= DAY) return date;
    const text = step < 60 ? clock : clock.slice(0, 5);
    return isNewDay ? `${text}\n${date}` : text;
  });
}

function optionsOf() {
  const axis = { stroke: ink.muted, grid: { stroke: ink.grid, width: 1 }, ticks: { stroke: ink.grid } };
  const steps = uPlot.paths.stepped({ align: 1 });
  const painted = [...columns].reverse();
  return {
    ...sizeOf(),
    padding: [8, 24, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
    scales: { x: { range: () => [line.since, line.since + line.steps * line.step] },
      y: { range: (_, low, high) => [0, Math.max(high * 1.05, 0.01)] } },
    axes: [{ ...axis, values: timeLabels, space: LABEL_SPACE },
      { ...axis, size: 48, label: unitOf(line), labelSize: 18, labelGap: 0 }],
    series: [{}, ...painted.map(({ label, color }) =>
      ({ label, fill: color, width: 0, paths: steps, points: { show: false } }))],
    hooks: { draw: [drawOver] },
  };
}

// Of the time that is known.
function showAmount(button, { label, values }) {
  const seen = values.filter((value) => value !== null);
  const text = formatAmount(seen.length ? seen.reduce((a, b) => a + b, 0) / seen.length : null);
  button.querySelector('.amount').textContent = text;
  button.title = `${text} ${unitOf(line)} of ${label}` + (button.disabled ? '' : '; press to see it alone');
}

function drawLegend() {
  replaceKeeping($('legend'), columns.map(({ name, label, values, color, isOthers }) => {
    const button = document.createElement('button');
    button.dataset.key = name ?? '';
    const [swatch, text, amount] = ['i', 'span', 'span'].map((tag) => document.createElement(tag));
    const canPick = !isOthers && SELECTORS.includes(state.by);
    swatch.style.background = color;
    text.className = 'name';
    text.textContent = label;
    amount.className = 'amount';
    button.append(swatch, text, amount);
    button.disabled = !canPick;
    showAmount(button, { label, values });
    button.addEventListener('click', () => pickSeries(name));
    return button;
  }));
}

function drawTimeline(answer) {
  line = answer;
  columns = columnsOf(answer);
  const what = state.method ? `${answer.title} with ${state.method} in the stack` : answer.title;
  $('unit').textContent = (answer.unit === 'events/s' ? `${what}/s` : `${what}, ${answer.unit}`) +
    (answer.is_without_idle ? ', without those that wait for work' : '') +
    (answer.unscaled_samples ? ` (without ${answer.unscaled_samples} samples of unknown weight)` : '');
  if (plot) plot.destroy();
  readInks();
  plot = new uPlot(optionsOf(), stacked(answer), $('plot'));
  listenToBrush(plot.over);
  drawLegend();
  drawStartList();
  showFacts();
}

function showFacts() {
  const lost = line.lost.reduce((a, b) => a + b, 0);
  $('plot').dataset.steps = line.steps;
  $('plot').dataset.series = columns.length;
  $('plot').dataset.lost = lost;
}

// The same with other amounts: nothing that has the focus goes away.
function redrawTimeline(answer) {
  const labels = (list) => list.map(({ label }) => label).join('\n');
  if (!plot || answer.starts !== line.starts || labels(columnsOf(answer)) !== labels(columns)) {
    drawTimeline(answer);
    return;
  }
  line = answer;
  columns = columnsOf(answer);
  plot.setData(stacked(answer));
  [...$('legend').children].forEach((button, i) => showAmount(button, columns[i]));
  showFacts();
}

new ResizeObserver(() => { if (plot) plot.setSize(sizeOf()); }).observe($('plot'));
function drawInks() {
  readInks();
  if (line) drawTimeline(line);
  drawHeat();
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawInks);
