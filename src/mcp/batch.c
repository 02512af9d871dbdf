/* SPDX-License-Identifier: MIT */
/* Batches, which two revisions of the older era have: an array in, an array of answers out. */
#include "mcp/core.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 100

/* The stream of one message; its .batch is that of the whole. */
struct mcp_batch {
	struct mcp_stream *out; /* NULL: the client is gone */
	json_t *responses;
	size_t count, open;
	struct mcp_stream parts[];
};

static void part_send(struct mcp_stream *stream, const json_t *message)
{
	struct mcp_stream *out = stream->batch->out;

	if (out != NULL)
		out->send(out, message);
}

static void finish_batch(struct mcp_batch *batch)
{
	struct mcp_stream *out = batch->out;
	json_t *responses = batch->responses;

	free(batch);
	if (out != NULL) {
		out->batch = NULL;
		if (json_array_size(responses) > 0)
			out->finish(out, responses, 200);
		else
			out->finish(out, NULL, 202);
	}
	json_decref(responses);
}

static void part_finish(struct mcp_stream *stream, const json_t *response, int status)
{
	struct mcp_batch *batch = stream->batch;

	(void)status;
	if (response != NULL)
		json_array_append(batch->responses, (json_t *)response);
	if (--batch->open == 0)
		finish_batch(batch);
}

void mcp_batch_gone(struct mcp_batch *batch, struct mcp_stream *later, bool cancel)
{
	if (batch->out != NULL)
		batch->out->batch = NULL;
	batch->out = later;
	if (later != NULL)
		later->batch = batch;
	if (!cancel)
		return;
	/* The batch is freed with the last of its parts. */
	batch->open++;
	for (size_t i = 0; i < batch->count; i++)
		if (batch->parts[i].request != NULL)
			mcp_request_drop(batch->parts[i].request);
	if (--batch->open == 0)
		finish_batch(batch);
}

static bool begins_session(const json_t *messages)
{
	size_t i;
	json_t *message;

	json_array_foreach((json_t *)messages, i, message) {
		const char *method = mcp_get_string(message, "method");

		if (method != NULL && strcmp(method, "initialize") == 0)
			return true;
	}
	return false;
}

static struct mcp_batch *new_batch(struct mcp_stream *out, size_t count)
{
	struct mcp_batch *batch = calloc(1, sizeof(*batch) + count * sizeof(batch->parts[0]));

	if (batch == NULL)
		return NULL;
	batch->out = out;
	batch->responses = json_array();
	batch->count = count;
	for (size_t i = 0; i < count; i++)
		batch->parts[i] = (struct mcp_stream){part_send, part_finish, NULL, batch};
	out->batch = batch;
	return batch;
}

void mcp_batch_receive(struct mcp_session *s, const json_t *messages, struct mcp_stream *out)
{
	size_t count = json_array_size(messages);
	struct mcp_batch *batch;

	if (s->kind == MCP_SESSION_MODERN || s->revision == NULL || !s->revision->batches) {
		mcp_refuse(out, NULL, MCP_INVALID_REQUEST, 400,
			   "batches are not part of this revision; send one message at a time", NULL);
		return;
	}
	if (count == 0 || count > BATCH_MAX || begins_session(messages)) {
		mcp_refuse(out, NULL, MCP_INVALID_REQUEST, 400,
			   "a batch has 1 to 100 messages, and 'initialize' is none of them", NULL);
		return;
	}
	batch = new_batch(out, count);
	if (batch == NULL) {
		mcp_refuse(out, NULL, MCP_INTERNAL_ERROR, 503, "no memory for the batch", NULL);
		return;
	}
	batch->open = count + 1;
	for (size_t i = 0; i < count; i++)
		mcp_message_receive(s, json_array_get(messages, i), &batch->parts[i]);
	if (--batch->open == 0)
		finish_batch(batch);
}
