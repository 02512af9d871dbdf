/* SPDX-License-Identifier: MIT */
/* What is told of a connection: to the log, and to the program whose connection it was to be. */
#include "egress/relay_inside.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define ALLOWED_MOST 600 /* bytes of the list of rules in a refusal */

static const char *const how_names[WIRE_HOW_COUNT] = {
	[WIRE_HOW_CONNECT] = "connect",
	[WIRE_HOW_HTTP] = "http",
	[WIRE_HOW_SOCKS5] = "socks5",
};

static struct sbx_egress attempt(const struct sbx_relay *relay, enum wire_how how,
				 const char *asked, uint16_t port)
{
	struct sbx_egress a = {.port = port, .verdict = SBX_EGRESS_FAILED};

	a.started_ms = (relay->now_ns - relay->started_ns) / SBX_NS_PER_MS;
	snprintf(a.how, sizeof(a.how), "%s", how_names[how]);
	snprintf(a.host, sizeof(a.host), "%s", asked);
	return a;
}

void relay_note_begin(struct relay_conn *c, const char *asked)
{
	struct sbx_egress a = attempt(c->relay, c->how, asked, c->port);

	snprintf(a.rule, sizeof(a.rule), "not connected yet");
	c->number = relay_log_add(&c->relay->log, &a);
}

void relay_note_fault(struct sbx_relay *relay, const struct wire_connect *m)
{
	struct sbx_egress a = attempt(relay, (enum wire_how)m->how, m->host, m->port);

	a.verdict = SBX_EGRESS_DENIED;
	snprintf(a.rule, sizeof(a.rule), "no proper request: %.200s", m->fault);
	relay_log_add(&relay->log, &a);
}

/* How a rule for it would be written. */
static void write_rule(const struct relay_conn *c, const struct address *address, char *ret,
		       size_t size)
{
	char host[HOST_NAME_MAX_BYTES + 1];
	bool is_v6 = address != NULL && address->is_v6;
	bool is_standard = c->port == 80 || c->port == 443;

	if (address != NULL)
		address_format(address, host);
	else
		snprintf(host, sizeof(host), "%s", c->host.name);
	if (is_standard)
		snprintf(ret, size, is_v6 ? "[%s]" : "%s", host);
	else
		snprintf(ret, size, is_v6 ? "[%s]:%u" : "%s:%u", host, c->port);
}

/* For a denial: what would have been allowed, and what a user can do about it. */
static void append_advice(const struct relay_conn *c, struct sbx_buf *text)
{
	char allowed[ALLOWED_MOST], rule[HOST_NAME_MAX_BYTES + 16];
	/* A name with addresses was allowed itself, and leads to where it may not. */
	const struct address *address = c->host.kind == HOST_IS_ADDRESS ? &c->host.address
					: c->address_count > 0		? &c->addresses[0]
									: NULL;
	bool by_name;

	sbx_network_describe(c->relay->network, allowed, sizeof(allowed));
	sbx_buf_printf(text, "This sandbox may reach: %s.\n", allowed);
	if (c->host.kind == HOST_IS_WRONG)
		return;
	by_name = c->host.kind == HOST_IS_NAME && address != NULL &&
		  !address_classify(address)->only_literally;
	write_rule(c, by_name ? NULL : address, rule, sizeof(rule));
	sbx_buf_printf(text,
		       "Trying again does not help. If you need it, ask the user to allow it: "
		       "%s %s\n",
		       by_name ? "--allow-private" : "--allow", rule);
}

static int send_refused(const struct relay_conn *c, enum wire_refusal kind, const char *why,
			struct sbx_error *err)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(4096), payload = SBX_BUF_INIT(8192);
	char shown[HOST_NAME_MAX_BYTES + 1];
	struct wire_refused m = {.kind = kind};

	host_clean(c->asked, shown, sizeof(shown));
	sbx_buf_printf(&text, "%s:%u %s: %s\n", shown, c->port,
		       kind == WIRE_REFUSED_DENIED ? "is not allowed" : "cannot be reached", why);
	if (kind == WIRE_REFUSED_DENIED)
		append_advice(c, &text);
	m.text = text.data;
	wire_refused_format(&payload, &m);
	return sbx_conn_queue(c->relay->stream, WIRE_REFUSED, c->channel, payload.data, payload.len,
			      err);
}

int relay_refuse(struct relay_conn *c, enum wire_refusal kind, const char *why,
		 struct sbx_error *err)
{
	enum sbx_egress_verdict verdict = kind == WIRE_REFUSED_DENIED && c->state != RELAY_OPEN
						  ? SBX_EGRESS_DENIED
						  : SBX_EGRESS_FAILED;
	int r;

	relay_log_set(&c->relay->log, c->number, verdict, NULL, why);
	if (c->told)
		r = sbx_conn_queue(c->relay->stream, WIRE_CLOSE, c->channel, NULL, 0, err);
	else
		r = send_refused(c, kind, why, err);
	relay_conn_bury(c);
	return r;
}
