// SPDX-License-Identifier: Apache-2.0
// The flame graph or comparison: the very page that jbpf-dump and jbpf-diff write, in a frame that
// reaches nothing. It tells its own address (page.js), which becomes part of ours.

let frame = null; // that is shown
let coming = null; // { frame, asking, asked, until }
let focusInside = ''; // id of what has the focus in the frame, if it has it
let shownPicture = null; // when it was asked for, and up to when windows had ended then, if that is known

function removeFrame(element) {
  if (element) element.remove();
}

function showFrame() {
  const hasFocus = frame && document.activeElement === frame;
  removeFrame(frame);
  frame = coming.frame;
  shownPicture = { asked: coming.asked, until: coming.until };
  frame.className = '';
  coming = null;
  if (hasFocus) {
    frame.focus({ preventScroll: true });
    frame.contentWindow.postMessage({ jbpfFocus: focusInside }, '*');
  }
  $('picture').ariaBusy = 'false';
  $('picture').dataset.shown = performance.now().toFixed(0);
}

function showNoFrame(why) {
  removeFrame(coming.frame);
  removeFrame(frame);
  coming = frame = shownPicture = null;
  $('picture').ariaBusy = 'false';
  showMessage('picture', why);
  showSaid('picture', null);
}

const loaded = (element) => new Promise((goOn) => { element.addEventListener('load', goOn, { once: true }); });

// A frame without a page yet, which nobody sees.
function newFrame() {
  const element = document.createElement('iframe');
  element.className = 'coming';
  element.dataset.view = viewOfPicture();
  element.title = state.base ? 'Comparison' : 'Flame graph';
  element.setAttribute('sandbox', 'allow-scripts');
  element.src = `frame.html#${state[viewOfPicture()].slice(1)}`;
  return element;
}

// Gives up what was asked for before.
function beginPicture() {
  if (coming) {
    coming.asking.abort();
    removeFrame(coming.frame);
  }
  coming = { frame: newFrame(), asking: new AbortController(), asked: performance.now(), until: stored?.recorded_until };
  $('picture').ariaBusy = 'true';
  $('picture').dataset.asked = performance.now().toFixed(0);
  return coming;
}

async function loadPicture() {
  const own = beginPicture();
  const isThere = loaded(own.frame);
  $('picture').append(own.frame);
  showExport();
  try {
    const answer = await ask(pictureQuestion('html'), own.asking.signal);
    const page = await answer.arrayBuffer();
    await isThere;
    if (coming !== own) return;
    showMessage('picture', '');
    showSaid('picture', answer);
    own.frame.contentWindow.postMessage({ jbpfPage: page, jbpfTheme: theme }, '*', [page]);
  } catch (error) {
    if (coming === own) showNoFrame(error.message);
  }
}

addEventListener('message', (event) => {
  const method = event.data && event.data.jbpfMethod;
  if (typeof method === 'string' && frame && event.source === frame.contentWindow) showMethod(method);
  const chosen = event.data && event.data.jbpfTheme;
  if (typeof chosen === 'string' && frame && event.source === frame.contentWindow) {
    keepTheme(chosen);
    drawInks();
  }
  const focused = event.data && event.data.jbpfFocus;
  if (typeof focused === 'string' && frame && event.source === frame.contentWindow) focusInside = focused;
  const view = event.data && event.data.jbpfView;
  if (typeof view !== 'string') return;
  if (coming && event.source === coming.frame.contentWindow) showFrame();
  if (!frame || event.source !== frame.contentWindow) return;
  const showedWaiting = showsWaiting();
  state[frame.dataset.view] = view.length > 1 ? view : '';
  saveState(event.data.record === true);
  if (showsWaiting() !== showedWaiting) loadTimeline();
});
