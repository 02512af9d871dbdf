/* SPDX-License-Identifier: MIT */
/* Telling clients what has changed: subscriptions of the newer era, sessions of the older. */
#include "mcp/core.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *filter, *method;
} lists[] = {
	[MCP_TOOLS] = {"toolsListChanged", "notifications/tools/list_changed"},
	[MCP_RESOURCES] = {"resourcesListChanged", "notifications/resources/list_changed"},
	[MCP_PROMPTS] = {"promptsListChanged", "notifications/prompts/list_changed"},
};

/* ---- subscriptions ---- */

static bool offers(const struct mcp_face *face, const char *filter)
{
	if (strcmp(filter, "toolsListChanged") == 0)
		return face->tools != NULL;
	if (strcmp(filter, "promptsListChanged") == 0)
		return face->prompts != NULL;
	return face->resources != NULL;
}

#define NAMES_MAX 1000 /* of one list: each is looked at for each notification */

static json_t *strings_of(const json_t *list)
{
	json_t *strings = json_array(), *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
		if (json_is_string(item) && json_array_size(strings) < NAMES_MAX)
			json_array_append(strings, item);
	return strings;
}

/* What of the wish we can do. */
static json_t *honour(const struct mcp_request *r, const json_t *wish)
{
	static const char *const strings[] = {"resourceSubscriptions", "taskIds"};
	json_t *honoured = json_object();

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (json_is_true(json_object_get(wish, lists[i].filter)) &&
		    offers(r->server->face, lists[i].filter))
			json_object_set_new(honoured, lists[i].filter, json_true());
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		if (json_is_array(json_object_get(wish, strings[i])))
			json_object_set_new(honoured, strings[i],
					    strings_of(json_object_get(wish, strings[i])));
	return honoured;
}

/* Each notification says which subscription it is for. */
static void tell(struct mcp_request *r, const char *method, const json_t *params)
{
	json_t *copy = params ? json_copy((json_t *)params) : json_object();

	json_object_set_new(copy, "_meta", json_pack("{s:O}", MCP_META_SUBSCRIPTION, r->id));
	mcp_request_say(r, mcp_notification(method, copy));
}

void mcp_serve_listen(struct mcp_request *r)
{
	const json_t *wish = json_object_get(r->params, "notifications");
	json_t *params;

	if (!json_is_object(wish)) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "subscriptions/listen needs an object 'notifications'");
		return;
	}
	r->listens = honour(r, wish);
	params = json_pack("{s:O}", "notifications", r->listens);
	tell(r, "notifications/subscriptions/acknowledged", params);
	json_decref(params);
}

void mcp_listen_end(struct mcp_request *r)
{
	mcp_request_succeed(r, json_pack("{s:{s:O}}", "_meta", MCP_META_SUBSCRIPTION, r->id));
}

static bool has_string(const json_t *list, const char *text)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	return false;
}

/* To every subscription whose filter is true, or lists the name. */
void mcp_listeners_tell(struct mcp_server *server, const char *method, const char *filter,
			const char *name, json_t *params)
{
	struct mcp_session *s;
	struct mcp_request *r;

	LIST_FOREACH(s, &server->sessions, link)
		TAILQ_FOREACH(r, &s->requests, link) {
			const json_t *wish = json_object_get(r->listens, filter);

			if (name != NULL ? has_string(wish, name) : json_is_true(wish))
				tell(r, method, params);
		}
	json_decref(params);
}

/* An ended one may be the last of its session, which the transport then frees: start over. */
static struct mcp_request *find_listen(const struct mcp_server *server)
{
	struct mcp_session *s;
	struct mcp_request *r;

	LIST_FOREACH(s, &server->sessions, link)
		TAILQ_FOREACH(r, &s->requests, link)
			if (r->listens != NULL)
				return r;
	return NULL;
}

void mcp_server_end_listens(struct mcp_server *server)
{
	struct mcp_request *r;

	while ((r = find_listen(server)) != NULL)
		mcp_listen_end(r);
}

/* ---- what has changed ---- */

static void list_changed(void *server_, void *list_)
{
	struct mcp_server *server = server_;
	size_t list = (size_t)list_;
	struct mcp_session *s;

	LIST_FOREACH(s, &server->sessions, link)
		if (s->revision != NULL)
			mcp_session_say(s, mcp_notification(lists[list].method, NULL));
	mcp_listeners_tell(server, lists[list].method, lists[list].filter, NULL, NULL);
}

void mcp_server_list_changed(struct mcp_server *server, enum mcp_list list)
{
	mcp_post(server->posts, list_changed, server, (void *)(size_t)list);
}

static void resource_updated(void *server_, void *uri_)
{
	struct mcp_server *server = server_;
	auto_free char *uri = uri_;
	const char *method = "notifications/resources/updated";
	struct mcp_session *s;

	if (uri == NULL)
		return;
	LIST_FOREACH(s, &server->sessions, link)
		if (json_object_get(s->subscriptions, uri) != NULL)
			mcp_session_say(s, mcp_notification(method, json_pack("{s:s}", "uri", uri)));
	mcp_listeners_tell(server, method, "resourceSubscriptions", uri, json_pack("{s:s}", "uri", uri));
}

void mcp_server_resource_updated(struct mcp_server *server, const char *uri)
{
	mcp_post(server->posts, resource_updated, server, strdup(uri));
}
