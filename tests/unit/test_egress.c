/* SPDX-License-Identifier: MIT */
/* What src/egress promises without any I/O: spellings, classes, rules, verdicts, TLS, the log. */
#include "base/error.h"
#include "egress/address.h"
#include "egress/policy.h"
#include "egress/relay_limits.h"
#include "egress/relay_log.h"
#include "egress/rule.h"
#include "egress/sni.h"
#include "egress/spelling.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- spellings ---- */

static void an_address_is_recognised_in_every_spelling(void **state)
{
	static const char *const loopback[] = {
		"127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0x7F.0.0.1", "0X7f000001", "2130706433",
		"017700000001", "0177.0.0.01", "127.0.0.1.", "00000000177.1", "[::ffff:127.0.0.1]",
		"::ffff:7f00:1", "[::127.0.0.1]", "0x0000000000000000007f.1",
	};
	struct address wanted = address_v4(0x7f000001);

	(void)state;
	for (size_t i = 0; i < COUNT(loopback); i++) {
		struct host host;

		host_parse(loopback[i], &host);
		if (host.kind != HOST_IS_ADDRESS)
			fail_msg("'%s' is no address", loopback[i]);
		assert_memory_equal(&host.address, &wanted, sizeof(wanted));
	}
}

static void what_is_neither_name_nor_address_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", ".", "..", "a..b", ".a", "256.0.0.1", "1.2.3.4.5", "0x", "08.1", "4294967296",
		"127.0.0.256", "a b", "a\tb", "a\nb", "a\rb", "a\x7f", "a%2e", "%31", "a@b", "a/b", "a\\b", "a?b",
		"a#b", "[::1", "::1]", "[]", "[127.0.0.1]", "::1%lo", "fe80::1%25eth0", ":::", "1:2", "a:80",
		"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", "127\xe3\x80\x82" "0.0.1", "b\xc3\xbc" "cher.example",
		"-a.example", "a-.example", "a,b", "a!b", "*.example", "a*b", "a.1", "a.0x1",
	};
	char longer[300];
	struct host host;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		host_parse(wrong[i], &host);
		if (host.kind != HOST_IS_WRONG)
			fail_msg("'%s' is taken for a host", wrong[i]);
	}
	memset(longer, 'a', sizeof(longer));
	longer[64] = '\0';
	host_parse(longer, &host);
	assert_int_equal(host.kind, HOST_IS_WRONG);
	longer[64] = 'a';
	for (size_t i = 50; i < 299; i += 50)
		longer[i] = '.';
	longer[254] = '\0';
	host_parse(longer, &host);
	assert_int_equal(host.kind, HOST_IS_WRONG);
	longer[253] = '\0';
	host_parse(longer, &host);
	assert_int_equal(host.kind, HOST_IS_NAME);
}

static void names_come_out_in_one_form(void **state)
{
	static const char *const pairs[][2] = {
		{"Example.ORG", "example.org"},	  {"example.org.", "example.org"},
		{"a_b.example", "a_b.example"},	  {"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"1.example", "1.example"},	  {"localhost", "localhost"},
		{"0x7f.example", "0x7f.example"}, {"12ab", "12ab"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct host host;

		host_parse(pairs[i][0], &host);
		assert_int_equal(host.kind, HOST_IS_NAME);
		assert_string_equal(host.name, pairs[i][1]);
	}
}

/* ---- classes ---- */

static struct address address(const char *text)
{
	struct host host;

	host_parse(text, &host);
	if (host.kind != HOST_IS_ADDRESS)
		fail_msg("'%s' is no address", text);
	return host.address;
}

static void special_addresses_are_known_to_their_edges(void **state)
{
	static const char *const special[] = {
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
		"127.0.0.0", "127.255.255.255", "169.254.0.0", "169.254.255.255", "172.16.0.0",
		"172.31.255.255", "192.0.0.0", "192.0.0.255", "192.88.99.1", "192.168.0.0",
		"192.168.255.255", "198.18.0.0", "198.19.255.255", "224.0.0.1", "239.255.255.255",
		"240.0.0.1", "255.255.255.255", "168.63.129.16", "::", "::1", "::2", "64:ff9b::10.0.0.1",
		"64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:1ff::1", "2002:7f00:1::", "2002:a00:1::1",
		"fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "fd00:ec2::254",
		"4000::1", "1::1", "::ffff:0:10.0.0.1",
	};
	static const char *const public[] = {
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
		"192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
		"223.255.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1",
		"2001:200::1", "2606::1", "3fff::1", "64:ff9b::1.1.1.1", "2002:101:101::1",
		"::ffff:1.1.1.1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(special); i++) {
		struct address a = address(special[i]);

		if (address_classify(&a) == NULL)
			fail_msg("%s counts as public", special[i]);
	}
	for (size_t i = 0; i < COUNT(public); i++) {
		struct address a = address(public[i]);

		if (address_classify(&a) != NULL)
			fail_msg("%s counts as %s", public[i], address_classify(&a)->what);
	}
}

/* A Teredo client's address is in the last 32 bits, each of them turned round. */
static void a_tunnel_is_judged_by_where_it_leads(void **state)
{
	struct address inside = address("2001:0:0102:0304::80ff:fffe");
	struct address outside = address("2001:0:0102:0304::fefe:fefe");

	(void)state;
	assert_non_null(address_classify(&inside));
	assert_null(address_classify(&outside));
}

/* ---- rules ---- */

static void a_wrong_rule_says_what_is_wrong(void **state)
{
	static const char *const pairs[][2] = {
		{"", "empty"},
		{"*", "mode 'open'"},
		{"a.*.example", "not at its start"},
		{"*example.org", "not at its start"},
		{"*.10.0.0.1", "before an address"},
		{"https://example.org/", "is a URL"},
		{"example.org/path", "only an address has a range"},
		{"example.org:", "no port"},
		{"example.org:0", "no port"},
		{"example.org:65536", "no port"},
		{"example.org:http", "no port"},
		{"example.org:80x", "no port"},
		{"10.0.0.1/8", "did you mean 10.0.0.0/8"},
		{"10.0.0.0/33", "0 to 32"},
		{"10.0.0.0/", "nothing after its '/'"},
		{"10.0.0.0/x", "no prefix length"},
		{"10.0.0.0/-1", "no prefix length"},
		{"2001:db8::1/32", "did you mean 2001:db8::/32"},
		{"2001:db8::/32:443", "[2001:db8::/32]:443"},
		{"[2001:db8::1", "does not close"},
		{"[2001:db8::1]x", "no port"},
		{"exa mple.org", "space"},
		{"b\xc3\xbc" "cher.example", "xn--"},
		{"user@example.org", "'@'"},
		{"256.1.1.1", "IPv4 address"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct sbx_rule rule;
		struct sbx_error err = {0};

		if (rule_parse(pairs[i][0], false, &rule, &err) == 0)
			fail_msg("'%s' is a rule", pairs[i][0]);
		assert_int_equal(err.code, SBX_E_INVALID);
		if (strstr(err.msg, pairs[i][1]) == NULL)
			fail_msg("'%s': %s", pairs[i][0], err.msg);
	}
}

static struct sbx_network *network(enum sbx_network_mode mode, const char *const *rules)
{
	struct sbx_network *n;
	struct sbx_error err;

	assert_int_equal(sbx_network_new(mode, &n, &err), 0);
	for (size_t i = 0; rules[i] != NULL; i++) {
		if (sbx_network_allow(n, rules[i], false, &err) < 0)
			fail_msg("%s", err.msg);
	}
	return n;
}

#define RULES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static bool allows(const struct sbx_network *n, const char *host, unsigned int port)
{
	struct sbx_verdict verdict;

	sbx_network_judge_host(n, host, (uint16_t)port, &verdict);
	assert_true(verdict.text[0] != '\0');
	return verdict.allowed;
}

static void rules_cover_what_they_say_and_no_more(void **state)
{
	struct sbx_network *n = network(
		SBX_NETWORK_ALLOW,
		RULES("a.example", "b.example:8443", "*.c.example:*", "192.0.2.7:80", "[2001:db8::1]:443",
		      "2001:db8:1::/48", "198.51.100.0/24:*", "10.1.0.0/16:*", "[fd00::/8]:22"));

	(void)state;
	assert_true(allows(n, "a.example", 80));
	assert_true(allows(n, "A.Example.", 443));
	assert_false(allows(n, "a.example", 8080));
	assert_false(allows(n, "x.a.example", 443));
	assert_false(allows(n, "aa.example", 443));
	assert_true(allows(n, "b.example", 8443));
	assert_false(allows(n, "b.example", 443));
	assert_true(allows(n, "x.c.example", 1));
	assert_true(allows(n, "y.x.c.example", 65535));
	assert_false(allows(n, "c.example", 443));
	assert_false(allows(n, "xc.example", 443));
	assert_true(allows(n, "192.0.2.7", 80));
	assert_true(allows(n, "0xc0000207", 80));
	assert_false(allows(n, "192.0.2.7", 443));
	assert_false(allows(n, "192.0.2.8", 80));
	assert_true(allows(n, "[2001:db8::1]", 443));
	assert_true(allows(n, "2001:db8:1:ffff::1", 443));
	assert_false(allows(n, "2001:db8:2::1", 443));
	assert_true(allows(n, "198.51.100.255", 25));
	assert_true(allows(n, "10.1.255.255", 1));
	assert_false(allows(n, "10.2.0.0", 1));
	assert_true(allows(n, "fd00::1", 22));
	assert_false(allows(n, "fd00:ec2::254", 22));
	assert_false(allows(n, "a.example", 0));
	sbx_network_free(n);
}

/* 0.0.0.0/0 means the public ones: a private address must be named as one. */
static void a_wide_range_opens_nothing_private(void **state)
{
	struct sbx_network *n =
		network(SBX_NETWORK_ALLOW, RULES("0.0.0.0/0:*", "[::]/0:*", "169.254.0.0/16:*"));

	(void)state;
	assert_true(allows(n, "192.0.2.1", 80));
	assert_false(allows(n, "10.0.0.1", 80));
	assert_false(allows(n, "127.0.0.1", 80));
	assert_false(allows(n, "169.254.1.1", 80));
	assert_false(allows(n, "169.254.169.254", 80));
	assert_false(allows(n, "::1", 80));
	sbx_network_free(n);
	n = network(SBX_NETWORK_ALLOW, RULES("169.254.169.254", "127.0.0.0/8"));
	assert_true(allows(n, "169.254.169.254", 80));
	assert_true(allows(n, "127.9.9.9", 80));
	assert_false(allows(n, "169.254.169.253", 80));
	sbx_network_free(n);
}

static bool may_lead(const struct sbx_network *n, const char *host, const char *to)
{
	struct sbx_verdict verdict, judged;
	struct sockaddr_storage socket_address;
	struct address a = address(to);

	sbx_network_judge_host(n, host, 80, &verdict);
	assert_true(verdict.allowed);
	address_to_socket(&a, 80, &socket_address);
	sbx_network_judge_address(n, &verdict, (struct sockaddr *)&socket_address, &judged);
	return judged.allowed;
}

static void a_name_leads_to_public_addresses_unless_its_rule_says_more(void **state)
{
	struct sbx_network *n =
		network(SBX_NETWORK_ALLOW, RULES("a.example", "localhost", "192.168.7.0/24"));
	struct sbx_error err;

	(void)state;
	assert_int_equal(sbx_network_allow(n, "p.example", true, &err), 0);
	assert_true(may_lead(n, "a.example", "192.0.2.1"));
	assert_false(may_lead(n, "a.example", "10.0.0.1"));
	assert_false(may_lead(n, "a.example", "::ffff:10.0.0.1"));
	assert_false(may_lead(n, "a.example", "127.0.0.1"));
	assert_true(may_lead(n, "a.example", "192.168.7.1"));
	assert_true(may_lead(n, "p.example", "10.0.0.1"));
	assert_false(may_lead(n, "p.example", "169.254.169.254"));
	assert_false(may_lead(n, "p.example", "fe80::1"));
	assert_true(may_lead(n, "localhost", "127.0.0.1"));
	assert_true(may_lead(n, "localhost", "::1"));
	assert_false(may_lead(n, "localhost", "10.0.0.1"));
	sbx_network_free(n);
}

static void modes_differ_in_what_they_allow_unasked(void **state)
{
	struct sbx_network *none = network(SBX_NETWORK_NONE, RULES("a.example"));
	struct sbx_network *open = network(SBX_NETWORK_OPEN, RULES("a.example:25"));

	(void)state;
	assert_false(allows(none, "a.example", 443));
	assert_true(allows(open, "b.example", 12345));
	assert_false(allows(open, "b.example", 25));
	assert_true(allows(open, "a.example", 25));
	assert_true(allows(open, "192.0.2.1", 80));
	assert_false(allows(open, "10.0.0.1", 80));
	assert_false(allows(open, "a b", 80));
	assert_false(may_lead(open, "b.example", "10.0.0.1"));
	sbx_network_free(none);
	sbx_network_free(open);
}

static void rules_are_listed_as_far_as_there_is_room(void **state)
{
	struct sbx_network *n = network(SBX_NETWORK_ALLOW, RULES("a.example", "b.example", "c.example"));
	char text[100];

	(void)state;
	sbx_network_describe(n, text, sizeof(text));
	assert_string_equal(text, "a.example, b.example, c.example");
	sbx_network_describe(n, text, 30);
	assert_string_equal(text, "a.example and 2 more");
	for (size_t size = 1; size < 60; size++) {
		sbx_network_describe(n, text, size);
		assert_true(strlen(text) < size);
	}
	sbx_network_free(n);
}

/* ---- TLS ---- */

struct bytes {
	uint8_t data[40000];
	size_t len;
};

static void put(struct bytes *b, size_t value, int size)
{
	for (int i = size - 1; i >= 0; i--)
		b->data[b->len++] = (uint8_t)(value >> (8 * i));
}

static void put_text(struct bytes *b, const char *text, size_t len)
{
	memcpy(b->data + b->len, text, len);
	b->len += len;
}

static void put_name(struct bytes *b, const char *name, size_t len)
{
	put(b, 0, 2);
	put(b, len + 5, 2);
	put(b, len + 3, 2);
	put(b, 0, 1);
	put(b, len, 2);
	put_text(b, name, len);
}

/* A hello with these extensions, in records of at most `size` bytes. */
static void make_hello(struct bytes *ret, const struct bytes *extensions, size_t size)
{
	static struct bytes h;

	h.len = 0;
	put(&h, 1, 1);
	put(&h, 2 + 32 + 1 + 2 + 2 + 1 + 1 + 2 + extensions->len, 3);
	put(&h, 0x0303, 2);
	for (int i = 0; i < 32; i++)
		put(&h, 7, 1);
	put(&h, 0, 1);
	put(&h, 2, 2);
	put(&h, 0x1301, 2);
	put(&h, 1, 1);
	put(&h, 0, 1);
	put(&h, extensions->len, 2);
	put_text(&h, (const char *)extensions->data, extensions->len);
	ret->len = 0;
	for (size_t at = 0; at < h.len; at += size) {
		size_t n = h.len - at < size ? h.len - at : size;

		put(ret, 22, 1);
		put(ret, 0x0301, 2);
		put(ret, n, 2);
		put_text(ret, (const char *)h.data + at, n);
	}
}

static void a_server_name_is_found_in_any_number_of_records(void **state)
{
	static struct bytes extensions, hello;
	char name[HOST_NAME_MAX_BYTES + 1];

	(void)state;
	extensions.len = 0;
	put(&extensions, 0x002b, 2);
	put(&extensions, 3, 2);
	put(&extensions, 0x020304, 3);
	put_name(&extensions, "Example.org", 11);
	for (size_t size = 1; size < 200; size++) {
		make_hello(&hello, &extensions, size);
		assert_int_equal(sni_parse(hello.data, hello.len, name), SNI_NAME);
		assert_string_equal(name, "Example.org");
		for (size_t cut = 0; cut < hello.len; cut += size)
			assert_int_equal(sni_parse(hello.data, cut, name), SNI_MORE);
	}
}

static void an_ambiguous_or_broken_hello_is_wrong(void **state)
{
	static struct bytes e, hello;
	char name[HOST_NAME_MAX_BYTES + 1];

	(void)state;
	e.len = 0;
	put_name(&e, "a.example", 9);
	put_name(&e, "b.example", 9);
	make_hello(&hello, &e, 16384);
	assert_int_equal(sni_parse(hello.data, hello.len, name), SNI_WRONG);
	e.len = 0;
	put_name(&e, "a\0.example", 10);
	make_hello(&hello, &e, 16384);
	assert_int_equal(sni_parse(hello.data, hello.len, name), SNI_WRONG);
	e.len = 0;
	put(&e, 0x0015, 2);
	put(&e, 17000, 2);
	memset(e.data + e.len, 0, 17000);
	e.len += 17000;
	make_hello(&hello, &e, 16384);
	assert_int_equal(sni_parse(hello.data, hello.len, name), SNI_WRONG);
	e.len = 0;
	make_hello(&hello, &e, 16384);
	assert_int_equal(sni_parse(hello.data, hello.len, name), SNI_NO_NAME);
	assert_int_equal(sni_parse((const uint8_t *)"GET / HTTP/1.1", 14, name), SNI_NO_TLS);
	assert_int_equal(sni_parse((const uint8_t *)"\x15\x03\x01\x00\x02\x01\x00", 7, name), SNI_WRONG);
	assert_int_equal(sni_parse((const uint8_t *)"\x14", 1, name), SNI_MORE);
	assert_int_equal(sni_parse((const uint8_t *)"\x14\x14", 2, name), SNI_NO_TLS);
	assert_int_equal(sni_parse((const uint8_t *)"\x16GET", 4, name), SNI_WRONG);
}

/* ---- limits and log ---- */

static void a_bucket_fills_with_time(void **state)
{
	const struct sbx_network_limits limits = {.bytes_per_second = 100000, .bytes = 25000};
	struct relay_limits l = {0};

	(void)state;
	relay_limits_set(&l, &limits, 1000);
	assert_int_equal(relay_limits_allow(&l, 50000, 1000), 10000);
	relay_limits_spend(&l, 10000);
	assert_int_equal(relay_limits_allow(&l, 50000, 1000), 0);
	assert_true(relay_limits_wait_ns(&l, 1000) > 1000);
	assert_int_equal(relay_limits_allow(&l, 50000, 1000 + 50000000), 5000);
	assert_int_equal(relay_limits_wait_ns(&l, 1000 + 50000000), 0);
	relay_limits_spend(&l, 5000);
	assert_int_equal(relay_limits_allow(&l, 50000, 1000 + 10000000000), 10000);
	relay_limits_spend(&l, 10000);
	assert_true(relay_limits_are_over(&l));
	assert_int_equal(relay_limits_allow(&l, 1, 1000 + 20000000000), 0);
}

static void the_log_keeps_the_last_thousand(void **state)
{
	struct relay_log log;
	struct sbx_egress *list;
	struct sbx_error err;
	uint64_t total;
	size_t count;

	(void)state;
	relay_log_init(&log);
	for (unsigned int i = 0; i < 2500; i++) {
		struct sbx_egress a = {.port = (uint16_t)i};

		assert_int_equal(relay_log_add(&log, &a), i);
		relay_log_count(&log, i, 1, 2);
		relay_log_count(&log, 0, 1, 0);
	}
	assert_int_equal(relay_log_read(&log, 0, &list, &count, &total, &err), 0);
	assert_int_equal(count, 1000);
	assert_int_equal(total, 2500);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list[i].port, 1500 + i);
		assert_int_equal(list[i].sent, 1);
		assert_int_equal(list[i].received, 2);
	}
	free(list);
	assert_int_equal(relay_log_read(&log, 2499, &list, &count, &total, &err), 0);
	assert_int_equal(count, 1);
	free(list);
	assert_int_equal(relay_log_read(&log, 2500, &list, &count, &total, &err), 0);
	assert_null(list);
	relay_log_done(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_recognised_in_every_spelling),
		cmocka_unit_test(what_is_neither_name_nor_address_is_refused),
		cmocka_unit_test(names_come_out_in_one_form),
		cmocka_unit_test(special_addresses_are_known_to_their_edges),
		cmocka_unit_test(a_tunnel_is_judged_by_where_it_leads),
		cmocka_unit_test(a_wrong_rule_says_what_is_wrong),
		cmocka_unit_test(rules_cover_what_they_say_and_no_more),
		cmocka_unit_test(a_wide_range_opens_nothing_private),
		cmocka_unit_test(a_name_leads_to_public_addresses_unless_its_rule_says_more),
		cmocka_unit_test(modes_differ_in_what_they_allow_unasked),
		cmocka_unit_test(rules_are_listed_as_far_as_there_is_room),
		cmocka_unit_test(a_server_name_is_found_in_any_number_of_records),
		cmocka_unit_test(an_ambiguous_or_broken_hello_is_wrong),
		cmocka_unit_test(a_bucket_fills_with_time),
		cmocka_unit_test(the_log_keeps_the_last_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
