// SPDX-License-Identifier: Apache-2.0
// How the frames of a profile look, what is said about them, and which of three views is shown.

const picked = new Set(); // kinds to highlight; empty = all
let sort = { column: 'selfPercent', down: true };
let palette = [];

const formatSeconds = (samples) => {
  const seconds = samples / data.hz;
  return (seconds >= 100 ? seconds.toFixed(0) : seconds.toFixed(2)) + ' s';
};

const rootName = () => (graph.isReversed ? 'all (callers)' : 'all');
const markOf = () => '';
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

function factsOf(node) {
  const self = graph.self[node];
  const facts = [
    ['Kind', node === 0 ? 'whole profile' : kindLabel(node)],
    ['Samples', formatCount(graph.total[node])],
    ['Of all', formatPercent(graph.total[node], totalSamples)],
  ];
  if (zoom !== 0) facts.push(['Of view', formatPercent(graph.total[node], graph.total[zoom])]);
  if (!graph.isReversed)
    facts.push(['Self', `${formatCount(self)} (${formatPercent(self, totalSamples)})`]);
  if (data.hz) facts.push(['CPU time', formatSeconds(graph.total[node])]);
  return facts;
}

function setView(name, record = true) {
  view = name;
  for (const [id, tab] of [['graph', 'viewGraph'], ['table', 'viewTable'], ['tree', 'viewTree']]) {
    $(id).hidden = id !== name;
    $(tab).setAttribute('aria-selected', id === name);
    $(tab).tabIndex = id === name ? 0 : -1;
  }
  if (name === 'graph') { layOut(); scrollToZoom(); }
  renderSheets();
  showTip(-1);
  if (record) saveState(true);
}

function setReverse(on, record = true) {
  if (on && !reversed) reversed = reverseGraph(forward);
  graph = on ? reversed : forward;
  $('reverse').setAttribute('aria-pressed', on);
  hover = -1;
  runSearch();
  if (record) zoomTo(0);
}
