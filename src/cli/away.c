/* SPDX-License-Identifier: MIT */
#include "cli/away.h"

#include "cli/signals.h"
#include "cli/trouble.h"

#include <sys/socket.h>

int away_parse(const char *word, struct away *ret, struct sbx_error *err)
{
	if (!name_split(word, ret->name, &ret->path))
		return cli_fail(err, SBX_E_INVALID,
				"'%.128s' is no file of a session; write NAME:PATH", word);
	if (ret->path[0] == '\0')
		ret->path = ".";
	return 0;
}

static void kill_read(void *userdata)
{
	const struct client *client = userdata;

	shutdown(client->sock, SHUT_RDWR);
}

int away_read(const char *word, struct output *output, struct sbx_error *err)
{
	struct client client;
	struct reach reach = {kill_read, kill_read, &client};
	struct client_io io = {.on_stdout = output_stdout, .userdata = output};
	struct answer answer;
	struct away file;
	json_t *request;
	int r = away_parse(word, &file, err);

	if (r == 0)
		r = client_connect(&client, err);
	if (r < 0)
		return r;
	request = client_request("read", file.name);
	json_object_set_new(request, "path", paper_text(file.path));
	output->reach = &reach;
	r = client_ask(&client, request, NULL, 0, &io, &answer, err);
	output->reach = NULL;
	client_close(&client);
	if (r == 0)
		answer_done(&answer);
	return r;
}
