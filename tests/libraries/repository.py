#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Package repositories of the tests' own, served on loopback until stdin ends.

Usage: repository.py FOLDER

Prints the port. FOLDER/requests gets a line per request. A wheel called sbx-slow is not given
until FOLDER/go exists.

/simple/   an index of wheels, also as /private/ for user "reader", password "s3cret%word"
/npm/      a registry
/gems/     a gem source (when gem is installed)
/cran/     a CRAN-like repository
"""
import base64
import gzip
import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

ROOT = sys.argv[1]
USER, PASSWORD = "reader", "s3cret%word"


def zip_entry(archive, name, data, mode=0o100644):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    archive.writestr(info, data)


def wheel(name, version, files, requires=(), extras=None):
    """A wheel as bytes. files: name -> data or (data, mode)."""
    out = io.BytesIO()
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    meta = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    for requirement in requires:
        meta += f"Requires-Dist: {requirement}\n"
    for extra, requirement in (extras or {}).items():
        meta += f"Provides-Extra: {extra}\nRequires-Dist: {requirement}; extra == '{extra}'\n"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        record = ""
        for path, data in files.items():
            data, mode = data if isinstance(data, tuple) else (data, 0o100644)
            zip_entry(archive, path, data, mode)
            record += f"{path},,\n"
        zip_entry(archive, f"{info}/METADATA", meta)
        zip_entry(archive, f"{info}/WHEEL",
                  "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        record += f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
        zip_entry(archive, f"{info}/RECORD", record)
    return out.getvalue()


def sdist(name):
    """A source distribution that would run code if it were built."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        tar_file(archive, f"{name}-1.0/setup.py", b"open('/tmp/set/ran', 'w').write('x')\n")
        tar_file(archive, f"{name}-1.0/PKG-INFO", f"Name: {name}\nVersion: 1.0\n".encode())
    return out.getvalue()


def tar_file(archive, name, data, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = mode
    archive.addfile(info, io.BytesIO(data))


def tar_link(archive, name, to, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = to
    archive.addfile(info)


WHEELS = {
    "sbx_good-1.0-py3-none-any.whl": wheel("sbx-good", "1.0", {"sbx_good.py": "version = '1.0'\n"}),
    "sbx_good-2.0-py3-none-any.whl": wheel("sbx-good", "2.0", {"sbx_good.py": "version = '2.0'\n"},
                                           extras={"more": "sbx-other"}),
    "sbx_other-1.0-py3-none-any.whl": wheel("sbx-other", "1.0", {"sbx_other.py": "there = True\n"}),
    "sbx_needs-1.0-py3-none-any.whl": wheel("sbx-needs", "1.0", {"sbx_needs.py": "import sbx_other\n"},
                                            requires=["sbx-other>=1"]),
    "sbx_slow-1.0-py3-none-any.whl": wheel("sbx-slow", "1.0", {"sbx_slow.py": "there = True\n"}),
    "sbx_escape-1.0-py3-none-any.whl": wheel("sbx-escape", "1.0", {
        "sbx_escape.py": "there = True\n",
        "../../../../../../../../tmp/sbx-escaped": "out\n",
        "/tmp/sbx-escaped-too": "out\n"}),
    "sbx_odd-1.0-py3-none-any.whl": wheel("sbx-odd", "1.0", {
        "sbx_odd.py": "there = True\n",
        "sbx_data/setuid": ("#!/bin/sh\n", 0o104755),
        "sbx_data/wide": ("x", 0o100777),
        "sbx_data/link": ("/etc/passwd", 0o120777),
        "sbx_data/newline\nname": "x",
        "sbx_data/\x1b[31mred": "x"}),
    "sbx_paths-1.0-py3-none-any.whl": wheel("sbx-paths", "1.0", {
        "sbx_paths.py": "there = True\n", "sbx_hook.pth": "import os; os.mkdir('/tmp/pth-ran')\n"}),
    "sbx_source-1.0.tar.gz": sdist("sbx_source"),
}


def simple_page(name):
    links = [f for f in WHEELS if f.split("-")[0].replace("_", "-") == name]
    return "".join(f"<a href='../../files/{f}'>{f}</a>\n" for f in links).encode() if links else None


# ---- npm ----

def npm_package(name, version, files, links=(), scripts=None):
    out = io.BytesIO()
    meta = {"name": name, "version": version, "main": "index.js", "scripts": scripts or {}}
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        tar_file(archive, "package/package.json", json.dumps(meta).encode())
        for path, data in files.items():
            tar_file(archive, path, data.encode(), 0o4755 if path.endswith(".setuid") else 0o644)
        for path, to in links:
            tar_link(archive, path, to)
    return meta, out.getvalue()


NPM = {
    "sbx-good": npm_package("sbx-good", "1.2.3", {"package/index.js": "module.exports = 'good';\n"}),
    "@sbx/scoped": npm_package("@sbx/scoped", "1.0.0",
                               {"package/index.js": "module.exports = 'scoped';\n"}),
    "sbx-evil": npm_package(
        "sbx-evil", "1.0.0",
        {"package/index.js": "module.exports = 'evil';\n", "package/../../../../tmp/sbx-npm-out": "x",
         "package/x.setuid": "x"},
        links=[("package/passwd", "/etc/passwd"), ("package/up", "../../../..")],
        scripts={"preinstall": "touch /tmp/set/script-ran", "postinstall": "touch /tmp/set/script-ran",
                 "install": "touch /tmp/set/script-ran"}),
}


def npm_document(name, host):
    meta, data = NPM[name]
    dist = {"tarball": f"http://{host}/npm/{name}/-/x-{meta['version']}.tgz",
            "shasum": hashlib.sha1(data).hexdigest(),
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
    return json.dumps({"name": name, "dist-tags": {"latest": meta["version"]},
                       "versions": {meta["version"]: dict(meta, dist=dist)}}).encode()


# ---- CRAN ----

def r_package(name, version, code, depends="", configure=None):
    out = io.BytesIO()
    text = (f"Package: {name}\nVersion: {version}\nTitle: T\nDescription: D.\nLicense: MIT\n"
            f"Author: A\nMaintainer: A <a@example.org>\n" + (f"Imports: {depends}\n" if depends else ""))
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        tar_file(archive, f"{name}/DESCRIPTION", text.encode())
        tar_file(archive, f"{name}/NAMESPACE", b"exportPattern('^[a-z]')\n")
        tar_file(archive, f"{name}/R/code.R", code.encode())
        if configure:
            tar_file(archive, f"{name}/configure", configure.encode(), 0o755)
    return text, out.getvalue()


# What a package's own build finds: nothing of the configuration, and no network.
SNOOP = ("#!/bin/sh\nmkdir -p R\n"
         "found=$(cat ~/.Rprofile ~/.Renviron ~/.gemrc /sandbox/.gemrc /sandbox/.Rprofile 2>/dev/null; env)\n"
         "case $found in *s3cret*) secret=yes;; *) secret=no;; esac\n"
         "echo \"secret <- '$secret'\" > R/found.R\n"
         "if Rscript -e \"readLines(url('%s/cran/'))\" >/dev/null 2>&1; then net=yes; else net=no; fi\n"
         "echo \"reached <- '$net'\" >> R/found.R\n")


def make_cran(folder, base):
    packages = [
        r_package("sbxgood", "1.1", "hello <- function() 'good 1.1'\n", "sbxdep"),
        r_package("sbxdep", "0.5", "there <- TRUE\n"),
        r_package("sbxsnoop", "1.0", "there <- TRUE\n", configure=SNOOP % base),
    ]
    index = os.path.join(folder, "src/contrib")
    os.makedirs(os.path.join(index, "Archive/sbxgood"))
    listing = []
    for text, data in packages:
        fields = dict(line.split(": ", 1) for line in text.splitlines())
        with open(os.path.join(index, f"{fields['Package']}_{fields['Version']}.tar.gz"), "wb") as f:
            f.write(data)
        listing.append("\n".join(f"{k}: {fields[k]}" for k in ("Package", "Version", "Imports") if k in fields))
    with open(os.path.join(index, "PACKAGES"), "w") as f:
        f.write("\n\n".join(listing) + "\n")
    with open(os.path.join(index, "Archive/sbxgood/sbxgood_1.0.tar.gz"), "wb") as f:
        f.write(r_package("sbxgood", "1.0", "hello <- function() 'good 1.0'\n", "sbxdep")[1])


# ---- gems ----

EXTCONF = """
found = ENV.to_a.join + %w[~/.gemrc /sandbox/.gemrc].map { |f| File.read(File.expand_path(f)) rescue '' }.join
secret = found.include?('s3' + 'cret') ? 'yes' : 'no'
require 'net/http'
reached = begin; Net::HTTP.get(URI('BASE/gems/')); 'yes'; rescue StandardError; 'no'; end
File.write(File.join(__dir__, '../../lib/sbx_found.rb'), "SECRET = '#{secret}'\\nREACHED = '#{reached}'\\n")
require 'mkmf'
create_makefile('sbx_native')
"""

# Code that runs in the build may put anything into the set.
PLANT = """
folder = File.join(__dir__, '../../lib')
File.symlink('/etc/passwd', folder + '/passwd')
File.symlink('../../../..', folder + '/up')
File.mkfifo(folder + '/fifo')
File.write(folder + '/setuid', 'x')
File.chmod(0o6777, folder + '/setuid')
File.link(folder + '/setuid', folder + '/hard')
Dir.mkdir(folder + '/closed')
File.write(folder + '/closed/file', 'x')
File.chmod(0, folder + '/closed/file')
File.chmod(0, folder + '/closed')
File.write(folder + "/new\\nline", 'x')
require 'mkmf'
create_makefile('sbx_plant')
"""

NATIVE = """
#include <ruby.h>
static VALUE answer(VALUE self) { (void)self; return INT2FIX(42); }
void Init_sbx_native(void) { rb_define_global_function("sbx_answer", answer, 0); }
"""


def gem(folder, name, version, files, depends=(), extension=None):
    source = tempfile.mkdtemp()
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
        with open(os.path.join(source, path), "w") as f:
            f.write(text)
    lines = [f"s.name = '{name}'", f"s.version = '{version}'", "s.summary = 's'", "s.authors = ['a']",
             "s.license = 'MIT'", "s.homepage = 'http://example.org'", f"s.files = {list(files)}"]
    lines += [f"s.add_dependency '{d}', '>= 0'" for d in depends]
    if extension:
        lines.append(f"s.extensions = ['{extension}']")
    with open(os.path.join(source, "x.gemspec"), "w") as f:
        f.write("Gem::Specification.new { |s|\n" + "\n".join(lines) + "\n}\n")
    subprocess.run(["gem", "build", "-q", "--force", "x.gemspec", "-o",
                    os.path.join(folder, "gems", f"{name}-{version}.gem")],
                   cwd=source, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_gems(folder, base):
    os.makedirs(os.path.join(folder, "gems"))
    gem(folder, "sbx_good", "1.0", {"lib/sbx_good.rb": "require 'sbx_dep'\nSBX_GOOD = '1.0'\n"}, ["sbx_dep"])
    gem(folder, "sbx_good", "2.0", {"lib/sbx_good.rb": "require 'sbx_dep'\nSBX_GOOD = '2.0'\n"}, ["sbx_dep"])
    gem(folder, "sbx_dep", "0.1", {"lib/sbx_dep.rb": "SBX_DEP = true\n"})
    gem(folder, "sbx_native", "1.0",
        {"lib/sbx_found.rb": "", "ext/sbx/extconf.rb": EXTCONF.replace("BASE", base), "ext/sbx/n.c": NATIVE},
        extension="ext/sbx/extconf.rb")
    gem(folder, "sbx_plant", "1.0",
        {"lib/sbx_planted.rb": "SBX_PLANTED = true\n", "ext/sbx/extconf.rb": PLANT,
         "ext/sbx/n.c": NATIVE.replace("sbx_native", "sbx_plant")},
        extension="ext/sbx/extconf.rb")
    subprocess.run(["gem", "generate_index", "-q", "-d", folder], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# ---- the server ----

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def give(self, data, status=200, kind="application/octet-stream", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        try:
            if self.command != "HEAD":
                self.wfile.write(data)
        except OSError:
            pass  # an installer that was killed

    def is_reader(self):
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return self.headers.get("Authorization") == "Basic " + wanted

    def do_GET(self):
        path = self.path.split("?")[0]
        with open(os.path.join(ROOT, "requests"), "a") as f:
            f.write(path + "\n")
        if path.startswith("/private/"):
            if not self.is_reader():
                return self.give(b"who are you?\n", 401,
                                 headers=[("WWW-Authenticate", 'Basic realm="x"')])
            path = path[len("/private"):]
            if path.startswith("/gems/") or path.startswith("/cran/") or path.startswith("/npm/"):
                pass
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2:
            page = simple_page(parts[1])
            return self.give(page, kind="text/html") if page else self.give(b"", 404)
        if parts[0] == "files":
            if parts[1].startswith("sbx_slow"):
                while not os.path.exists(os.path.join(ROOT, "go")):
                    time.sleep(0.01)
            return self.give(WHEELS[parts[1]]) if parts[1] in WHEELS else self.give(b"", 404)
        if parts[0] == "npm":
            name = path[len("/npm/"):].replace("%2f", "/").replace("%2F", "/")
            if "/-/" in name and name.split("/-/")[0] in NPM:
                return self.give(NPM[name.split("/-/")[0]][1])
            if name in NPM:
                return self.give(npm_document(name, self.headers["Host"]), kind="application/json")
            return self.give(b"{}", 404, kind="application/json")
        if parts[0] in ("gems", "cran"):
            file = os.path.join(ROOT, *parts)
            if os.path.isfile(file):
                with open(file, "rb") as f:
                    return self.give(f.read())
        return self.give(b"", 404)

    do_HEAD = do_GET


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    base = f"http://127.0.0.1:{server.server_port}"
    os.makedirs(ROOT, exist_ok=True)
    open(os.path.join(ROOT, "requests"), "a").close()
    make_cran(os.path.join(ROOT, "cran"), base)
    try:
        make_gems(os.path.join(ROOT, "gems"), base)
    except (OSError, subprocess.CalledProcessError):
        pass  # the test says that gem is not there
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.write(1, f"{server.server_port}\n".encode())
    sys.stdin.read()


main()
