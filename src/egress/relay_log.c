/* SPDX-License-Identifier: MIT */
#include "egress/relay_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MOST  1000
#define LOG_FIRST 32

void relay_log_init(struct relay_log *log)
{
	*log = (struct relay_log){.room = 0};
	pthread_mutex_init(&log->lock, NULL);
}

void relay_log_done(struct relay_log *log)
{
	free(log->ring);
	pthread_mutex_destroy(&log->lock);
}

/* The place of an attempt; NULL when it has been forgotten, or was never kept. */
static struct sbx_egress *find(struct relay_log *log, uint64_t number)
{
	if (log->room == 0 || number >= log->total || log->total - number > log->room)
		return NULL;
	return &log->ring[number % log->room];
}

/* Until it has its full size the ring has not wrapped, so that nothing in it moves. */
static void grow(struct relay_log *log)
{
	size_t room = log->room == 0 ? LOG_FIRST : log->room * 2;
	struct sbx_egress *grown;

	if (log->total < log->room || log->room == LOG_MOST)
		return;
	room = room < LOG_MOST ? room : LOG_MOST;
	grown = log->total == log->room ? reallocarray(log->ring, room, sizeof(*grown)) : NULL;
	if (grown == NULL)
		return;
	log->ring = grown;
	log->room = room;
}

static void clean(char *text)
{
	for (; *text != '\0'; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

uint64_t relay_log_add(struct relay_log *log, const struct sbx_egress *attempt)
{
	struct sbx_egress *place;
	uint64_t number;

	pthread_mutex_lock(&log->lock);
	grow(log);
	number = log->total++;
	place = find(log, number);
	if (place != NULL) {
		*place = *attempt;
		clean(place->host);
		clean(place->rule);
	}
	pthread_mutex_unlock(&log->lock);
	return number;
}

void relay_log_set(struct relay_log *log, uint64_t number, enum sbx_egress_verdict verdict,
		   const char *address, const char *rule)
{
	struct sbx_egress *place;

	pthread_mutex_lock(&log->lock);
	place = find(log, number);
	if (place != NULL) {
		place->verdict = verdict;
		if (address != NULL)
			snprintf(place->address, sizeof(place->address), "%s", address);
		if (rule != NULL)
			snprintf(place->rule, sizeof(place->rule), "%s", rule);
		clean(place->rule);
	}
	pthread_mutex_unlock(&log->lock);
}

void relay_log_count(struct relay_log *log, uint64_t number, uint64_t sent, uint64_t received)
{
	struct sbx_egress *place;

	pthread_mutex_lock(&log->lock);
	place = find(log, number);
	if (place != NULL) {
		place->sent += sent;
		place->received += received;
	}
	pthread_mutex_unlock(&log->lock);
}

int relay_log_read(struct relay_log *log, uint64_t from, struct sbx_egress **ret, size_t *ret_count,
		   uint64_t *ret_total, struct sbx_error *err)
{
	struct sbx_egress *list = NULL;
	uint64_t first, total;
	size_t count;

	pthread_mutex_lock(&log->lock);
	total = log->total;
	first = total > log->room ? total - log->room : 0;
	first = from > first ? from : first;
	count = first < total ? (size_t)(total - first) : 0;
	if (count > 0)
		list = calloc(count, sizeof(*list));
	for (size_t i = 0; list != NULL && i < count; i++)
		list[i] = *find(log, first + i);
	pthread_mutex_unlock(&log->lock);

	if (count > 0 && list == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot copy the log of the network");
	*ret = list;
	*ret_count = count;
	*ret_total = total;
	return 0;
}
