// SPDX-License-Identifier: Apache-2.0
// Buttons, keys, and the order in which things are asked for; starts everything.

const RANGES = [['15m', 900], ['1h', 3600], ['6h', 21600], ['24h', DAY], ['7d', 7 * DAY]];
const PRESETS = [{ text: 'an hour', hours: 1 }, { text: 'a day', days: 1 }, { text: 'a week', days: 7 }];
const LABELS = ['container', 'service', 'pod', 'namespace', 'image', 'host', 'comm', 'none'];
const PROFILE_FORMATS = ['html', 'svg', 'folded', 'top', 'json', 'pprof', 'speedscope', 'otlp'];
const DIFF_FORMATS = ['html', 'folded', 'top', 'json'];
const SIDE_MAX = 3600; // seconds of a comparison before and after a start
const REFRESH_MIN_MS = 10000;
const METHOD_MAX = 4096; // characters; the server says no to some shorter ones, too

let asking = null;
let refreshTimer = 0;

// ---- asking -----------------------------------------------------------------------------------

async function loadTimeline() {
  if (asking) asking.abort();
  const own = asking = new AbortController();
  $('plot').ariaBusy = 'true';
  try {
    const reply = await ask(timelineQuestion(), own.signal);
    const answer = await reply.json();
    await untilReleased();
    if (own.signal.aborted) return false;
    showMessage('line', '');
    showSaid('line', reply);
    stored = answer;
    // What is drawn goes further: it stays until both are there.
    if (told?.line && readsAlong()) {
      await loadRunning();
    } else {
      drawTimeline(stored);
      loadRunning();
    }
    document.body.dataset.drawn = performance.now().toFixed(0);
    return true;
  } catch (error) {
    if (error.name !== 'AbortError') showMessage('line', error.message);
    return false;
  } finally {
    if (asking === own) $('plot').ariaBusy = 'false';
  }
}

// What there is to be asked for.
async function loadInfo() {
  try {
    server.info = await (await ask('api/v1/info')).json();
    showMessage('info', '');
    return true;
  } catch (error) {
    showMessage('info', error.message);
    return false;
  }
}

// A longer range changes more slowly.
function planRefresh() {
  clearTimeout(refreshTimer);
  if (!state.isLive) return;
  const pause_ms = Math.max(REFRESH_MIN_MS, state.span * 1000 / 360);
  refreshTimer = setTimeout(async () => {
    // On a busy host a picture may take longer than that: asked for anew it would never come.
    if (!document.hidden && !brush && !coming && await loadTimeline() && !state.mark) loadPicture();
    planRefresh();
  }, pause_ms);
}

// All of it anew. record: a step for "back".
function refresh(record) {
  saveState(record);
  showControls();
  forgetRunning();
  loadTimeline();
  loadPicture();
  loadHeat();
  planRefresh();
  planRunning();
}

// The same time line with other marks.
function refreshPicture() {
  forgetPlace();
  saveState(true);
  showControls();
  if (plot) plot.redraw(false);
  if (isHeatOf(state.heat)) drawHeat();
  else loadHeat();
  loadPicture();
}

// ---- what the controls do -------------------------------------------------------------------------

function stopAt(range) {
  state.isLive = false;
  state.range = range.map((time) => Math.round(time));
  if (state.range[1] - state.range[0] < SPAN_MIN) state.range[1] = state.range[0] + SPAN_MIN;
}

function markRange(range, isBase) {
  if (isBase && range) {
    state.base = range;
    $('pick').ariaPressed = 'false';
  } else {
    state.mark = range;
    if (!range) state.base = null;
    else if (state.heat && !isWithin(range, state.heat)) state.heat = heatRange(range);
  }
  refreshPicture();
}

function setSpan(seconds) {
  Object.assign(state, { span: seconds, range: null, isLive: true, mark: null, base: null });
  refresh(true);
}

function toggleLive() {
  if (state.isLive) {
    stopAt(shownRange());
  } else {
    Object.assign(state, { span: state.range[1] - state.range[0], range: null, isLive: true });
  }
  refresh(true);
}

function toggleHeat() {
  const wasLive = state.isLive;
  if (wasLive) stopAt(shownRange());
  state.heat = state.heat ? null : heatRange(pictureRange());
  if (wasLive) {
    refresh(true);
    return;
  }
  // The time line and the picture stay as they are.
  saveState(true);
  showControls();
  loadHeat();
}

function zoomIn() {
  if (!state.mark) return;
  stopAt(state.mark);
  state.mark = null;
  refresh(true);
}

function zoomOut() {
  const [from, to] = shownRange();
  const half = (to - from) / 2;
  stopAt([Math.max(0, from - half), Math.min(to + half, Math.max(to, nowTime()))]);
  refresh(true);
}

// More may have been recorded since the page came.
async function showAll() {
  if (asking) asking.abort(); // its time line is not wanted any more
  asking = null;
  $('plot').ariaBusy = 'true';
  if (!await loadInfo() || !server.info.last) {
    $('plot').ariaBusy = 'false';
    return;
  }
  Object.assign(state, { mark: null, base: null });
  stopAt([server.info.first, server.info.last + 1]);
  refresh(true);
}

// Days by the calendar: where the clock changes one has 23 or 25 hours, and noon is compared with noon.
function timeBefore(time, { hours = 0, days = 0 }) {
  const date = new Date(time * 1000);
  date.setDate(date.getDate() - days);
  return date.getTime() / 1000 - hours * 3600;
}

function compareWith(preset) {
  const range = pictureRange();
  state.mark = range;
  const from = timeBefore(range[0], preset);
  state.base = [from, from + range[1] - range[0]];
  if (!state.isLive) {
    refreshPicture();
    return;
  }
  stopAt(shownRange());
  forgetPlace();
  refresh(true); // nothing of now stays beside a time that stands
}

// What the service did after a start with what it did before, up to its next and last new image.
function compareAround(start) {
  const at = Math.floor(start.time);
  const others = line.starts.filter((one) => one !== start && one.is_new_image && one.service === start.service)
    .map((one) => Math.floor(one.time));
  const end = Math.min(line.since + line.steps * line.step, Math.ceil(nowTime()), at + SIDE_MAX,
    ...others.filter((time) => time > at));
  const begin = Math.max(server.info?.first || 0, at - SIDE_MAX, ...others.filter((time) => time < at));
  if (state.isLive) stopAt(shownRange());
  state.mark = [at, Math.max(end, at + SPAN_MIN)];
  state.base = [Math.min(begin, at - SPAN_MIN), at];
  state.range[0] = Math.min(state.range[0], state.base[0]);
  state.heat = null;
  // A roll-out changes names of containers and pods, not that of the service.
  if (start.service) {
    for (const label of ['container', 'pod', 'image', 'comm', 'pid']) delete state.filters[label];
    state.filters.service = plainName(start.service);
  }
  forgetPlace();
  refresh(true);
}

// A name is a glob: what would match others is taken by its letter.
const plainName = (name) => name.replace(/[\\*?[]|^!/g, '\\$&');

function pickSeries(name) {
  state.filters[state.by] = name === NO_LABEL ? WITHOUT_LABEL : plainName(name);
  forgetPlace();
  refresh(true);
}

// The time line of one method; '' = of all. The picture stays.
function showMethod(name) {
  state.method = name.slice(0, METHOD_MAX);
  saveState(true);
  showControls();
  forgetRunning();
  loadTimeline();
}

// Moves the mark by steps, or its end with Shift; without one, marks the last step.
function moveMark(steps, isLonger) {
  if (!line) return;
  const end = line.since + line.steps * line.step;
  const [from, to] = state.mark || [end - line.step, end];
  const by = state.mark ? steps * line.step : 0;
  const moved = isLonger ? [from, to + by] : [from + by, to + by];
  if (moved[0] < line.since || moved[1] > end || moved[1] <= moved[0]) return;
  markRange(moved, false);
}

// ---- what they show -----------------------------------------------------------------------------

function addButton(parent, text, action) {
  const button = document.createElement('button');
  button.textContent = text;
  button.addEventListener('click', action);
  parent.append(button);
  return button;
}

function fillSelect(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => {
    const option = document.createElement('option');
    option.value = value;
    option.textContent = text;
    return option;
  }));
  select.value = chosen;
}

function addFilter(text, title, clear) {
  addButton($('filters'), `${text} \u2715`, clear).title = title;
}

function showFilters() {
  $('filters').replaceChildren();
  if (state.method)
    addFilter(`time line of ${state.method}`, 'The time line of all methods again', () => showMethod(''));
  for (const [label, name] of Object.entries(state.filters))
    addFilter(name === WITHOUT_LABEL ? `no ${label}` : `${label} ${name}`, `Show all again, not only this ${label}`, () => {
      delete state.filters[label];
      forgetPlace();
      refresh(true);
    });
}

function newLink(format) {
  const link = document.createElement('a');
  link.textContent = format;
  link.download = '';
  return link;
}

// Live moves on without a click: made with each picture and when the menu opens. What is there stays, and so
// does its focus.
function showExport() {
  const formats = state.base ? DIFF_FORMATS : PROFILE_FORMATS;
  const links = [...$('formats').children];
  if (links.map((link) => link.textContent).join() !== formats.join())
    $('formats').replaceChildren(...formats.map(newLink));
  for (const link of $('formats').children)
    link.href = withToken(`${pictureQuestion(link.textContent)}&download=1`);
  const command = commandLine('html');
  if ($('command').value !== command) $('command').value = command;
}

function showMarked() {
  const range = pictureRange();
  const length = `${zoneOf(range[1])}, ${formatDuration(range[1] - range[0])}`;
  if (state.base) {
    $('marked').textContent = `${formatRange(range)} (${length}), compared with ${formatRange(state.base)}`;
  } else if (state.mark) {
    $('marked').textContent = `${formatRange(range)} (${length})`;
  } else {
    $('marked').textContent = state.isLive ? `The last ${formatDuration(range[1] - range[0])}; drag over the time line to mark a part` :
      `${formatRange(range)} (${length}), all of it; drag to mark a part`;
  }
}

function showControls() {
  [...$('ranges').children].forEach((button, i) => {
    button.ariaPressed = String(state.isLive && state.span === RANGES[i][1]);
  });
  $('live').ariaPressed = String(state.isLive);
  $('live').textContent = state.isLive ? 'Live \u25cf' : 'Live';
  // The same samples cannot be on both sides.
  const [from, to] = pictureRange();
  [...$('presets').children].forEach((button, i) => { button.disabled = timeBefore(to, PRESETS[i]) > from; });
  $('picture').className = state.base ? 'comparison' : '';
  $('zoomIn').disabled = !state.mark;
  $('split').ariaPressed = String(state.isSplit && canSplit());
  $('split').disabled = !canSplit() || state.base !== null;
  $('heatMap').ariaPressed = String(state.heat !== null);
  $('clear').disabled = !state.mark && !state.base;
  const events = server.info && server.info.events.length ?
    server.info.events.map(({ name, title }) => [name, title]) : [['cpu', 'CPU']];
  fillSelect($('event'), events, state.event);
  fillSelect($('by'), LABELS.map((label) => [label, label]), state.by);
  showFilters();
  showMarked();
}

function toggleSplit() {
  state.isSplit = !state.isSplit;
  refreshPicture();
}

async function copyCommand() {
  $('command').select();
  try {
    await navigator.clipboard.writeText($('command').value);
  } catch {
    document.execCommand('copy');
  }
}

// ---- events -------------------------------------------------------------------------------------

const PLOT_KEYS = {
  ArrowLeft: (event) => moveMark(-1, event.shiftKey),
  ArrowRight: (event) => moveMark(1, event.shiftKey),
  Enter: zoomIn,
  Escape: () => markRange(null, false),
};
const PAGE_KEYS = { l: toggleLive, o: zoomOut, h: toggleHeat };

function listen() {
  listenToHeat();
  RANGES.forEach(([text, seconds]) => addButton($('ranges'), text, () => setSpan(seconds)));
  PRESETS.forEach((preset) => addButton($('presets'), `${preset.text} before`, () => compareWith(preset)));
  for (const [id, action] of Object.entries({ live: toggleLive, all: showAll, zoomIn, zoomOut,
    clear: () => markRange(null, false), heatMap: toggleHeat, split: toggleSplit,
    copy: copyCommand }))
    $(id).addEventListener('click', action);
  $('export').addEventListener('toggle', showExport);
  $('pick').addEventListener('click', () => {
    $('pick').ariaPressed = String($('pick').ariaPressed !== 'true');
  });
  $('event').addEventListener('change', () => {
    state.event = $('event').value;
    forgetPlace();
    refresh(true);
  });
  $('by').addEventListener('change', () => {
    state.by = $('by').value;
    if (state.isSplit) forgetPlace();
    refresh(true);
  });
  $('plot').addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !PLOT_KEYS[event.key]) return;
    event.preventDefault();
    PLOT_KEYS[event.key](event);
  });
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('select, textarea')) return;
    if (PAGE_KEYS[event.key]) PAGE_KEYS[event.key]();
  });
  for (const kind of ['popstate', 'hashchange'])
    addEventListener(kind, () => {
      if (stateText() === location.hash) return;
      takeToken();
      loadState();
      refresh(false);
    });
}

async function start() {
  takeTheme();
  takeToken();
  loadState();
  listen();
  refresh(false);
  if (!await loadInfo()) return;
  // Of many hosts its own is none to name.
  const source = server.info.from ? server.info.from.replace(/^.*?@|[?].*/g, '') : server.info.host;
  document.title = `jbpf ${source}`;
  $('host').textContent = source;
  if (setClock(server.info.now) && state.isLive) {
    refresh(false);
    return;
  }
  showControls();
  showExport();
}

start();
