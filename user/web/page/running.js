// SPDX-License-Identifier: Apache-2.0
// The window that runs: while the page is live and looked at, what jbpfd has counted since the newest window that is
// stored continues the time line, and is the figures of now. Flame graphs are of stored windows.

const RUNNING_MS = 2000;
const SERIES_MAX = 12; // that are told apart
const NOW_LEAST = 0.005;

let stored = null; // the time line's answer, of windows that have ended
let told = null; // the newest answer about the one that runs
let runningTimer = 0;
let runningAsking = null;

const readsAlong = () => state.isLive && !document.hidden && !state.method;

// From where the store ends, in its steps.
function runningQuestion(base) {
  const words = selection();
  words.set('since', `@${base?.recorded_until ?? shownRange()[0]}`);
  words.set('by', state.by);
  if (base) words.set('step', `${base.step}s`);
  return `api/v1/running?${words}`;
}

// ---- one time line of both ------------------------------------------------------------------------

// Rates by step of one series; where nothing is known of any, null. A step that is known in part has the rate of
// that part, as it has in what is stored; what is told is of whole steps.
function addedValues(base, answer, first, ofStored, ofTold) {
  const steps = Math.max(base.steps, first + answer.line.steps);
  return Array.from({ length: steps }, (_, i) => {
    const known = i < base.steps && base.others.values[i] !== null;
    const value = known ? ofStored?.[i] ?? 0 : null;
    if (i < first) return value;
    const begin = base.since + i * base.step;
    const storedPart = known ? Math.min(Math.max(base.recorded_until - begin, 0), base.step) : 0;
    const part = storedPart + (answer.told[i - first] ?? 0);
    if (!part) return value;
    return ((value ?? 0) * storedPart + (ofTold?.[i - first] ?? 0) * base.step) / part;
  });
}

const sumOf = (lists) => lists.reduce((sum, values) => values.map((value, i) => (value ?? 0) + (sum[i] ?? 0)), []);

function withRunning(base, answer) {
  const first = Math.round((answer.line.since - base.since) / base.step);
  const added = (ofStored, ofTold) => addedValues(base, answer, first, ofStored, ofTold);
  const news = new Map(answer.line.series.map(({ name, values }) => [name, values]));
  const series = base.series.map(({ name, values }) => ({ name, values: added(values, news.get(name)) }));
  for (const { name } of base.series) news.delete(name);
  // Who was among the others stays there.
  if (!base.others.count)
    for (const [name, values] of [...news].slice(0, Math.max(SERIES_MAX - series.length, 0))) {
      series.push({ name, values: added(null, values) });
      news.delete(name);
    }
  const others = { count: Math.max(base.others.count, news.size),
    values: added(base.others.values, sumOf([...news.values(), answer.line.others.values])) };
  const lost = others.values.map((_, i) => (base.lost[i] ?? 0) + (answer.line.lost[i - first] ?? 0));
  return { ...base, steps: others.values.length, series, others, lost };
}

// ---- showing it -----------------------------------------------------------------------------------

function nowPart(...children) {
  const part = document.createElement('span');
  part.append(...children);
  return part;
}

function amountPart(value) {
  const amount = nowPart(formatAmount(value));
  amount.className = 'amount';
  return amount;
}

function nowButton(name, value) {
  const button = document.createElement('button');
  button.append(nowPart(labelOf(name)), ' ', amountPart(value));
  button.dataset.key = name;
  button.disabled = !SELECTORS.includes(state.by);
  button.addEventListener('click', () => pickSeries(name));
  return button;
}

function showNow(answer) {
  $('now').hidden = !answer?.now;
  if (!answer?.now) {
    $('now').replaceChildren();
    return;
  }
  const all = answer.now.series.map(({ name, values }) => ({ name, value: values[0] }))
    .filter(({ value }) => value >= NOW_LEAST);
  const rest = all.slice(SERIES_MAX).reduce((sum, { value }) => sum + value, answer.now.others.values[0] ?? 0);
  const host = nowPart(`Now (${formatDuration(Math.max(1, Math.round(answer.span)))} to ${formatTime(Math.floor(answer.until))}), ` +
    `${unitOf(answer.now)}: host ${formatAmount(answer.host)}` + (answer.now.event === 'cpu' ? ` of ${answer.cpus}` : ''));
  replaceKeeping($('now'), [host, ...all.slice(0, SERIES_MAX).map(({ name, value }) => nowButton(name, value))]);
  if (rest >= NOW_LEAST) $('now').append(nowPart('others ', amountPart(rest)));
  if (answer.unnamed >= NOW_LEAST && !Object.keys(state.filters).length)
    $('now').append(nowPart('not named yet ', amountPart(answer.unnamed)));
}

function pictureAge() {
  if (state.mark) return 'The flame graph is of the marked range.';
  if (!shownPicture) return '';
  const age = formatDuration(Math.round((performance.now() - shownPicture.asked) / 1000));
  const newest = shownPicture.until ? `, the newest at ${formatTime(Math.floor(shownPicture.until))}` : '';
  return `The flame graph is of windows that had ended ${age} ago${newest}.`;
}

function lineAge(answer) {
  if (answer.until)
    return `The time line goes on to ${formatTime(Math.floor(answer.until))}, with the window that runs.`;
  const until = stored?.recorded_until;
  const newest = until ? ` The newest ended at ${formatTime(Math.floor(until))}` +
    (answer.time >= until ? `, ${formatDuration(Math.round(answer.time - until))} ago.` : '.') : '';
  return answer.why ? `${answer.why[0].toUpperCase()}${answer.why.slice(1)}.${newest}` : newest.trim();
}

function showAge(answer) {
  $('age').hidden = !state.isLive;
  $('age').textContent = state.isLive ? `${lineAge(answer)} ${pictureAge()}`.trim() : '';
}

// What is stored, and what was told since; `answer` is of just this time line.
function showRunning(base, answer) {
  told = answer;
  showNow(answer);
  showAge(answer);
  if (base && !brush) redrawTimeline(answer.line ? withRunning(base, answer) : base);
}

// ---- asking ---------------------------------------------------------------------------------------

function forgetRunning() {
  if (runningAsking) runningAsking.abort();
  stored = told = null;
  showNow(null);
  if (!state.isLive) showAge({ why: '' });
}

async function loadRunning() {
  const base = stored;
  if (runningAsking) runningAsking.abort();
  if (!readsAlong()) {
    if (state.method) showRunning(base, { why: 'only windows that have ended are shown: of one method no more is told' });
    return;
  }
  const own = runningAsking = new AbortController();
  let answer;
  try {
    answer = await (await ask(runningQuestion(base), own.signal)).json();
  } catch (error) {
    if (error.name === 'AbortError') return;
    answer = { why: `only windows that have ended are shown: ${error.message}` };
  }
  await untilReleased();
  if (runningAsking === own && base === stored && state.isLive) showRunning(base, answer);
}

// While nobody looks nobody asks, and jbpf web hangs up.
function planRunning() {
  clearTimeout(runningTimer);
  if (!state.isLive) return;
  runningTimer = setTimeout(async () => {
    if (!brush && !document.hidden) await loadRunning();
    planRunning();
  }, RUNNING_MS);
}

document.addEventListener('visibilitychange', () => {
  if (state.isLive && !document.hidden && !brush) loadRunning();
});
