/* SPDX-License-Identifier: MIT */
/* Which methods there are, in which era, and those that are about the connection itself. */
#include "mcp/core.h"

#include <string.h>

static const struct mcp_method methods[] = {
	{"initialize", MCP_LEGACY, false, mcp_serve_initialize},
	{"ping", MCP_LEGACY, false, mcp_serve_ping},
	{"logging/setLevel", MCP_LEGACY, false, mcp_serve_set_level},
	{"resources/subscribe", MCP_LEGACY, false, mcp_serve_subscribe},
	{"resources/unsubscribe", MCP_LEGACY, false, mcp_serve_unsubscribe},
	{"tasks/result", MCP_LEGACY, false, mcp_serve_tasks_result},
	{"tasks/list", MCP_LEGACY, false, mcp_serve_tasks_list},

	{"server/discover", MCP_MODERN, true, mcp_serve_discover},
	{"subscriptions/listen", MCP_MODERN, false, mcp_serve_listen},
	{"tasks/update", MCP_MODERN, false, mcp_serve_tasks_update},

	{"tools/list", MCP_BOTH, true, mcp_serve_tools_list},
	{"tools/call", MCP_BOTH, false, mcp_serve_tools_call},
	{"resources/list", MCP_BOTH, true, mcp_serve_resources_list},
	{"resources/templates/list", MCP_BOTH, true, mcp_serve_templates_list},
	{"resources/read", MCP_BOTH, true, mcp_serve_resources_read},
	{"prompts/list", MCP_BOTH, true, mcp_serve_prompts_list},
	{"prompts/get", MCP_BOTH, false, mcp_serve_prompts_get},
	{"completion/complete", MCP_BOTH, false, mcp_serve_complete},
	{"tasks/get", MCP_BOTH, false, mcp_serve_tasks_get},
	{"tasks/cancel", MCP_BOTH, false, mcp_serve_tasks_cancel},
};

const struct mcp_method *mcp_method_find(const char *name, bool modern)
{
	unsigned int era = modern ? MCP_MODERN : MCP_LEGACY;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if ((methods[i].eras & era) != 0 && strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

/* ---- who we are ---- */

static json_t *icons(const struct mcp_face *face)
{
	json_t *list = json_array();

	for (const struct mcp_icon *icon = face->icons; icon->src != NULL; icon++)
		json_array_append_new(list, json_pack("{s:s, s:s*, s:[s]}", "src", icon->src, "mimeType",
						      icon->mime_type, "sizes", icon->sizes));
	return list;
}

json_t *mcp_server_info(const struct mcp_face *face, const struct mcp_revision *revision)
{
	json_t *info = json_pack("{s:s, s:s}", "name", face->name, "version", face->version);

	if (revision->structured && face->title != NULL)
		json_object_set_new(info, "title", json_string(face->title));
	if (!revision->icons)
		return info;
	if (face->description != NULL)
		json_object_set_new(info, "description", json_string(face->description));
	if (face->website != NULL)
		json_object_set_new(info, "websiteUrl", json_string(face->website));
	if (face->icons != NULL)
		json_object_set_new(info, "icons", icons(face));
	return info;
}

static bool has_tasks(const struct mcp_face *face)
{
	for (const struct mcp_tool *tool = face->tools; tool != NULL && tool->name != NULL; tool++)
		if (tool->task != MCP_TASK_FORBIDDEN)
			return true;
	return false;
}

/* The capabilities that the face has, as the request's revision says it. */
static json_t *capabilities(const struct mcp_request *r)
{
	const struct mcp_face *face = r->server->face;
	json_t *caps = json_pack("{s:{}}", "logging");

	if (face->tools != NULL)
		json_object_set_new(caps, "tools", json_pack("{s:b}", "listChanged", 1));
	if (face->resources != NULL)
		json_object_set_new(caps, "resources",
				    json_pack("{s:b, s:b}", "listChanged", 1, "subscribe", 1));
	if (face->prompts != NULL)
		json_object_set_new(caps, "prompts", json_pack("{s:b}", "listChanged", 1));
	if (face->prompts != NULL || face->resources != NULL)
		json_object_set_new(caps, "completions", json_object());
	if (has_tasks(face) && r->revision->tasks)
		json_object_set_new(caps, "tasks",
				    json_pack("{s:{}, s:{}, s:{s:{s:{}}}}", "list", "cancel", "requests",
					      "tools", "call"));
	if (has_tasks(face) && r->revision->modern)
		json_object_set_new(caps, "extensions", json_pack("{s:{}}", MCP_EXTENSION_TASKS));
	return caps;
}

/* ---- the older era ---- */

void mcp_serve_initialize(struct mcp_request *r)
{
	struct mcp_session *s = r->session;
	const char *wanted = mcp_get_string(r->params, "protocolVersion");
	const struct mcp_revision *revision = mcp_revision_find(wanted);
	json_t *caps = json_object_get(r->params, "capabilities"), *result;

	if (wanted == NULL) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 400, NULL,
				 "initialize needs a protocolVersion, such as \"%s\"",
				 mcp_revision_newest_legacy()->name);
		return;
	}
	if (s->revision != NULL) {
		mcp_request_fail(r, MCP_INVALID_REQUEST, 400, NULL, "this session is initialized already");
		return;
	}
	/* A revision that we do not speak gets the newest that we do; the client decides. */
	s->revision = revision != NULL && !revision->modern ? revision : mcp_revision_newest_legacy();
	s->client_caps = json_is_object(caps) ? json_incref(caps) : json_object();
	r->revision = s->revision;
	result = json_pack("{s:s, s:o, s:o, s:s*}", "protocolVersion", s->revision->name,
			   "capabilities", capabilities(r), "serverInfo",
			   mcp_server_info(r->server->face, s->revision), "instructions",
			   r->server->face->instructions);
	mcp_request_succeed(r, result);
}

void mcp_serve_ping(struct mcp_request *r)
{
	mcp_request_succeed(r, json_object());
}

void mcp_serve_set_level(struct mcp_request *r)
{
	int rank = mcp_level_rank(mcp_get_string(r->params, "level"));
	struct mcp_request *other;

	if (rank < 0) {
		mcp_request_fail(r, MCP_INVALID_PARAMS, 200, NULL,
				 "level must be one of debug, info, notice, warning, error, critical, "
				 "alert, emergency");
		return;
	}
	r->session->log_rank = rank;
	TAILQ_FOREACH(other, &r->session->requests, link)
		if (other->call != NULL)
			atomic_store(&other->call->log_rank, rank);
	mcp_request_succeed(r, json_object());
}

/* ---- the newer era ---- */

void mcp_serve_discover(struct mcp_request *r)
{
	mcp_request_succeed(r, json_pack("{s:o, s:o, s:s*}", "supportedVersions",
					 mcp_revision_names(true), "capabilities", capabilities(r),
					 "instructions", r->server->face->instructions));
}
