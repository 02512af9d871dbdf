/* SPDX-License-Identifier: MIT */
/* Sessions by id: when they end, who sees them, and what is told of those that are gone. */
#include <llmsandbox/registry.h>

#include "base/clock.h"
#include "support/census.h"
#include "support/sandbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_MS 10000
#define MANY	    100

/* ---- a registry for each test ---- */

static int free_registry(void **state)
{
	sbx_registry_free(*state);
	return 0;
}

#define registry_test(function) cmocka_unit_test_teardown(function, free_registry)

static struct sbx_registry *make(void **state, size_t most, uint64_t idle_ms, uint64_t lifetime_ms)
{
	struct sbx_registry_limits limits = {
		.most = most, .idle_ms = idle_ms, .lifetime_ms = lifetime_ms};
	struct sbx_registry *r = NULL;

	assert_int_equal(sbx_registry_new(&limits, &r, NULL), 0);
	*state = r;
	return r;
}

static struct sbx_spec *new_spec(void)
{
	struct sbx_spec *spec = NULL;

	assert_int_equal(sbx_spec_new(&spec, NULL), 0);
	assert_int_equal(test_use_backend(spec, NULL), 0);
	assert_int_equal(sbx_spec_set_language(spec, "none", NULL), 0);
	return spec;
}

static int try_open(struct sbx_registry *r, const char *owner, const char *label,
		    struct sbx_session_info *ret, struct sbx_error *err)
{
	struct sbx_registry_open how = {.spec = new_spec(), .owner = owner, .label = label};

	return sbx_registry_open(r, &how, ret, err);
}

static struct sbx_session_info open_one(struct sbx_registry *r)
{
	struct sbx_session_info info;
	struct sbx_error err;

	if (try_open(r, NULL, NULL, &info, &err) < 0)
		fail_msg("cannot open a session: %s", err.msg);
	return info;
}

static struct sbx_session *acquire(struct sbx_registry *r, const char *id)
{
	struct sbx_session *session = NULL;
	struct sbx_error err;

	if (sbx_registry_acquire(r, NULL, id, &session, &err) < 0)
		fail_msg("cannot use the session: %s", err.msg);
	return session;
}

static int run_script(struct sbx_session *session, const char *script, sbx_output_fn *on_stdout,
		      void *userdata, struct sbx_result **ret, struct sbx_error *err)
{
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct sbx_command command = {
		.argv = argv,
		.io = {.timeout_ms = 60000, .on_stdout = on_stdout, .userdata = userdata}};

	return sbx_session_exec(session, &command, ret, err);
}

/* The script must end with 0. */
static void use(struct sbx_registry *r, const char *id, const char *script)
{
	struct sbx_session *session = acquire(r, id);
	struct sbx_result *result = NULL;
	struct sbx_error err;

	if (run_script(session, script, NULL, NULL, &result, &err) < 0)
		fail_msg("cannot run '%s': %s", script, err.msg);
	assert_int_equal(result->exit_code, 0);
	sbx_result_free(result);
	sbx_registry_release(r, session);
}

static size_t count(struct sbx_registry *r, const char *owner)
{
	struct sbx_session_info *list = NULL;
	size_t n = 0;

	assert_int_equal(sbx_registry_list(r, owner, &list, &n, NULL), 0);
	free(list);
	return n;
}

static void expect_refused(struct sbx_registry *r, const char *owner, const char *id,
			   const char *words)
{
	struct sbx_session *session = NULL;
	struct sbx_error err;

	assert_true(sbx_registry_acquire(r, owner, id, &session, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
	if (strstr(err.msg, words) == NULL)
		fail_msg("no '%s' in: %s", words, err.msg);
}

/* ---- a thread that runs a script in a session ---- */

struct runner {
	pthread_t thread;
	struct sbx_registry *registry;
	struct sbx_session *session;
	const char *id, *script;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool speaks; /* the script has said something */
	int r, check;
	enum sbx_reason reason;
	struct sbx_error err, check_err;
};

static void hear(const void *data, size_t len, void *userdata)
{
	struct runner *u = userdata;

	(void)data;
	(void)len;
	pthread_mutex_lock(&u->lock);
	u->speaks = true;
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->lock);
}

static void *run(void *userdata)
{
	struct runner *u = userdata;
	struct sbx_result *result = NULL;

	u->r = run_script(u->session, u->script, hear, u, &result, &u->err);
	if (u->r == 0)
		u->reason = result->reason;
	u->check = sbx_registry_check(u->registry, u->session, &u->check_err);
	sbx_result_free(result);
	sbx_registry_release(u->registry, u->session);
	return NULL;
}

/* Returns when the script has printed something. */
static void start(struct runner *u, struct sbx_registry *r, const char *id, const char *script)
{
	struct timespec deadline;

	*u = (struct runner){.registry = r, .id = id, .script = script, .session = acquire(r, id)};
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += PATIENCE_MS / 1000;
	assert_int_equal(pthread_create(&u->thread, NULL, run, u), 0);
	pthread_mutex_lock(&u->lock);
	while (!u->speaks)
		assert_int_equal(pthread_cond_timedwait(&u->changed, &u->lock, &deadline), 0);
	pthread_mutex_unlock(&u->lock);
}

/* It must have been ended, and the registry must know why. */
static void expect_ended(struct runner *u, enum sbx_code code, const char *words)
{
	pthread_join(u->thread, NULL);
	assert_true(u->r < 0 || u->reason == SBX_LOST);
	assert_int_equal(u->check, -(int)code);
	if (strstr(u->check_err.msg, words) == NULL)
		fail_msg("no '%s' in: %s", words, u->check_err.msg);
}

/* ---- when sessions end ---- */

static void expect_none_left(struct sbx_registry *r)
{
	const struct timespec pause = {.tv_nsec = 5 * SBX_NS_PER_MS};
	uint64_t deadline = sbx_deadline_ns(PATIENCE_MS);

	while (count(r, NULL) > 0) {
		assert_true(sbx_now_ns() < deadline);
		nanosleep(&pause, NULL);
	}
}

static void a_session_that_nobody_uses_ends(void **state)
{
	struct sbx_registry *r = make(state, 0, 200, 0);
	struct sbx_session_info info = open_one(r);

	assert_true(info.expires_in_ms <= 200);
	expect_none_left(r);
	expect_refused(r, NULL, info.id, "expired");
	expect_refused(r, NULL, info.id, "after 200 milliseconds without use");
}

static void a_session_that_runs_something_is_not_idle(void **state)
{
	struct sbx_registry *r = make(state, 0, 300, 0);
	struct sbx_session_info info = open_one(r);

	use(r, info.id, "sleep 0.7; echo kept > file");
	use(r, info.id, "cat file");
	expect_none_left(r);
}

static void a_life_that_is_over_ends_what_runs(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 1000);
	struct sbx_session_info info = open_one(r);
	uint64_t begin = sbx_now_ns();
	struct runner u;

	assert_true(info.lifetime_left_ms <= 1000);
	start(&u, r, info.id, "echo x; sleep 30");
	expect_ended(&u, SBX_E_TIMEOUT, "its life of 1 second was over");
	assert_true(sbx_now_ns() - begin < PATIENCE_MS * SBX_NS_PER_MS);
	expect_refused(r, NULL, info.id, "its life of 1 second was over");
}

static void the_session_timeout_of_a_spec_is_its_life_too(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_registry_open how = {.spec = new_spec(), .lifetime_ms = 3600000};
	struct sbx_session_info info;

	assert_int_equal(sbx_spec_set_limit(how.spec, SBX_LIMIT_SESSION_MS, 300, NULL), 0);
	assert_int_equal(sbx_registry_open(r, &how, &info, NULL), 0);
	assert_true(info.lifetime_left_ms <= 300);
	expect_none_left(r);
}

static void no_session_gets_more_time_than_the_registry_gives(void **state)
{
	struct sbx_registry *r = make(state, 0, 5000, 20000);
	struct sbx_registry_open how = {
		.spec = new_spec(), .idle_ms = 6000, .lifetime_ms = SBX_TIMEOUT_NONE};
	struct sbx_session_info info;

	assert_int_equal(sbx_registry_open(r, &how, &info, NULL), 0);
	assert_in_range(info.expires_in_ms, 1, 5000);
	assert_in_range(info.lifetime_left_ms, 5001, 20000);
}

static void times_may_have_no_end(void **state)
{
	struct sbx_registry *r = make(state, 0, SBX_TIMEOUT_NONE, SBX_TIMEOUT_NONE);
	struct sbx_session_info info = open_one(r);

	assert_true(info.expires_in_ms == SBX_TIMEOUT_NONE);
	assert_true(info.lifetime_left_ms == SBX_TIMEOUT_NONE);
	use(r, info.id, "true");
}

/* ---- closing ---- */

/* Case 26: one that was closed, and one that never was. */
static void a_closed_session_is_gone(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r);
	struct sbx_error err;

	assert_int_equal(sbx_registry_close(r, NULL, info.id, NULL), 0);
	assert_int_equal(count(r, NULL), 0);
	expect_refused(r, NULL, info.id, "was closed at");
	assert_true(sbx_registry_close(r, NULL, info.id, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
}

static void closing_ends_what_another_thread_runs(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r);
	struct census before, after;
	struct runner u;

	start(&u, r, info.id, "echo x; sleep 60");
	census_take(&before);
	assert_int_equal(sbx_registry_close(r, NULL, info.id, NULL), 0);
	census_take(&after);
	/* Those of a container are no descendants of ours. */
	if (!test_has_image())
		assert_true(after.count[CENSUS_PROCESSES] < before.count[CENSUS_PROCESSES]);
	expect_ended(&u, SBX_E_UNAVAILABLE, "was closed");
}

static void freeing_the_registry_ends_what_runs(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r);
	struct runner u;

	open_one(r);
	start(&u, r, info.id, "echo x; sleep 60");
	sbx_registry_free(r);
	*state = NULL;
	expect_ended(&u, SBX_E_UNAVAILABLE, "was closed");
}

static void there_are_no_more_sessions_than_allowed(void **state)
{
	struct sbx_registry *r = make(state, 2, 0, 0);
	struct sbx_session_info first = open_one(r), info;
	struct sbx_error err;

	open_one(r);
	assert_true(try_open(r, NULL, NULL, &info, &err) < 0);
	assert_int_equal(err.code, SBX_E_LIMIT);
	assert_non_null(strstr(err.msg, "2 sessions"));
	assert_int_equal(sbx_registry_close(r, NULL, first.id, NULL), 0);
	open_one(r);
}

/* ---- names and owners ---- */

static void ids_are_128_random_bits(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info a = open_one(r), b = open_one(r);
	size_t same = 0;

	assert_int_equal(strlen(a.id), 32);
	assert_int_equal(strspn(a.id, "0123456789abcdef"), 32);
	for (size_t i = 0; i < 32; i++)
		same += a.id[i] == b.id[i];
	/* Of 32 random digits two are the same on average. */
	assert_true(same < 16);
	expect_refused(r, NULL, "00000000000000000000000000000000", "never opened");
	expect_refused(r, NULL, "", "never opened");
}

static void other_owners_do_not_see_a_session(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info;
	struct sbx_error err;

	assert_int_equal(try_open(r, "alice", "work", &info, NULL), 0);
	assert_int_equal(count(r, "alice"), 1);
	assert_int_equal(count(r, "bob"), 0);
	assert_int_equal(count(r, NULL), 1);
	expect_refused(r, "bob", info.id, "never opened");
	expect_refused(r, "bob", "work", "never opened");
	assert_true(sbx_registry_close(r, "bob", info.id, &err) < 0);
	assert_int_equal(err.code, SBX_E_NOT_FOUND);
	assert_int_equal(sbx_registry_close(r, "alice", info.id, NULL), 0);
	expect_refused(r, "bob", info.id, "never opened");
	expect_refused(r, "alice", info.id, "was closed");
}

static void a_label_finds_the_newest_of_its_owner(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info first, second;
	struct sbx_session *session = NULL, *by_id;

	assert_int_equal(try_open(r, "alice", "work", &first, NULL), 0);
	assert_int_equal(try_open(r, "alice", "work", &second, NULL), 0);
	assert_string_equal(second.label, "work");
	assert_int_equal(sbx_registry_acquire(r, "alice", "work", &session, NULL), 0);
	by_id = acquire(r, second.id);
	assert_ptr_equal(session, by_id);
	sbx_registry_release(r, session);
	sbx_registry_release(r, by_id);
	expect_refused(r, NULL, "work", "never opened");
	assert_int_equal(sbx_registry_close(r, "alice", "work", NULL), 0);
	assert_int_equal(sbx_registry_close(r, "alice", "work", NULL), 0);
	expect_refused(r, "alice", "work", "was closed");
}

static void an_owner_that_leaves_takes_its_sessions_along(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info;
	struct runner u;

	assert_int_equal(try_open(r, "alice", NULL, &info, NULL), 0);
	assert_int_equal(try_open(r, "alice", NULL, NULL, NULL), 0);
	assert_int_equal(try_open(r, "bob", NULL, NULL, NULL), 0);
	start(&u, r, info.id, "echo x; sleep 60");
	sbx_registry_close_owner(r, "alice");
	assert_int_equal(count(r, "alice"), 0);
	assert_int_equal(count(r, "bob"), 1);
	expect_ended(&u, SBX_E_UNAVAILABLE, "was closed");
}

static void a_list_says_who_is_busy(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r), *list = NULL;
	size_t n = 0;

	struct sbx_session *session;

	use(r, info.id, "true");
	session = acquire(r, info.id);
	assert_int_equal(sbx_registry_list(r, NULL, &list, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].id, info.id);
	assert_true(list[0].busy);
	assert_int_equal(list[0].operations, 2);
	free(list);
	sbx_registry_release(r, session);
}

/* ---- many at once ---- */

struct racer {
	pthread_t thread;
	struct sbx_registry *registry;
	const char *id;
	struct sbx_cancel *cancel;
	int r, exit_code;
	struct sbx_error err;
};

/* The script fails when it meets another one. */
static void *race(void *userdata)
{
	struct racer *u = userdata;
	struct sbx_session *session = NULL;
	struct sbx_result *result = NULL;

	u->r = sbx_registry_acquire_alone(u->registry, NULL, u->id, u->cancel, &session, &u->err);
	if (u->r < 0)
		return NULL;
	u->r = run_script(session, "mkdir busy || exit 1; sleep 0.1; rmdir busy", NULL, NULL,
			  &result, &u->err);
	u->exit_code = u->r == 0 ? result->exit_code : -1;
	sbx_result_free(result);
	sbx_registry_release_alone(u->registry, session);
	return NULL;
}

static void one_after_the_other_has_a_session_alone(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r);
	struct racer racers[5];

	for (size_t i = 0; i < 5; i++) {
		racers[i] = (struct racer){.registry = r, .id = info.id};
		assert_int_equal(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	}
	for (size_t i = 0; i < 5; i++) {
		pthread_join(racers[i].thread, NULL);
		assert_int_equal(racers[i].r, 0);
		assert_int_equal(racers[i].exit_code, 0);
	}
}

static void waiting_for_a_session_can_be_cancelled(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r);
	struct racer u = {.registry = r, .id = info.id};
	struct sbx_session *session = NULL;

	assert_int_equal(sbx_cancel_new(&u.cancel, NULL), 0);
	assert_int_equal(sbx_registry_acquire_alone(r, NULL, info.id, NULL, &session, NULL), 0);
	assert_int_equal(pthread_create(&u.thread, NULL, race, &u), 0);
	sbx_cancel_kill(u.cancel);
	pthread_join(u.thread, NULL);
	assert_int_equal(u.err.code, SBX_E_UNAVAILABLE);
	sbx_registry_release_alone(r, session);
	sbx_cancel_free(u.cancel);
	use(r, info.id, "true");
}

static void closing_ends_the_waiting_for_a_session(void **state)
{
	struct sbx_registry *r = make(state, 0, 0, 0);
	struct sbx_session_info info = open_one(r);
	struct racer u = {.registry = r, .id = info.id};
	struct sbx_session *session = NULL;

	assert_int_equal(sbx_registry_acquire_alone(r, NULL, info.id, NULL, &session, NULL), 0);
	assert_int_equal(pthread_create(&u.thread, NULL, race, &u), 0);
	sbx_registry_close_owner(r, NULL);
	pthread_join(u.thread, NULL);
	assert_int_equal(u.err.code, SBX_E_NOT_FOUND);
	assert_non_null(strstr(u.err.msg, "was closed"));
	sbx_registry_release_alone(r, session);
}

static void who_has_a_session_alone_is_cancelled_when_it_ends(void **state)
{
	const char *argv[] = {"/bin/sh", "-c", "echo x; sleep 60", NULL};
	struct sbx_command command = {.argv = argv, .io = {.timeout_ms = 60000}};
	struct sbx_registry *r = make(state, 0, 0, 300);
	struct sbx_spec *spec = new_spec();
	struct sbx_session *held = NULL, *elsewhere = NULL;
	struct sbx_result *result = NULL;
	struct sbx_session_info info;

	assert_int_equal(sbx_cancel_new(&command.io.cancel, NULL), 0);
	assert_int_equal(sbx_session_open(spec, &elsewhere, NULL), 0);
	info = open_one(r);
	assert_int_equal(
		sbx_registry_acquire_alone(r, NULL, info.id, command.io.cancel, &held, NULL), 0);
	assert_int_equal(sbx_session_exec(elsewhere, &command, &result, NULL), 0);
	assert_int_equal(result->reason, SBX_CANCELLED);
	assert_int_equal(sbx_registry_check(r, held, NULL), -SBX_E_TIMEOUT);
	sbx_registry_release_alone(r, held);
	sbx_result_free(result);
	sbx_session_close(elsewhere);
	sbx_spec_free(spec);
	sbx_cancel_free(command.io.cancel);
}

struct opener {
	pthread_t thread;
	struct sbx_registry *registry;
	struct sbx_session_info infos[MANY / 4];
	struct sbx_error err;
	int r;
	pthread_barrier_t *all_open;
};

static void *open_and_use(void *userdata)
{
	struct opener *u = userdata;
	size_t n = MANY / 4;

	for (size_t i = 0; u->r == 0 && i < n; i++)
		u->r = try_open(u->registry, NULL, NULL, &u->infos[i], &u->err);
	pthread_barrier_wait(u->all_open);
	for (size_t i = 0; u->r == 0 && i < n; i++) {
		use(u->registry, u->infos[i].id, "test ! -e mine && echo x > mine");
		use(u->registry, u->infos[i].id, "test -e mine");
	}
	pthread_barrier_wait(u->all_open);
	for (size_t i = 0; u->r == 0 && i < n; i++)
		u->r = sbx_registry_close(u->registry, NULL, u->infos[i].id, &u->err);
	return NULL;
}

static void a_hundred_sessions_at_once_leave_nothing(void **state)
{
	struct sbx_registry *r = make(state, MANY, 0, 0);
	struct sbx_session_info first = open_one(r);
	struct opener openers[4];
	pthread_barrier_t all_open;
	struct census before;

	/* What the first one makes stays on purpose, such as the runtime folder. */
	assert_int_equal(sbx_registry_close(r, NULL, first.id, NULL), 0);
	census_take(&before);
	pthread_barrier_init(&all_open, NULL, 5);
	for (size_t i = 0; i < 4; i++) {
		openers[i] = (struct opener){.registry = r, .all_open = &all_open};
		assert_int_equal(
			pthread_create(&openers[i].thread, NULL, open_and_use, &openers[i]), 0);
	}
	pthread_barrier_wait(&all_open);
	assert_int_equal(count(r, NULL), MANY);
	pthread_barrier_wait(&all_open);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(openers[i].thread, NULL);
		if (openers[i].r < 0)
			fail_msg("%s", openers[i].err.msg);
	}
	assert_int_equal(count(r, NULL), 0);
	pthread_barrier_destroy(&all_open);
	census_expect_processes(&before, PATIENCE_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		registry_test(a_session_that_nobody_uses_ends),
		registry_test(a_session_that_runs_something_is_not_idle),
		registry_test(a_life_that_is_over_ends_what_runs),
		registry_test(the_session_timeout_of_a_spec_is_its_life_too),
		registry_test(no_session_gets_more_time_than_the_registry_gives),
		registry_test(times_may_have_no_end),
		registry_test(a_closed_session_is_gone),
		registry_test(closing_ends_what_another_thread_runs),
		registry_test(freeing_the_registry_ends_what_runs),
		registry_test(there_are_no_more_sessions_than_allowed),
		registry_test(ids_are_128_random_bits),
		registry_test(other_owners_do_not_see_a_session),
		registry_test(a_label_finds_the_newest_of_its_owner),
		registry_test(an_owner_that_leaves_takes_its_sessions_along),
		registry_test(a_list_says_who_is_busy),
		registry_test(one_after_the_other_has_a_session_alone),
		registry_test(waiting_for_a_session_can_be_cancelled),
		registry_test(closing_ends_the_waiting_for_a_session),
		registry_test(who_has_a_session_alone_is_cancelled_when_it_ends),
		registry_test(a_hundred_sessions_at_once_leave_nothing),
	};

	census_begin();
	return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
