// SPDX-License-Identifier: Apache-2.0
// The heat map: when within each second were the samples taken? A column is a second, a cell 20 ms
// of it, the first at the foot. The cells that one marks are a range of time like any other.

const CELL_S = 0.02;
const CELLS_PER_S = 50;
const HEAT_MAX_S = 3600;
const HEAT_ROW_PX = 3;
const HEAT_COLUMN_MIN_PX = 3;
const HEAT_COLUMN_MAX_PX = 24;

let heat = null; // that is drawn: { from, columns, counts, most, columnPx }
let heatBrush = null; // while the pointer is down: [first, last], cells
let heatAsking = null;

// Whole seconds, at most so many; the last ones of a longer range.
function heatRange([from, to]) {
  const end = Math.ceil(to);
  return [Math.max(Math.floor(from), end - HEAT_MAX_S), end];
}

const isWithin = ([from, to], outer) => from >= outer[0] && to <= outer[1];

const timeOfCell = (cell) => Math.round((heat.from + cell * CELL_S) * 1000) / 1000;
const cellOf = (time) => Math.round((time - heat.from) / CELL_S);

// Cells in any order as [from, to].
const cellsRange = ([a, b]) => [timeOfCell(Math.min(a, b)), timeOfCell(Math.max(a, b) + 1)];

// ---- the answer ---------------------------------------------------------------------------------

// "2026-11-21T13:00:00.020Z 3" a line
function readCells(text, [from, to]) {
  const counts = new Uint32Array((to - from) * CELLS_PER_S);
  let most = 0;
  for (const row of text.split('\n')) {
    const [time, count] = row.split(' ');
    if (!count) continue;
    const cell = Math.round((Date.parse(time) / 1000 - from) / CELL_S);
    if (cell < 0 || cell >= counts.length) continue;
    counts[cell] += Number(count);
    most = Math.max(most, counts[cell]);
  }
  return { from, columns: to - from, counts, most };
}

const isHeatOf = (range) => heat !== null && range !== null &&
  range[0] === heat.from && range[1] === heat.from + heat.columns;

// ---- drawing ------------------------------------------------------------------------------------

// From the ground over yellow to red; square roots, so that few samples show beside many.
function heatColor(count) {
  const share = Math.sqrt(count / heat.most);
  return `hsl(${50 - 50 * share} 90% ${ink.isDark ? 22 + 40 * share : 88 - 46 * share}%)`;
}

function fillCell(context, cell) {
  const column = Math.floor(cell / CELLS_PER_S);
  const row = CELLS_PER_S - 1 - cell % CELLS_PER_S;
  context.fillRect(column * heat.columnPx, row * HEAT_ROW_PX, heat.columnPx, HEAT_ROW_PX);
}

function drawMarkedCells(context) {
  const range = heatBrush ? cellsRange(heatBrush) : state.mark;
  if (!range || range[1] <= heat.from || range[0] >= heat.from + heat.columns) return;
  const last = Math.min(cellOf(range[1]), heat.counts.length);
  context.globalAlpha = 0.35;
  context.fillStyle = ink.accent;
  for (let cell = Math.max(cellOf(range[0]), 0); cell < last; cell++) fillCell(context, cell);
  context.globalAlpha = 1;
}

function drawHeat() {
  const canvas = $('heatCells');
  canvas.hidden = !heat;
  if (!heat) return;
  const fits = Math.floor($('heatScroll').clientWidth / heat.columns);
  heat.columnPx = Math.min(Math.max(fits, HEAT_COLUMN_MIN_PX), HEAT_COLUMN_MAX_PX);
  canvas.width = heat.columns * heat.columnPx;
  canvas.height = CELLS_PER_S * HEAT_ROW_PX;
  const context = canvas.getContext('2d');
  context.fillStyle = ink.none;
  context.fillRect(0, 0, canvas.width, canvas.height);
  heat.counts.forEach((count, cell) => {
    if (!count) return;
    context.fillStyle = heatColor(count);
    fillCell(context, cell);
  });
  drawMarkedCells(context);
}

function showHeatCaption() {
  const range = formatRange([heat.from, heat.from + heat.columns]);
  $('heat').dataset.samples = heat.counts.reduce((a, b) => a + b, 0);
  $('heatCaption').textContent = `Samples by column of a second and cell of 20 ms, ${range}. ` +
    'The flame graph has the samples of the marked cells, if these are less than a minute and it is known when each ' +
    'stack was sampled (jbpfd --keep-moments); else whole profiles.';
}

async function loadHeat() {
  if (heatAsking) heatAsking.abort();
  $('heat').hidden = !state.heat;
  heat = null;
  showSaid('heat', null);
  if (!state.heat) return;
  heatAsking = new AbortController();
  $('heat').ariaBusy = 'true';
  try {
    const answer = await ask(heatQuestion(), heatAsking.signal);
    heat = readCells(await answer.text(), state.heat);
    showSaid('heat', answer);
    readInks();
    drawHeat();
    showHeatCaption();
  } catch (error) {
    if (error.name === 'AbortError') return;
    $('heatCaption').textContent = error.message;
    drawHeat();
  }
  $('heat').ariaBusy = 'false';
}

// ---- pointer and keys ---------------------------------------------------------------------------

function cellAt(event) {
  const box = $('heatCells').getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / heat.columnPx);
  const row = Math.floor((event.clientY - box.top) / HEAT_ROW_PX);
  return Math.max(0, Math.min(column, heat.columns - 1)) * CELLS_PER_S +
    CELLS_PER_S - 1 - Math.max(0, Math.min(row, CELLS_PER_S - 1));
}

function showCell(cell) {
  const count = heat.counts[cell];
  $('heatAt').textContent = `${formatTime(timeOfCell(cell), true)} \u00b7 ${count} sample${count === 1 ? '' : 's'}`;
}

function moveCells(cells, isLonger) {
  if (!heat) return;
  const end = heat.counts.length;
  const [from, to] = state.mark && isWithin(state.mark, state.heat) ?
    state.mark.map(cellOf) : [end - 1 - cells, end - cells];
  const moved = isLonger ? [from, to + cells] : [from + cells, to + cells];
  if (moved[0] < 0 || moved[1] > end || moved[1] <= moved[0]) return;
  markRange(moved.map(timeOfCell), false);
}

const HEAT_KEYS = {
  ArrowLeft: (event) => moveCells(-CELLS_PER_S, event.shiftKey),
  ArrowRight: (event) => moveCells(CELLS_PER_S, event.shiftKey),
  ArrowDown: (event) => moveCells(-1, event.shiftKey),
  ArrowUp: (event) => moveCells(1, event.shiftKey),
  Escape: () => markRange(null, false),
};

function listenToHeat() {
  const canvas = $('heatCells');
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !heat) return;
    canvas.setPointerCapture(event.pointerId);
    heatBrush = [cellAt(event), cellAt(event)];
    drawHeat();
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!heat) return;
    showCell(cellAt(event));
    if (!heatBrush) return;
    heatBrush[1] = cellAt(event);
    drawHeat();
  });
  canvas.addEventListener('pointerup', () => {
    if (!heatBrush) return;
    const range = cellsRange(heatBrush);
    heatBrush = null;
    markRange(range, false);
  });
  canvas.addEventListener('pointercancel', () => { heatBrush = null; drawHeat(); });
  canvas.addEventListener('pointerleave', () => { $('heatAt').textContent = ''; });
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !HEAT_KEYS[event.key]) return;
    event.preventDefault();
    HEAT_KEYS[event.key](event);
  });
  new ResizeObserver(drawHeat).observe($('heatScroll'));
}
