/* SPDX-License-Identifier: MIT */
/*
 * Hostile bytes for both ends of the stream: frames as host and as agent, and every message.
 * What is taken for a message must come out the same when it is formatted and parsed again.
 * Built with clang it is a libFuzzer target; with SBX_FUZZ_MAIN it makes its own inputs from a
 * fixed seed.
 */
#include "random.h"

#include "wire/frame.h"
#include "wire/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void done_nothing(void *m)
{
	(void)m;
}

#define wire_hello_done	 done_nothing
#define wire_ready_done	 done_nothing
#define wire_exit_done	 done_nothing
#define wire_signal_done done_nothing
#define wire_credit_done done_nothing
#define wire_hole_done	 done_nothing
#define wire_port_done	 done_nothing
#define wire_pong_done	 done_nothing
#define wire_usage_done	 done_nothing

/* Parse, format, parse and format again: the two texts must be equal. */
#define X(name)                                                                          \
	static void try_##name(const uint8_t *data, size_t size)                         \
	{                                                                                \
		struct sbx_buf one = SBX_BUF_INIT(1 << 23), two = SBX_BUF_INIT(1 << 23); \
		struct wire_##name m, again;                                             \
                                                                                         \
		if (!wire_##name##_parse(data, size, &m))                                \
			return;                                                          \
		wire_##name##_format(&one, &m);                                          \
		if (!wire_##name##_parse(one.data, one.len, &again))                     \
			abort();                                                         \
		wire_##name##_format(&two, &again);                                      \
		if (one.len != two.len || memcmp(one.data, two.data, one.len) != 0)      \
			abort();                                                         \
		wire_##name##_done(&m);                                                  \
		wire_##name##_done(&again);                                              \
		sbx_buf_done(&one);                                                      \
		sbx_buf_done(&two);                                                      \
	}
WIRE_MESSAGES(X)
#undef X

static void try_messages(const uint8_t *data, size_t size)
{
#define X(name) try_##name(data, size);
	WIRE_MESSAGES(X)
#undef X
}

static void try_frames(const uint8_t *data, size_t size, char from)
{
	struct wire_frame frame;
	int took;

	while ((took = wire_frame_parse(data, size, from, &frame)) > 0) {
		if ((size_t)took > size || frame.payload + frame.len != data + took)
			abort();
		try_messages(frame.payload, frame.len);
		data += took;
		size -= (size_t)took;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_frames(data, size, 'a');
	try_frames(data, size, 'h');
	try_messages(data, size);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
/* Mostly small numbers, so that lengths and types are often near the truth. */
static size_t make_input(uint8_t *ret, size_t max, uint32_t *state)
{
	size_t size = next(state) % max;

	for (size_t i = 0; i < size; i++)
		ret[i] = (uint8_t)(next(state) % (next(state) % 4 ? 24 : 256));
	return size;
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, make_input);
}
#endif
