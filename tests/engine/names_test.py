#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What runtime_configs come to, as a real engine has it and as a program inside sees it.

Usage: names_test.py ENGINE_PEER LLM_SANDBOX [unittest's arguments], from tests/support/engines, which
says by SBX_TEST_BACKEND, SBX_TEST_IMAGE and the engine's own variable where there is one.
"""

import json
import os
import socket
import subprocess
import sys
import unittest

import peer
import real_test

FLAVOR = os.environ.get("SBX_TEST_BACKEND", "")
VARIABLE = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}.get(FLAVOR)
UNIQUE = "llm-sandbox-names-%d" % os.getpid()


class Names(real_test.Real, unittest.TestCase):
    flavor, variable = FLAVOR, VARIABLE
    standard = os.environ.get(VARIABLE or "", "").removeprefix("unix://")

    def start(self, configs, script):
        """A container that waits until its input ends; what it printed first, or None and the error."""
        process = subprocess.Popen(
            [peer.PROGRAM, "exec", "--stream", "--backend", FLAVOR, "--image", os.environ["SBX_TEST_IMAGE"],
             "--runtime-config", json.dumps(configs), "sh", "-c", script + "; echo; echo done; cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        lines = []
        for line in process.stdout:
            if line == "done\n":
                return process, "".join(lines).strip()
            lines.append(line)
        return None, process.stderr.read()

    def end(self, process):
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        return process.wait(peer.DEADLINE)

    def remove_volume(self, name):
        """One of a container that is about to be removed is not removed yet."""
        for _ in range(2000):
            if self.http("DELETE", "/v1.41/volumes/" + name)[0] in (204, 404):
                return
        self.fail("the volume %s is still there" % name)

    def look(self, configs, script="true"):
        """What the engine says of a container with these, and what a program in it prints."""
        return self.look_at(*self.start(configs, script))

    def look_at(self, process, said):
        self.assertIsNotNone(process, said)
        one, = self.containers(process.pid)
        found = self.http("GET", "/v1.41/containers/%s/json" % one["Id"])[1]
        self.assertEqual(self.end(process), 0)
        return found, found["HostConfig"], said

    def need(self, configs, reason, script="true"):
        """As look(); skipped where this machine cannot do it."""
        process, said = self.start(configs, script)
        if process is None and reason in said:
            self.skipTest("the engine cannot do it here: " + said.strip())
        return self.look_at(process, said)

    def refused(self, configs, words):
        process, said = self.start(configs, "true")
        self.assertIsNone(process)
        self.assertIn(words, said)

    def test_limits(self):
        _, host, _ = self.look({
            "mem_limit": "64m", "memswap_limit": "96m", "mem_reservation": "32m", "mem_swappiness": 10,
            "cpu_period": 50000, "cpu_quota": 25000, "cpu_shares": 512, "cpuset_cpus": "0",
            "cpuset_mems": "0", "pids_limit": 77, "oom_score_adj": 500, "shm_size": "8m",
            "ulimits": [{"name": "nofile", "soft": 512, "hard": 600}]})
        told = {name: host[name] for name in (
            "Memory", "MemorySwap", "MemoryReservation", "MemorySwappiness", "CpuShares", "CpusetCpus",
            "CpusetMems", "PidsLimit", "OomScoreAdj", "ShmSize")}
        self.assertEqual(told, {
            "Memory": 64 << 20, "MemorySwap": 96 << 20, "MemoryReservation": 32 << 20, "MemorySwappiness": 10,
            "CpuShares": 512, "CpusetCpus": "0", "CpusetMems": "0", "PidsLimit": 78, "OomScoreAdj": 500,
            "ShmSize": 8 << 20})
        self.assertEqual(host["NanoCpus"], 500000000)
        limits = {u["Name"].lower().removeprefix("rlimit_"): (u["Soft"], u["Hard"]) for u in host["Ulimits"]}
        self.assertEqual(limits["nofile"], (512, 600))

    def test_each_way_to_say_cpus(self):
        for configs, cpus in (({"cpu_count": 1}, 1), ({"cpus": 0.5}, 0.5), ({"nano_cpus": 250000000}, 0.25),
                              ({"cpu_quota": 150000}, 1.5)):
            self.assertEqual(self.look(configs)[1]["NanoCpus"], cpus * 1e9, configs)

    def test_devices_and_their_speed(self):
        disk = next((d for d in ("vda", "sda", "nvme0n1", "xvda") if os.path.exists("/dev/" + d)), None)
        speed = {"device_read_bps": [{"Path": "/dev/" + disk, "Rate": 1000000}]} if disk else {}
        _, host, said = self.look({"devices": ["/dev/null:/dev/named:rw"], **speed},
                                  "echo x > /dev/named && echo written")
        self.assertEqual(host["Devices"][0]["PathInContainer"], "/dev/named")
        self.assertEqual(said, "written")
        if disk:
            self.assertEqual(host["BlkioDeviceReadBps"], [{"Path": "/dev/" + disk, "Rate": 1000000}])

    def test_names_and_hosts(self):
        found, host, said = self.look({
            "name": UNIQUE, "hostname": "named", "labels": {"mine": "1"}, "extra_hosts": {"other": "10.0.0.9"},
            "dns": ["10.0.0.53"], "dns_opt": ["ndots:2"], "dns_search": ["a.example"]},
            "hostname; grep 10.0.0.9 /etc/hosts")
        self.assertEqual((found["Name"].strip("/"), found["Config"]["Labels"]["mine"]), (UNIQUE, "1"))
        self.assertEqual(said.split(), ["named", "10.0.0.9", "other"])
        self.assertEqual((host["ExtraHosts"], host["Dns"], host["DnsOptions"], host["DnsSearch"]),
                         (["other:10.0.0.9"], ["10.0.0.53"], ["ndots:2"], ["a.example"]))

    def test_a_name_that_is_taken(self):
        process, _ = self.start({"name": UNIQUE}, "true")
        self.refused({"name": UNIQUE}, "choose another name")
        self.end(process)
        self.wait_until_gone(process.pid)

    def test_users_variables_and_folders(self):
        _, _, said = self.look({"user": "1234:1235", "environment": {"A": "b", "N": 1}, "working_dir": "/tmp/w"},
                               "id -u; id -g; echo $A $N; pwd")
        self.assertEqual(said.split(), ["1234", "1235", "b", "1", "/tmp/w"])
        _, _, said = self.look({"environment": ["A=b=c"]}, "echo $A")
        self.assertEqual(said, "b=c")

    def test_roots_and_capabilities(self):
        _, host, said = self.look({"read_only": False, "cap_add": ["NET_ADMIN"]}, "grep CapBnd /proc/self/status")
        self.assertEqual((host["ReadonlyRootfs"], "NET_ADMIN" in " ".join(host["CapAdd"])), (False, True))
        self.assertTrue(int(said.split()[1], 16) & 1 << 12, said)
        _, host, said = self.look({"cap_drop": ["NET_RAW"], "read_only": True}, "grep CapEff /proc/self/status")
        self.assertEqual((host["ReadonlyRootfs"], int(said.split()[1], 16)), (True, 0))

    def test_security_options(self):
        _, host, _ = self.look({"security_opt": ["seccomp=unconfined", "no-new-privileges:false"]})
        self.assertIn("seccomp=unconfined", host["SecurityOpt"])
        self.assertNotIn("no-new-privileges", " ".join(host["SecurityOpt"]))

    def test_namespaces_that_are_shared(self):
        _, host, said = self.look({"pid_mode": "host", "ipc_mode": "host", "uts_mode": "host"},
                                  "readlink /proc/self/ns/pid /proc/self/ns/ipc /proc/self/ns/uts")
        self.assertEqual((host["PidMode"], host["UTSMode"]), ("host", "host"))
        self.assertEqual(said.split()[1:], [os.readlink("/proc/self/ns/" + n) for n in ("ipc", "uts")])

    def test_networks(self):
        _, host, _ = self.look({"network": "host"})
        self.assertEqual(host["NetworkMode"], "host")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        _, host, said = self.need({
            "network_mode": "bridge", "ports": {"80/tcp": ["127.0.0.1", port], "81": None},
            "sysctls": {"net.ipv4.ip_forward": "1"}}, "could not find bridge",
            "cat /proc/sys/net/ipv4/ip_forward; grep -c eth /proc/net/dev")
        self.assertEqual(said.split(), ["1", "1"])
        self.assertEqual(host["PortBindings"]["80/tcp"], [{"HostIp": "127.0.0.1", "HostPort": str(port)}])
        self.assertIn("81/tcp", host["PortBindings"])

    def test_folders_in_memory(self):
        _, _, said = self.look(
            {"tmpfs": {"/srv": "size=1m"}, "shm_size": "2m",
             "mounts": [{"type": "tmpfs", "target": "/mnt", "tmpfs_size": "3m", "tmpfs_mode": 0o1777}]},
            "for f in /srv /mnt /dev/shm; do grep \" $f \" /proc/self/mounts; done")
        sizes = [line.split("size=")[1].split(" ")[0].split(",")[0] for line in said.splitlines()]
        self.assertEqual(sizes, ["1024k", "3072k", "2048k"])

    def test_folders_of_this_machine(self):
        for configs in ({"volumes": {"/usr/share": {"bind": "/mnt", "mode": "ro"}}},
                        {"volumes": {"/usr/share": {"bind": "/mnt", "ro": True}}},
                        {"volumes": ["/usr/share:/mnt:ro"]},
                        {"mounts": [{"type": "bind", "source": "/usr/share", "target": "/mnt", "read_only": True,
                                     "propagation": "rprivate"}]}):
            found, _, said = self.look(configs, "grep ' /mnt ' /proc/self/mounts")
            mount, = [m for m in found["Mounts"] if m["Destination"] == "/mnt"]
            self.assertEqual((mount["Source"], mount["RW"]), ("/usr/share", False), configs)
            self.assertIn("ro", said.split()[3].split(","), configs)

    def test_volumes_by_name(self):
        self.addCleanup(self.remove_volume, UNIQUE)
        found, _, _ = self.look({"volumes": {UNIQUE: {"bind": "/mnt", "mode": "rw"}}})
        self.assertIn((UNIQUE, "/mnt"), [(m.get("Name"), m["Destination"]) for m in found["Mounts"]])
        found, _, _ = self.look({"mounts": [{"source": UNIQUE, "target": "/srv"}]})
        self.assertIn((UNIQUE, "/srv"), [(m.get("Name"), m["Destination"]) for m in found["Mounts"]])

    def test_volumes_of_another_container(self):
        _, made = self.http("POST", "/v1.41/containers/create", {
            "Image": os.environ["SBX_TEST_IMAGE"], "Cmd": ["true"], "HostConfig": {"Binds": ["/usr/share:/held:ro"]}})
        self.addCleanup(self.http, "DELETE", "/v1.41/containers/%s?force=1" % made["Id"])
        _, _, said = self.look({"volumes_from": [made["Id"]]}, "ls -d /held/doc")
        self.assertEqual(said, "/held/doc")

    def test_places_in_the_engine(self):
        _, host, _ = self.look({"cgroup_parent": "/" + UNIQUE, "platform": "linux/" + {"x86_64": "amd64"}.get(
            os.uname().machine, "arm64"), "log_config": {"type": "json-file", "config": {"max-size": "1m"}}})
        self.assertEqual((host["CgroupParent"], host["LogConfig"]["Type"]), ("/" + UNIQUE, "json-file"))

    def test_privileges(self):
        _, host, _ = self.need({"privileged": True}, "operation not permitted")
        self.assertTrue(host["Privileged"])

    def test_what_podman_would_do_without(self):
        wishes = {"domainname": "a.example", "cgroupns": "host", "runtime": "runc",
                  "device_cgroup_rules": ["c 1:3 rwm"]}
        if FLAVOR == "podman":
            for name, value in wishes.items():
                self.refused({name: value}, "'%s' cannot be set: Podman does without it" % name)
            return
        found, host, said = self.look(wishes, "cat /proc/sys/kernel/domainname")
        self.assertEqual((found["Config"]["Domainname"], said), ("a.example", "a.example"))
        self.assertEqual((host["CgroupnsMode"], host["Runtime"], host["DeviceCgroupRules"]),
                         ("host", "runc", ["c 1:3 rwm"]))

    def test_what_the_engine_refuses_has_its_words(self):
        self.refused({"volumes_from": ["llm-sandbox-nosuch"]}, "llm-sandbox-nosuch")
        self.refused({"network_mode": "llm-sandbox-nosuch"}, "llm-sandbox-nosuch")


# Those of the class itself are run by its own file.
for name in [n for n in dir(real_test.Real) if n.startswith("test_")]:
    setattr(Names, name, None)


if __name__ == "__main__":
    if VARIABLE not in os.environ:
        print("# skipped: no container engine is named; tests/support/engines does")
        sys.exit(77)
    peer.main("__main__", programs=2)
