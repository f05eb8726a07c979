// SPDX-License-Identifier: Apache-2.0
// Places in which threads wait for work to come. Of what threads wait for, these are most of the time and say
// nothing: they are left out unless they are asked for. The rules come with the data: waiting_place.h.

const placeNames = data.places || [];
const notShown = new Float64Array(placeNames.length); // samples by place

// Globs with blanks between; (a|b) is one of these.
function patternOf(globs) {
  if (!globs) return null;
  const one = (glob) => glob.replace(/[.$^+?{}[\]\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^(?:${globs.split(' ').map(one).join('|')})$`, 's');
}

// A method in Java without its parameters, which a host may keep: "a.B.c" of "a.B.c(int)".
const bareName = (name) => name.replace(/([^ ])\([^()]*\)$/, '$1');

// Frame -> { place, callee } of the rules that begin with it.
function rulesByFrame(bareNames) {
  const rules = data.waits.map(([place, frame, except, callee]) =>
    ({ place, frame: patternOf(frame), except: patternOf(except), callee: patternOf(callee) }));
  return bareNames.map((name) => {
    const found = rules.filter(({ frame, except }) => frame.test(name) && !except?.test(name));
    return found.length ? found : null;
  });
}

// A function: stack -> the place in which it waits, -1 = none of them. Idle threads are the last place.
function makePlaceFinder() {
  const bareNames = names.map(bareName);
  const rules = rulesByFrame(bareNames);
  const idle = names.map((name) => name === '[idle]');
  return (stack) => {
    if (stack.length > labelCount + 1 && idle[frameOf(stack[labelCount + 1])]) return placeNames.length - 1;
    for (let i = 0; i < stack.length; i++) {
      for (const { place, callee } of rules[frameOf(stack[i])] || [])
        if (!callee || (i + 1 < stack.length && callee.test(bareNames[frameOf(stack[i + 1])]))) return place;
    }
    return -1;
  };
}
