// SPDX-License-Identifier: MIT
//
// Descriptors 1 and 2 and Node's streams of them, which a cell may close or replace: after each
// cell all of it is as it was.
'use strict';

const fs = require('fs');
const net = require('net');

const STREAMS = { stdout: 1, stderr: 2 };

class Output {
	constructor() {
		this.kept = {};
		for (const [name, fd] of Object.entries(STREAMS)) {
			this.kept[name] = {
				property: Object.getOwnPropertyDescriptor(process, name),
				stream: process[name],
				// Another descriptor of the same pipe or file. Node cannot copy one.
				copy: open(`/proc/self/fd/${fd}`),
				was: fs.fstatSync(fd),
			};
		}
	}

	restore() {
		for (const [name, fd] of Object.entries(STREAMS)) {
			const kept = this.kept[name];
			const lost = !isSame(fd, kept.was);
			if (lost && kept.copy !== null)
				place(fd, kept.copy);
			this.restoreProperty(name, kept);
			if (lost || !kept.stream.writable)
				this.renew(name, fd, kept);
			// A cell may have put a function of its own over the stream's.
			delete kept.stream.write;
		}
	}

	restoreProperty(name, kept) {
		try {
			if (process[name] !== kept.stream)
				Object.defineProperty(process, name, kept.property);
		} catch {
			// Made unchangeable by a cell; its own loss.
		}
	}

	renew(name, fd, kept) {
		const stream = newStream(fd);
		kept.stream = stream;
		kept.property = { configurable: true, enumerable: true, get: () => stream };
		this.restoreProperty(name, kept);
		console[`_${name}`] = stream;
	}

	// All that was written has left the process.
	async flush() {
		for (const { stream } of Object.values(this.kept)) {
			if (stream.writableLength > 0)
				await new Promise((resolve) => stream.write('', resolve));
		}
	}
}

function open(path) {
	try {
		return fs.openSync(path, 'w');
	} catch {
		return null;
	}
}

function isSame(fd, was) {
	try {
		const now = fs.fstatSync(fd);
		return now.dev === was.dev && now.ino === was.ino;
	} catch {
		return false;
	}
}

// Open what `copy` is as descriptor `fd`: the lowest free one is what open() gives.
function place(fd, copy) {
	const fillers = [];
	try {
		fs.closeSync(fd);
	} catch {
		// It is closed already.
	}
	for (let now = -1; now !== fd && now <= fd;) {
		now = open(`/proc/self/fd/${copy}`);
		if (now === null)
			break;
		if (now !== fd)
			fillers.push(now);
	}
	fillers.forEach((filler) => fs.closeSync(filler));
}

function newStream(fd) {
	try {
		return new net.Socket({ fd, readable: false, writable: true });
	} catch {
		return fs.createWriteStream(null, { fd, autoClose: false });
	}
}

module.exports = { Output };
