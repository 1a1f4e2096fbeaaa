// SPDX-License-Identifier: Apache-2.0
// Commands inside running containers, attaching to them, their ports.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <semaphore>
#include <sstream>

#include "embedded/nodes/process/process_runtime.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::exec_test {
namespace {

using apiserver::ExecOptions;
using apiserver::PodSession;

std::string shell_pod(const std::string& script, const std::string& more = "") {
  return fmt::format(
      "{{name: p, containers: [{{name: c, command: [/bin/sh, -c, {}]{}}}], "
      "restartPolicy: Never}}",
      json::quote(script), more);
}

ExecOptions running(const std::string& script, bool input = false, bool terminal = false) {
  return {.container = "c",
          .command = {"/bin/sh", "-c", script},
          .input = input,
          .output = true,
          .error = !terminal,
          .terminal = terminal};
}

// Everything until it ends, or until `enough` holds.
PodSession::Output read_all(PodSession& session,
                            const std::function<bool(const PodSession::Output&)>& enough = {}) {
  PodSession::Output all;
  EXPECT_TRUE(eventually([&] {
    session.take(all, std::size_t{1} << 20);
    return all.exit_code || (enough && enough(all));
  }));
  return all;
}

class ExecTest : public ::testing::Test {
 protected:
  std::unique_ptr<PodSession> exec(const ExecOptions& options) {
    auto session = lab_.runtime().exec({"default", "p"}, "uid-p", options);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }
  void start(const std::string& yaml) {
    lab_.start(yaml);
    lab_.wait("p", [](const Value& state) {
      return container_of(state, "c")["state"].as_string() == "running";
    });
  }
  PodLab lab_{};
};

TEST_F(ExecTest, RunsInTheContainersView) {
  start(
      "{name: p, containers: [{name: c, command: [sleep, '100'], env: [[A, b]], workingDir: /data, "
      "mounts: [{volume: v, path: /data}]}], volumes: [{name: v, type: files, files: [{path: file, "
      "data: aGVsbG8=, mode: 420}]}]}");
  auto session = exec(running("cat /data/file; echo \" $A $PWD\"; echo problem >&2; exit 7"));
  const PodSession::Output output = read_all(*session);
  EXPECT_EQ(output.out, "hello b /data\n");
  EXPECT_EQ(output.err, "problem\n");
  EXPECT_EQ(output.exit_code, 7);
}

TEST_F(ExecTest, MuchInputComesBackWhole) {
  start(shell_pod("sleep 100"));
  auto session = exec(running("cat", true));
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    session->write(line);
  }
  session->close_input();
  const PodSession::Output output = read_all(*session);
  EXPECT_EQ(output.out.size(), 1'000'000U);
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_EQ(session->unread(), 0U);
}

// Who does not read stops the command, not the program.
TEST_F(ExecTest, OutputIsBoundedUntilItIsTaken) {
  start(shell_pod("sleep 100"));
  auto session = exec(running("head -c 5000000 /dev/zero"));
  std::size_t total = 0;
  PodSession::Output output;
  EXPECT_TRUE(eventually([&] {
    output.out.clear();
    session->take(output, 1000);
    EXPECT_LE(output.out.size(), 1000U);
    session->take(output, std::size_t{1} << 22);
    EXPECT_LE(output.out.size(), std::size_t{512} << 10);
    total += output.out.size();
    return output.exit_code.has_value();
  }));
  EXPECT_EQ(total, 5'000'000U);
}

TEST_F(ExecTest, ATerminalHasASize) {
  start(shell_pod("sleep 100"));
  auto session = exec(running("read x; stty size; tty -s && echo terminal", true, true));
  session->resize(101, 33);
  session->write("\n");
  const PodSession::Output output = read_all(*session);
  EXPECT_NE(output.out.find("33 101"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("terminal"), std::string::npos) << output.out;
}

// A client that looks only when it is told to sees everything, the end included.
TEST_F(ExecTest, EveryNewsWakes) {
  start(shell_pod("sleep 100"));
  for (const char* script :
       {"echo hi", "exec >&- 2>&-; exit 3", "echo hi; exec >&- 2>&-; sleep 0.1"}) {
    auto session = exec(running(script));
    const auto news = std::make_shared<std::counting_semaphore<>>(0);
    session->on_ready([news] { news->release(); });
    PodSession::Output output;
    while (!output.exit_code && news->try_acquire_for(std::chrono::seconds(60))) {
      session->take(output, std::size_t{1} << 20);
    }
    EXPECT_TRUE(output.exit_code) << script;
  }
}

TEST_F(ExecTest, EndsWithItsContainer) {
  start(shell_pod("sleep 100"));
  auto session = exec(running("echo $$; sleep 9977"));
  read_all(*session, [](const auto& output) { return !output.out.empty(); });
  lab_.runtime().stop("uid-p", Duration::zero());
  EXPECT_EQ(read_all(*session).exit_code, 137);
}

TEST_F(ExecTest, AMissingCommandSaysSo) {
  start(shell_pod("sleep 100"));
  auto session =
      exec({.container = "c", .command = {"no-such-program"}, .output = true, .error = true});
  const PodSession::Output output = read_all(*session);
  EXPECT_EQ(output.exit_code, 127);
  EXPECT_EQ(output.err, "athanor: no-such-program: No such file or directory\n");
}

TEST_F(ExecTest, OnlyRunningContainersHaveStreams) {
  lab_.start(shell_pod("exit 0"));
  lab_.wait_end("p");
  for (const char* container : {"c", "zz"}) {
    const ExecOptions options{.container = container, .command = {"true"}, .output = true};
    const auto session = lab_.runtime().exec({"default", "p"}, "uid-p", options);
    ASSERT_FALSE(session.ok());
    EXPECT_EQ(session.error().message, fmt::format("container not found (\"{}\")", container));
    EXPECT_FALSE(lab_.runtime().attach({"default", "p"}, "uid-p", options).ok());
  }
  EXPECT_FALSE(lab_.runtime().connect({"default", "p"}, "uid-p", 80).ok());
}

TEST_F(ExecTest, AttachTalksToTheContainerItself) {
  start(shell_pod("while read line; do echo \"got $line\"; done; echo end",
                  ", stdin: true, stdinOnce: true"));
  auto session = lab_.runtime().attach({"default", "p"}, "uid-p",
                                       {.container = "c", .input = true, .output = true});
  ASSERT_TRUE(session.ok());
  (*session)->write("one\n");
  read_all(**session, [](const auto& output) { return output.out == "got one\n"; });
  (*session)->close_input();
  const PodSession::Output rest = read_all(**session);
  EXPECT_EQ(rest.out, "end\n");
  EXPECT_EQ(rest.exit_code, 0);
  EXPECT_EQ(container_of(lab_.wait_end("p"), "c")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(lab_.log("p", "c"), "got one\nend\n");
}

// The child of this process that starts containers; 0: none.
int spawner_of_this_process() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::istringstream children(read_text(task.path().string() + "/children"));
    for (int pid = 0; children >> pid;) {
      if (read_text("/proc/" + std::to_string(pid) + "/comm") == "athanor-spawner\n") {
        return pid;
      }
    }
  }
  return 0;
}

bool stopped(int pid) {
  return read_text("/proc/" + std::to_string(pid) + "/status").find("State:\tT") !=
         std::string::npos;
}

TEST_F(ExecTest, NothingIsMissedThatWasWrittenAfterAttaching) {
  start(
      "{name: p, containers: [{name: c, command: [/bin/sh, -c, ': > /data/begun; read line; echo "
      "\"got $line\"; : > /data/done; sleep 100'], stdin: true, mounts: [{volume: v, path: "
      "/data}]}], volumes: [{name: v, type: empty}]}");
  const auto made = [this](const std::string& file) {
    return eventually(
        [&] { return ::access((lab_.volume("p", "v") + "/" + file).c_str(), F_OK) == 0; });
  };
  ASSERT_TRUE(made("begun"));
  int spawner = 0;
  ASSERT_TRUE(eventually([&] { return (spawner = spawner_of_this_process()) > 0; }));
  // It finds the order to listen and the output at once.
  ASSERT_EQ(::kill(spawner, SIGSTOP), 0);
  EXPECT_TRUE(eventually([&] { return stopped(spawner); }));
  auto session = lab_.runtime().attach({"default", "p"}, "uid-p",
                                       {.container = "c", .input = true, .output = true});
  EXPECT_TRUE(session.ok());
  if (session.ok()) {
    (*session)->write("one\n");
    EXPECT_TRUE(made("done"));
  }
  ASSERT_EQ(::kill(spawner, SIGCONT), 0);
  ASSERT_TRUE(session.ok());
  read_all(**session, [](const auto& output) { return output.out == "got one\n"; });
}

TEST_F(ExecTest, AContainerCanHaveATerminal) {
  start(shell_pod("tty -s && echo terminal; read line; echo \"got $line\"",
                  ", stdin: true, tty: true"));
  auto session =
      lab_.runtime().attach({"default", "p"}, "uid-p",
                            {.container = "c", .input = true, .output = true, .terminal = true});
  ASSERT_TRUE(session.ok());
  (*session)->write("x\n");
  const PodSession::Output output = read_all(**session);
  EXPECT_NE(output.out.find("got x"), std::string::npos) << output.out;
  EXPECT_NE(lab_.log("p", "c").find("terminal"), std::string::npos);
}

// A server of one connection on a port of its own, which answers in capitals what it reads.
int listening(int& port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(file, 1), 0);
  EXPECT_EQ(::getsockname(file, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return file;
}

TEST_F(ExecTest, PortsAreConnectedBothWays) {
  start(shell_pod("sleep 100"));
  int port = 0;
  const int server = listening(port);
  auto session =
      lab_.runtime().connect({"default", "p"}, "uid-p", static_cast<std::uint16_t>(port));
  ASSERT_TRUE(session.ok());
  (*session)->write("question");
  (*session)->close_input();
  const int peer = ::accept(server, nullptr, nullptr);
  std::string asked;
  char bytes[64];
  for (ssize_t count = ::read(peer, bytes, sizeof bytes); count > 0;
       count = ::read(peer, bytes, sizeof bytes)) {
    asked.append(bytes, static_cast<std::size_t>(count));
  }
  EXPECT_EQ(asked, "question");
  EXPECT_EQ(::write(peer, "answer", 6), 6);
  ::close(peer);
  const PodSession::Output output = read_all(**session);
  EXPECT_EQ(output.out, "answer");
  EXPECT_EQ(output.exit_code, 0);
  ::close(server);
  auto refused =
      lab_.runtime().connect({"default", "p"}, "uid-p", static_cast<std::uint16_t>(port));
  EXPECT_NE((refused.ok() ? read_all(**refused).failure : refused.error().message)
                .find("Connection refused"),
            std::string::npos);
}

}  // namespace
}  // namespace athanor::nodes::exec_test
