// SPDX-License-Identifier: Apache-2.0
// What a container is kept from (docs/lab.md, "What pods are here").
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "base/digest.hpp"
#include "embedded/apiserver/streaming/pod_streams.hpp"
#include "embedded/nodes/process/view/own_pids.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::isolation_test {
namespace {

std::string pod_of(const std::string& script, const std::string& more = "",
                   const std::string& volumes = "") {
  return fmt::format("{{name: p, containers: [{{name: c, command: [/bin/sh, -c, {}]{}}}]{}}}",
                     json::quote(script), more, volumes);
}

std::string log_of(PodLab& lab, const std::string& pod) {
  lab.start(pod);
  lab.wait_end("p");
  return lab.log("p", "c");
}

// Pids of the host whose command line holds `text`.
std::vector<int> processes_with(const std::string& text) {
  std::vector<int> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos &&
        read_text("/proc/" + name + "/cmdline").find(text) != std::string::npos &&
        alive(std::stoi(name))) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

class Isolation : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_have_own_pids()) {
      GTEST_SKIP() << "this kernel gives no PID namespace with a /proc of its own";
    }
  }
};

TEST_F(Isolation, NoNewPrivilegesAndAFilter) {
  PodLab lab;
  EXPECT_EQ(log_of(lab, pod_of("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status")),
            "NoNewPrivs:\t1\nSeccomp:\t2\n");
  PodLab open(PodLab::Isolation::Off);
  EXPECT_EQ(
      log_of(open, pod_of("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status")).substr(0, 13),
      "NoNewPrivs:\t0");
}

TEST_F(Isolation, RefusedCallsFailAndOthersGoOn) {
  PodLab lab;
  const std::string log = log_of(
      lab, pod_of("mkdir /tmp/athanor-mnt-$$; mount -t tmpfs none /tmp/athanor-mnt-$$ 2>/dev/null "
                  "&& echo mounted; rmdir /tmp/athanor-mnt-$$; unshare -U true 2>/dev/null && echo "
                  "unshared; umount /proc 2>/dev/null && echo unmounted; chroot / /bin/true "
                  "2>/dev/null; (sleep 0; echo forked) | cat"));
  EXPECT_EQ(log, "forked\n");
}

// A process may always trace and read itself, but for the filter.
TEST_F(Isolation, TracingAndReadingProcessesIsRefused) {
  PodLab lab;
  EXPECT_EQ(log_of(lab, pod_of("exec python3 -c \"import ctypes as c; l = c.CDLL(None, "
                               "use_errno=True); print(l.ptrace(0, 0, 0, 0), c.get_errno()); "
                               "print(l.process_vm_readv(1, 0, 0, 0, 0, 0), c.get_errno())\"")),
            "-1 1\n-1 1\n");
}

TEST_F(Isolation, OtherProcessesAreNotSeen) {
  PodLab lab;
  EXPECT_EQ(
      log_of(lab, pod_of(fmt::format("echo $$ $PPID; kill -0 {} 2>/dev/null && echo seen; "
                                     "ls -d /proc/{} 2>/dev/null; set -- /proc/[0-9]*; echo $#",
                                     ::getpid(), ::getpid()))),
      "2 1\n2\n");  // the first one and the shell
}

TEST_F(Isolation, TheDataFolderIsNotInView) {
  PodLab lab;
  write_text(lab.folder() + "/admin.kubeconfig", "secret");
  const std::string log = log_of(
      lab,
      pod_of(fmt::format("cat {0}/admin.kubeconfig /proc/1/root{0}/admin.kubeconfig "
                         "/proc/1/cwd/../{0}/admin.kubeconfig 2>/dev/null; ls {0}; "
                         "touch {0}/x 2>/dev/null || echo sealed; cat /v/f",
                         lab.folder()),
             ", mounts: [{volume: v, path: /v}]",
             fmt::format(", volumes: [{{name: v, type: files, files: [{{path: f, data: {}}}]}}]",
                         base64_encode("volumes are there\n"))));
  EXPECT_EQ(log, "sealed\nvolumes are there\n");
  EXPECT_EQ(read_text(lab.folder() + "/admin.kubeconfig"), "secret");
}

TEST_F(Isolation, EverythingEndsWithTheFirstProcess) {
  const std::string mark = std::to_string(770'000'000 + ::getpid());
  PodLab lab;
  lab.start(
      pod_of(fmt::format("trap '' TERM; setsid sleep {0} & (sleep {0} &) ; echo up; while :; do "
                         "sleep 0.01; done",
                         mark)));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  ASSERT_TRUE(eventually([&] { return processes_with(mark).size() >= 2; }));
  lab.runtime().stop("uid-p", std::chrono::milliseconds(100));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 137);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep\0" + mark).empty(); }));
}

TEST_F(Isolation, ATermSignalReachesTheCommand) {
  PodLab lab;
  lab.start(pod_of("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  lab.runtime().stop("uid-p", std::chrono::seconds(30));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 5);
  EXPECT_NE(lab.log("p", "c").find("bye\n"), std::string::npos);
}

TEST_F(Isolation, TheProgramsEndEndsThem) {
  const std::string mark = std::to_string(780'000'000 + ::getpid());
  const pid_t program = ::fork();
  if (program == 0) {
    PodLab lab;
    lab.start(pod_of(fmt::format("trap '' TERM HUP; setsid sleep {} & sleep 1000", mark)));
    eventually([&] { return !processes_with("sleep").empty() && !processes_with(mark).empty(); });
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(program, &status, 0);
  EXPECT_TRUE(eventually([&] { return processes_with(mark).empty(); }));
}

TEST_F(Isolation, ACommandOfExecIsInsideToo) {
  PodLab lab;
  lab.start(pod_of("echo up; sleep 1000"));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  auto session =
      lab.runtime().exec({"ns", "p"}, "uid-p",
                         {.container = "c",
                          .command = {"/bin/sh", "-c",
                                      "cat /proc/1/comm; grep NoNewPrivs /proc/self/status; ls " +
                                          lab.folder() + "; exit 6"},
                          .output = true,
                          .error = true});
  ASSERT_TRUE(session.ok());
  apiserver::PodSession::Output all;
  EXPECT_TRUE(eventually([&] {
    (*session)->take(all, std::size_t{1} << 20);
    return all.exit_code.has_value();
  }));
  EXPECT_EQ(all.exit_code, 6);
  EXPECT_EQ(all.out, "athanor-spawner\nNoNewPrivs:\t1\n");
  EXPECT_EQ(all.err, "");
}

// docs/lab.md: in either way of running.
TEST(MountPaths, StayInTheView) {
  for (const auto isolation : {PodLab::Isolation::On, PodLab::Isolation::Off}) {
    std::string outside = testing::TempDir() + "athanor-outside-XXXXXX";
    ASSERT_NE(::mkdtemp(outside.data()), nullptr);
    PodLab lab(isolation);
    const std::string up = "/a/../../../../../../../../../..";
    lab.start(pod_of(
        fmt::format("cat {}/made/f; pwd", outside),
        fmt::format(", workingDir: /, mounts: [{{volume: v, path: '{}{}/made'}}]", up, outside),
        fmt::format(", volumes: [{{name: v, type: files, files: [{{path: f, data: "
                    "{}}}]}}]",
                    base64_encode("inside\n"))));
    lab.wait_end("p");
    EXPECT_EQ(lab.log("p", "c"), "inside\n/\n");
    EXPECT_FALSE(std::filesystem::exists(outside + "/made"));
    // A working directory is made in the view, and nowhere else.
    lab.start(
        fmt::format("{{name: q, sequential: true, containers: [{{name: c, command: [pwd], "
                    "workingDir: '../../../../../../../../..{}/wd'}}]}}",
                    outside));
    EXPECT_EQ(container_of(lab.wait_end("q"), "c")["exitCode"].as_int(), 0);
    EXPECT_FALSE(std::filesystem::exists(outside + "/wd"));
    EXPECT_TRUE(std::filesystem::is_empty(outside));
    std::filesystem::remove_all(outside);
  }
}

}  // namespace
}  // namespace athanor::nodes::isolation_test
