/* SPDX-License-Identifier: MIT */
/*
 * Streams of an engine, cut into pieces anywhere: whatever comes, no byte is taken twice or passed
 * over, the pieces say the same however they are cut, and what is no frame stays the end.
 * Built with clang it is a libFuzzer target; with SBX_FUZZ_MAIN it bends frames of its own.
 */
#include "random.h"

#include "backend/engine/unframe.h"

#include <string.h>

struct outcome {
	size_t out, words, used;
	uint32_t sum;
	bool bad;
};

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void take(struct outcome *o, enum engine_piece_kind kind, const uint8_t *data, size_t len)
{
	*(kind == ENGINE_PIECE_WORDS ? &o->words : &o->out) += len;
	for (size_t i = 0; i < len; i++)
		o->sum = o->sum * 31 + data[i] + (kind == ENGINE_PIECE_WORDS);
}

/* What comes of it when no more than step bytes come at a time, and none is taken in two. */
static struct outcome run(const uint8_t *data, size_t size, size_t step, bool raw)
{
	struct engine_unframe u = {.raw = raw};
	struct outcome o = {0};

	while (o.used < size && !o.bad) {
		size_t len = size - o.used < step ? size - o.used : step, n;
		struct engine_piece piece = engine_unframe_next(&u, data + o.used, len);

		must(piece.skip <= len && piece.len <= len - piece.skip);
		must(piece.skip + piece.len > 0 || piece.kind == ENGINE_PIECE_BAD);
		o.used += piece.skip;
		o.bad = piece.kind == ENGINE_PIECE_BAD;
		n = o.bad ? 0 : piece.len - piece.len / 3;
		take(&o, piece.kind, data + o.used, n);
		o.used += n;
		engine_unframe_took(&u, (uint32_t)n);
	}
	if (o.bad)
		must(engine_unframe_next(&u, data, size).kind == ENGINE_PIECE_BAD);
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = run(data, size, size, false);
	struct outcome bytes = run(data, size, 1, false);
	struct outcome raw = run(data, size, 3, true);

	must(whole.bad == bytes.bad && whole.used == bytes.used && whole.out == bytes.out);
	must(whole.words == bytes.words && whole.sum == bytes.sum);
	must(!raw.bad && raw.out == size);
	return 0;
}

#ifdef SBX_FUZZ_MAIN
/* Frames, most of them whole, some with a byte changed. */
static size_t make(uint8_t *ret, size_t max, uint32_t *state)
{
	size_t len = 0;

	while (len + 8 + 24 < max && next(state) % 12 != 0) {
		uint8_t payload = (uint8_t)(next(state) % 24);
		uint8_t header[8] = {(uint8_t)(next(state) % 4), 0, 0, 0, 0, 0, 0, payload};

		if (next(state) % 16 == 0)
			header[next(state) % 8] = (uint8_t)next(state);
		memcpy(ret + len, header, 8);
		len += 8;
		for (size_t i = 0; i < payload; i++)
			ret[len++] = (uint8_t)next(state);
	}
	return len;
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, make);
}
#endif
