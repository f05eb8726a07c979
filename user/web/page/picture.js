// SPDX-License-Identifier: Apache-2.0
// The flame graph or comparison: the very page that jbpf-dump and jbpf-diff write, in a frame that
// reaches nothing. It tells its own address (page.js), which becomes part of ours.

const SILENCE_MS = 300;

let frame = null; // that is shown
let coming = null; // { frame, question, asked, until }
let shownPicture = null; // when it was asked for, and up to when windows had ended then, if that is known

function removeFrame(element) {
  if (element) element.remove();
}

// A page speaks when it is there, perhaps a moment after it is loaded; what stays silent is an error
// in plain text.
async function frameLoaded(loading) {
  await new Promise((resolve) => { setTimeout(resolve, SILENCE_MS); });
  if (coming !== loading) return;
  try {
    await ask(loading.question);
    if (coming === loading) showFrame();
  } catch (error) {
    if (coming !== loading) return;
    removeFrame(loading.frame);
    removeFrame(frame);
    coming = frame = shownPicture = null;
    $('picture').ariaBusy = 'false';
    showMessage(error.message);
  }
}

function showFrame() {
  removeFrame(frame);
  frame = coming.frame;
  shownPicture = { asked: coming.asked, until: coming.until };
  frame.className = '';
  coming = null;
  showMessage('');
  $('picture').ariaBusy = 'false';
  $('picture').dataset.shown = performance.now().toFixed(0);
}

function loadPicture() {
  const element = document.createElement('iframe');
  const question = pictureQuestion('html');
  const loading = { frame: element, question, asked: performance.now(), until: stored?.recorded_until };
  if (coming) removeFrame(coming.frame);
  coming = loading;
  element.className = 'coming';
  element.title = state.base ? 'Comparison' : 'Flame graph';
  element.setAttribute('sandbox', 'allow-scripts');
  element.addEventListener('load', () => frameLoaded(loading));
  element.src = withToken(question) + state.view;
  $('picture').ariaBusy = 'true';
  $('picture').dataset.asked = performance.now().toFixed(0);
  $('picture').append(element);
}

addEventListener('message', (event) => {
  const method = event.data && event.data.jbpfMethod;
  if (typeof method === 'string' && frame && event.source === frame.contentWindow) showMethod(method);
  const view = event.data && event.data.jbpfView;
  if (typeof view !== 'string') return;
  if (coming && event.source === coming.frame.contentWindow) showFrame();
  if (!frame || event.source !== frame.contentWindow) return;
  const showedWaiting = showsWaiting();
  state.view = view.length > 1 ? view : '';
  saveState(event.data.record === true);
  if (showsWaiting() !== showedWaiting) loadTimeline();
});
