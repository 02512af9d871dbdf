/* SPDX-License-Identifier: MIT */
#include "cli/holder_programs.h"

#include "cli/paper.h"
#include "cli/trouble.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LOOK_MS	    100
#define MOST	    64	/* of a session; of those that are over, the newest are kept */
#define COMMAND_MAX 120 /* of its words, for people */
#define ID_SIZE	    sizeof(((struct sbx_session_info *)NULL)->id)

struct program {
	unsigned int id;
	char session_id[ID_SIZE];
	char command[COMMAND_MAX];
	time_t started;
	struct sbx_session *session; /* held while it runs */
	struct sbx_process *process; /* NULL: it is over */
	struct sbx_result *result;   /* what it came to; NULL: it runs, or went with its sandbox */
	struct program *next;
};

struct programs {
	struct sbx_registry *registry;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	pthread_t thread;
	struct program *first;
	bool over;
};

/* ---- one ---- */

static void free_program(struct program *p)
{
	sbx_result_free(p->result);
	free(p);
}

/* What it came to, if it has, and its session, which is then the caller's to let go; or NULL. */
static struct sbx_session *settle(struct programs *all, struct program *p)
{
	struct sbx_session *session = p->session;
	struct sbx_error ignored;
	int r;

	if (p->process == NULL)
		return NULL;
	r = sbx_process_wait(p->process, 0, NULL, &p->result, &ignored);
	if (r < 0)
		p->result = NULL;
	if (r == -(int)SBX_E_TIMEOUT && !all->over &&
	    sbx_registry_check(all->registry, session, &ignored) == 0)
		return NULL;
	sbx_process_free(p->process);
	p->process = NULL;
	p->session = NULL;
	return session;
}

/* Letting go may close the session, which takes its time: without the lock. */
static bool settle_one(struct programs *all)
{
	for (struct program *p = all->first; p != NULL; p = p->next) {
		struct sbx_session *session = settle(all, p);

		if (session == NULL)
			continue;
		pthread_mutex_unlock(&all->lock);
		sbx_registry_release(all->registry, session);
		pthread_mutex_lock(&all->lock);
		return true;
	}
	return false;
}

/* ---- the thread ---- */

static bool is_open(const struct sbx_session_info *list, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].id, id) == 0)
			return true;
	}
	return false;
}

static void forget_closed(struct programs *all)
{
	auto_free struct sbx_session_info *list = NULL;
	struct program **link = &all->first, *p;
	struct sbx_error ignored;
	size_t count = 0;

	if (sbx_registry_list(all->registry, NULL, &list, &count, &ignored) < 0)
		return;
	while ((p = *link) != NULL) {
		if (p->process != NULL || is_open(list, count, p->session_id)) {
			link = &p->next;
			continue;
		}
		*link = p->next;
		free_program(p);
	}
}

static void wait_a_while(struct programs *all)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	if (all->first == NULL)
		pthread_cond_wait(&all->changed, &all->lock);
	else
		pthread_cond_timedwait(&all->changed, &all->lock, &until);
}

static void *look_after(void *argument)
{
	struct programs *all = argument;

	pthread_mutex_lock(&all->lock);
	while (!all->over) {
		while (settle_one(all))
			;
		forget_closed(all);
		if (!all->over)
			wait_a_while(all);
	}
	while (settle_one(all))
		;
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int programs_new(struct sbx_registry *registry, struct programs **ret, struct sbx_error *err)
{
	struct programs *all = calloc(1, sizeof(*all));
	int failure;

	if (all == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	all->registry = registry;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->changed, NULL);
	failure = pthread_create(&all->thread, NULL, look_after, all);
	if (failure != 0) {
		free(all);
		return cli_fail(err, SBX_E_SYSTEM, "cannot start a thread: %s", strerror(failure));
	}
	*ret = all;
	return 0;
}

void programs_free(struct programs *all)
{
	struct program *next;

	if (all == NULL)
		return;
	pthread_mutex_lock(&all->lock);
	all->over = true;
	pthread_cond_signal(&all->changed);
	pthread_mutex_unlock(&all->lock);
	pthread_join(all->thread, NULL);
	for (struct program *p = all->first; p != NULL; p = next) {
		next = p->next;
		free_program(p);
	}
	free(all);
}

/* ---- start ---- */

static void describe(const char *const *argv, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = '\0';
	for (size_t i = 0; argv[i] != NULL && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? " " : "", argv[i]);
}

/* With the lock. The list begins with the newest, so the last that is over is the oldest. */
static bool forget_oldest(struct programs *all, const char *session_id)
{
	struct program **oldest = NULL, *p;

	for (struct program **link = &all->first; *link != NULL; link = &(*link)->next) {
		if ((*link)->process == NULL && strcmp((*link)->session_id, session_id) == 0)
			oldest = link;
	}
	if (oldest == NULL)
		return false;
	p = *oldest;
	*oldest = p->next;
	free_program(p);
	return true;
}

/* With the lock. */
static int choose_id(struct programs *all, const char *session_id, unsigned int *ret,
		     struct sbx_error *err)
{
	unsigned int count = 0, last = 0;

	for (const struct program *p = all->first; p != NULL; p = p->next) {
		if (strcmp(p->session_id, session_id) != 0)
			continue;
		count++;
		last = p->id > last ? p->id : last;
	}
	if (count >= MOST && !forget_oldest(all, session_id))
		return cli_fail(err, SBX_E_LIMIT, "%d programs run in the background already",
				MOST);
	*ret = last + 1;
	return 0;
}

/* With the lock. */
static int add_program(struct programs *all, const struct program *program, unsigned int *ret_id,
		       struct sbx_error *err)
{
	struct program *p = malloc(sizeof(*p));
	int r;

	if (p == NULL)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	*p = *program;
	r = choose_id(all, p->session_id, &p->id, err);
	if (r < 0) {
		free(p);
		return r;
	}
	p->next = all->first;
	all->first = p;
	*ret_id = p->id;
	pthread_cond_signal(&all->changed);
	return 0;
}

int programs_start(struct programs *all, const char *session_id, const struct sbx_command *command,
		   unsigned int *ret_id, struct sbx_error *err)
{
	struct program p = {.started = time(NULL)};
	int r = sbx_registry_acquire(all->registry, NULL, session_id, &p.session, err);

	if (r < 0)
		return r;
	snprintf(p.session_id, sizeof(p.session_id), "%s", session_id);
	describe(command->argv, p.command, sizeof(p.command));
	/* It may wait for what runs there, so without the lock. */
	r = sbx_session_start(p.session, command, &p.process, err);
	if (r == 0) {
		pthread_mutex_lock(&all->lock);
		r = add_program(all, &p, ret_id, err);
		pthread_mutex_unlock(&all->lock);
	}
	if (r < 0) {
		sbx_process_free(p.process);
		sbx_registry_release(all->registry, p.session);
	}
	return r;
}

/* ---- looking ---- */

static json_t *program_json(const struct program *p)
{
	json_t *object = json_pack("{s:i, s:o, s:b, s:I}", "process", (int)p->id, "command",
				   paper_text(p->command), "running", p->process != NULL, "started",
				   (json_int_t)p->started);

	if (p->result != NULL)
		json_object_set_new(object, "exit_code", json_integer(p->result->exit_code));
	return object;
}

json_t *programs_list(struct programs *all, const char *session_id)
{
	json_t *array = json_array();

	pthread_mutex_lock(&all->lock);
	for (const struct program *p = all->first; p != NULL; p = p->next) {
		if (strcmp(p->session_id, session_id) == 0)
			json_array_insert_new(array, 0, program_json(p));
	}
	pthread_mutex_unlock(&all->lock);
	return array;
}

/* With the lock. */
static int find_program(struct programs *all, const char *session_id, unsigned int id,
			struct program **ret, struct sbx_error *err)
{
	struct program *p = all->first;

	while (p != NULL && (p->id != id || strcmp(p->session_id, session_id) != 0))
		p = p->next;
	*ret = p;
	return p ? 0
		 : cli_fail(err, SBX_E_NOT_FOUND, "the session has no program %u in the background",
			    id);
}

static int copy_output(const struct sbx_output *from, struct sbx_output *ret)
{
	*ret = *from;
	ret->data = malloc(from->len + 1);
	if (ret->data == NULL)
		return -ENOMEM;
	memcpy(ret->data, from->data, from->len);
	ret->data[from->len] = '\0';
	return 0;
}

static int copy_result(const struct program *p, struct program_state *ret, struct sbx_error *err)
{
	if (p->result == NULL)
		return cli_fail(err, SBX_E_NOT_FOUND, "what program %u came to is not known",
				p->id);
	ret->exit_code = p->result->exit_code;
	ret->reason = p->result->reason;
	memcpy(ret->message, p->result->message, sizeof(ret->message));
	if (copy_output(&p->result->out, &ret->out) < 0 ||
	    copy_output(&p->result->errout, &ret->errout) < 0)
		return cli_fail(err, SBX_E_SYSTEM, "out of memory");
	return 0;
}

int programs_look(struct programs *all, const char *session_id, unsigned int id,
		  struct program_state *ret, struct sbx_error *err)
{
	struct program_state state = {0};
	struct program *p;
	int r;

	pthread_mutex_lock(&all->lock);
	r = find_program(all, session_id, id, &p, err);
	if (r == 0 && p->process != NULL) {
		state.running = true;
		r = sbx_process_output(p->process, &state.out, &state.errout, err);
	} else if (r == 0) {
		r = copy_result(p, &state, err);
	}
	pthread_mutex_unlock(&all->lock);
	if (r < 0)
		program_state_done(&state);
	else
		*ret = state;
	return r;
}

bool programs_is_over(struct programs *all, const char *session_id, unsigned int id)
{
	struct sbx_error ignored;
	struct program *p;
	bool over;

	pthread_mutex_lock(&all->lock);
	over = find_program(all, session_id, id, &p, &ignored) < 0 || p->process == NULL;
	pthread_mutex_unlock(&all->lock);
	return over;
}

void program_state_done(struct program_state *state)
{
	free(state->out.data);
	free(state->errout.data);
}

int programs_kill(struct programs *all, const char *session_id, unsigned int id,
		  struct sbx_error *err)
{
	struct program *p;
	int r;

	pthread_mutex_lock(&all->lock);
	r = find_program(all, session_id, id, &p, err);
	if (r == 0 && p->process != NULL)
		r = sbx_process_signal(p->process, SIGKILL, err);
	pthread_mutex_unlock(&all->lock);
	return r;
}
