// SPDX-License-Identifier: MIT
//
// Cells: pieces of code that are evaluated as V8 evaluates them in a console. Its "REPL mode",
// which only the inspector has, knows await at the top level, lets let, const and class declare
// again what a cell before declared, and gives the value of the last expression.
//
// An interrupt and an end of the process stop what runs as the inspector stops it: no catch of
// the cell's sees them.
'use strict';

const inspector = require('inspector');
const { Interrupts } = require('./interrupts');
const { prepareModules } = require('./modules');
const { describeError, describeValue, isObjectText } = require('./describe');
const { rewriteDeclarations, rewriteImports } = require('./rewrite');

const really = { exit: process.exit.bind(process), reallyExit: process.reallyExit };

const EXIT = new Error('process.exit() of a cell');
const NEVER = new Promise(() => {});

class Cells {
	constructor() {
		this.session = new inspector.Session();
		this.session.connect();
		this.current = null; // { end(result) } of the cell that runs
		this.receiver = this.makeReceiver();
	}

	prepare(ready) {
		prepareModules();
		process.exit = (code) => this.exitCell(code);
		process.on('unhandledRejection', (reason) => this.failElsewhere(reason, 'unhandledRejection'));
		process.on('uncaughtException', (error) => this.failElsewhere(error, 'uncaughtException'));
		this.interrupts = new Interrupts(() => this.current?.end({ status: 'interrupted', exitCode: 130 }),
			ready);
	}

	// What became of the code: { status, exitCode, text } or { …, name, message, trace }.
	async run(code, name) {
		let ended;
		const end = new Promise((resolve) => {
			ended = resolve;
		});
		this.current = { end: ended };
		this.interrupts.arm();
		this.evaluate(code, name).then(ended, ended);
		const result = await end;
		this.interrupts.disarm();
		this.current = null;
		this.session.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
		return result;
	}

	async evaluate(code, name) {
		let answer;
		for (const version of versions(code)) {
			answer = await this.evaluateOnce(version, name);
			// V8 says this before it runs any of the code.
			if (!/^SyntaxError: Identifier .* has already been declared/.test(
				answer?.exceptionDetails?.exception?.description))
				break;
		}
		// Rejections that nobody handles are told of before the next turn of the loop.
		await new Promise(setImmediate);
		// Stopped: whoever stopped it says what the end is.
		if (answer === null)
			return NEVER;
		if (!answer.exceptionDetails)
			return { status: 'ok', exitCode: 0, text: describeValue(this.receive(answer.result)) };
		const error = this.receive(answer.exceptionDetails.exception);
		return error === EXIT ? NEVER
			: describeError(error, name, { code, ...answer.exceptionDetails });
	}

	evaluateOnce(code, name) {
		this.evaluating = true;
		const answered = this.post('Runtime.evaluate', {
			expression: `${code}\n//# sourceURL=${name}`,
			objectGroup: 'cell', replMode: true, awaitPromise: true,
		});
		this.evaluating = false;
		return answered;
	}

	post(method, parameters) {
		let done;
		const answered = new Promise((resolve) => {
			done = resolve;
		});
		// Not in the promise's own function, which would stand in the stack of every error.
		this.session.post(method, parameters, (error, answer) => done(error ? null : answer));
		return answered;
	}

	// A function of ours, as the inspector knows objects: it can be called with others.
	makeReceiver() {
		const key = 'llmSandboxReceiver';
		let objectId;
		globalThis[key] = (value) => {
			this.received = value;
		};
		this.session.post('Runtime.evaluate', { expression: key }, (_, { result }) => {
			objectId = result.objectId;
		});
		delete globalThis[key];
		return objectId;
	}

	// The value itself of what the inspector describes.
	receive({ objectId, value, unserializableValue }) {
		this.session.post('Runtime.callFunctionOn', {
			objectId: this.receiver, functionDeclaration: 'function (value) { this(value); }',
			arguments: [{ objectId, value, unserializableValue }],
		});
		const received = this.received;
		this.received = undefined;
		return received;
	}

	// process.exit() of a cell, which must not return. In the cell's own run nothing of it goes on;
	// in a callback, which Node does not like to be stopped, it is an error that is told to nobody.
	exitCell(code) {
		const { current } = this;
		const exitCode = Number(code ?? process.exitCode ?? 0) & 255;
		process.exitCode = undefined;
		if (current !== null)
			this.interrupts.whenStopped(() => current.end({ status: 'exit', exitCode }));
		if (!this.evaluating)
			throw EXIT;
		this.session.post('Runtime.terminateExecution');
		for (;;);
	}

	// An error that no cell's own evaluation brought: of the cell that runs, or told between cells.
	failElsewhere(error, event) {
		if (error === EXIT || process.listenerCount(event) > 1)
			return;
		const result = describeError(error, 'a callback');
		if (this.current)
			this.current.end(result);
		else
			process.stderr.write(result.trace + '\n');
	}

	exit(code) {
		really.reallyExit.call(process, code);
	}
}

// The code as V8 may take it: the next one where a name is declared already and in another way.
// A const could be declared again by a const alone, so it is a let.
function* versions(code) {
	if (isObjectText(code)) {
		yield `(${code}\n)`;
		return;
	}
	const plain = rewriteDeclarations(rewriteImports(code), ['const'], 'let');
	yield plain;
	yield rewriteDeclarations(plain, ['let'], 'var');
	yield rewriteDeclarations(plain, ['var'], 'let');
}

module.exports = { Cells };
