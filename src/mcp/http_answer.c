/* SPDX-License-Identifier: MIT */
#include "mcp/http_answer.h"

#include "base/auto.h"

#include <string.h>

const char *http_status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{200, "OK"},
		{202, "Accepted"},
		{204, "No Content"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{408, "Request Timeout"},
		{413, "Content Too Large"},
		{415, "Unsupported Media Type"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].status == status)
			return rows[i].text;
	}
	return "Unknown";
}

void http_answer_json(struct http_conn *conn, int status, const json_t *value)
{
	auto_free char *text = mcp_format(value);

	if (text == NULL)
		http_conn_reply(conn, 500, NULL, NULL, 0);
	else
		http_conn_reply(conn, status, "application/json", text, strlen(text));
}

void http_answer_refuse(struct http_conn *conn, int status, const char *why)
{
	http_answer_error(conn, status, NULL, MCP_INVALID_REQUEST, why);
}

void http_answer_error(struct http_conn *conn, int status, const json_t *id, int code,
		       const char *why)
{
	json_t *response = mcp_error_response(id, code, why, NULL);

	http_answer_json(conn, status, response);
	json_decref(response);
}
