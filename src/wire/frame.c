/* SPDX-License-Identifier: MIT */
#include "wire/frame.h"

#include <string.h>

struct type_row {
	const char *name;
	char sender;
	uint8_t least;
};

static const struct type_row types[] = {
#define X(name_, number, sender_, least_) [number] = {#name_, sender_, least_},
	WIRE_TYPES(X)
#undef X
};

static const struct type_row *find_type(unsigned int type)
{
	if (type >= sizeof(types) / sizeof(types[0]) || types[type].name == NULL)
		return NULL;
	return &types[type];
}

static uint32_t load_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void store_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static bool may_continue(unsigned int type)
{
	return type == WIRE_SETUP || type == WIRE_EXEC;
}

int wire_header_parse(const uint8_t *data, size_t len, char from, struct wire_frame *ret)
{
	const struct type_row *row;
	unsigned int type;
	uint32_t length;

	if (len < 4)
		return 0;
	length = load_u32(data);
	if (length < WIRE_HEADER_SIZE - 4 || length > WIRE_HEADER_SIZE - 4 + WIRE_PAYLOAD_MAX)
		return -1;
	if (len < 5)
		return 0;
	type = data[4] & ~WIRE_MORE;
	row = find_type(type);
	if (row == NULL || (row->sender != 'b' && row->sender != from))
		return -1;
	if ((data[4] & WIRE_MORE) && !may_continue(type))
		return -1;
	if (!may_continue(type) && length - (WIRE_HEADER_SIZE - 4) < row->least)
		return -1;
	if (len < WIRE_HEADER_SIZE)
		return 0;

	*ret = (struct wire_frame){
		.type = (enum wire_type)type,
		.more = (data[4] & WIRE_MORE) != 0,
		.channel = load_u32(data + 5),
		.len = length - (WIRE_HEADER_SIZE - 4),
	};
	return 1;
}

int wire_frame_parse(const uint8_t *data, size_t len, char from, struct wire_frame *ret)
{
	struct wire_frame frame;
	int r = wire_header_parse(data, len, from, &frame);

	if (r <= 0 || len - WIRE_HEADER_SIZE < frame.len)
		return r < 0 ? r : 0;
	frame.payload = data + WIRE_HEADER_SIZE;
	*ret = frame;
	return (int)(WIRE_HEADER_SIZE + frame.len);
}

void wire_header_format(uint8_t ret[WIRE_HEADER_SIZE], unsigned int type, uint32_t channel,
			size_t len)
{
	store_u32(ret, (uint32_t)(WIRE_HEADER_SIZE - 4 + len));
	ret[4] = (uint8_t)type;
	store_u32(ret + 5, channel);
}

const char *wire_type_name(unsigned int type)
{
	const struct type_row *row = find_type(type);

	return row == NULL ? "?" : row->name;
}
