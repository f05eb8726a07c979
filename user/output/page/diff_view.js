// SPDX-License-Identifier: Apache-2.0
// How the frames of a comparison look, and what is said about them. Hue only where a change was
// found; the sign stands in front of the name, too.

const MATCHED_OF = 'the width';
const VERDICT_WORDS = [
  'not resolved', 'surely no change that matters', `more ${data.event}`, `less ${data.event}`, 'moved',
  'transient: gone in the last quarter', 'new', 'gone',
];
const FOOT_PX = 5;
const FULL_CHANGE = 0.5; // relative change that has the full colour

let isOrange = false;
let selected = -1; // frame picked in the list
let colors = {};

const rootName = () => 'all';
const showGraph = () => {};
const leaveTree = () => {};
const menuOfMethod = () => [];
const onZoom = () => {};
const tinyFill = (isMatch) => (isMatch ? ink.match : ink.tiny);

function applyPalette(background) {
  const pick = (light, dark) => (isDark ? dark : light);
  const grey = pick('d6d6dc', '3a3a42');
  const ends = {
    more: isOrange ? pick('ff9f2e', '9a5000') : pick('ff7a6e', 'b3261e'),
    less: isOrange ? pick('74a9ff', '1d5cc0') : pick('74a9ff', '1d5cc0'),
  };
  const steps = (hex) => Array.from({ length: 11 }, (_, i) => mix(grey, hex, 0.12 + 0.88 * i / 10));
  const dim = (hex) => mix(hex.replace('#', ''), background, 0.7);
  const full = { more: steps(ends.more), less: steps(ends.less), none: ['#' + grey] };
  colors = { full, dim: {}, hatch: pick('#6b6b76', '#a9a9b4') };
  for (const key in full) colors.dim[key] = full[key].map(dim);
  if (isOrange) document.documentElement.dataset.palette = 'orange';
  else delete document.documentElement.dataset.palette;
}

// ---- words ----------------------------------------------------------------------------------

// exp(x) - 1, as text.
function formatRelative(logRatio) {
  if (Number.isNaN(logRatio)) return '?';
  const percent = 100 * Math.expm1(logRatio);
  if (percent > 1000) return `\u00d7 ${Math.exp(logRatio).toPrecision(3)}`;
  const digits = Math.abs(percent) < 0.1 ? 2 : 1;
  return `${percent < 0 ? '\u2212' : '+'}${Math.abs(percent).toFixed(digits)} %`;
}

const formatShare = (share) => (100 * share / SHARE_UNITS).toFixed(2) + ' %';
const formatQ = (q) => (q < 0.0001 ? '< 0.0001' : q.toFixed(4));

function formatDetectable(detectable) {
  if (Number.isNaN(detectable)) return '';
  if (detectable > 10) return '> 1000 %';
  return `\u2265 ${(100 * detectable).toFixed(1)} %`;
}

function formatChange(judgement) {
  if (judgement.verdict === NEW) return 'new';
  if (judgement.verdict === GONE) return 'gone';
  return Number.isNaN(judgement.change) ? '\u2013' : formatRelative(judgement.change);
}

function formatInterval(judgement) {
  if (judgement.points) {
    const points = judgement.points.map((x) =>
      `${x < 0 ? '\u2212' : '+'}${Math.abs(100 * x).toFixed(2)}`);
    return `${points[0]} to ${points[1]} points`;
  }
  if (Number.isNaN(judgement.low)) return '';
  return `${formatRelative(judgement.low)} to ${formatRelative(judgement.high)}`;
}

// \u25b2 and \u25bc where a change was found, with another sign for what moved or went away again.
function signOf(judgement) {
  if (!isFound(judgement)) return '';
  const arrow = judgement.change > 0 ? '\u25b2' : '\u25bc';
  if (judgement.verdict === NEW) return '\u271a';
  if (judgement.verdict === GONE) return '\u2716';
  if (judgement.verdict === MOVED) return '\u21c4' + arrow;
  return judgement.verdict === MOVED + 1 ? '~' + arrow : arrow;
}

// Hollow where only all places of the method together have changed.
function markOf(node) {
  if (node === 0) return '';
  const method = foundOfMethod(node);
  const sign = method ? (method.judgement.change > 0 ? '\u25b3' : '\u25bd') : signOf(judgementOf(node));
  return sign && sign + ' ';
}

function verdictText(judgement) {
  if (!data.isJudged) return 'not judged';
  const { verdict, movedWith } = judgement;
  if (verdict === UNRESOLVED) {
    const seen = formatDetectable(judgement.detectable);
    return seen ? `not resolved: a change of ${seen} would have been seen` :
      'not resolved: too few samples';
  }
  if (verdict === MOVED && movedWith >= 0)
    return `moved ${judgement.change > 0 ? 'from' : 'to'} ${names[movedWith]}`;
  return VERDICT_WORDS[verdict] + (judgement.isAlarm ? ' (alarm)' : '');
}

function sideText(share, samples, side) {
  const text = [formatShare(share)];
  const part = share / SHARE_UNITS;
  const rate = part * data.cores[side]; // of events that are no time in millions
  if (data.cores[side] !== null) text.push(
    data.isTime ? `${rate.toFixed(4)} ${data.event === 'CPU' ? 'cores' : 'threads'}` :
      `${(rate * 1e6).toFixed(1)} ${data.event}/s`);
  text.push(`${formatCount(samples)} samples`);
  return text.join(' \u00b7 ');
}

function judgementFacts(judgement) {
  const facts = [['Change', formatChange(judgement)]];
  const interval = formatInterval(judgement);
  if (interval) facts.push(['95 % interval', interval]);
  if (!Number.isNaN(judgement.q)) facts.push(['q', formatQ(judgement.q)]);
  const seen = formatDetectable(judgement.detectable);
  if (seen) facts.push(['Could have seen', seen]);
  facts.push(['Verdict', verdictText(judgement)]);
  return facts;
}

function factsOf(node) {
  const sums = sumsOf(node);
  const facts = [
    ['Kind', node === 0 ? 'whole process' : kindLabel(node)],
    ['Before', sideText(sums.shareBefore, sums.samplesBefore, 0)],
    ['After', sideText(sums.shareAfter, sums.samplesAfter, 1)],
  ];
  const judgement = judgementOf(node);
  if (!judgement) return facts;
  const method = foundOfMethod(node);
  if (method)
    facts.push([`Method ${method.isOwn ? 'by itself' : 'with callees'}, all places`,
      `${formatChange(method.judgement)} \u00b7 ${sureText(method.judgement)}`]);
  return [...facts, ...judgementFacts(judgement)];
}

// ---- drawing --------------------------------------------------------------------------------

function fillOf(judgement, isDim) {
  const set = isDim ? colors.dim : colors.full;
  if (!isFound(judgement)) return set.none[0];
  const relative = judgement.points ? FULL_CHANGE : Math.abs(Math.expm1(judgement.change));
  const step = Math.round(10 * Math.min(1, relative / FULL_CHANGE));
  return (judgement.change > 0 ? set.more : set.less)[step];
}

function drawHatch(left, right, y) {
  const low = Math.max(left, 0);
  const high = Math.min(right, width);
  context.save();
  context.beginPath();
  context.rect(low, y, high - low, ROW - 1);
  context.clip();
  context.strokeStyle = colors.hatch;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = low - ROW - low % 7; x < high; x += 7) {
    context.moveTo(x, y + ROW);
    context.lineTo(x + ROW, y);
  }
  context.stroke();
  context.restore();
}

function drawBorder(left, right, y, color, dash) {
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.strokeRect(left + 1, y + 1, Math.max(right - left - 3, 1), ROW - 3);
  context.setLineDash([]);
}

// At the foot of a frame, as wide as what changed: all of it, or the method's own part, which no callee covers.
function drawMethod({ judgement, isOwn }, node, left, right, y, isDim) {
  const from = isOwn ? right - (right - left) * graph.self[node] / graph.total[node] : left;
  context.fillStyle = fillOf(judgement, isDim);
  context.fillRect(from, y + ROW - 1 - FOOT_PX, right - from - (right - from > 2.5 ? 1 : 0), FOOT_PX);
}

function drawFrame(node, left, right, y, isAncestor) {
  const frame = graph.frame[node];
  const isMatch = search.frames !== null && search.frames[frame] === 1;
  const isSearching = search.frames !== null || selected >= 0;
  const isPicked = isMatch || frame === selected;
  const wide = right - left > 2.5 ? right - left - 1 : right - left;
  const isDim = isAncestor || (isSearching && !isPicked);
  const method = foundOfMethod(node);
  context.fillStyle = fillOf(judgementOf(node), isDim);
  context.fillRect(left, y, wide, ROW - 1);
  if (method) drawMethod(method, node, left, right, y, isDim);
  if (isGhost[node] && wide > 3) drawHatch(left, left + wide, y);
  if (isFresh[node] && wide > 3) drawBorder(left, right, y, ink.text, []);
  if (isPicked && !isAncestor && wide > 2) drawBorder(left, right, y, ink.match, []);
  drawLabel(node, left, right, y, ink.text);
}
