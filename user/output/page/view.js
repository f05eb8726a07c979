// SPDX-License-Identifier: Apache-2.0
// What is in view and how it is drawn. The canvas is as large as what is visible of it, each row is
// searched for its first visible frame, and runs of frames below half a pixel become one bar, so
// the cost of a redraw follows the pixels and not the profile.
//
// What a page has of its own: graph (in front of this file), rootName(), markOf(), factsOf(),
// applyPalette(), drawFrame(), tinyFill(), renderLegend(), onZoom().

// ---- state --------------------------------------------------------------------------------

let zoom = 0;          // node that fills the width
let span = [0, graph.total[0]]; // samples in view; within the zoomed node
let ranges = [];       // of the zoomed node, per depth
let ancestors = [];
let focus = 0;         // node the keyboard is on
let hover = -1;
let view = 'graph';
let isIcicle = false;
const search = { text: '', isRegex: false, frames: null, before: null, list: [], at: -1 };

// ---- panes --------------------------------------------------------------------------------

// A canvas in a box that scrolls, with a graph and a place in it of its own. The functions below work on
// the one in use, whose parts are the variables above.
const canvases = new Map(); // canvas -> pane
let pane = null;
let shownPanes = [];
let canvas = null;
let scroll = null;
let spacer = null;
let context = null;
let width = 0;
let height = 0;

function newPane(canvasId, scrollId, spacerId) {
  const made = { canvas: $(canvasId), scroll: $(scrollId), spacer: $(spacerId), graph, zoom: 0, span, ranges: [],
    ancestors: [], focus: 0, hover: -1, isIcicle: false, width: 0, height: 0, before: null, list: [], at: -1 };
  made.context = made.canvas.getContext('2d', { alpha: true });
  canvases.set(made.canvas, made);
  return made;
}

function usePane(next) {
  if (next === pane) return;
  if (pane)
    Object.assign(pane, { graph, zoom, span, ranges, ancestors, focus, hover, isIcicle, width, height,
      before: search.before, list: search.list, at: search.at });
  pane = next;
  ({ canvas, scroll, spacer, context, graph, zoom, span, ranges, ancestors, focus, hover, isIcicle, width,
    height } = pane);
  Object.assign(search, { before: pane.before, list: pane.list, at: pane.at });
}

// The one in use stays in use.
function eachPane(action) {
  const used = pane;
  for (const shown of shownPanes) {
    usePane(shown);
    action();
  }
  usePane(used);
}

const countFormat = new Intl.NumberFormat('en-US'); // as toLocaleString(), which makes one each time
const formatCount = (value) => countFormat.format(value);
const formatPercent = (part, whole) => (whole ? (100 * part / whole).toFixed(2) : '0.00') + ' %';
const kindLabel = (node) => data.kinds[kindOf[graph.frame[node]]].label;

function nodeName(node) {
  if (node === 0) return rootName();
  const frame = graph.frame[node];
  if (kindOf[frame] === KIND_HIDDEN) return `+ ${formatCount(graph.hidden[node])} hidden`;
  return names[frame];
}

function setZoom(node, newSpan) {
  zoom = node;
  span = newSpan || [graph.x[node], graph.x[node] + graph.total[node]];
  ranges = graph.rangesBelow(node);
  ancestors = [];
  for (let at = node; at !== 0;) ancestors.unshift(at = graph.parent[at]);
  $('reset').disabled = node === 0 && span[1] - span[0] >= graph.total[0];
}

// ---- colours ------------------------------------------------------------------------------

const wantsDark = matchMedia('(prefers-color-scheme: dark)');
let isDark = false;
let isPrinting = false;
let ink = {};

function mix(hex, other, part) {
  let out = '#';
  for (let i = 0; i < 6; i += 2) {
    const a = parseInt(hex.slice(i, i + 2), 16);
    const b = parseInt(other.slice(i, i + 2), 16);
    out += Math.round(a + (b - a) * part).toString(16).padStart(2, '0');
  }
  return out;
}

function applyTheme() {
  const forced = document.documentElement.dataset.theme;
  isDark = !isPrinting && (forced ? forced === 'dark' : wantsDark.matches);
  const background = isDark ? '131316' : 'fbfbfc';
  applyPalette(background);
  const pick = (light, dark) => (isDark ? dark : light);
  ink = {
    text: pick('#1c1c1f', '#f4f4f5'),
    match: pick('#a21caf', '#f0abfc'),
    matchText: pick('#ffffff', '#1c1c1f'),
    tiny: pick('#c9c9d1', '#3f3f47'),
    tinyDim: pick('#ececf0', '#222227'),
    outline: pick('#1c1c1f', '#ffffff'),
    font: '12px ' + getComputedStyle(document.body).fontFamily,
  };
  $('theme').textContent = isDark ? 'Light' : 'Dark';
  renderLegend();
  requestDraw();
}

function toggleTheme() {
  const theme = isDark ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem('jbpf-theme', theme); } catch { /* file:// may have no storage */ }
  if (parent !== window) parent.postMessage({ jbpfTheme: theme }, '*');
  applyTheme();
  renderSheets();
}

// ---- drawing ------------------------------------------------------------------------------

const ROW = 19;
const MIN_PX = 0.5;
const TEXT_MIN_PX = 16; // room inside a frame below which it has no text
const charWidths = [];
let drawRequested = false;

function requestDraw() {
  if (drawRequested) return;
  drawRequested = true;
  requestAnimationFrame(() => { drawRequested = false; draw(); });
}

const rowCount = () => ancestors.length + ranges.length;

// The canvas is never larger than what is visible of it.
function layOut() {
  const content = rowCount() * ROW;
  spacer.style.height = content + 'px';
  width = scroll.clientWidth;
  height = isPrinting ? Math.min(content, 4000) : Math.min(content, scroll.clientHeight || content);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.height = height + 'px';
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  requestDraw();
}

const rowTop = (depth) => (isIcicle ? depth : rowCount() - 1 - depth) * ROW - scroll.scrollTop;

function rowAt(y) {
  const row = Math.floor((y + scroll.scrollTop) / ROW);
  return isIcicle ? row : rowCount() - 1 - row;
}

// Widths by character: exact enough without kerning, and far cheaper than measureText() per label.
function charWidth(code) {
  let known = charWidths[code];
  if (known === undefined) {
    known = context.measureText(String.fromCharCode(code)).width;
    charWidths[code] = known;
  }
  return known;
}

function textWidth(text) {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum += charWidth(text.charCodeAt(i));
  return sum;
}

// As much of the text as fits, with a mark behind; '' when that is less than two characters.
function clipText(text, room) {
  let sum = charWidth(0x2026);
  let length = 0;
  while (length < text.length && (sum += charWidth(text.charCodeAt(length))) <= room) length++;
  // Never half of a surrogate pair.
  const code = text.charCodeAt(length - 1);
  if (code >= 0xd800 && code < 0xdc00) length--;
  return length < 2 ? '' : text.slice(0, length) + '\u2026';
}

// "com.example.shop.Cart.add" -> "Cart.add" with two parts, "add" with one.
function lastParts(name, count) {
  const end = name.search(/[(<]/);
  let at = end < 0 ? name.length : end;
  while (count-- && at > 0) at = name.lastIndexOf('.', at - 1);
  return at <= 0 ? name : name.slice(at + 1);
}

// The longest of the names of a Java method that fits; else what fits of its shortest.
function fittingName(frame, name, room) {
  if (textWidth(name) <= room) return name;
  const shorter = isJava(frame) ? [lastParts(name, 2), lastParts(name, 1)] : [name];
  return shorter.find((text) => textWidth(text) <= room) || clipText(shorter.at(-1), room);
}

// The mark is a sign in front of the name that is never cut off.
function drawText(node, left, whole, y, color) {
  const mark = markOf(node);
  const room = mark ? whole - textWidth(mark) : whole;
  const text = fittingName(graph.frame[node], nodeName(node), room);
  context.fillStyle = color;
  context.fillText(mark + text, left, y + ROW / 2 + 0.5);
}

// The name of a frame in what is visible of its box.
function drawLabel(node, left, right, y, color) {
  const textLeft = Math.max(left, 0) + 5;
  const room = Math.min(right, width) - textLeft - 4;
  if (room >= TEXT_MIN_PX) drawText(node, textLeft, room, y, color);
}

function drawRow(depth, scale) {
  const y = rowTop(depth);
  const [start, end] = ranges[depth - ancestors.length];
  let bar = null; // run of frames too narrow to tell apart
  const flush = () => {
    if (!bar) return;
    context.fillStyle = tinyFill(bar.isMatch);
    context.fillRect(bar.left, y, Math.max(bar.right - bar.left, MIN_PX), ROW - 1);
    bar = null;
  };
  let node = graph.firstEndingAfter(start, end, span[0]);
  while (node < end && graph.x[node] < span[1]) {
    const left = (graph.x[node] - span[0]) * scale;
    const right = left + graph.total[node] * scale;
    if (right - left >= MIN_PX) {
      flush();
      drawFrame(node, left, right, y, false);
      node++;
      continue;
    }
    // Jump half a pixel on; only the last frame that starts within it can be wider than that.
    let next = graph.firstStartingAt(node + 1, end, graph.x[node] + MIN_PX / scale);
    if (next - 1 > node && graph.total[next - 1] * scale >= MIN_PX) next--;
    const last = (graph.x[next - 1] + graph.total[next - 1] - span[0]) * scale;
    const isMatch = search.before !== null && search.before[next] > search.before[node];
    if (last <= left) { node = next; continue; } // nodes of this width without weight
    if (bar && (left > bar.right + 1 || isMatch !== bar.isMatch)) flush();
    if (bar) bar.right = last;
    else bar = { left, right: last, isMatch };
    node = next;
  }
  flush();
}

function drawOutline(node, isFocus) {
  if (node < 0) return;
  const place = nodeBox(node);
  if (!place) return;
  context.strokeStyle = ink.outline;
  context.lineWidth = isFocus ? 2 : 1;
  const line = context.lineWidth;
  const wide = Math.max(place.right - place.left - 1 - line, 1);
  context.strokeRect(place.left + line / 2, place.top + line / 2, wide, ROW - 1 - line);
}

// Where a node is drawn, or null when the view does not hold it.
function nodeBox(node) {
  const depth = graph.depth[node];
  const top = rowTop(depth);
  if (depth < ancestors.length)
    return ancestors[depth] === node ? { left: 0, right: width, top } : null;
  const range = ranges[depth - ancestors.length];
  if (!range || node < range[0] || node >= range[1]) return null;
  const scale = width / (span[1] - span[0]);
  const left = (graph.x[node] - span[0]) * scale;
  const right = left + graph.total[node] * scale;
  if (right < 0 || left > width) return null;
  return { left: Math.max(left, 0), right: Math.min(right, width), top };
}

const draw = () => eachPane(drawPane);

function drawPane() {
  const begin = performance.now();
  context.clearRect(0, 0, width, height);
  if (view !== 'graph' && !isPrinting) return;
  context.font = ink.font;
  context.textBaseline = 'middle';
  const scale = width / Math.max(span[1] - span[0], Number.MIN_VALUE);
  const a = rowAt(0);
  const b = rowAt(height - 1);
  const first = Math.max(0, Math.min(a, b));
  const last = Math.min(rowCount() - 1, Math.max(a, b));
  for (let depth = first; depth <= last; depth++) {
    if (depth < ancestors.length) drawFrame(ancestors[depth], 0, width, rowTop(depth), true);
    else drawRow(depth, scale);
  }
  if (hover !== focus) drawOutline(hover, false);
  if (document.activeElement === canvas || focus !== zoom) drawOutline(focus, true);
  canvas.dataset.drawMs = (performance.now() - begin).toFixed(2);
  if (!canvas.dataset.firstPaintMs) canvas.dataset.firstPaintMs = performance.now().toFixed(0);
}

function hitTest(x, y) {
  const depth = rowAt(y);
  if (depth < 0 || depth >= rowCount()) return -1;
  if (depth < ancestors.length) return ancestors[depth];
  const [start, end] = ranges[depth - ancestors.length];
  const sample = span[0] + x / width * (span[1] - span[0]);
  const node = graph.firstEndingAfter(start, end, sample);
  return node < end && graph.x[node] <= sample ? node : -1;
}

// ---- what the page says about a frame -------------------------------------------------------

function addFacts(list, facts) {
  for (const [key, value] of facts) {
    const dt = document.createElement('dt');
    const dd = document.createElement('dd');
    dt.textContent = key;
    dd.textContent = value;
    list.append(dt, dd);
  }
}

function showTip(node, x, y) {
  const tip = $('tip');
  if (node < 0) { tip.hidden = true; return; }
  const name = document.createElement('div');
  name.className = 'name';
  name.textContent = nodeName(node);
  const list = document.createElement('dl');
  addFacts(list, factsOf(node));
  tip.replaceChildren(name, list);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const fitsBelow = y + 18 + box.height <= innerHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = (fitsBelow ? y + 18 : Math.max(4, y - box.height - 12)) + 'px';
}

function describe(node) {
  const name = document.createElement('span');
  name.className = 'name';
  name.textContent = nodeName(node);
  const facts = document.createElement('span');
  facts.className = 'muted';
  // As a sentence: "Java inlined, samples 12, of all 1.00 %", but "CPU time".
  const lower = (key) => key.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
  facts.textContent = ' \u2014 ' + factsOf(node)
    .map(([key, value]) => (key === 'Kind' ? value : `${lower(key)} ${value}`)).join(', ');
  $('detailsText').replaceChildren(name, facts);
}

// ---- moving around ------------------------------------------------------------------------

function setFocus(node) {
  focus = node;
  describe(node);
  const box = nodeBox(node);
  if (box && height > 0) {
    if (box.top < 0) scroll.scrollTop += box.top - ROW;
    else if (box.top + ROW > height) scroll.scrollTop += box.top + ROW - height + ROW;
  }
  requestDraw();
}

// Rows around the zoomed frame come into view: its callers at the root's side.
function scrollToZoom() {
  const rows = Math.max(0, ancestors.length - 3) * ROW;
  scroll.scrollTop = isIcicle ? rows : rowCount() * ROW - height - rows;
}

function zoomTo(node, record = true) {
  setZoom(node);
  focus = node;
  layOut();
  scrollToZoom();
  describe(node);
  updateMatches();
  onZoom();
  if (record) saveState(true);
}

function zoomSpan(center, factor) {
  const from = graph.x[zoom];
  const whole = graph.total[zoom];
  const size = Math.min(whole, Math.max((span[1] - span[0]) * factor, Math.min(1, whole)));
  if (factor > 1 && zoom !== 0 && span[1] - span[0] >= whole) {
    zoomTo(graph.parent[zoom]);
    return;
  }
  const part = (center - span[0]) / (span[1] - span[0]);
  const start = Math.max(from, Math.min(center - part * size, from + whole - size));
  setZoom(zoom, [start, start + size]);
  requestDraw();
  saveState(false);
}

function pan(samples) {
  const from = graph.x[zoom];
  const size = span[1] - span[0];
  const start = Math.max(from, Math.min(span[0] + samples, from + graph.total[zoom] - size));
  setZoom(zoom, [start, start + size]);
  requestDraw();
  saveState(false);
}

function heaviestChild(node) {
  let best = -1;
  for (let i = graph.childStart[node]; i < graph.childEnd(node); i++)
    if (graph.total[i] > (best < 0 ? 0 : graph.total[best])) best = i;
  return best;
}

function walk(direction) {
  const depth = graph.depth[focus];
  if (direction === 'parent') {
    if (focus !== 0) setFocus(graph.parent[focus]);
  } else if (direction === 'child') {
    // Along the zoomed path while above it.
    const path = [...ancestors, zoom];
    const child = depth + 1 < path.length ? path[depth + 1] : heaviestChild(focus);
    if (child >= 0) setFocus(child);
  } else {
    const range = ranges[depth - ancestors.length];
    const step = direction === 'next' ? 1 : -1;
    let node = focus + step;
    while (range && node >= range[0] && node < range[1] && graph.total[node] === 0) node += step;
    if (range && node >= range[0] && node < range[1]) setFocus(node);
  }
}

const mainPane = newPane('canvas', 'scroll', 'spacer');
shownPanes = [mainPane];
usePane(mainPane);

function setIcicle(on) {
  isIcicle = on;
  $('icicle').setAttribute('aria-pressed', on);
  scrollToZoom();
  requestDraw();
}
