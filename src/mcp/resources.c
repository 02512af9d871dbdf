/* SPDX-License-Identifier: MIT */
/* Resources, their templates, and what a client wants to be told of them. */
#include "mcp/core.h"

#include "base/auto.h"

#include <stdlib.h>
#include <string.h>

static bool is_template(const struct mcp_resource *resource)
{
	return strchr(resource->uri, '{') != NULL;
}

/*
 * Whether uri is the template with something for each {name}: a piece of one path segment; what
 * stands for the last one is the caller's.
 */
static bool match_template(const char *template, const char *uri, bool deep, char **ret_last)
{
	size_t literal = strcspn(template, "{"), len;
	const char *close;
	bool last;

	if (strncmp(template, uri, literal) != 0)
		return false;
	uri += literal;
	if (template[literal] == '\0')
		return *uri == '\0';
	close = strchr(template + literal, '}');
	last = close != NULL && strchr(close, '{') == NULL;
	len = last && deep ? strlen(uri) : strcspn(uri, "/");
	for (; close != NULL && len > 0; len--) {
		if (!match_template(close + 1, uri + len, deep, ret_last))
			continue;
		if (last)
			*ret_last = strndup(uri, len);
		return true;
	}
	return false;
}

/* *ret_variable is the caller's. */
static const struct mcp_resource *find_resource(const struct mcp_face *face, const char *uri,
						char **ret_variable)
{
	const struct mcp_resource *resource;

	*ret_variable = NULL;
	for (resource = face->resources; resource && resource->uri; resource++)
		if (!is_template(resource) && strcmp(resource->uri, uri) == 0)
			return resource;
	for (resource = face->resources; resource && resource->uri; resource++) {
		if (!is_template(resource))
			continue;
		if (match_template(resource->uri, uri, resource->deep, ret_variable))
			return resource;
	}
	return NULL;
}

/* ---- lists ---- */

static json_t *describe(const struct mcp_resource *resource, const struct mcp_revision *revision)
{
	const char *key = is_template(resource) ? "uriTemplate" : "uri";
	json_t *item = json_pack("{s:s, s:s, s:s*, s:s*}", key, resource->uri, "name", resource->name,
				 "description", resource->description, "mimeType",
				 resource->mime_type);

	if (revision->structured && resource->title != NULL)
		json_object_set_new(item, "title", json_string(resource->title));
	return item;
}

/* All rows that are templates, or all that are not. */
static json_t *describe_all(const struct mcp_request *r, bool templates)
{
	const struct mcp_resource *resource = r->server->face->resources;
	json_t *list = json_array();

	for (; resource != NULL && resource->uri != NULL; resource++)
		if (is_template(resource) == templates)
			json_array_append_new(list, describe(resource, r->revision));
	return list;
}

void mcp_serve_resources_list(struct mcp_request *r)
{
	mcp_request_succeed_page(r, "resources", describe_all(r, false));
}

void mcp_serve_templates_list(struct mcp_request *r)
{
	mcp_request_succeed_page(r, "resourceTemplates", describe_all(r, true));
}

/* ---- reading ---- */

void mcp_refuse_resource(struct mcp_request *r, const char *uri, const char *why)
{
	mcp_request_fail(r, r->revision->modern ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND, 200,
			 json_pack("{s:s}", "uri", uri), "there is no resource '%.200s'%s%s", uri,
			 why ? ": " : "", why ? why : "");
}

void mcp_serve_resources_read(struct mcp_request *r)
{
	const char *uri = mcp_get_string(r->params, "uri");
	const struct mcp_resource *resource;
	auto_free char *variable = NULL;
	struct mcp_call *call;

	if (uri == NULL) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "resources/read needs a uri");
		return;
	}
	resource = find_resource(r->server->face, uri, &variable);
	if (resource == NULL) {
		mcp_refuse_resource(r, uri, NULL);
		return;
	}
	call = mcp_call_new(r, MCP_CALL_RESOURCE);
	if (call == NULL)
		return;
	call->resource = resource;
	call->uri = strdup(uri);
	call->variable = take_ptr(variable);
	if (mcp_ask_resume(r, call))
		mcp_call_start(call);
}

/* ---- being told (older era) ---- */

static const char *subscribed_uri(struct mcp_request *r)
{
	const char *uri = mcp_get_string(r->params, "uri");
	auto_free char *variable = NULL;

	if (uri == NULL)
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "'%s' needs a uri", r->method->name);
	else if (find_resource(r->server->face, uri, &variable) == NULL)
		mcp_refuse_resource(r, uri, NULL);
	else
		return uri;
	return NULL;
}

#define SUBSCRIPTIONS_MAX 1000

void mcp_serve_subscribe(struct mcp_request *r)
{
	json_t *subscriptions = r->session->subscriptions;
	const char *uri = subscribed_uri(r);

	if (uri == NULL)
		return;
	if (json_object_size(subscriptions) >= SUBSCRIPTIONS_MAX) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL, "there are %d subscriptions already",
				 SUBSCRIPTIONS_MAX);
		return;
	}
	json_object_set_new(subscriptions, uri, json_true());
	mcp_request_succeed(r, json_object());
}

void mcp_serve_unsubscribe(struct mcp_request *r)
{
	const char *uri = subscribed_uri(r);

	if (uri == NULL)
		return;
	json_object_del(r->session->subscriptions, uri);
	mcp_request_succeed(r, json_object());
}
