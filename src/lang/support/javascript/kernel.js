// SPDX-License-Identifier: MIT
//
// A Node that keeps its state: it evaluates the cells that its host sends on descriptor 3 and
// writes back what became of each. Node 18 or newer, with its inspector.
//
// It is started with --no-force-async-hooks-checks: Node would end itself where a loop in a callback
// was interrupted, because it did not see the callback return.
'use strict';

const { Channel } = require('./channel');
const { Cells } = require('./cells');
const { Output } = require('./output');

class Kernel {
	constructor() {
		this.output = new Output();
		this.cells = new Cells();
		this.waiting = []; // messages, while one is acted upon
		this.busy = false;
		this.channel = new Channel(3, (message) => this.receive(message), () => this.end());
		this.cells.prepare(() => {
			this.channel.send({
				op: 'ready', language: 'javascript', version: process.versions.node, features: [],
			});
		});
	}

	// One after the other, in the order in which they come. No promise holds this order: when V8
	// stops what runs, it forgets what was to come of promises.
	receive(message) {
		this.waiting.push(message);
		this.next();
	}

	next() {
		if (this.busy || this.waiting.length === 0)
			return;
		this.busy = true;
		// From the loop and not from the socket's callback, which a cell must not stop.
		setImmediate(() => this.act(this.waiting.shift()));
	}

	async act(message) {
		if (message.op === 'run')
			await this.run(message);
		else if (message.op === 'reset')
			this.reset(message);
		else if (message.op === 'exit')
			this.end();
		this.busy = false;
		this.next();
	}

	async run({ id, code, name, silent }) {
		const cell = await this.cells.run(code, name);
		this.output.restore();
		if (cell.status === 'error') {
			process.stderr.write(cell.trace + '\n');
			this.channel.send({ op: 'error', id, name: cell.name, message: cell.message });
		} else if (cell.text !== undefined && !silent) {
			this.channel.send({ op: 'result', id, text: cell.text });
		}
		await this.output.flush();
		this.channel.send({ op: 'done', id, status: cell.status, exit_code: cell.exitCode });
	}

	// What a cell declared with let, const or class is there until the process ends. So this one
	// ends, and says so; the host starts another.
	reset({ id }) {
		this.channel.send({ op: 'done', id, status: 'exit', exit_code: 0 });
		this.channel.close(() => this.end());
	}

	end() {
		this.cells.exit(0);
	}
}

new Kernel();
