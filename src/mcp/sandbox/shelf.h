/* SPDX-License-Identifier: MIT */
/*
 * What the artifacts of sessions are: the path, type and name behind each number, so that they
 * can be read as resources while their session lives. The bytes stay in the sandbox. Of each
 * session the last 10,000 are known, in at most 4 MiB, and of all in 64. Any thread.
 */
#pragma once

#include <llmsandbox/registry.h>

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

struct mcp_record;

struct mcp_shelf {
	struct sbx_registry *registry; /* says which sessions live; borrowed */
	pthread_mutex_t lock;
	LIST_HEAD(, mcp_record) records; /* one for each session that had artifacts */
	size_t bytes;			 /* in all of them */
};

void mcp_shelf_init(struct mcp_shelf *shelf, struct sbx_registry *registry);
void mcp_shelf_done(struct mcp_shelf *shelf);

/* Know the artifacts of a result; what a number was before is forgotten. */
void mcp_shelf_add(struct mcp_shelf *shelf, const char *session_id,
		   const struct sbx_result *result);

/* Forget those of a session that has ended. */
void mcp_shelf_forget(struct mcp_shelf *shelf, const char *session_id);

/*
 * The path of an artifact, which the caller frees, and the type that its maker said it has.
 * SBX_E_NOT_FOUND says which numbers there are. Whose the session is, is for the caller to ask.
 */
int mcp_shelf_find(struct mcp_shelf *shelf, const char *session_id, uint32_t number,
		   char **ret_path, char ret_mime_type[96], struct sbx_error *err);
