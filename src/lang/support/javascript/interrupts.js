// SPDX-License-Identifier: MIT
//
// SIGINT, also in a loop without end. While the main thread is busy nothing in it hears of a
// signal, so a second thread waits for it, in the one state in which Node stops a thread for
// SIGINT ("breakOnSigint"). It asks the main thread to end the cell, and where that does not
// answer, has the inspector stop what runs there.
'use strict';

const { Worker } = require('worker_threads');

// Places in the memory that both threads see.
const ARMED = 0; // 1 while a cell runs
const ENDED = 1; // how many cells have ended
const ASKED = 2; // 1 to be spoken to

class Interrupts {
	constructor(interrupted, ready) {
		this.shared = new Int32Array(new SharedArrayBuffer(12));
		const worker = new Worker(require.resolve('./interrupts_thread'), {
			workerData: this.shared, stdin: false, execArgv: [],
		});
		worker.unref();
		worker.on('message', (message) => {
			if (message === 'ready')
				ready();
			else if (message === 'asked')
				this.asked();
			else if (message === this.shared[ENDED] && this.shared[ARMED] === 1)
				interrupted();
		});
	}

	// Call a function from the loop, after whatever runs now was stopped: what it has queued itself
	// may be lost with it, a message from another thread is not.
	whenStopped(asked) {
		this.asked = asked;
		Atomics.store(this.shared, ASKED, 1);
		Atomics.notify(this.shared, ASKED);
	}

	arm() {
		Atomics.store(this.shared, ARMED, 1);
	}

	disarm() {
		Atomics.store(this.shared, ARMED, 0);
		Atomics.add(this.shared, ENDED, 1);
		Atomics.notify(this.shared, ENDED);
	}
}

module.exports = { Interrupts };
