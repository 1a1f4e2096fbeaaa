// SPDX-License-Identifier: Apache-2.0
// PodLab itself.
#include "unit/embedded/nodes/process/pod_lab.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "embedded/nodes/pod_status.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::string fresh_folder() {
  std::string folder = testing::TempDir() + "athanor-pods-XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  return folder;
}

}  // namespace

PodLab::PodLab(Isolation isolation, LogLimits log_limits)
    : isolation_(isolation),
      log_limits_(log_limits),
      folder_(fresh_folder()),
      clock_(wall_clock()) {
  open();
}

void PodLab::restart() {
  runtime_.reset();
  states_.clear();
  open();
}

void PodLab::open() {
  auto spawner = Spawner::start();
  if (!spawner.ok()) {
    ADD_FAILURE() << spawner.error().message;
    std::abort();
  }
  auto runtime = ProcessRuntime::create(
      *std::move(spawner), {.folder = folder_,
                            .tokens = [this](const TokenWish& wish) { return tokens(wish); },
                            .clock = clock_.get(),
                            .isolate = isolation_ == Isolation::On,
                            .own_folders = own_folders,
                            .log_limits = log_limits_});
  EXPECT_TRUE(runtime.ok());
  runtime_ = *std::move(runtime);
  runtime_->listen([this](const std::string& query, Value state) {
    const std::lock_guard lock(mutex_);
    states_[query] = std::move(state);
    changed_.notify_all();
  });
}

PodLab::~PodLab() {
  runtime_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void PodLab::start(std::string_view text) {
  Value spec = yaml::parse(text).value();
  spec.set("uid", "uid-" + spec["name"].str());
  spec.set("ns", "ns");
  if (!spec.contains("restartPolicy")) {
    spec.set("restartPolicy", "Never");
  }
  runtime_->start(spec);
}

Value PodLab::wait(const std::string& pod, const std::function<bool(const Value& state)>& done) {
  const std::string query = pod_query("ns", pod);
  std::unique_lock lock(mutex_);
  const bool held = changed_.wait_for(lock, kPatience, [&] { return done(states_[query]); });
  EXPECT_TRUE(held) << pod << ": " << json::print(states_[query]);
  return states_[query];
}

Value PodLab::wait_end(const std::string& pod) {
  return wait(pod, [](const Value& state) { return all_ended(state); });
}

std::string PodLab::log(const std::string& pod, const std::string& container,
                        apiserver::LogOptions options) {
  options.container = container;
  auto stream = runtime_->open({"ns", pod}, "uid-" + pod, options);
  if (!stream.ok()) {
    return "error: " + stream.error().message;
  }
  std::string text;
  EXPECT_TRUE(eventually([&] { return (*stream)->pull(text) == net::Stream::State::Ended; }))
      << text.substr(0, 1000);
  return text;
}

std::string PodLab::volume(const std::string& pod, const std::string& name) const {
  return folder_ + "/pods/uid-" + pod + "/volumes/" + name;
}

bool eventually(const std::function<bool()>& holds) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    never.wait_for(lock, std::chrono::milliseconds(2));
  }
  return true;
}

std::string read_text(const std::string& path) {
  // A file of /proc may end with its process, between its opening and its reading: then it is
  // empty.
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

int in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool alive(int pid) {
  const std::string status = read_text("/proc/" + std::to_string(pid) + "/status");
  return !status.empty() && status.find("State:\tZ") == std::string::npos;
}

Value container_of(const Value& state, std::string_view name) {
  for (const char* list : {"init", "containers"}) {
    for (const Value& container : state[list].items()) {
      if (container["name"].as_string() == name) {
        return container;
      }
    }
  }
  return {};
}

TEST(PodLab, StartsAndEnds) {
  PodLab lab;
  lab.start("{name: p, containers: [{name: c, command: [/bin/true]}]}");
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(-1), 0);
}

}  // namespace athanor::nodes
