/* SPDX-License-Identifier: MIT */
#include "mcp/sandbox/shelf.h"

#include "base/auto.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MOST 10000
#define BYTES_MOST   ((size_t)4 << 20)	/* of a session */
#define ALL_MOST     ((size_t)64 << 20) /* of all together */

struct entry {
	TAILQ_ENTRY(entry) link;
	uint32_t number;
	char mime_type[96];
	char path[];
};

struct mcp_record {
	LIST_ENTRY(mcp_record) link;
	struct mcp_shelf *shelf;
	char session_id[40];
	TAILQ_HEAD(entries, entry) entries; /* oldest first */
	size_t count, bytes;
};

void mcp_shelf_init(struct mcp_shelf *shelf, struct sbx_registry *registry)
{
	shelf->registry = registry;
	shelf->bytes = 0;
	pthread_mutex_init(&shelf->lock, NULL);
	LIST_INIT(&shelf->records);
}

/* ---- one session ---- */

static size_t weigh(const struct entry *entry)
{
	return sizeof(*entry) + strlen(entry->path) + 1;
}

static void drop_oldest(struct mcp_record *record)
{
	struct entry *entry = TAILQ_FIRST(&record->entries);

	TAILQ_REMOVE(&record->entries, entry, link);
	record->count--;
	record->bytes -= weigh(entry);
	record->shelf->bytes -= weigh(entry);
	free(entry);
}

static void add_entry(struct mcp_record *record, const struct sbx_artifact *artifact)
{
	size_t path_len = strlen(artifact->path);
	struct entry *entry = malloc(sizeof(*entry) + path_len + 1);

	/* Without memory it cannot be read as a resource, and is told all the same. */
	if (entry == NULL)
		return;
	entry->number = artifact->number;
	memcpy(entry->mime_type, artifact->mime_type, sizeof(entry->mime_type));
	memcpy(entry->path, artifact->path, path_len + 1);
	TAILQ_INSERT_TAIL(&record->entries, entry, link);
	record->count++;
	record->bytes += weigh(entry);
	record->shelf->bytes += weigh(entry);
	while (record->count > ENTRIES_MOST || (record->bytes > BYTES_MOST && record->count > 1))
		drop_oldest(record);
}

static void free_record(struct mcp_record *record)
{
	LIST_REMOVE(record, link);
	while (!TAILQ_EMPTY(&record->entries))
		drop_oldest(record);
	free(record);
}

/* The newest of that number. */
static const struct entry *find_entry(const struct mcp_record *record, uint32_t number)
{
	const struct entry *entry, *found = NULL;

	TAILQ_FOREACH(entry, &record->entries, link)
	found = entry->number == number ? entry : found;
	return found;
}

/* ---- all of them, under the lock ---- */

static struct mcp_record *find_record(struct mcp_shelf *shelf, const char *session_id)
{
	struct mcp_record *record;

	LIST_FOREACH(record, &shelf->records, link)
	if (strcmp(record->session_id, session_id) == 0)
		return record;
	return NULL;
}

static bool lives(const struct sbx_session_info *list, size_t count, const char *session_id)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].id, session_id) == 0)
			return true;
	}
	return false;
}

/* Sessions end by themselves too, and nobody says so: look when there is one more. */
static void forget_the_ended(struct mcp_shelf *shelf)
{
	auto_free struct sbx_session_info *list = NULL;
	struct mcp_record *record, *next;
	struct sbx_error ignored;
	size_t count = 0;

	if (sbx_registry_list(shelf->registry, NULL, &list, &count, &ignored) < 0)
		return;
	for (record = LIST_FIRST(&shelf->records); record != NULL; record = next) {
		next = LIST_NEXT(record, link);
		if (!lives(list, count, record->session_id))
			free_record(record);
	}
}

static struct mcp_record *make_record(struct mcp_shelf *shelf, const char *session_id)
{
	struct mcp_record *record = calloc(1, sizeof(*record));

	forget_the_ended(shelf);
	if (record == NULL)
		return NULL;
	record->shelf = shelf;
	strncpy(record->session_id, session_id, sizeof(record->session_id) - 1);
	TAILQ_INIT(&record->entries);
	LIST_INSERT_HEAD(&shelf->records, record, link);
	return record;
}

/* A session that has much must not cost those that have little theirs. */
static void make_room(struct mcp_shelf *shelf)
{
	while (shelf->bytes > ALL_MOST) {
		struct mcp_record *record, *heaviest = LIST_FIRST(&shelf->records);

		LIST_FOREACH(record, &shelf->records, link)
		heaviest = record->bytes > heaviest->bytes ? record : heaviest;
		drop_oldest(heaviest);
	}
}

/* ---- what others call ---- */

void mcp_shelf_add(struct mcp_shelf *shelf, const char *session_id, const struct sbx_result *result)
{
	struct mcp_record *record;

	if (result->artifact_count == 0)
		return;
	pthread_mutex_lock(&shelf->lock);
	record = find_record(shelf, session_id);
	if (record == NULL)
		record = make_record(shelf, session_id);
	for (size_t i = 0; record != NULL && i < result->artifact_count; i++)
		add_entry(record, &result->artifacts[i]);
	make_room(shelf);
	pthread_mutex_unlock(&shelf->lock);
}

void mcp_shelf_forget(struct mcp_shelf *shelf, const char *session_id)
{
	struct mcp_record *record;

	pthread_mutex_lock(&shelf->lock);
	record = find_record(shelf, session_id);
	if (record != NULL)
		free_record(record);
	pthread_mutex_unlock(&shelf->lock);
}

static int refuse(const struct mcp_record *record, uint32_t number, struct sbx_error *err)
{
	const struct entry *first = record ? TAILQ_FIRST(&record->entries) : NULL, *last;

	if (first == NULL)
		return sbx_fail(err, SBX_E_NOT_FOUND, "the session has no artifacts");
	last = TAILQ_LAST(&record->entries, entries);
	return sbx_fail(err, SBX_E_NOT_FOUND, "the session has no artifact %u; it has %u to %u",
			number, first->number, last->number);
}

int mcp_shelf_find(struct mcp_shelf *shelf, const char *session_id, uint32_t number,
		   char **ret_path, char ret_mime_type[96], struct sbx_error *err)
{
	const struct mcp_record *record;
	const struct entry *entry;
	char *path = NULL;
	int r = 0;

	pthread_mutex_lock(&shelf->lock);
	record = find_record(shelf, session_id);
	entry = record ? find_entry(record, number) : NULL;
	if (entry == NULL)
		r = refuse(record, number, err);
	else if ((path = strdup(entry->path)) == NULL)
		r = sbx_fail_errno(err, ENOMEM, "cannot read artifact %u", number);
	else
		memcpy(ret_mime_type, entry->mime_type, sizeof(entry->mime_type));
	pthread_mutex_unlock(&shelf->lock);
	if (r == 0)
		*ret_path = path;
	return r;
}

void mcp_shelf_done(struct mcp_shelf *shelf)
{
	while (!LIST_EMPTY(&shelf->records))
		free_record(LIST_FIRST(&shelf->records));
	pthread_mutex_destroy(&shelf->lock);
}
