// SPDX-License-Identifier: Apache-2.0
// Probes and hooks of real containers.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "embedded/nodes/process/checks/check_exchange.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::container_life_test {
namespace {

// A port of the loopback network that nothing listens on.
int free_port() {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
  ::bind(file, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  ::close(file);
  return ntohs(address.sin_port);
}

bool has_event(const Value& state, const std::string& text) {
  for (const Value& event : state["events"].items()) {
    if (event["note"].str().find(text) != std::string::npos) {
      return true;
    }
  }
  return false;
}

std::string pod_of(const std::string& script, const std::string& more,
                   const std::string& policy = "Always") {
  return fmt::format(
      "{{name: p, restartPolicy: {}, grace: 5, volumes: [{{name: v, type: empty}}], containers: "
      "[{{name: c, mounts: [{{volume: v, path: /v}}], command: [/bin/sh, -c, {}], {}}}]}}",
      policy, json::quote(script), more);
}

TEST(ContainerLife, AnHttpProbeMakesAServerReady) {
  const int port = free_port();
  PodLab lab;
  lab.start(pod_of(
      fmt::format("mkdir /tmp/www; cd /tmp/www; echo ok > healthz; exec python3 -m http.server "
                  "--bind 127.0.0.1 {} 2>/dev/null",
                  port),
      fmt::format(
          "probes: {{readiness: {{type: http, scheme: HTTP, host: 127.0.0.1, port: {0}, "
          "path: /healthz, headers: [[X-A, b]], periodSeconds: 1, failureThreshold: 100}}, "
          "liveness: {{type: tcp, host: 127.0.0.1, port: {0}, initialDelaySeconds: 1000}}}}",
          port)));
  const Value state =
      lab.wait("p", [](const Value& s) { return container_of(s, "c")["ready"].as_bool(false); });
  EXPECT_EQ(container_of(state, "c")["restarts"].as_int(-1), 0);
}

TEST(ContainerLife, ReportsStatusOfFailedHttpProbe) {
  const int port = free_port();
  PodLab lab;
  lab.start(pod_of(fmt::format("exec python3 -m http.server --bind 127.0.0.1 {} 2>/dev/null", port),
                   fmt::format("probes: {{readiness: {{type: http, scheme: HTTP, host: 127.0.0.1, "
                               "port: {}, path: /absent, periodSeconds: 1}}}}",
                               port)));
  lab.wait("p", [](const Value& s) {
    return has_event(s, "Readiness probe failed: HTTP probe failed with statuscode: 404");
  });
}

TEST(ContainerLife, AConnectionThatIsRefusedSaysSo) {
  const int port = free_port();
  PodLab lab;
  lab.start(pod_of("exec sleep 1000",
                   fmt::format("probes: {{readiness: {{type: tcp, host: 127.0.0.1, port: {0}}}, "
                               "startup: {{type: http, scheme: HTTP, host: 127.0.0.1, port: {0}, "
                               "path: /x, failureThreshold: 100}}}}",
                               port)));
  lab.wait("p", [&](const Value& s) {
    return has_event(s, fmt::format("Startup probe failed: Get \"http://127.0.0.1:{0}/x\": dial "
                                    "tcp 127.0.0.1:{0}: connect: connection refused",
                                    port));
  });
}

TEST(ContainerLife, ACommandThatFailsRestartsTheContainer) {
  PodLab lab;
  lab.start(pod_of("touch /tmp/healthy; echo start >> /v/starts; exec sleep 1000",
                   "probes: {liveness: {type: exec, command: [/bin/sh, -c, 'cat /tmp/healthy && rm "
                   "/tmp/healthy'], periodSeconds: 1, failureThreshold: 1}}"));
  const Value state =
      lab.wait("p", [](const Value& s) { return container_of(s, "c")["restarts"].as_int() > 0; });
  EXPECT_TRUE(has_event(state, "Liveness probe failed: cat: /tmp/healthy: No such file"));
  EXPECT_TRUE(has_event(state, "Container c failed liveness probe, will be restarted"));
  EXPECT_TRUE(eventually([&] {
    return read_text(lab.volume("p", "v") + "/starts").starts_with("start\nstart\n");
  })) << "its layer is new, its volume is not";
}

TEST(ContainerLife, ACommandThatHangsTimesOut) {
  PodLab lab;
  lab.start(pod_of("exec sleep 1000",
                   "probes: {readiness: {type: exec, command: [sleep, '777001'], timeoutSeconds: "
                   "1}}"));
  lab.wait("p", [](const Value& s) {
    return has_event(s,
                     "Readiness probe failed: command timed out: \"sleep 777001\" timed out after "
                     "1s");
  });
}

TEST(ContainerLife, HooksRunInTheContainer) {
  PodLab lab;
  lab.start(pod_of(
      "trap 'echo term >> /v/log; exit 0' TERM; while :; do sleep 0.01; done",
      "postStart: {type: exec, command: [/bin/sh, -c, 'echo post >> /v/log']}, preStop: {type: "
      "exec, command: [/bin/sh, -c, 'sleep 0.1; echo pre >> /v/log']}"));
  lab.wait("p",
           [](const Value& s) { return container_of(s, "c")["state"].as_string() == "running"; });
  lab.runtime().stop("uid-p", std::chrono::seconds(30));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(read_text(lab.volume("p", "v") + "/log"), "post\npre\nterm\n");
}

TEST(ContainerLife, AFailedHookEndsTheContainer) {
  PodLab lab;
  lab.start(pod_of("exec sleep 1000", "postStart: {type: exec, command: [/bin/false]}", "Never"));
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "c")["exitCode"].as_int(), 143);
  EXPECT_TRUE(has_event(state, "PostStartHook failed"));
}

TEST(ContainerLife, NativeSidecarsServeTheContainers) {
  PodLab lab;
  lab.start(
      "{name: p, volumes: [{name: v, type: empty}], init: [{name: s, native: true, mounts: "
      "[{volume: v, path: /v}], command: [/bin/sh, -c, 'trap \"echo end >> /v/log; exit 3\" TERM; "
      "touch /v/up; while :; do sleep 0.01; done'], probes: {startup: {type: exec, command: [test, "
      "-e, /v/up], periodSeconds: 1, failureThreshold: 100}}}], containers: [{name: c, mounts: "
      "[{volume: v, path: /v}], command: [/bin/sh, -c, 'test -e /v/up && echo main >> /v/log']}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "c")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(container_of(state, "s")["exitCode"].as_int(-1), 3);
  EXPECT_EQ(read_text(lab.volume("p", "v") + "/log"), "main\nend\n");
}

Value action(const std::string& yaml) {
  return yaml::parse(yaml).value();
}

// "ok", "failed: ..." or "more".
std::string answer_to(const std::string& spec, std::string_view received, bool closed,
                      std::string* sent = nullptr) {
  const auto exchange = make_exchange(action(spec));
  std::string more = exchange->begin();
  if (const auto answer = exchange->take(received, closed, more)) {
    if (sent != nullptr) {
      *sent = more;
    }
    if (answer->next.is_object()) {
      return "next: " + url_of(answer->next);
    }
    return answer->answer.warned    ? "warned: " + answer->answer.message
           : answer->answer.success ? "ok"
                                    : "failed: " + answer->answer.message;
  }
  return "more";
}

TEST(CheckExchange, ReadsHttpStatusLines) {
  const std::string http = "{type: http, scheme: HTTP, host: h, port: 80, path: /p}";
  EXPECT_EQ(answer_to(http, "HTTP/1.1 200 OK\r\n", false), "more");
  EXPECT_EQ(answer_to(http, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", false), "more");
  EXPECT_EQ(answer_to(http, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false), "ok");
  EXPECT_EQ(answer_to(http, "HTTP/1.0 299 X\r\n\r\n", true), "ok");
  EXPECT_EQ(answer_to(http, "HTTP/1.1 399 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
                      false),
            "warned: Probe terminated redirects, Response body: abc");
  EXPECT_EQ(answer_to(http, "HTTP/1.1 20", false), "more");
  EXPECT_EQ(answer_to(http, "HTTP/1.1 503 no\r\n\r\n", true),
            "failed: HTTP probe failed with statuscode: 503");
  EXPECT_EQ(answer_to(http, "", true), "failed: Get \"http://h:80/p\": EOF");
  EXPECT_NE(answer_to(http, "SSH-2.0-x\r\n", false).find("malformed HTTP response"),
            std::string::npos);
  EXPECT_EQ(make_exchange(action("{type: http, host: h, port: 80, path: /p, headers: [[Host, o], "
                                 "[User-Agent, me], [accept, x]]}"))
                ->begin(),
            "GET /p HTTP/1.1\r\nHost: o\r\nUser-Agent: me\r\naccept: x\r\nConnection: "
            "close\r\n\r\n");
  EXPECT_EQ(make_exchange(action("{type: tcp}")), nullptr);
}

TEST(CheckExchange, FollowsRedirectsOnTheSameHost) {
  const std::string http =
      "{type: http, scheme: HTTP, host: h, port: 80, path: /a/b?c, redirects: 8}";
  const auto to = [&](const std::string& location) {
    return answer_to(http, "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\n\r\n", true);
  };
  EXPECT_EQ(to("/x?y#z"), "next: http://h:80/x?y");
  EXPECT_EQ(to("x"), "next: http://h:80/a/x");
  EXPECT_EQ(to("?x"), "next: http://h:80/a/b?x");
  EXPECT_EQ(to("https://h/x"), "next: https://h:443/x");
  EXPECT_EQ(to("//H:81"), "next: http://H:81/");
  EXPECT_EQ(to("http://other/x"), "warned: Probe terminated redirects, Response body: ");
  EXPECT_NE(to("http://h:port/").find("failed to parse Location"), std::string::npos);
  EXPECT_NE(to("ftp://h/").find("failed to parse Location"), std::string::npos);
  const std::string tenth = "{type: http, scheme: HTTP, host: h, port: 80, path: /, redirects: 9}";
  EXPECT_NE(answer_to(tenth, "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", true)
                .find("stopped after 10 redirects"),
            std::string::npos);
}

TEST(CheckExchange, NamesServersThatDoNotSpeakTls) {
  const std::string https = "{type: http, scheme: HTTPS, host: h, port: 443, path: /}";
  EXPECT_EQ(answer_to(https, "HTTP/1.0 400 Bad Request\r\n\r\n", true),
            "failed: Get \"https://h:443/\": http: server gave HTTP response to HTTPS client");
  EXPECT_EQ(answer_to("{type: http, scheme: HTTPS, host: h, port: 443, path: /, anyStatus: true}",
                      "HTTP/1.0 400 Bad Request\r\n\r\n", true),
            "next: http://h:443/");
  EXPECT_NE(answer_to(https, "SSH-2.0-x\r\n", true).find("tls: "), std::string::npos);
  EXPECT_EQ(answer_to(https, "", false), "more");
  EXPECT_NE(answer_to(https, "", true).find("EOF"), std::string::npos);
}

std::string frame(std::size_t size, char type, char flags, const std::string& payload) {
  return std::string("\0\0", 2) + static_cast<char>(size) + type + flags +
         std::string("\0\0\0\1", 4) + payload;
}

TEST(CheckExchange, ReadsAnswersOfGrpcHealth) {
  const std::string grpc = "{type: grpc, host: h, port: 80, service: s}";
  const std::string settings = frame(0, 4, 0, "");
  const auto health = [&](char status) {
    return settings + frame(3, 1, 4, "hdr") +
           frame(7, 0, 0, std::string("\0\0\0\0\2\x08", 6) + status) + frame(3, 1, 5, "end");
  };
  std::string sent;
  EXPECT_EQ(answer_to(grpc, health(1), false, &sent), "ok");
  EXPECT_NE(sent.find("/grpc.health.v1.Health/Check"), std::string::npos);
  EXPECT_TRUE(sent.ends_with(std::string("\0\0\0\4\1\0\0\0\0", 9))) << "settings are acknowledged";
  EXPECT_EQ(answer_to(grpc, health(2), false),
            "failed: service unhealthy (responded with \"NOT_SERVING\")");
  EXPECT_EQ(answer_to(grpc, settings, false), "more");
  EXPECT_NE(answer_to(grpc, settings + frame(3, 1, 5, "end"), false).find("does not implement"),
            std::string::npos);
  EXPECT_NE(answer_to(grpc, "HTTP/1.1 400 Bad Request\r\n\r\n", true).find("does not implement"),
            std::string::npos);
}

TEST(ContainerLife, EphemeralContainersSeeProcessesOfTheirTarget) {
  PodLab lab;
  lab.start(
      "{name: p, containers: [{name: c, command: [sleep, '12345']}, {name: d, command: [sleep, "
      "'1000']}]}");
  lab.wait("p", [](const Value& now) {
    return container_of(now, "c")["state"].as_string() == "running" &&
           container_of(now, "d")["state"].as_string() == "running";
  });
  lab.runtime().extend(
      yaml::parse(
          "{uid: uid-p, ephemeral: [{name: e, target: c, command: [/bin/sh, -c, 'sleep 0.5; cat "
          "/proc/[0-9]*/cmdline | tr \"\\0\" \" \"']}, {name: f, target: gone, command: "
          "[/bin/sh, -c, 'cat /proc/[0-9]*/cmdline | tr \"\\0\" \" \"']}]}")
          .value());
  const Value state = lab.wait("p", [](const Value& now) {
    return now["ephemeral"][0]["state"].as_string() == "terminated" &&
           now["ephemeral"][1]["state"].as_string() == "terminated";
  });
  const bool root = ::geteuid() == 0;
  EXPECT_TRUE(eventually([&] {
    return (lab.log("p", "e").find("sleep 12345") != std::string::npos) == root;
  })) << lab.log("p", "e");
  EXPECT_EQ(lab.log("p", "e").find("sleep 1000 "), std::string::npos);
  EXPECT_EQ(lab.log("p", "f").find("sleep 12345"), std::string::npos);
  const Value& events = state["events"];
  EXPECT_NE(events[events.size() - 1]["note"].str().find("does not see the processes of gone"),
            std::string::npos);
}

}  // namespace
}  // namespace athanor::nodes::container_life_test
