/* SPDX-License-Identifier: MIT */
/*
 * What kind of file it is: by its first bytes (libmagic), and where those are just text or tell
 * nothing, by its name's ending. Both are a program's, so libmagic gets few bytes, runs only its
 * plain tests, and is asked by one thread at a time. Its database is loaded at the first question;
 * where there is none, the ending alone decides.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SBX_MIME_HEAD 4096 /* bytes that are looked at */
#define SBX_MIME_MAX  96

/*
 * claim is what somebody says it is, or NULL; it is believed where neither bytes nor ending tell
 * and it does not contradict them. ret is well-formed and in lower case: "image/png".
 */
void sbx_mime_find(const char *name, const void *head, size_t len, const char *claim,
		   char ret[SBX_MIME_MAX]);

/* Whether a file of this kind that a run left is one of its artifacts. */
bool sbx_mime_is_artifact(const char *mime_type);

/* What a name's ending says of that, before anything is read of the file. */
enum sbx_mime_hint { SBX_MIME_NEVER, SBX_MIME_PERHAPS, SBX_MIME_LIKELY };

enum sbx_mime_hint sbx_mime_hint(const char *name);
