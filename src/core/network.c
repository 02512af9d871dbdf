/* SPDX-License-Identifier: MIT */
#include "core/network.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/package_hosts.h"
#include "core/session.h"
#include "egress/relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The hosts of the one language that will be run, or of all. */
static int add_package_hosts(const struct sbx_spec *spec, struct sbx_network *network,
			     struct sbx_error *err)
{
	const struct sbx_lang *lang = spec->language ? sbx_lang_find(spec->language) : NULL;

	if (network->mode != SBX_NETWORK_PACKAGES)
		return 0;
	return sbx_package_hosts_allow(lang && lang->install ? lang : NULL, network, err);
}

int sbx_network_open(struct sbx_session *s, struct sbx_error *err)
{
	struct sbx_session_network *n = &s->network;

	if (pthread_mutex_init(&n->lock, NULL) != 0)
		return sbx_fail_errno(err, ENOMEM, "cannot open a session");
	if (s->spec->network == NULL)
		return 0;
	n->network = sbx_network_copy(s->spec->network);
	if (n->network == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot open a session");
	return add_package_hosts(s->spec, n->network, err);
}

/* The relay itself is the link's to free. */
void sbx_network_close(struct sbx_session *s)
{
	sbx_network_free(s->network.network);
	s->network.network = NULL;
	pthread_mutex_destroy(&s->network.lock);
}

/* ---- starting ---- */

/* What the agent answers to LISTEN. */
struct listening {
	bool done;
	uint16_t port;
	struct sbx_error refusal;
};

static int on_listening(struct sbx_channel *ch, const struct wire_frame *frame,
			struct sbx_error *err)
{
	struct listening *l = ch->owner;
	struct wire_port m;

	l->done = true;
	if (frame->type == WIRE_ERROR)
		return sbx_link_refusal(frame, &l->refusal) == -SBX_E_PROTOCOL
			       ? (*err = l->refusal, -SBX_E_PROTOCOL)
			       : 0;
	if (frame->type != WIRE_LISTENING || !wire_port_parse(frame->payload, frame->len, &m) ||
	    m.port == 0)
		return sbx_fail(err, SBX_E_PROTOCOL,
				"the sandbox answered LISTEN with a malformed %s",
				wire_type_name(frame->type));
	l->port = m.port;
	return 0;
}

static int await_listening(struct sbx_session *s, const struct listening *l, struct sbx_error *err)
{
	int r = 0;

	while (r == 0 && !l->done && !s->link.lost)
		r = sbx_link_await(&s->link, NULL, err);
	if (r == 0 && !l->done)
		return sbx_session_fail_lost(s, err);
	return r;
}

/* Ask for any port: where the backend does not isolate, a certain one may be taken. */
static int start_proxy(struct sbx_session *s, struct sbx_error *err)
{
	auto_buf struct sbx_buf payload = SBX_BUF_INIT(16);
	struct listening l = {.port = 0};
	struct sbx_channel ch = {.on_frame = on_listening, .owner = &l};
	int r;

	wire_port_format(&payload, &(struct wire_port){.port = 0});
	sbx_link_add(&s->link, &ch);
	r = sbx_link_queue(&s->link, WIRE_LISTEN, ch.id, payload.data, payload.len, err);
	if (r == 0)
		r = await_listening(s, &l, err);
	sbx_link_remove(&s->link, &ch);
	if (r == 0 && l.refusal.code != SBX_OK) {
		*err = l.refusal;
		r = -(int)err->code;
	}
	s->network.proxy_port = l.port;
	return r;
}

static int start_relay(struct sbx_session *s, struct sbx_error *err)
{
	struct sbx_session_network *n = &s->network;
	int r = 0;

	pthread_mutex_lock(&n->lock);
	if (n->relay == NULL && n->network != NULL && n->network->mode != SBX_NETWORK_NONE)
		r = sbx_relay_new(&s->link.conn, n->network, s->opened_ns, &n->relay, err);
	s->link.relay = n->relay;
	pthread_mutex_unlock(&n->lock);
	return r;
}

int sbx_network_start(struct sbx_session *s, struct sbx_error *err)
{
	int r = s->link.relay ? 0 : start_relay(s, err);

	if (r < 0 || s->link.relay == NULL || s->network.proxy_port != 0)
		return r;
	/* Connections outlive their programs: what was sent last, and who has to be told of the end. */
	r = sbx_session_keep(s, err);
	return r < 0 ? r : start_proxy(s, err);
}

/* ---- what users call ---- */

int sbx_spec_set_network(struct sbx_spec *spec, const struct sbx_network *network,
			 struct sbx_error *err)
{
	struct sbx_network *copy = network ? sbx_network_copy(network) : NULL;
	struct sbx_error lent;

	if (network != NULL && copy == NULL)
		return sbx_fail_errno(err ? err : &lent, ENOMEM, "cannot keep a network");
	sbx_network_free(spec->network);
	spec->network = copy;
	return 0;
}

int sbx_session_set_network(struct sbx_session *s, const struct sbx_network *network,
			    struct sbx_error *err)
{
	struct sbx_session_network *n = &s->network;
	struct sbx_network *copy = NULL, *old = NULL;
	struct sbx_error lent;
	int r;

	err = err ? err : &lent;
	r = network == NULL ? sbx_network_new(SBX_NETWORK_NONE, &copy, err) : 0;
	if (network != NULL && (copy = sbx_network_copy(network)) == NULL)
		r = sbx_fail_errno(err, ENOMEM, "cannot keep a network");
	if (r == 0)
		r = add_package_hosts(s->spec, copy, err);
	if (r < 0) {
		sbx_network_free(copy);
		return r;
	}
	pthread_mutex_lock(&n->lock);
	if (n->relay != NULL)
		r = sbx_relay_set_network(n->relay, copy, err);
	if (r == 0) {
		old = n->network;
		n->network = take_ptr(copy);
	}
	pthread_mutex_unlock(&n->lock);
	sbx_network_free(old);
	sbx_network_free(copy);
	return r;
}

static int read_log(struct sbx_session *s, uint64_t from, struct sbx_egress **ret,
		    size_t *ret_count, uint64_t *ret_total, struct sbx_error *err)
{
	struct sbx_session_network *n = &s->network;
	int r = 0;

	*ret = NULL;
	*ret_count = 0;
	*ret_total = 0;
	pthread_mutex_lock(&n->lock);
	if (n->relay != NULL)
		r = sbx_relay_log(n->relay, from, ret, ret_count, ret_total, err);
	pthread_mutex_unlock(&n->lock);
	return r;
}

int sbx_session_egress(struct sbx_session *s, struct sbx_egress **ret, size_t *ret_count,
		       uint64_t *ret_total, struct sbx_error *err)
{
	struct sbx_error lent;

	return read_log(s, 0, ret, ret_count, ret_total, err ? err : &lent);
}

/* ---- results ---- */

uint64_t sbx_network_count(struct sbx_session *s)
{
	struct sbx_egress *none = NULL;
	struct sbx_error ignored;
	uint64_t total = 0;
	size_t count;

	if (read_log(s, UINT64_MAX, &none, &count, &total, &ignored) < 0)
		return 0;
	free(none);
	return total;
}

/* The line of a place that has no way out, as it is with a proxy in it. */
static void describe(struct sbx_session *s, struct sbx_result *result)
{
	struct sbx_network *network = s->network.network;
	char allowed[128];

	for (size_t i = 0; i < result->isolation_count; i++) {
		struct sbx_isolation *line = (struct sbx_isolation *)&result->isolation[i];

		if (strcmp(line->name, "network") != 0 || line->status != SBX_ENFORCED)
			continue;
		if (network == NULL || network->mode == SBX_NETWORK_NONE) {
			snprintf(line->detail, sizeof(line->detail),
				 "none but the sandbox's own loopback");
			continue;
		}
		sbx_network_describe(network, allowed, sizeof(allowed));
		snprintf(line->detail, sizeof(line->detail), "through the proxy alone: %s",
			 allowed);
	}
}

int sbx_network_finish(struct sbx_session *s, uint64_t from, struct sbx_result *result,
		       struct sbx_error *err)
{
	struct sbx_session_network *n = &s->network;
	uint64_t total;

	pthread_mutex_lock(&n->lock);
	result->network = sbx_network_mode_name(n->network ? n->network->mode : SBX_NETWORK_NONE);
	describe(s, result);
	pthread_mutex_unlock(&n->lock);
	return read_log(s, from, &result->egress, &result->egress_count, &total, err);
}
