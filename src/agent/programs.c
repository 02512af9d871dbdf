/* SPDX-License-Identifier: MIT */
#include "agent/programs.h"

#include "agent/send.h"

void programs_init(struct programs *p, struct usage *usage)
{
	*p = (struct programs){0};
	for (size_t i = 0; i < PROGRAMS_MAX; i++) {
		p->list[i].supervisor.fd = -1;
		p->list[i].tree.supervisors = &p->supervisors;
		p->list[i].usage = usage;
	}
}

/* A free place for it; a full foreground refuses by itself. */
static struct program *find_place(struct programs *p, const struct wire_exec *exec)
{
	if (!(exec->flags & WIRE_EXEC_BACKGROUND))
		return &p->list[0];
	for (size_t i = 1; i < PROGRAMS_MAX; i++) {
		if (p->list[i].channel == 0)
			return &p->list[i];
	}
	return NULL;
}

void programs_start(struct programs *p, struct sbx_conn *conn, uint32_t channel,
		    const struct wire_exec *exec, const struct agent_fence *fence)
{
	struct program *place = find_place(p, exec);

	if (place == NULL)
		send_error(conn, channel, SBX_E_LIMIT, 0,
			   "%d programs run in the background already; end one", WIRE_BACKGROUND_MAX);
	else
		program_start(place, conn, channel, exec, fence, &p->supervisors);
}

struct program *programs_find(struct programs *p, uint32_t channel)
{
	for (size_t i = 0; channel != 0 && i < PROGRAMS_MAX; i++) {
		if (p->list[i].channel == channel)
			return &p->list[i];
	}
	return NULL;
}

bool programs_run_in_front(const struct programs *p)
{
	return p->list[0].channel != 0;
}

size_t programs_poll(const struct programs *p, const struct sbx_conn *conn,
		     struct pollfd fds[PROGRAMS_POLLFDS])
{
	size_t count = 0;

	for (size_t i = 0; i < PROGRAMS_MAX; i++) {
		if (p->list[i].channel == 0)
			continue;
		program_poll(&p->list[i], conn, fds + count);
		count += PROGRAM_POLLFDS;
	}
	return count;
}

uint64_t programs_deadline_ns(const struct programs *p)
{
	uint64_t first = 0;

	for (size_t i = 0; i < PROGRAMS_MAX; i++) {
		const struct program *one = &p->list[i];

		if (one->channel == 0 || one->over || one->deadline_ns == 0)
			continue;
		if (first == 0 || one->deadline_ns < first)
			first = one->deadline_ns;
	}
	return first;
}

void programs_reap(struct programs *p)
{
	program_reap(&p->list[0]);
}

void programs_pump(struct programs *p, struct sbx_conn *conn)
{
	for (size_t i = 0; i < PROGRAMS_MAX; i++)
		program_pump(&p->list[i], conn);
}

void programs_end(struct programs *p)
{
	agent_tree_end_all(&p->list[0].tree);
}
