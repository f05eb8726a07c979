// SPDX-License-Identifier: Apache-2.0
// What is done to the stacks before they are drawn: a list of steps, in order, which the address holds. A
// step takes a stack and gives another one, or null: it is left out.

const labelCount = data.labels || 0; // frames in front of the process

// "*" and "?" as in the shell; several with commas between them.
function globMatcher(text) {
  const patterns = text.split(/,(?![^(]*\))/).map((glob) => glob.trim()).filter(Boolean)
    .map((glob) => glob.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.'));
  const expression = new RegExp(`^(?:${patterns.join('|')})$`);
  // A glob without parameters is of all methods of the name.
  return (name) => expression.test(name) || expression.test(bareName(name));
}

const framesWhere = (isWanted) => Uint8Array.from(names, (name, frame) => (isWanted(name, frame) ? 1 : 0));
const isMarked = (marks) => (item) => marks[frameOf(item)] === 1;

// What is in front of the code: labels and the process.
const headOf = (stack) => stack.slice(0, labelCount + 1);
const otherCode = (stack) => [...headOf(stack), ~otherFrame];

// Below a process it is no code, and stays what it is (stack_text.h).
const isCpuWait = (name) => name === '[waiting for a CPU]';

// The time of libraries is charged to the nearest own frame.
function cutToOwn(globs) {
  const isLike = globMatcher(globs);
  const isOwn = isMarked(framesWhere((name) => isLike(name) || isCpuWait(name)));
  return (stack) => {
    const last = stack.findLastIndex((item, i) => i > labelCount && isOwn(item));
    return last < 0 ? otherCode(stack) : stack.slice(0, last + 1);
  };
}

function fromJava() {
  const isWanted = isMarked(framesWhere((name, frame) => isJava(frame) || isCpuWait(name)));
  return (stack) => {
    const first = stack.findIndex(isWanted);
    return first < 0 ? otherCode(stack) : [...headOf(stack), ...stack.slice(first)];
  };
}

// From the outermost place of a method to its innermost one.
function foldMethod(name) {
  const isIt = isMarked(framesWhere((other) => other === name));
  return (stack) => {
    const first = stack.findIndex(isIt);
    const last = stack.findLastIndex(isIt);
    return first === last ? stack : [...stack.slice(0, first), ...stack.slice(last)];
  };
}

const PERIOD_MAX = 8; // methods that call each other in turn

// Methods that call themselves, also through others, again and again: one round is left.
function foldRecursion() {
  const methodAt = (stack, i) => mergedMethods[frameOf(stack[i])];
  const isRound = (stack, period) => {
    for (let i = 1; i <= period; i++)
      if (methodAt(stack, stack.length - i) !== methodAt(stack, stack.length - i - period)) return false;
    return true;
  };
  return (stack) => {
    const out = [];
    for (const item of stack) {
      out.push(item);
      for (let period = 1; period <= PERIOD_MAX && 2 * period <= out.length; period++)
        if (isRound(out, period)) { out.length -= period; break; }
    }
    return out.length === stack.length ? stack : out;
  };
}

const ofMethod = (make) => (name) => make(isMarked(framesWhere((other) => other === name)));

// verb -> what is said of it, and the function that makes the step. Those with a method come from the
// menu of a frame, the others are switches.
const STEP_KINDS = {
  only: { text: (name) => `only stacks with ${name}`,
    make: ofMethod((isIt) => (stack) => (stack.some(isIt) ? stack : null)) },
  without: { text: (name) => `without stacks with ${name}`,
    make: ofMethod((isIt) => (stack) => (stack.some(isIt) ? null : stack)) },
  hide: { text: (name) => `${name} hidden`,
    make: ofMethod((isIt) => (stack) => (stack.some(isIt) ? stack.filter((item) => !isIt(item)) : stack)) },
  fold: { text: (name) => `recursion of ${name} collapsed`, make: foldMethod },
  own: { text: (globs) => `own code ${globs}`, make: cutToOwn },
  java: { text: () => 'from Java on', make: fromJava },
  recursion: { text: () => 'recursion collapsed', make: foldRecursion },
  passing: { text: () => 'pass-through frames collapsed', make: null },
};

const SWITCHES = ['java', 'recursion', 'passing']; // the others want a method, or globs

// { verb, what }; the page says `data.own` when the command did, and an address without steps means that.
let steps = [];
let splitsTiers = false;
let showsWaiting = data.showsIdle === true;

const firstSteps = () => (data.own ? [{ verb: 'own', what: data.own }] : []);
const stepText = ({ verb, what }) => (what ? `${verb}:${what}` : verb);
const stepsText = (list) => list.map(stepText).join('\n');

function readSteps(state) {
  const words = state.has('do') ? state.getAll('do') : firstSteps().map(stepText);
  return words.map((word) => {
    const at = word.indexOf(':');
    return at < 0 ? { verb: word, what: '' } : { verb: word.slice(0, at), what: word.slice(at + 1) };
  }).filter(({ verb, what }) => Object.hasOwn(STEP_KINDS, verb) && (what !== '' || SWITCHES.includes(verb)));
}

function putSteps(state) {
  if (stepsText(steps) !== stepsText(firstSteps())) {
    if (!steps.length) state.append('do', ''); // none, where the page would have begun with some
    for (const step of steps) state.append('do', stepText(step));
  }
  if (splitsTiers) state.set('tiers', '1');
  if (showsWaiting !== (data.showsIdle === true)) state.set('waiting', showsWaiting ? '1' : '0');
}

// What is left of the stacks after all that; the arrays are those of the next stack, too.
function forEachShownStack(visit) {
  const changes = steps.map(({ verb, what }) => STEP_KINDS[verb].make?.(what)).filter(Boolean);
  const placeOf = data.waits ? makePlaceFinder() : () => -1;
  notShown.fill(0);
  forEachStack((whole, weight) => {
    const place = placeOf(whole);
    if (place >= 0) notShown[place] += weight;
    if (place >= 0 && !showsWaiting) return;
    let stack = whole;
    for (const change of changes) {
      stack = change(stack);
      if (!stack) return;
    }
    visit(stack, weight);
  });
}

function buildGraph() {
  const tree = new TreeBuilder();
  forEachShownStack((stack, weight) => tree.add(stack, weight));
  const built = tree.graph(steps.some(({ verb }) => verb === 'passing'));
  built.selfByKind = tree.selfByKind;
  built.kinds = [...tree.hasKind.keys()].filter((kind) => tree.hasKind[kind]);
  return built;
}

// Takes the address' word for what is shown; true when that is something else than before.
let builtFrom = null;
function takeSteps(state) {
  steps = readSteps(state);
  splitsTiers = state.get('tiers') === '1';
  showsWaiting = state.has('waiting') ? state.get('waiting') === '1' : data.showsIdle === true;
  return rebuild();
}

let forward = null;
let reversed = null;
let graph = null;

function rebuild() {
  const from = JSON.stringify([steps, splitsTiers, showsWaiting]);
  if (from === builtFrom) return false;
  builtFrom = from;
  if (mergesTiers === splitsTiers) hashes.clear();
  mergesTiers = !splitsTiers;
  methodOf = splitsTiers ? splitMethods : mergedMethods;
  graph = forward = buildGraph();
  reversed = null;
  return true;
}

takeSteps(new URLSearchParams(location.hash.slice(1)));
