// SPDX-License-Identifier: MIT
//
// Messages to and from the host: a length of 32 bits, little-endian, and JSON. Node has marked
// the descriptor as close-on-exec before any of this runs.
'use strict';

const net = require('net');

const LIMIT = 4 << 20;
const TEXT_LIMIT = 1 << 18; // of a text in a message, in letters: JSON may make six of each

class Channel {
	constructor(fd, receive, end) {
		this.receive = receive;
		this.parts = [];
		this.size = 0;
		this.socket = new net.Socket({ fd, readable: true, writable: true });
		this.socket.on('data', (data) => this.take(data));
		this.socket.on('end', end);
		this.socket.on('error', end);
	}

	take(data) {
		this.parts.push(data);
		this.size += data.length;
		while (this.size >= 4) {
			const whole = this.parts.length === 1 ? this.parts[0] : this.join();
			const length = whole.readUInt32LE(0);
			if (length > LIMIT) {
				this.socket.destroy(new Error('a message is too long'));
				return;
			}
			if (this.size < 4 + length)
				return;
			this.parts = [whole.subarray(4 + length)];
			this.size -= 4 + length;
			this.receive(JSON.parse(whole.toString('utf8', 4, 4 + length)));
		}
	}

	// Joined only when a message may be whole, so that a long one is not copied with each part.
	join() {
		const head = this.parts[0].length >= 4 ? this.parts[0] : Buffer.concat(this.parts);
		if (this.size < 4 + head.readUInt32LE(0))
			return head;
		this.parts = [Buffer.concat(this.parts)];
		return this.parts[0];
	}

	send(message) {
		const text = JSON.stringify(message, (_, value) =>
			typeof value === 'string' && value.length > TEXT_LIMIT
				? value.slice(0, TEXT_LIMIT) + ' …' : value);
		const data = Buffer.from(text);
		const head = Buffer.alloc(4);
		head.writeUInt32LE(data.length);
		this.socket.write(Buffer.concat([head, data]));
	}

	close(done) {
		this.socket.end(done);
	}
}

module.exports = { Channel };
