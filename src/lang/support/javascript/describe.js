// SPDX-License-Identifier: MIT
//
// Values and errors as text, as Node's own console shows them.
'use strict';

const util = require('util');
const vm = require('vm');

function inspect(value) {
	try {
		return util.inspect(value, { colors: false });
	} catch {
		// A value whose own code fails when it is looked at.
		return Object.prototype.toString.call(value);
	}
}

function describeValue(value) {
	return value === undefined ? undefined : withoutKernel(inspect(value));
}

// Without the lines of a stack that are below the cell: the kernel and the inspector it uses.
function withoutKernel(text) {
	const isOurs = (line) => /^\s+at /.test(line) &&
		(/node:inspector|node:internal\/process|process\.processImmediate/.test(line) || line.includes(__dirname));
	return text.split('\n').filter((line) => !isOurs(line)).join('\n');
}

// Where code does not parse: the place, the line and a mark under it, as Node shows it.
function syntaxPlace(name, { code, lineNumber, columnNumber }) {
	const line = code.split('\n')[lineNumber] ?? '';
	return `${name}:${lineNumber + 1}\n${line}\n${' '.repeat(columnNumber)}^\n\n`;
}

// Where something was thrown that has no stack of its own.
function thrownPlace(name, { stackTrace }) {
	const frame = stackTrace?.callFrames.find(({ url }) => url === name);
	return frame ? `${name}:${frame.lineNumber + 1}\n` : `${name}\n`;
}

function describeTrace(error, isError, name, details) {
	const trace = isError ? withoutKernel(inspect(error)) : `Uncaught ${inspect(error)}`;
	if (!details || trace.includes(`${name}:`))
		return trace;
	return (error instanceof SyntaxError ? syntaxPlace : thrownPlace)(name, details) + trace;
}

// What a cell comes to that this was thrown in. `details` is what the inspector says of it.
function describeError(error, name, details) {
	const isError = util.types.isNativeError(error) || error instanceof Error;
	return {
		status: 'error', exitCode: 1,
		name: isError ? String(error.name) : typeof error,
		message: isError ? String(error.message) : inspect(error),
		trace: describeTrace(error, isError, name, details),
	};
}

// Whether this is an object and not a block, as "{ a: 1 }" alone most probably is.
function isObjectText(code) {
	if (!/^\s*\{/.test(code) || /;\s*$/.test(code))
		return false;
	try {
		new vm.Script(`(${code}\n)`);
		return true;
	} catch {
		return false;
	}
}

module.exports = { describeError, describeValue, isObjectText };
