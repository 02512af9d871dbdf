// SPDX-License-Identifier: MIT
//
// The thread that waits for SIGINT; see interrupts.js.
//
// Node gives SIGINT its deadly meaning back when no thread is in the state that this one waits
// in. So it is in that state several times, one in the other. A signal ends the innermost alone, and
// only as many that come before this thread gets on would end them all.
'use strict';

const inspector = require('inspector');
const vm = require('vm');
const { parentPort, workerData: shared } = require('worker_threads');

const ARMED = 0;
const ENDED = 1;
const ASKED = 2;
// What the main thread has to answer in: at first, and after it was stopped. Stopping it when it
// does nothing would stop what it does next.
const PATIENCE_MS = 100;
const PATIENCE_AFTER_MS = 1000;

// Open only while it is used: Node would not end before.
const session = new inspector.Session();

// Stop what the main thread runs.
function stop() {
	session.disconnect(); // an interrupt may have stopped us here
	session.connectToMainThread();
	session.post('Runtime.terminateExecution');
	session.disconnect();
}

function isRunning(cell) {
	return Atomics.load(shared, ARMED) === 1 && Atomics.load(shared, ENDED) === cell;
}

function interrupt() {
	if (!signalled)
		return;
	signalled = false;
	const cell = Atomics.load(shared, ENDED);
	let patience = PATIENCE_MS;
	while (isRunning(cell)) {
		parentPort.postMessage(cell);
		Atomics.wait(shared, ENDED, cell, patience);
		if (isRunning(cell))
			stop();
		patience = PATIENCE_AFTER_MS;
	}
}

const GUARDS = 6;

let told = false;
let signalled = false; // and nothing was done about it yet

function tellReady() {
	if (!told)
		parentPort.postMessage('ready');
	told = true;
}

// Call a function, and wait until it returns or SIGINT comes.
function untilSignal(call) {
	try {
		vm.runInThisContext(`llmSandbox.${call}`, { breakOnSigint: true });
	} catch {
		signalled = true;
	}
}

globalThis.llmSandbox = {
	wait() {
		for (;;) {
			Atomics.wait(shared, ASKED, 0);
			Atomics.store(shared, ASKED, 0);
			parentPort.postMessage('asked');
		}
	},
	interrupt,
	watch() {
		tellReady(); // not before a signal would be seen
		// In this order: a signal that came between the two has brought us here again.
		for (;;) {
			untilSignal('interrupt()');
			if (!signalled)
				untilSignal('wait()');
		}
	},
	guard(inside) {
		for (;;)
			untilSignal(inside > 0 ? `guard(${inside - 1})` : 'watch()');
	},
};

for (;;)
	untilSignal(`guard(${GUARDS})`);
