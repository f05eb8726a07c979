// SPDX-License-Identifier: Apache-2.0
// Questions and answers. The token comes in the address that jbpf web prints, and leaves it at
// once: it is kept as long as this tab.

const server = { token: '', info: null, ahead: 0 };
const CLOCK_TOLERANCE_S = 2; // whole seconds are told, and an answer takes a while

// Windows have the server's time: a page that goes by a clock of its own asks for a future that is empty, or an old past.
const nowTime = () => Date.now() / 1000 + server.ahead;

// By its word. Whether "now" is another time than before.
function setClock(time) {
  const ahead = time - Date.now() / 1000;
  const before = server.ahead;
  server.ahead = Math.abs(ahead) > CLOCK_TOLERANCE_S ? ahead : 0;
  return Math.abs(server.ahead - before) > CLOCK_TOLERANCE_S;
}

function takeToken() {
  const words = new URLSearchParams(location.hash.slice(1));
  const token = words.get('token');
  try {
    if (token) sessionStorage.setItem('jbpf-token', token);
    server.token = token || sessionStorage.getItem('jbpf-token') || '';
  } catch {
    server.token = token || '';
  }
  if (!token) return;
  words.delete('token');
  history.replaceState(null, '', `#${words}`);
}

async function ask(question, signal) {
  const headers = server.token ? { Authorization: `Bearer ${server.token}` } : {};
  let answer;
  try {
    answer = await fetch(question, { headers, signal, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Error('The server does not answer; does jbpf web still run?');
  }
  if (!answer.ok) throw new Error((await answer.text()).trim() || `HTTP ${answer.status}`);
  return answer;
}

// ---- light or dark ------------------------------------------------------------------------------

// '' = as the system has it. A frame tells what was chosen in it, and has no storage for it.
let theme = '';

function setTheme(chosen) {
  theme = chosen === 'light' || chosen === 'dark' ? chosen : '';
  if (theme) document.documentElement.dataset.theme = theme;
}

function takeTheme() {
  try {
    setTheme(localStorage.getItem('jbpf-theme'));
  } catch { /* no storage: as long as the page is there */ }
}

function keepTheme(chosen) {
  setTheme(chosen);
  try { localStorage.setItem('jbpf-theme', theme); } catch { /* as above */ }
}

// ---- what waits until it is let go --------------------------------------------------------------

// Answers that come while something is pressed wait until it is let go: a button that is made anew meanwhile
// has no click, and a brush no end.
let isPressed = false;
let waiting = [];

function letGo() {
  isPressed = false;
  for (const goOn of waiting) goOn();
  waiting = [];
}

const untilReleased = () => (isPressed ? new Promise((goOn) => { waiting.push(goOn); }) : undefined);

addEventListener('pointerdown', (event) => { isPressed = event.button === 0; }, true);
addEventListener('blur', letGo);
for (const type of ['pointerup', 'pointercancel'])
  addEventListener(type, () => setTimeout(letGo), true); // the click comes first

// For downloads, which cannot send a header.
const withToken = (question) => (server.token ? `${question}&token=${server.token}` : question);

// ---- what is said of it -------------------------------------------------------------------------

// By place of the page and by source: what one has to say goes away with that one's next answer.
const saidBy = { message: new Map(), said: new Map() };

function say(place, source, text) {
  saidBy[place].set(source, text);
  const lines = new Set([...saidBy[place].values()].flatMap((one) => one.split('\n')).filter(Boolean));
  const all = [...lines].join('\n');
  if ($(place).textContent === all) return; // or it would be read aloud again
  $(place).hidden = !all;
  $(place).textContent = all;
}

// Why there is no answer; '' when there is.
const showMessage = (source, text) => say('message', source, text);

// What the command said beside an answer, without its name; of none, nothing.
function showSaid(source, answer) {
  const text = answer?.headers.get('Jbpf-Said') ?? '';
  say('said', source, decodeURIComponent(text).replace(/^jbpf-[a-z]+: /gm, ''));
}
