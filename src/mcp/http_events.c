/* SPDX-License-Identifier: MIT */
#include "mcp/http_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 256u
#define BYTES_MAX  (1u << 20)

void http_events_init(struct http_events *events)
{
	*events = (struct http_events){0};
	TAILQ_INIT(&events->list);
}

static void drop_oldest(struct http_events *events)
{
	struct http_event *oldest = TAILQ_FIRST(&events->list);

	TAILQ_REMOVE(&events->list, oldest, link);
	events->count--;
	events->bytes -= oldest->len;
	free(oldest);
}

void http_events_done(struct http_events *events)
{
	while (events->count > 0)
		drop_oldest(events);
}

static struct http_event *new_event(unsigned int stream, unsigned int number, const char *message)
{
	static const char form[] = "id: %u-%u\ndata: %s\n\n";
	int len = snprintf(NULL, 0, form, stream, number, message);
	struct http_event *event = len < 0 ? NULL : malloc(sizeof(*event) + (size_t)len + 1);

	if (event == NULL)
		return NULL;
	event->number = number;
	event->len = (size_t)len;
	snprintf(event->text, event->len + 1, form, stream, number, message);
	return event;
}

const struct http_event *http_events_add(struct http_events *events, unsigned int stream,
					 const char *message)
{
	struct http_event *event = new_event(stream, events->last + 1, message);

	if (event == NULL)
		return NULL;
	events->last++;
	TAILQ_INSERT_TAIL(&events->list, event, link);
	events->count++;
	events->bytes += event->len;
	while (events->count > 1 && (events->count > EVENTS_MAX || events->bytes > BYTES_MAX))
		drop_oldest(events);
	return event;
}

const struct http_event *http_events_after(const struct http_events *events, unsigned int number)
{
	const struct http_event *event;

	TAILQ_FOREACH(event, &events->list, link) {
		if (event->number > number)
			return event;
	}
	return NULL;
}
