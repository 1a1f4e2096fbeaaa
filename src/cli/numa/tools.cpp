// SPDX-License-Identifier: Apache-2.0
#include "cli/numa/tools.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "base/files/folder.hpp"
#include "base/files/text_file.hpp"
#include "base/interrupt.hpp"
#include "cli/flags/verb_words.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/session.hpp"
#include "exporter/exporter.hpp"
#include "systems/numa/tools/tool.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kExporter = "resource-topology-exporter";
constexpr const char* kPodResources = "podresources";
constexpr const char* kOperator = "numaresources-operator";

Error file_error(const std::string& path) {
  return Error::bad_request(fmt::format("{}: cannot be read or written", path));
}

// Takes the flags out that say which API server is meant, and who asks it; as other verbs have them
// (flags/target_flags.hpp).
Target take_target(std::vector<std::string>& arguments) {
  Target target;
  const std::pair<std::string_view, std::string*> known[] = {
      {"--kubeconfig", &target.kubeconfig},
      {"--context", &target.context},
      {"--server", &target.server},
      {"--token", &target.token},
      {"--certificate-authority", &target.authority},
      {"--as", &target.as}};
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const auto* const found =
        std::ranges::find(known, name, &std::pair<std::string_view, std::string*>::first);
    const bool group = name == "--as-group";
    if (name == "--insecure-skip-tls-verify" && equals == word.size()) {
      target.insecure = true;
    } else if ((found == std::end(known) && !group) ||
               (equals == word.size() && i + 1 == arguments.size())) {
      rest.push_back(arguments[i]);
    } else {
      std::string value(equals < word.size() ? word.substr(equals + 1) : arguments[++i]);
      if (group) {
        target.as_groups.push_back(std::move(value));
      } else {
        *found->second = std::move(value);
      }
    }
  }
  arguments = std::move(rest);
  return target;
}

class ClusterTools final : public numa::ToolContext {
 public:
  explicit ClusterTools(Target target) : target_(std::move(target)), clock_(wall_clock()) {}

  [[nodiscard]] std::string version() const override { return ATHANOR_VERSION; }
  [[nodiscard]] Instant now() const override { return clock_->now(); }

  Result<Object> get(const Kind& kind, const Key& key) override {
    ATHANOR_TRY(Session * session, open());
    return session->get(kind, key.ns, key.name);
  }
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) override {
    ATHANOR_TRY(Session * session, open());
    return session->list(kind, ns);
  }
  Result<void> apply(const Kind& kind, const Value& object) override {
    ATHANOR_TRY(Session * session, open());
    const std::string path = Session::path(kind, object["metadata"]["namespace"].str(),
                                           object["metadata"]["name"].str()) +
                             "?fieldManager=athanor-numa&force=true";
    const auto answer =
        session->connection().call({.method = "PATCH",
                                    .path = path,
                                    .body = object,
                                    .content_type = "application/apply-patch+yaml"});
    return answer.ok() ? Result<void>() : answer.error();
  }
  Result<void> remove(const Kind& kind, const Key& key) override {
    ATHANOR_TRY(Session * session, open());
    const auto answer = session->connection().call(
        {.method = "DELETE", .path = Session::path(kind, key.ns, key.name)});
    return answer.ok() ? Result<void>() : answer.error();
  }
  Result<std::string> text(const std::string& path) override {
    ATHANOR_TRY(Session * session, open());
    return session->connection().text({.path = path, .accept = "*/*"});
  }

  Result<std::string> read_file(const std::string& path) override { return read_text_file(path); }
  std::vector<std::string> list_files(const std::string& path) override {
    return names_in_folder(path);
  }
  Result<void> write_file(const std::string& path, std::string_view content) override {
    std::error_code none;
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty()) {
      std::filesystem::create_directories(folder, none);
    }
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    return file.flush() ? Result<void>() : file_error(path);
  }
  Result<std::string> read_input() override {
    std::string all;
    char buffer[4096];
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, static_cast<void*>(buffer), sizeof(buffer));
      if (count < 0) {
        return file_error("stdin");
      }
      if (count == 0) {
        return all;
      }
      all.append(static_cast<const char*>(buffer), static_cast<std::size_t>(count));
    }
  }

  bool pause(Duration time) override {
    constexpr Duration kStep = std::chrono::milliseconds(50);
    const Instant end = clock_->now() + time;
    while (!interrupt_.came() && clock_->now() < end) {
      ::usleep(static_cast<useconds_t>(std::min(kStep, end - clock_->now()).count()));
    }
    return !interrupt_.came();
  }
  void out(std::string_view text) override { out_.print(text); }
  void err(std::string_view text) override { err_.print(text); }

 private:
  // At the first use: some tools need no cluster.
  Result<Session*> open() {
    if (!session_) {
      auto session = Session::open(target_);
      if (!session.ok()) {
        return session.error();
      }
      session_ = std::make_unique<Session>(*std::move(session));
    }
    return session_.get();
  }

  Target target_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Session> session_{};
  Interrupt interrupt_{};
  Terminal out_{STDOUT_FILENO};
  Terminal err_{STDERR_FILENO};
};

}  // namespace

std::optional<NumaToolRun> numa_tool_of(const std::vector<std::string>& words) {
  if (words.empty()) {
    return std::nullopt;
  }
  const std::string program = words[0].substr(words[0].rfind('/') + 1);
  for (const numa::Tool& tool : numa::numa_tools()) {
    if (!tool.upstream.empty() && tool.upstream == program) {
      NumaToolRun run{.tool = program, .arguments = {words.begin() + 1, words.end()}};
      run.target = take_target(run.arguments);
      return run;
    }
  }
  if (program == kExporter) {
    return NumaToolRun{.tool = program, .arguments = {words.begin() + 1, words.end()}};
  }
  const std::vector<std::string> plain = plain_words(words);
  if (plain.size() < 3 || plain[1] != "numa") {
    return std::nullopt;
  }
  // These have flags of their own in place of a target's.
  if (plain[2] == "exporter" || plain[2] == kPodResources) {
    return NumaToolRun{.tool = plain[2] == "exporter" ? kExporter : kPodResources,
                       .arguments = {plain.begin() + 3, plain.end()}};
  }
  std::vector<std::string> rest(plain.begin() + 2, plain.end());
  Target target = take_target(rest);
  if (rest.empty() || numa::find_tool(rest[0]) == nullptr) {
    return std::nullopt;
  }
  return NumaToolRun{
      .tool = rest[0], .arguments = {rest.begin() + 1, rest.end()}, .target = std::move(target)};
}

std::vector<std::string> as_controllers(std::vector<std::string> words) {
  if (words.empty() || words[0].substr(words[0].rfind('/') + 1) != kOperator ||
      numa::operator_prints(std::span(words).subspan(1))) {
    return words;
  }
  std::vector<std::string> all{"athanor", "controllers", "--systems=numa"};
  for (std::string& word : std::span(words).subspan(1)) {
    // Go's flags have one dash or two.
    const bool single = word.size() > 2 && word[0] == '-' && word[1] != '-';
    all.push_back(single ? "-" + word : std::move(word));
  }
  return all;
}

int run(const NumaToolRun& tool) {
  if (tool.tool == kExporter || tool.tool == kPodResources) {
    const Interrupt interrupt;
    const exporter::Host host{
        .version = ATHANOR_VERSION,
        .out = [](std::string_view text) { Terminal(STDOUT_FILENO).print(text); },
        .err = [](std::string_view text) { Terminal(STDERR_FILENO).print(text); },
        .interrupted = [&interrupt] { return interrupt.came(); }};
    return tool.tool == kExporter ? exporter::run_exporter(tool.arguments, host)
                                  : exporter::run_podresources(tool.arguments, host);
  }
  ClusterTools context(tool.target);
  return numa::find_tool(tool.tool)->run(context, tool.arguments);
}

}  // namespace athanor::cli
