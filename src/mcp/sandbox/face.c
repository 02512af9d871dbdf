/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "mcp/sandbox/inside.h"

#include <llmsandbox/version.h>

#include <errno.h>
#include <stdlib.h>

/* A box with a prompt in it; base64 is not needed when "#" and blanks are escaped. */
static const struct mcp_icon icons[] = {
	{
		.src = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20"
		       "viewBox='0%200%2048%2048'%3E%3Crect%20x='4'%20y='6'%20width='40'%20"
		       "height='36'%20rx='6'%20fill='%23234'/%3E%3Cpath%20d='M13%2017l8%207-8%207"
		       "M24%2032h11'%20fill='none'%20stroke='%237e9'%20stroke-width='4'%20"
		       "stroke-linecap='round'%20stroke-linejoin='round'/%3E%3C/svg%3E",
		.mime_type = "image/svg+xml",
		.sizes = "any",
	},
	{.src = NULL},
};

static const char instructions[] =
	"Runs code and shell commands in isolated sandboxes. Use execute_code to compute, to "
	"process "
	"text, or to test code instead of guessing what it does; execute_command for Unix tools. "
	"Each "
	"call starts from nothing unless you give it a session_id of create_session: then files "
	"stay "
	"from call to call, until the session is closed or expires, and with kernel variables too. "
	"Give all inputs with the call (stdin, args, files), and print what you want to know. Plots "
	"come back as images by themselves (matplotlib, plotly, ggplot2 and others), and so do "
	"images, documents and tables that a program writes. Name the libraries that code needs "
	"(libraries): those that are not there are installed first. There is no network unless you "
	"ask "
	"for one (network, allow) and whoever runs this server allows it. A failing program is a "
	"normal "
	"result with an exit_code; reason says when a limit ended it (timeout, memory), and larger "
	"ones "
	"can be asked for. Long output is cut in the middle; print less, or raise max_output.";

static const struct mcp_tool *const tools[] = {
	&mcp_tool_execute_code,		&mcp_tool_execute_command,
	&mcp_tool_create_session,	&mcp_tool_close_session,
	&mcp_tool_list_sessions,	&mcp_tool_upload_file,
	&mcp_tool_write_file,		&mcp_tool_read_file,
	&mcp_tool_list_files,		&mcp_tool_delete_file,
	&mcp_tool_install_libraries,	&mcp_tool_manage_kernel,
	&mcp_tool_get_supported_languages, &mcp_tool_get_language_details,
};

#define TOOL_COUNT (sizeof(tools) / sizeof(tools[0]))
_Static_assert(TOOL_COUNT <= MCP_SANDBOX_TOOLS_MAX, "there is room for all tools");

static int make_registry(struct mcp_sandbox *sandbox, struct sbx_error *err)
{
	const struct mcp_environment *e = &sandbox->environment;
	struct sbx_registry_limits limits = {
		.most = e->sessions, .idle_ms = e->idle_ms, .lifetime_ms = e->lifetime_ms};

	return sbx_registry_new(&limits, &sandbox->registry, err);
}

static int set_options(struct mcp_environment *e, const struct mcp_sandbox_options *options,
		       struct sbx_error *err)
{
	int r = mcp_environment_read(options->environment, e, err);

	if (r == 0 && options->limits != NULL)
		mcp_environment_set_limits(e, options->limits);
	if (r == 0)
		e->on_engine_line = options->on_engine_line;
	if (r == 0 && options->network != NULL)
		r = mcp_environment_set_network(e, options->network, err);
	return r;
}

/* Who says how its structured content looks must give some. */
static void set_tools(struct mcp_sandbox *sandbox)
{
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		sandbox->tools[i] = *tools[i];
		if (!sandbox->environment.structured)
			sandbox->tools[i].output_schema = NULL;
	}
}

int mcp_sandbox_new(const struct mcp_sandbox_options *options, struct mcp_sandbox **ret,
		    struct sbx_error *err)
{
	struct mcp_sandbox *sandbox = calloc(1, sizeof(*sandbox));
	int r;

	if (sandbox == NULL)
		return sbx_fail_errno(err, ENOMEM, "cannot make the server");
	r = set_options(&sandbox->environment, options, err);
	if (r == 0)
		r = make_registry(sandbox, err);
	if (r < 0) {
		mcp_environment_done(&sandbox->environment);
		free(sandbox);
		return r;
	}
	mcp_libraries_init(&sandbox->libraries, &sandbox->environment);
	mcp_shelf_init(&sandbox->shelf, sandbox->registry);
	set_tools(sandbox);
	*ret = sandbox;
	return 0;
}

void mcp_sandbox_free(struct mcp_sandbox *sandbox)
{
	if (sandbox == NULL)
		return;
	sbx_registry_free(sandbox->registry);
	mcp_shelf_done(&sandbox->shelf);
	mcp_libraries_done(&sandbox->libraries);
	mcp_environment_done(&sandbox->environment);
	free(sandbox);
}

/* The sessions of a client end with it. */
static void end_sessions(void *sandbox, const char *client)
{
	sbx_registry_close_owner(((struct mcp_sandbox *)sandbox)->registry, client);
}

void mcp_sandbox_face(struct mcp_sandbox *sandbox, struct mcp_face *ret)
{
	*ret = (struct mcp_face){
		.name = "llm-sandbox",
		.title = "LLM Sandbox",
		.version = sbx_version(),
		.description = "Runs code in isolated sandboxes",
		.instructions = instructions,
		.icons = icons,
		.tools = sandbox->tools,
		.resources = mcp_sandbox_resources,
		.prompts = mcp_sandbox_prompts,
		.userdata = sandbox,
		.client_gone = end_sessions,
	};
}
