/* SPDX-License-Identifier: MIT */
/* Ways to begin, for people: each becomes one message that tells the model how to go about it. */
#include "base/buf.h"
#include "base/error.h"
#include "mcp/sandbox/inside.h"

#include <errno.h>
#include <string.h>

#define PROMPT_MAX ((size_t)16 << 20)

static const char *argument(const json_t *arguments, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(arguments, name));

	return text != NULL && text[0] != '\0' ? text : otherwise;
}

static int add_message(struct mcp_call *call, const struct sbx_buf *text, struct sbx_error *err)
{
	json_t *content = text->failed ? NULL
				       : json_pack("{s:s, s:s%}", "type", "text", "text",
						   text->data, text->len);

	if (content == NULL)
		return sbx_fail(err, SBX_E_INVALID, "the prompt's arguments are too large");
	mcp_call_add_message(call, "user", content);
	return 0;
}

static int get_analyse(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(PROMPT_MAX);

	sbx_buf_printf(
		&text,
		"Analyse data with the tool execute_code.\n\nThe data: %s\nThe question: %s\n\n"
		"Pass the data to the program in the argument files (relative name to text) or "
		"stdin; a sandbox sees no other file. Look at its shape first, then compute "
		"what answers the question, and check the result by a second way. Answer with "
		"the numbers that were printed, and say what the data cannot tell.",
		argument(arguments, "data", "(ask me for it)"),
		argument(arguments, "question", "What is notable in it?"));
	return add_message(call, &text, err);
}

static int get_plot(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(PROMPT_MAX);

	sbx_buf_printf(
		&text,
		"Plot %s.\n\nThe data: %s\n\n"
		"Ask get_language_details first which plotting libraries are installed. Draw with "
		"execute_code: a plot that is shown, as with plt.show(), comes back as an image. "
		"Without a library name one in libraries, or draw the plot as text. Label the axes "
		"with their units, look at the image, and say in one sentence what it shows.",
		argument(arguments, "what", ""), argument(arguments, "data", "(ask me for it)"));
	return add_message(call, &text, err);
}

static int get_test(struct mcp_call *call, const json_t *arguments, struct sbx_error *err)
{
	auto_buf struct sbx_buf text = SBX_BUF_INIT(PROMPT_MAX);
	const char *second = argument(arguments, "second_language", NULL);

	sbx_buf_printf(
		&text,
		"Test this %s code with the tool execute_code:\n\n%s\n\n"
		"Run it as it is first. Then write tests for the usual case, the edges and bad "
		"input, run them, and report each failure with the smallest input that shows "
		"it.",
		argument(arguments, "first_language", "python"), argument(arguments, "code", ""));
	if (second != NULL)
		sbx_buf_printf(&text,
			       " Then write the same in %s, run it on the same inputs, and compare "
			       "the outputs.",
			       second);
	return add_message(call, &text, err);
}

static void complete(const char *name, const char *prefix, json_t *values)
{
	if (strcmp(name, "first_language") == 0 || strcmp(name, "second_language") == 0)
		mcp_complete_language(prefix, values);
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct mcp_prompt_argument analyse_arguments[] = {
	{"data", "The data, or what is in the file and how it looks", true},
	{"question", "What you want to know", false},
};

static const struct mcp_prompt_argument plot_arguments[] = {
	{"what", "What to show, such as 'sales per month as bars'", true},
	{"data", "The data, or where it comes from", false},
};

static const struct mcp_prompt_argument test_arguments[] = {
	{"code", "The code to test", true},
	{"first_language", "The language that it is in", true},
	{"second_language", "Compare with the same program in this language", false},
};

const struct mcp_prompt mcp_sandbox_prompts[] = {
	{
		.name = "analyse_data",
		.title = "Analyse data",
		.description = "Answer a question about data by running code",
		.arguments = analyse_arguments,
		.argument_count = COUNT(analyse_arguments),
		.get = get_analyse,
	},
	{
		.name = "plot",
		.title = "Plot",
		.description = "Draw data",
		.arguments = plot_arguments,
		.argument_count = COUNT(plot_arguments),
		.get = get_plot,
	},
	{
		.name = "test_snippet",
		.title = "Test a snippet",
		.description = "Test code by running it, and compare it with another language",
		.arguments = test_arguments,
		.argument_count = COUNT(test_arguments),
		.get = get_test,
		.complete = complete,
	},
	{.name = NULL},
};
