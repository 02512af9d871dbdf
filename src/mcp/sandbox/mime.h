/* SPDX-License-Identifier: MIT */
/* What kind of file it is, by its first bytes, and where these do not tell by its name. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether data is text: UTF-8 without NUL. Where more comes, its end may cut a character in two. */
bool mcp_is_text(const char *data, size_t len, bool more_comes);

/* How many bytes of the text are whole characters. */
size_t mcp_whole_characters(const char *data, size_t len);

/* The MIME type; one that begins with "text/", or is JSON's, only when data is text. */
const char *mcp_mime_type(const char *path, const char *data, size_t len, bool more_comes);

/* Whether it is written as a type: "image/png", without parameters (RFC 6838 section 4.2). */
bool mcp_mime_is_type(const char *text);

/* Whether clients show images of this type. */
bool mcp_mime_is_image(const char *mime_type);
