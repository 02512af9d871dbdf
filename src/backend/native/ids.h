/* SPDX-License-Identifier: MIT */
/*
 * Which ids of the host a sandbox's ids are.
 *
 * As root every live sandbox has a range of host ids of its own, by its slot. An ordinary user
 * has subordinate ids through newuidmap(1) where /etc/subuid grants them, and else one single
 * id: the user's own. Ids 0 to 65535 are mapped in the first two cases; 0 is the agent.
 */
#pragma once

#include "backend/spec.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define IDS_RANGE_BASE 0x40000000u
#define IDS_RANGE_SIZE 65536u
#define IDS_SLOTS      16384u

enum ids_mode { IDS_RANGE, IDS_SUBORDINATE, IDS_SINGLE };

struct ids {
	enum ids_mode mode;
	uint32_t host_uid, host_gid;	 /* ours */
	uint32_t first_uid, first_gid;	 /* of the host, for the inside's 0 */
	uint32_t count;			 /* mapped from there */
	uint32_t inside_uid, inside_gid; /* IDS_SINGLE: what we are inside */
	bool keep_own;			 /* IDS_SUBORDINATE: the sandbox's user is us, for mounts */
};

/* Find out what this process may map, for the sandbox in this slot. */
void ids_find(const struct sbx_spec *spec, unsigned int slot, struct ids *ret);

/* Whether newuidmap and newgidmap may map a whole range for us, who are no root. */
bool ids_have_subordinate(void);

/* Map the ids of a child that waits in its new user namespace. */
int ids_map(const struct ids *ids, const struct sbx_spec *spec, pid_t child,
	    struct sbx_error *err);

/* For people: "own host ids 1073741824-1073807359". */
void ids_describe(const struct ids *ids, char *ret, size_t size);
