// SPDX-License-Identifier: Apache-2.0
// How the frames of a profile look, what is said about them, and which of the views is shown.

const picked = new Set(); // kinds to highlight; empty = all
let sort = { column: 'selfPercent', down: true };
let palette = [];

// What samples stand for: seconds, events, or themselves where that is not known.
const isTime = Boolean(data.hz || data.time);
const isSize = Boolean(data.measured && data.eventBytes); // formatAmount() has the unit
const UNIT = data.hz ? 'CPU s' : data.time ? 's' : isSize ? '' : data.events ? data.events.toLowerCase() : 'samples';
const secondsOf = (samples) => (data.hz ? samples / data.hz : samples * data.period / 1e9);

function formatAmount(samples) {
  if (isSize) return formatBytes(samples * data.period);
  if (!isTime) return formatCount(data.events ? samples * data.period : samples);
  const seconds = secondsOf(samples);
  return seconds >= 1000 ? formatCount(Math.round(seconds)) : seconds.toFixed(seconds >= 100 ? 0 : 2);
}

const formatSeconds = (samples) => `${formatAmount(samples)} s`;

function formatBytes(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  for (; bytes >= 1024 && at + 1 < units.length; at++) bytes /= 1024;
  return `${bytes.toFixed(at && bytes < 100 ? 1 : 0)} ${units[at]}`;
}

// Of what is not time, data.events: how many of them samples stand for, and how much memory where each
// is a page.
function formatEvents(samples) {
  const count = samples * data.period;
  if (isSize) return formatBytes(count);
  return formatCount(count) + (data.eventBytes ? ` (${formatBytes(count * data.eventBytes)})` : '');
}

// The amount with its unit.
const amountText = (samples) => `${formatAmount(samples)} ${UNIT}`.trim();

const rootName = () =>
  (sandwich ? names[graph.frame[0]] : graph.isReversed ? 'all (callers)' : 'all');
// Frames that pass on to this one only are left out.
const markOf = (node) => (graph.passed && graph.passed[node] ? '\u2026' : '');
const onZoom = () => renderSheets();
const tinyFill = (isMatch) => (isMatch ? ink.match : picked.size ? ink.tinyDim : ink.tiny);

const MATCHED_OF = 'samples';

function showGraph() {
  if (view !== 'graph') setView('graph');
}

function applyPalette(background) {
  palette = data.kinds.map((kind) => {
    const hexes = (isDark ? kind.dark : kind.light).match(/.{6}/g);
    return {
      full: hexes.map((hex) => '#' + hex),
      dim: hexes.map((hex) => mix(hex, background, 0.65)),
    };
  });
}

function swatch(kind) {
  const box = document.createElement('span');
  box.className = 'swatch';
  box.style.background = palette[kind].full[5];
  return box;
}

function drawFrame(node, left, right, y, isAncestor) {
  const frame = graph.frame[node];
  const kind = kindOf[frame];
  const isMatch = !isAncestor && search.frames !== null && search.frames[frame] === 1;
  const isDim = isAncestor || (picked.size > 0 && !picked.has(kind));
  const wide = right - left;
  const { full, dim } = palette[kind];
  context.fillStyle = isMatch ? ink.match : (isDim ? dim : full)[shadeOf[frame]];
  context.fillRect(left, y, wide > 2.5 ? wide - 1 : wide, ROW - 1);
  drawLabel(node, left, right, y, isMatch ? ink.matchText : ink.text);
}

// "Java compiled 61 %, interpreted 39 %"; '' where there is one tier.
function tiersText(weights) {
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const parts = TIER_KINDS.map((kind, i) => ({ label: data.kinds[kind].label, weight: weights[i] }))
    .filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  if (parts.length < 2) return '';
  return parts.map(({ label, weight }, i) =>
    `${i ? label.replace('Java ', '') : label} ${(100 * weight / whole).toFixed(0)} %`).join(', ');
}

function kindText(node) {
  if (node === 0 && !sandwich) return 'whole profile';
  return (graph.tiers && tiersText(graph.tiers.map((tier) => tier[node]))) || kindLabel(node);
}

function passedText(frames) {
  const shown = frames.slice(0, 4).map((frame) => lastParts(names[frame], 2)).join(', ');
  return frames.length > 4 ? `${shown} and ${frames.length - 4} more` : shown;
}

// ---- source lines: of a method's own samples, wherever it was called from ----------------------

const LINES_SHOWN = 3;
const linesOf = new Map(); // method -> Map of "Cart.java:42" -> samples, hottest first
for (const [method, file, line, samples] of data.lines || []) {
  const lines = linesOf.get(method) || new Map();
  const place = line ? `${file}:${line}` : `${file} (no line)`;
  lines.set(place, (lines.get(place) || 0) + samples);
  linesOf.set(method, lines);
}

// "Cart.java:42 81 %, Cart.java:43 12 %, 5 more"; '' where none is known.
function linesText(node) {
  const frame = graph.frame[node];
  const lines = isJava(frame) ? linesOf.get(names[frame]) : null;
  if (!lines) return '';
  const sorted = [...lines].sort((a, b) => b[1] - a[1]);
  const whole = sorted.reduce((sum, [, samples]) => sum + samples, 0);
  const parts = sorted.slice(0, LINES_SHOWN).map(([place, samples]) => `${place} ${(100 * samples / whole).toFixed(0)} %`);
  if (sorted.length > LINES_SHOWN) parts.push(`${sorted.length - LINES_SHOWN} more`);
  return parts.join(', ');
}

function factsOf(node) {
  const lines = linesText(node);
  const self = graph.self[node];
  const facts = [
    ['Kind', kindText(node)],
    data.measured ? null : ['Samples', formatCount(graph.total[node])],
    ['Of all', formatPercent(graph.total[node], totalSamples())],
  ].filter(Boolean);
  if (zoom !== 0 || sandwich)
    facts.push([sandwich ? `Of ${names[graph.frame[0]]}` : 'Of view', formatPercent(graph.total[node], graph.total[zoom])]);
  if (!graph.isReversed)
    facts.push(['Self', `${data.measured ? amountText(self) : formatCount(self)} (${formatPercent(self, totalSamples())})`]);
  if (data.hz) facts.push(['CPU time', formatSeconds(graph.total[node])]);
  if (data.time) facts.push([data.time, formatSeconds(graph.total[node])]);
  if (data.events) facts.push([data.events, formatEvents(graph.total[node])]);
  if (lines) facts.push(['Its lines', lines]);
  if (graph.passed && graph.passed[node]) facts.push(['Passed through', passedText(graph.passed[node])]);
  return facts;
}

function setView(name, record = true) {
  view = name;
  for (const [id, tab] of [['graph', 'viewGraph'], ['table', 'viewTable'], ['tree', 'viewTree']]) {
    $(id).hidden = id !== name;
    $(tab).setAttribute('aria-selected', id === name);
    $(tab).tabIndex = id === name ? 0 : -1;
  }
  if (name === 'graph') eachPane(() => { layOut(); scrollToZoom(); });
  renderSheets();
  showTip(-1);
  if (record) saveState(true);
}

const totalSamples = () => forward.total[0];

// Another graph in the pane in use, from its root.
function showGraphOf(other) {
  graph = other;
  hover = -1;
  setZoom(0);
  focus = 0;
}

function setReverse(on, record = true) {
  leaveMethod();
  if (on && !reversed) reversed = reverseGraph(forward);
  showGraphOf(on ? reversed : forward);
  $('reverse').setAttribute('aria-pressed', on);
  runSearch();
  if (record) zoomTo(0);
}

// ---- one method: its callers above, its callees below ----------------------------------------

const callersPane = newPane('callersCanvas', 'callersScroll', 'callersSpacer');
let sandwich = null; // { name, wasIcicle }

function leaveMethod() {
  if (!sandwich) return;
  usePane(mainPane);
  isIcicle = sandwich.wasIcicle;
  sandwich = null;
  shownPanes = [mainPane];
  $('callersScroll').hidden = true;
  for (const id of ['icicle', 'reverse']) $(id).disabled = false;
}

// False when the profile does not have it.
function setMethod(name, record = true) {
  const frame = name ? names.indexOf(name) : -1;
  const graphs = frame < 0 ? null : sandwichGraphs(forward, mergedMethods[frame]);
  if (!graphs) return false;
  setReverse(false, false);
  sandwich = { name, wasIcicle: isIcicle };
  shownPanes = [callersPane, mainPane];
  $('callersScroll').hidden = false;
  for (const id of ['icicle', 'reverse']) $(id).disabled = true;
  usePane(callersPane);
  showGraphOf(graphs.callers);
  usePane(mainPane);
  showGraphOf(graphs.callees);
  isIcicle = true;
  runSearch();
  setView('graph', false);
  eachPane(() => zoomTo(0, false));
  showSteps();
  if (record) saveState(true);
  return true;
}

function endMethod() {
  setReverse(false);
  showSteps();
}
