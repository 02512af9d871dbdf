/* SPDX-License-Identifier: MIT */
/* What a client of the proxy asks for, and how it is answered; a part of proxy_client.h. */
#pragma once

#include "agent/proxy_client.h"

/* Read, and act on what is whole: the host is asked, or the client is refused. */
void client_read_request(struct client *c, struct sbx_conn *conn);

/* What the host said, in the client's words. */
void client_answer_opened(struct client *c, struct sbx_conn *conn);
void client_answer_refused(struct client *c, const struct wire_refused *m);

/* ---- of proxy_client.c ---- */

void client_put(struct client *c, const void *data, size_t len); /* into what it is sent */
void client_flush(struct client *c, struct sbx_conn *conn);
void client_leave(struct client *c, struct sbx_conn *conn); /* send what there is, and end */
void client_drop(struct client *c, struct sbx_conn *conn);  /* without a further word */
