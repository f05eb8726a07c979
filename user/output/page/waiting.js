// SPDX-License-Identifier: Apache-2.0
// Places in which threads wait for work to come. Of what threads wait for, these are most of the time and say
// nothing: they are left out unless they are asked for.

const HOTSPOT_WAIT = /^((Monitor|MonitorLocker|Mutex)::wait|(Posix)?Semaphore::\w*wait|os::Platform(Monitor::wait|Event::park))/;

// Each rule is frames that follow each other, from caller to callee.
const WAITING_PLACES = [
  { name: 'pool queues', rules: [
    [/^java\.util\.concurrent\.ThreadPoolExecutor\.getTask$/],
    [/^java\.util\.concurrent\.ForkJoinPool\.(awaitWork|idleAwaitWork)$/],
    [/^java\.util\.TimerThread\.mainLoop$/, /^java\.lang\.Object\.wait0?$/],
    [/^io\.netty\.util\.concurrent\.SingleThreadEventExecutor\.takeTask$/],
    [/^org\.eclipse\.jetty\.util\.thread\.QueuedThreadPool\.idleJobPoll$/],
    [/^org\.apache\.tomcat\.util\.threads\.TaskQueue\.(take|poll)$/]] },
  { name: 'selectors and acceptors', rules: [
    [/^sun\.nio\.ch\.(EPoll\.wait|EPollArrayWrapper\.epollWait)$/],
    [/^io\.netty\.channel\.epoll\.Native\.epollWait0?$/],
    [/^sun\.nio\.ch\.(NioSocketImpl|ServerSocketChannelImpl)\.(accept|implAccept|timedAccept)$/],
    [/^java\.net\.(PlainSocketImpl|AbstractPlainSocketImpl)\.(socketAccept|accept)$/]] },
  { name: 'reference and cleaner threads', rules: [
    [/^java\.lang\.ref\.Reference\.waitForReferencePendingList$/],
    [/^java\.lang\.ref\.Reference(\$ReferenceHandler\.run|\.tryHandlePending)$/, /^java\.lang\.Object\.wait0?$/],
    [/^java\.lang\.ref\.(Finalizer\$FinalizerThread|.*Cleaner.*)\.run$/, /^java\.lang\.ref\.ReferenceQueue\.remove0?$/],
    [/^jdk\.internal\.ref\.CleanerImpl\.run$/, /^java\.lang\.ref\.ReferenceQueue\.remove0?$/]] },
  // Loops of HotSpot's own threads; the functions between may be inlined. JavaThread and VMThread::execute
  // are threads of programs that wait for something.
  { name: 'threads of the JVM', rules: [
    [/^(CompileQueue::get|os::signal_wait)$/], [/^signal_thread_entry$/, HOTSPOT_WAIT],
    [/^(?!JavaThread)\w*(Thread|GangWorker|Sweeper|TaskDispatcher|Sampler|Driver|Director)::(run|run_service|loop|\w+_loop|\w+_entry|\w*sleep\w*|\w*wait_for_\w+)$/,
      HOTSPOT_WAIT],
    [/^Threads::destroy_vm$/, HOTSPOT_WAIT],
    [/^(CallJavaMainInNewThread|ContinueInNewThread0?)$/, /pthread_(clock)?join/]] },
];
const IDLE_FRAME = '[idle]';

// Frame -> { place, of the rule's other frames } of the rules that begin with it.
function rulesByFrame() {
  return names.map((name) => {
    const rules = WAITING_PLACES.flatMap((place, at) =>
      place.rules.filter(([first]) => first.test(name)).map((rule) => ({ at, rest: rule.slice(1) })));
    return rules.length ? rules : null;
  });
}

// A function: stack -> the place in which it waits, -1 = none of them. Idle threads are the last place.
function makePlaceFinder() {
  const rules = rulesByFrame();
  const idle = names.map((name) => name === IDLE_FRAME);
  return (stack) => {
    if (stack.length > labelCount + 1 && idle[frameOf(stack[labelCount + 1])]) return WAITING_PLACES.length;
    for (let i = 0; i < stack.length; i++) {
      for (const { at, rest } of rules[frameOf(stack[i])] || [])
        if (rest.every((wanted, k) => i + 1 + k < stack.length && wanted.test(names[frameOf(stack[i + 1 + k])])))
          return at;
    }
    return -1;
  };
}

const placeNames = [...WAITING_PLACES.map(({ name }) => name), 'idle threads'];
const notShown = new Float64Array(placeNames.length); // samples by place
