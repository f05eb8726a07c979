// SPDX-License-Identifier: Apache-2.0
// What is shown, as one object and as the address: who has the address sees the same.

const SELECTORS = ['container', 'pod', 'namespace', 'service', 'image', 'host', 'comm', 'cgroup', 'pid'];
const NO_LABEL = '(none)'; // the series of what has no such label
const WITHOUT_LABEL = '!*'; // selects the same
const DAY = 86400;
const SPAN_MIN = 10;

const state = {
  span: 3600, // seconds that are shown while live; else range says which
  range: null, // [from, to]
  isLive: true,
  mark: null, // [from, to]; null = all that is shown
  base: null, // the range to compare with
  heat: null, // the range of the heat map; null = there is none
  method: '', // that the time line is of; '' = everything
  event: 'cpu',
  by: 'container',
  isSplit: false, // the flame graph, too; on a host of many containers that takes seconds
  filters: {}, // label -> name, a glob
  view: '', // of the flame graph: its own address
  diffView: '', // of the comparison
};

function readPair(text) {
  const pair = (text || '').split('..').map(Number);
  return pair.length === 2 && pair[0] >= 0 && pair[1] > pair[0] && pair[1] < 1e11 ? pair : null;
}

function loadState() {
  const words = new URLSearchParams(location.hash.slice(1));
  state.range = readPair(words.get('range'));
  state.isLive = state.range === null;
  const span = Number(words.get('last'));
  state.span = span >= SPAN_MIN && span < 1e10 ? span : 3600;
  state.mark = readPair(words.get('mark'));
  state.base = readPair(words.get('base'));
  const heatPair = readPair(words.get('heat'));
  state.heat = heatPair && heatRange(heatPair);
  state.event = words.get('event') || 'cpu';
  state.method = words.get('method') || '';
  state.by = words.get('by') || 'container';
  state.isSplit = words.get('split') === '1';
  state.view = words.get('view') || '';
  state.diffView = words.get('diffview') || '';
  state.filters = {};
  for (const label of SELECTORS)
    if (words.get(label)) state.filters[label] = words.get(label);
}

function stateText() {
  const words = new URLSearchParams();
  if (state.isLive) words.set('last', state.span);
  else words.set('range', state.range.join('..'));
  if (state.mark) words.set('mark', state.mark.join('..'));
  if (state.base) words.set('base', state.base.join('..'));
  if (state.heat) words.set('heat', state.heat.join('..'));
  if (state.event !== 'cpu') words.set('event', state.event);
  if (state.by !== 'container') words.set('by', state.by);
  if (state.isSplit) words.set('split', '1');
  if (state.method) words.set('method', state.method);
  for (const [label, name] of Object.entries(state.filters)) words.set(label, name);
  if (state.view.length > 1) words.set('view', state.view);
  if (state.diffView.length > 1) words.set('diffview', state.diffView);
  return '#' + words;
}

// record: a step that "back" undoes.
function saveState(record) {
  const text = stateText();
  if (text === location.hash) return;
  if (record) history.pushState(null, '', text);
  else history.replaceState(null, '', text);
}

// Which of them is that of the picture: neither knows what the other one has in it.
const viewOfPicture = () => (state.base ? 'diffView' : 'view');

// The pictures' addresses without what is a place in them: what is done to stacks stays for another range.
function forgetPlace() {
  for (const which of ['view', 'diffView']) {
    const words = new URLSearchParams(state[which].slice(1));
    for (const key of ['zoom', 'span']) words.delete(key);
    state[which] = words.size ? `#${words}` : '';
  }
}

// [from, to] that the time line shows.
function shownRange() {
  if (!state.isLive) return state.range;
  const now = Math.floor(nowTime());
  return [now - state.span, now];
}

// What the picture is of.
const pictureRange = () => state.mark || shownRange();

// ---- questions to the server, from the state ------------------------------------------------

function selection() {
  const words = new URLSearchParams();
  if (state.event !== 'cpu') words.set('event', state.event);
  for (const [label, name] of Object.entries(state.filters)) words.set(label, name);
  return words;
}

function selectionIn([from, to]) {
  const words = selection();
  words.set('since', `@${from}`);
  words.set('until', `@${to}`);
  return words;
}

// What waits for work is counted where the picture shows it: the switch is the picture's.
const showsWaiting = () => new URLSearchParams(state.view.slice(1)).get('waiting') === '1';

function timelineQuestion() {
  const words = selectionIn(shownRange());
  words.set('by', state.by);
  if (state.method) words.set('method', state.method);
  if (showsWaiting()) words.set('idle', '1');
  return `api/v1/timeline?${words}`;
}

const heatQuestion = () => `api/v1/profile?${selectionIn(state.heat)}&format=cells`;

const times = ([from, to]) => `@${from}..@${to}`;

function pictureQuestion(format) {
  const words = state.base ? selection() : selectionIn(pictureRange());
  if (state.base) {
    words.set('before', times(state.base));
    words.set('after', times(pictureRange()));
  } else if (towersBy()) {
    words.set('by', towersBy());
  }
  words.set('format', format);
  return `api/v1/${state.base ? 'diff' : 'profile'}?${words}`;
}

// What stands below the stacks of a flame graph; '' = their process alone, which needs no second name.
const canSplit = () => state.by !== 'none' && state.by !== 'comm';
const towersBy = () => (state.isSplit && canSplit() ? state.by : '');

// The command that answers the same.
function commandLine(format) {
  const [from, to] = pictureRange();
  const words = state.base ? ['jbpf', 'diff'] : ['jbpf', 'dump'];
  if (state.base) words.push('--before', state.base.map(utc).join('..'),
    '--after', [from, to].map(utc).join('..'));
  else words.push('--since', utc(from), '--until', utc(to));
  if (server.info?.from) words.push('--from', server.info.from);
  else if (server.info && !server.info.default_store) words.push('--store', server.info.store);
  if (state.event !== 'cpu') words.push('--event', state.event);
  for (const [label, name] of Object.entries(state.filters)) words.push(`--${label}`, name);
  if (!state.base && towersBy()) words.push('--by', towersBy());
  words.push('--format', format, '-o', `jbpf.${format}`);
  return words.map(quoted).join(' ');
}
